"""Read-only questions to a run's tables, and a local database file for browsing."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from pipeline.canonical import json_line
from pipeline.errors import QueryError, StorageError, one_line
from pipeline.tables.database import connect, load_tables


def build_database(tables: Path, out: Path) -> None:
    """Write a ``.duckdb`` file with all tables and views; whole or not at all.

    Raises:
        TablesError: the tables are missing or damaged.
        StorageError: the file cannot be written.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            temporary = Path(folder) / "run.duckdb"
            with connect(temporary) as connection:
                load_tables(connection, tables)
            os.replace(temporary, out)
    except OSError as error:
        raise StorageError(f"cannot write {out} ({error.strerror}); choose another path") from error


def run_query(tables: Path, query: str, form: str) -> str:
    """Answer one SELECT as a text table, CSV or JSON (a list of objects).

    The query sees a copy of the tables in a database that is opened read-only and may reach
    neither files nor the network.

    Raises:
        QueryError: DuckDB refuses the query.
        TablesError: the tables are missing or damaged.
    """
    with tempfile.TemporaryDirectory(prefix="ctxeval-") as folder:
        database = Path(folder) / "run.duckdb"
        with connect(database) as connection:
            load_tables(connection, tables)
        with connect(database, read_only=True) as connection:
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            try:
                cursor = connection.execute(query)
                columns = [column[0] for column in cursor.description or ()]
                rows = cursor.fetchall()
            except duckdb.Error as error:
                raise QueryError(f"the query failed: {one_line(str(error))}") from None
    return _FORMS[form](columns, rows)


def _as_csv(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    from pipeline.reporting.table import csv_text

    return csv_text(tuple(columns), rows)


def _as_json(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    return json_line([dict(zip(columns, map(_plain, row), strict=True)) for row in rows])


def _as_table(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in columns:
        table.add_column(Text(one_line(column)))
    for row in rows:
        table.add_row(*(Text("" if value is None else one_line(str(value))) for value in row))
    buffer = io.StringIO()
    Console(file=buffer, width=_WIDTH, color_system=None).print(table)
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return str(value)


# Wide enough that nothing is cut: a terminal wraps, a file keeps every character.
_WIDTH = 10_000

_FORMS = {"table": _as_table, "csv": _as_csv, "json": _as_json}
