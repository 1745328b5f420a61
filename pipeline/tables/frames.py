"""Hand columns built in Python to DuckDB, by way of a temporary Parquet file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import polars as pl

from pipeline.errors import StorageError, one_line
from pipeline.tables.database import literal_path


def insert_frame(
    connection: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame, *, order_by: str
) -> None:
    """Append a frame's rows to ``table``, columns matched by name, in the stated order.

    ``table`` and ``order_by`` are names from this package, never data.

    Raises:
        StorageError: the temporary folder is full or cannot be written.
    """
    if frame.is_empty():
        return
    with tempfile.TemporaryDirectory(prefix="ctxeval-") as folder:
        path = Path(folder) / "frame.parquet"
        try:
            frame.write_parquet(path, compression="uncompressed", statistics=False)
        except (OSError, pl.exceptions.ComputeError) as error:
            raise StorageError(
                f"the temporary folder cannot be written ({one_line(str(error))[:200]}); set TMPDIR"
            ) from error
        connection.execute(
            f"INSERT INTO {table} BY NAME SELECT * FROM read_parquet(?) ORDER BY {order_by}",  # noqa: S608
            [literal_path(path)],
        )
