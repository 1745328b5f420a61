"""Rows of an exported table as they stand in its file, each with its number there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipeline.errors import TablesError, one_line
from pipeline.tables.database import connect, literal_path

ROW = "row"
_READ = "SELECT * FROM read_parquet(?, file_row_number = true) ORDER BY file_row_number"


def read_rows(folder: Path, tables: Sequence[str]) -> Mapping[str, list[dict[str, Any]]]:
    """All rows of the named tables by table, in file order; key ``row`` is the row's number from 1.

    The file is read as it is, whichever version wrote it: a caller asks for the columns it needs.

    Raises:
        TablesError: a file is missing or damaged.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    with connect() as connection:
        for table in tables:
            path = folder / f"{table}.parquet"
            if not path.is_file():
                raise TablesError.at(path, "missing; run `dvc repro`, or build the published run anew")
            try:
                cursor = connection.execute(_READ, [literal_path(path)])
                *names, _ = (column[0] for column in cursor.description or ())
                found[table] = [
                    dict(zip(names, values, strict=True), row=number + 1)
                    for *values, number in cursor.fetchall()
                ]
            except (duckdb.Error, RuntimeError, UnicodeDecodeError, ValueError) as error:
                raise TablesError.at(
                    path, f"cannot be read ({one_line(str(error))[:200]}); build the tables anew"
                ) from error
    return found
