"""Locate every error's span in its translation or source, each distinct case once."""

from __future__ import annotations

import duckdb
import polars as pl

from pipeline.annotation import SpanLocation, locate
from pipeline.tables.frames import insert_frame

BATCH = 100_000

_WITHOUT_TRANSLATION = """
INSERT INTO spans
SELECT cell_id, repeat, error_index, 'not_locatable', [], []
FROM judgments
JOIN annotation_errors USING (annotation_id)
ORDER BY cell_id, repeat, error_index
"""

_DISTINCT_CASES = """
CREATE TEMP TABLE distinct_spans AS
SELECT
    row_number() OVER () - 1 AS case_id, span, translation, source_text, source_span
FROM (
    SELECT DISTINCT span, translation, source_text, source_span
    FROM judgments
    JOIN annotation_errors USING (annotation_id)
    JOIN cells USING (cell_id)
    JOIN items USING (item_index)
);
CREATE TEMP TABLE located_spans (case_id BIGINT, location VARCHAR, starts INTEGER[], ends INTEGER[])
"""

_BATCH_OF_CASES = """
SELECT case_id, span, translation, source_text, source_span
FROM distinct_spans
WHERE case_id >= ? AND case_id < ?
ORDER BY case_id
"""

_WITH_TRANSLATION = """
INSERT INTO spans
SELECT cell_id, repeat, error_index, location, starts, ends
FROM judgments
JOIN annotation_errors USING (annotation_id)
JOIN cells USING (cell_id)
JOIN items USING (item_index)
JOIN distinct_spans AS cases
    ON annotation_errors.span IS NOT DISTINCT FROM cases.span
    AND annotation_errors.source_span IS NOT DISTINCT FROM cases.source_span
    AND cells.translation IS NOT DISTINCT FROM cases.translation
    AND items.source_text = cases.source_text
JOIN located_spans USING (case_id)
ORDER BY cell_id, repeat, error_index
"""


def insert_spans(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill ``spans``: one row per error of each judgment, after cells and judgments are there."""
    found = connection.execute("SELECT count(*) FROM cells WHERE translation IS NOT NULL").fetchone()
    if not found or not found[0]:
        connection.execute(_WITHOUT_TRANSLATION)
        return
    connection.execute(_DISTINCT_CASES)
    low = 0
    while rows := connection.execute(_BATCH_OF_CASES, [low, low + BATCH]).fetchall():
        low += BATCH
        located = [locate(*texts) for _, *texts in rows]
        frame = _frame([row[0] for row in rows], located)
        insert_frame(connection, "located_spans", frame, order_by="case_id")
    connection.execute(_WITH_TRANSLATION)


def _frame(case_ids: list[int], located: list[SpanLocation]) -> pl.DataFrame:
    """Rows of ``located_spans``. The lists are put together by Polars, which takes long to read Python's."""
    places = pl.DataFrame(
        [
            (case_id, start, end)
            for case_id, location in zip(case_ids, located, strict=True)
            for start, end in location.places
        ],
        schema={"case_id": pl.Int64, "starts": pl.Int32, "ends": pl.Int32},
        orient="row",
    )
    return (
        pl.DataFrame({"case_id": case_ids, "location": [location.status for location in located]})
        .join(places.group_by("case_id", maintain_order=True).all(), on="case_id", how="left")
        .with_columns(pl.col("starts", "ends").fill_null([]))
    )
