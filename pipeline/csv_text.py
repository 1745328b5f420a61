"""CSV that a spreadsheet can open without running anything of it."""

from __future__ import annotations

from typing import Any

# What OWASP's page on CSV injection lists, with the full-width forms that spreadsheets take for them.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


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
