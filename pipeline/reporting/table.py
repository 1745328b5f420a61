"""One report: a JSON document and a flat table of the same numbers, and how both are written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.canonical import write_json, write_text

# What OWASP's page on CSV injection lists, with the full-width forms that spreadsheets take for them.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class Report:
    """``document`` goes to ``<name>.json``; ``columns`` and ``rows`` go to ``<name>.csv``."""

    name: str
    document: Any
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def write_reports(folder: Path, reports: list[Report]) -> None:
    """Write every report into ``folder`` and remove JSON and CSV files of reports that are no more."""
    wanted = set()
    for report in reports:
        write_json(folder / f"{report.name}.json", report.document)
        write_text(folder / f"{report.name}.csv", csv_text(report.columns, report.rows))
        wanted |= {f"{report.name}.json", f"{report.name}.csv"}
    for path in folder.iterdir():
        if path.suffix in (".json", ".csv") and path.name not in wanted:
            path.unlink()


def csv_text(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """CSV with ``\\n`` line ends; a text that a spreadsheet would run as a formula gets a ``'`` before it.

    Fields are quoted where RFC 4180 asks for it. Python's own writer leaves a lone carriage return
    bare or quotes it, depending on Python's version.
    """
    lines = (",".join(map(_field, line)) for line in (columns, *rows))
    # A line of one empty field would be a blank line, which readers skip.
    return "".join((line or '""') + "\n" for line in lines)


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    if isinstance(value, str) and text.startswith(_FORMULA_STARTS):
        text = f"'{text}"
    if any(character in text for character in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
