"""Read-only questions to a run's tables, and a local database file for browsing."""

from __future__ import annotations

import io
import math
import os
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from pipeline.canonical import json_line
from pipeline.csv_text import csv_text
from pipeline.errors import QueryError, StorageError, one_line
from pipeline.jsonl import has_surrogate
from pipeline.tables.database import connect, load_tables
from pipeline.tables.folders import folder_beside


def build_database(tables: Path, out: Path) -> None:
    """Write a ``.duckdb`` file with all tables and views; whole or not at all.

    Raises:
        TablesError: the tables are missing or damaged.
        StorageError: the file cannot be written.
    """
    if out.is_dir():
        raise StorageError(f"{out} is a folder; name a file to write, such as {out / 'run.duckdb'}")
    if out.exists() and not _is_database(out):
        raise StorageError(f"{out} is there and no DuckDB file; name another file to write")
    with folder_beside(out) as folder:
        temporary = folder / "run.duckdb"
        try:
            with connect(temporary) as connection:
                load_tables(connection, tables)
        except duckdb.IOException as error:
            raise StorageError(f"cannot write {out}: {one_line(str(error))}; make room") from error
        temporary.chmod(0o644)
        os.replace(temporary, out)
        # What a program that had the old file open may have left would be played into the new one.
        Path(f"{out}.wal").unlink(missing_ok=True)


def _is_database(path: Path) -> bool:
    """Whether a file begins as DuckDB's do: eight bytes of checksum, then four letters."""
    if not path.is_file():
        return False
    with path.open("rb") as handle:
        return handle.read(12)[8:] == b"DUCK"


def run_query(tables: Path, query: str, form: str) -> str:
    """Answer one SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN) as a text table, CSV or JSON.

    The query sees a copy of the tables in a database that is opened read-only and may reach
    neither files nor the network. JSON is a list of objects; a value that JSON has no form for
    (NaN, a time, an interval) is a text there.

    Raises:
        QueryError: the query is no single SELECT, DuckDB refuses it, or two columns of a JSON
            answer have one name.
        TablesError: the tables are missing or damaged.
    """
    if has_surrogate(query):
        raise QueryError("the query is not UTF-8; write it in UTF-8")
    with tempfile.TemporaryDirectory(prefix="ctxeval-") as folder:
        database = Path(folder) / "run.duckdb"
        with connect(database) as connection:
            load_tables(connection, tables)
        with connect(database, read_only=True) as connection:
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            try:
                _check_statement(connection, query)
                columns, rows = _interruptible(connection, query)
            except duckdb.Error as error:
                raise QueryError(f"the query failed: {one_line(str(error))}") from None
    return _FORMS[form](columns, rows)


def _interruptible(
    connection: duckdb.DuckDBPyConnection, query: str
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a query, in a thread of its own: so Ctrl-C need not wait for its end."""

    def answer() -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = connection.execute(query)
        return [column[0] for column in cursor.description or ()], cursor.fetchall()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(answer)
        try:
            return running.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


def _check_statement(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise QueryError(f"the query holds {len(statements)} statements; give one SELECT")
    kind = statements[0].type
    if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise QueryError(f"{kind.name} is refused: the tables are read-only; give one SELECT")


def _as_csv(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    return csv_text(tuple(columns), [tuple(map(_flat, row)) for row in rows])


def _as_json(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    if twice := [name for name, count in Counter(columns).items() if count > 1]:
        raise QueryError(f"two columns are named {twice[0]!r}; name them apart with AS for JSON")
    return json_line([dict(zip(columns, map(_plain, row), strict=True)) for row in rows])


def _as_table(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in columns:
        table.add_column(Text(one_line(column)))
    for row in rows:
        table.add_row(*(Text(one_line(str(_flat(value)))) for value in row))
    buffer = io.StringIO()
    Console(file=buffer, width=_WIDTH, color_system=None).print(table)
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Decimal):
        return _plain(float(value))
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return str(value)


def _flat(value: Any) -> Any:
    """A value for a table: nothing for NULL, SQL's words for booleans, JSON for lists and structs."""
    if value is None:
        return ""
    if isinstance(value, bool | list | tuple | dict):
        return json_line(_plain(value)).rstrip("\n")
    return value


# Wide enough that nothing is cut: a terminal wraps, a file keeps every character.
_WIDTH = 10_000

_FORMS = {"table": _as_table, "csv": _as_csv, "json": _as_json}
