"""Read every distinct staged answer once, and store what it says."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Literal

import duckdb
import polars as pl

from pipeline.annotation import Annotation, read_answer
from pipeline.tables.database import sql_file
from pipeline.tables.frames import insert_frame

# Bounds memory: so many texts are in Python at a time.
BATCH = 100_000

_BATCH_OF_ANSWERS = """
SELECT annotation_id, text, finish_reason
FROM distinct_answers
WHERE annotation_id >= ? AND annotation_id < ?
ORDER BY annotation_id
"""


def insert_annotations(
    connection: duckdb.DuckDBPyConnection, form: Literal["text", "json"], mode: Literal["strict", "lenient"]
) -> None:
    """Fill ``annotations``, ``annotation_errors`` and ``staged_judgments`` from ``staged_answers``.

    Annotations are numbered by the first cell that has them, so the numbers do not depend on the
    order of the input file.
    """
    connection.execute(sql_file("build_distinct_answers.sql"))
    low = 0
    with _no_search_for_cycles():
        while rows := connection.execute(_BATCH_OF_ANSWERS, [low, low + BATCH]).fetchall():
            ids, texts, finish_reasons = zip(*rows, strict=True)
            annotations = [
                read_answer(text, form=form, mode=mode, finish_reason=finish_reason)
                for text, finish_reason in zip(texts, finish_reasons, strict=True)
            ]
            _insert_annotations(connection, ids, texts, finish_reasons, annotations)
            _insert_errors(connection, ids, annotations)
            low += BATCH


@contextlib.contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Annotations hold no reference cycles; to look for some takes nearly as long as reading them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _insert_annotations(
    connection: duckdb.DuckDBPyConnection,
    ids: tuple[int, ...],
    texts: tuple[str, ...],
    finish_reasons: tuple[str | None, ...],
    annotations: list[Annotation],
) -> None:
    frame = pl.DataFrame(
        {
            "annotation_id": ids,
            "text": texts,
            "finish_reason": finish_reasons,
            "status": [annotation.status for annotation in annotations],
            "reason": [annotation.reason for annotation in annotations],
            "context_behavior": [annotation.context_behavior for annotation in annotations],
            "repairs": [" ".join(annotation.repairs) for annotation in annotations],
            "contradictory_section": [annotation.contradictory for annotation in annotations],
        },
        schema_overrides={
            "annotation_id": pl.Int32,
            "finish_reason": pl.String,
            "reason": pl.String,
            "context_behavior": pl.String,
        },
    )
    # Polars takes long to read nested Python lists; a repair's name holds no space.
    frame = frame.with_columns(pl.col("repairs").str.extract_all(r"\S+"))
    insert_frame(connection, "annotations", frame, order_by="annotation_id")


def _insert_errors(
    connection: duckdb.DuckDBPyConnection, ids: tuple[int, ...], annotations: list[Annotation]
) -> None:
    rows = [
        (annotation_id, index, error)
        for annotation_id, annotation in zip(ids, annotations, strict=True)
        for index, error in enumerate(annotation.errors)
    ]
    frame = pl.DataFrame(
        {
            "annotation_id": [annotation_id for annotation_id, _, _ in rows],
            "error_index": [index for _, index, _ in rows],
            "severity": [error.severity for _, _, error in rows],
            "error_class": [error.error_class for _, _, error in rows],
            "span": [_storable(error.span) for _, _, error in rows],
            "source_span": [_storable(error.source_span) for _, _, error in rows],
            "explanation": [_storable(error.explanation) for _, _, error in rows],
        },
        schema_overrides={
            "annotation_id": pl.Int32,
            "error_index": pl.Int32,
            "span": pl.String,
            "source_span": pl.String,
            "explanation": pl.String,
        },
    )
    insert_frame(connection, "annotation_errors", frame, order_by="annotation_id, error_index")


def _storable(text: str | None) -> str | None:
    """A text with U+FFFD for each half of a surrogate pair, which JSON can spell and no table can hold."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
