"""Open DuckDB the one way this project uses it, and move a run's tables in and out of files."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import duckdb

from pipeline.errors import ConfigError, StorageError, TablesError, one_line

THREADS_VARIABLE = "CTXEVAL_THREADS"

# Named so that the exported files can be listed without opening them.
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
_LOAD_PATH = re.compile(r"FROM '[^']*?([^'/\\]+\.parquet)'")


@contextlib.contextmanager
def connect(path: Path | None = None, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB connection, in memory unless ``path`` is given, closed at the end.

    The number of threads is DuckDB's default unless ``CTXEVAL_THREADS`` says otherwise; it never
    changes what is computed.
    """
    connection = duckdb.connect(str(path) if path else ":memory:", read_only=read_only)
    try:
        if threads := os.environ.get(THREADS_VARIABLE):
            if not threads.isdecimal() or int(threads) < 1:
                raise ConfigError(f"{THREADS_VARIABLE} is {threads!r}; give a whole number of threads from 1")
            connection.execute(f"SET threads = {int(threads)}")
        connection.execute("SET preserve_insertion_order = true")
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


def sql_file(name: str) -> str:
    """The text of a ``.sql`` file that ships beside this module."""
    return (resources.files("pipeline.tables") / name).read_text(encoding="utf-8")


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the empty tables of ``schema.sql``."""
    connection.execute(sql_file("schema.sql"))


def export_tables(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Write the tables as DuckDB's own export: ``schema.sql``, ``load.sql``, one Parquet a table.

    ``load.sql`` names bare files, so that the folder can move. The folder appears whole or not at
    all. The same rows give the same bytes at any thread count.

    Raises:
        StorageError: the folder cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        try:
            connection.execute(f"EXPORT DATABASE '{_quoted(staging)}' (FORMAT parquet)")
            load = staging / "load.sql"
            load.write_text(_LOAD_PATH.sub(r"FROM '\1'", load.read_text(encoding="utf-8")), encoding="utf-8")
            for path in staging.iterdir():
                path.chmod(0o644)
        except (duckdb.IOException, OSError) as error:
            raise StorageError(
                f"cannot write tables to {folder}: {one_line(str(error))}; make room"
            ) from error
        if folder.exists():
            shutil.rmtree(folder)
        staging.chmod(0o755)
        staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def load_tables(connection: duckdb.DuckDBPyConnection, folder: Path, *, views: bool = True) -> None:
    """Load an exported folder into a connection and, by default, create the reading views.

    Raises:
        TablesError: the folder is missing, incomplete or damaged.
    """
    for name in ("schema.sql", "load.sql", *(f"{table}.parquet" for table in TABLES)):
        if not (folder / name).is_file():
            raise TablesError.at(folder / name, "missing; run `dvc repro parse` to make the tables")
    try:
        connection.execute((folder / "schema.sql").read_text(encoding="utf-8"))
        for statement in (folder / "load.sql").read_text(encoding="utf-8").split(";\n"):
            if statement.strip():
                connection.execute(_LOAD_PATH.sub(lambda m: f"FROM '{_quoted(folder)}/{m[1]}'", statement))
        if views:
            connection.execute(sql_file("views.sql"))
    except duckdb.Error as error:
        raise TablesError.at(folder, f"cannot be loaded ({one_line(str(error))}); build it anew") from error


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
