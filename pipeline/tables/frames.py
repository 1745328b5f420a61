"""Hand columns built in Python to DuckDB, by way of a temporary Parquet file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import polars as pl

from pipeline.tables.database import literal_path


def insert_frame(
    connection: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame, *, order_by: str
) -> None:
    """Append a frame's rows to ``table``, columns matched by name, in the stated order.

    ``table`` and ``order_by`` are names from this package, never data.
    """
    if frame.is_empty():
        return
    with tempfile.TemporaryDirectory(prefix="ctxeval-") as folder:
        path = Path(folder) / "frame.parquet"
        frame.write_parquet(path, compression="uncompressed", statistics=False)
        connection.execute(
            f"INSERT INTO {table} BY NAME SELECT * FROM read_parquet(?) ORDER BY {order_by}",  # noqa: S608
            [literal_path(path)],
        )
