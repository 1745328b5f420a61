"""Compare the rows of a Parquet file with those it has to hold, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipeline.errors import TablesError, one_line
from pipeline.lineage.verify.checks import Findings, shown
from pipeline.tables.database import literal_path


def compare_rows(
    findings: Findings,
    connection: duckdb.DuckDBPyConnection,
    root: Path,
    file: Path,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
) -> None:
    """Compare every field. Rows count from 1, as do the lines of a text file.

    Raises:
        TablesError: the file is missing or cannot be read.
    """
    name = file.as_posix()
    there, found = _read(connection, root, file)
    if not findings.compare(f"{name}#columns", there, list(columns)):
        return
    for number, (one, other) in enumerate(zip(found, rows, strict=False), start=1):
        findings.values += len(other)
        if one != other or any(map(_is_flag, one, other)):
            for column, here, wanted in zip(columns, one, other, strict=True):
                findings.values -= 1
                findings.compare(f"{name}#row={number}/{column}", here, wanted)
    for number in range(len(rows) + 1, len(found) + 1):
        findings.note(f"{name}#row={number}", shown(list(found[number - 1])), "not there: an unknown row")
    for number in range(len(found) + 1, len(rows) + 1):
        findings.note(f"{name}#row={number}", "missing", shown(list(rows[number - 1])))


def _is_flag(one: Any, other: Any) -> bool:
    """Whether 1 stands for true: equal to Python, but not the same."""
    return isinstance(one, bool) is not isinstance(other, bool)


def _read(
    connection: duckdb.DuckDBPyConnection, root: Path, file: Path
) -> tuple[list[str], list[tuple[Any, ...]]]:
    path = root / file
    if not path.is_file():
        raise TablesError.at(file, "missing; run `dvc repro`, or build the run anew")
    try:
        cursor = connection.execute("SELECT * FROM read_parquet(?)", [literal_path(path)])
        return [column[0] for column in cursor.description or ()], cursor.fetchall()
    except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:
        raise TablesError.at(file, f"cannot be read ({one_line(str(error))[:200]}); restore it") from error
