"""Recorded failures to translate into the staging tables."""

from __future__ import annotations

import duckdb
import polars as pl
from pydantic import BaseModel, ConfigDict

from pipeline.dataset import Dataset
from pipeline.errors import PublishedRunError
from pipeline.jsonl import read_json_lines
from pipeline.lineage.signature import UNRECORDED
from pipeline.published.source import TRANSLATION_FAILURES, PublishedRun
from pipeline.tables.frames import insert_frame
from pipeline.validation import validate

# A failure line whose cell has a translation after all is history only.
_STAGE_FAILED_CELLS = """
INSERT INTO staged_cells
SELECT item_id, language, participant_id, NULL, arg_max(reason, failure_index), NULL
FROM staged_translation_failures
ANTI JOIN staged_cells USING (item_id, language, participant_id)
GROUP BY item_id, language, participant_id
"""


class _FailureLine(BaseModel):
    """What is read of a line of ``translation-failures.jsonl``; its participant is the key's."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    stable_key: str
    error_class: str | None = None
    last_error_summary: str | None = None


def stage_failures(connection: duckdb.DuckDBPyConnection, run: PublishedRun, dataset: Dataset) -> None:
    """Read every failure line, in file order; a cell without a translation takes its last reason.

    Raises:
        PublishedRunError: names the line that is broken or names what is not there.
    """
    path, manifest = run.path(TRANSLATION_FAILURES), run.manifest
    known = (
        ("item", {item.sample_id for item in dataset.items}),
        ("language", set(manifest.languages)),
        ("participant", {participant.participant_id for participant in manifest.participants}),
    )
    rows = []
    for number, value in read_json_lines(path, PublishedRunError):
        row = validate(_FailureLine, value, path, PublishedRunError, line=number)
        run_id, *names = row.stable_key.split("::")
        problem = None
        if run_id != manifest.run_id or len(names) != len(known):
            problem = "must be run::item::language::participant of the manifest's run"
        else:
            for name, (kind, allowed) in zip(names, known, strict=True):
                if name not in allowed:
                    problem = (
                        f"names the {kind} {name!r}, which the run does not have; mend or remove the line"
                    )
                    break
        if problem:
            raise PublishedRunError.at(path, problem, line=number, field="stable_key")
        reason = ": ".join(filter(None, (row.error_class, row.last_error_summary)))
        rows.append((number - 1, *names, reason or UNRECORDED))
    frame = pl.DataFrame(
        rows,
        schema={
            "failure_index": pl.Int32,
            "item_id": pl.String,
            "language": pl.String,
            "participant_id": pl.String,
            "reason": pl.String,
        },
        orient="row",
    )
    insert_frame(connection, "staged_translation_failures", frame, order_by="failure_index")
    connection.execute(_STAGE_FAILED_CELLS)
