"""One report: a JSON document and a flat table of the same numbers, and how both are written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.canonical import write_json, write_text
from pipeline.csv_text import csv_text


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
