"""Open DuckDB the one way this project uses it, and move a run's tables in and out of files."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import duckdb

from pipeline.errors import ConfigError, StorageError, TablesError, one_line
from pipeline.tables.folders import whole_folder

THREADS_VARIABLE = "CTXEVAL_THREADS"

MOST_THREADS = 1024

# In the order they are filled and loaded, so that every reference finds its row.
TABLES = (
    "run",
    "languages",
    "participants",
    "items",
    "turns",
    "annotations",
    "annotation_errors",
    "cells",
    "judgments",
    "spans",
    "attempts",
    "translation_failures",
)
_LOAD = "".join(f"COPY {table} FROM '{table}.parquet' (FORMAT 'parquet');\n" for table in TABLES)
_PATTERN_CHARACTER = re.compile(r"[*?\[]")


@contextlib.contextmanager
def connect(path: Path | None = None, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB connection, in memory unless ``path`` is given, closed at the end.

    The number of threads is DuckDB's default unless ``CTXEVAL_THREADS`` says otherwise; it never
    changes what is computed.
    """
    threads = _threads()
    connection = duckdb.connect(str(path) if path else ":memory:", read_only=read_only)
    try:
        if threads is not None:
            connection.execute(f"SET threads = {threads}")
        connection.execute("SET preserve_insertion_order = true")
        connection.execute("SET TimeZone = 'UTC'")
        # A table name that is wrong must not find a variable of this program instead.
        connection.execute("SET python_enable_replacements = false")
        yield connection
    except (duckdb.InterruptException, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "interrupt" not in str(error).lower():
            raise
        raise KeyboardInterrupt from error
    finally:
        connection.close()


def _threads() -> int | None:
    given = os.environ.get(THREADS_VARIABLE)
    if not given:
        return None
    if not (given.isascii() and given.isdecimal() and 1 <= int(given[:5]) <= MOST_THREADS):
        raise ConfigError(
            f"{THREADS_VARIABLE} is {given!r}; give a whole number of threads from 1 to {MOST_THREADS}"
        )
    return int(given)


def literal_path(path: Path) -> str:
    """A path for DuckDB's file functions, which would read ``*``, ``?`` and ``[`` in it as a pattern."""
    return _PATTERN_CHARACTER.sub(lambda found: f"[{found[0]}]", str(path))


def sql_file(name: str) -> str:
    """The text of a ``.sql`` file that ships beside this module."""
    return (resources.files("pipeline.tables") / name).read_text(encoding="utf-8")


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the empty tables of ``schema.sql``."""
    connection.execute(sql_file("schema.sql"))


def export_tables(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Write the tables as DuckDB's own export: ``schema.sql``, ``load.sql``, one Parquet a table.

    ``load.sql`` names bare files, so that the folder can move. The folder appears whole or not at
    all, and an older one stays until then. The same rows give the same bytes at any thread count.

    Raises:
        StorageError: the folder cannot be written.
    """
    with whole_folder(folder) as staging:
        try:
            connection.execute(f"EXPORT DATABASE '{_quoted(staging)}' (FORMAT parquet)")
        except duckdb.IOException as error:
            raise StorageError(
                f"cannot write tables to {folder}: {one_line(str(error))}; make room"
            ) from error
        (staging / "load.sql").write_text(_LOAD, encoding="utf-8")
        for path in staging.iterdir():
            path.chmod(0o644)


def load_tables(connection: duckdb.DuckDBPyConnection, folder: Path, *, views: bool = True) -> None:
    """Load an exported folder into a connection and, by default, create the reading views.

    Only the Parquet files are read; the schema, and so every constraint, is this package's own.

    Raises:
        TablesError: the folder is missing, incomplete, damaged, or of another version.
    """
    for name in ("schema.sql", "load.sql", *(f"{table}.parquet" for table in TABLES)):
        if not (folder / name).is_file():
            raise TablesError.at(folder / name, "missing; run `dvc repro parse` to make the tables")
    try:
        create_schema(connection)
        for table in TABLES:
            _load_table(connection, table, folder / f"{table}.parquet")
        runs = connection.execute("SELECT count(*) FROM run").fetchone()
        if views:
            connection.execute(sql_file("views.sql"))
    except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:
        if "No space left on device" in str(error):
            raise StorageError(
                f"no room to load {folder} ({one_line(str(error))[:200]}); make room or set TMPDIR"
            ) from error
        # The latter two are the binding's, for damaged names that are no UTF-8.
        raise TablesError.at(folder, f"cannot be loaded ({one_line(str(error))}); build it anew") from error
    if runs != (1,):
        raise TablesError.at(folder / "run.parquet", "holds no run; build the tables anew")


def _load_table(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    source = "read_parquet(?)"
    parameters = [literal_path(path)]
    there = _columns(connection, source, parameters)
    expected = _columns(connection, table, [])
    if there != expected:
        raise TablesError.at(
            path,
            f"of another version: its columns are {', '.join(there)}; they must be {', '.join(expected)}; "
            "build the tables anew",
        )
    connection.execute(f"INSERT INTO {table} SELECT * FROM {source}", parameters)  # noqa: S608


def _columns(connection: duckdb.DuckDBPyConnection, source: str, parameters: list[str]) -> list[str]:
    cursor = connection.execute(f"SELECT * FROM {source} LIMIT 0", parameters)  # noqa: S608
    return [column[0] for column in cursor.description or ()]


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
