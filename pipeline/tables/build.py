"""Fill a run's tables from staged inputs. The one way, for own and for imported runs.

A caller creates the schema, inserts languages, participants and dataset, fills the staging
tables of ``create_staging``, and calls ``build``. Everything is set-wise; the only Python loops
read distinct answer texts and locate distinct spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import duckdb
import polars as pl

from pipeline.dataset import Dataset
from pipeline.errors import PipelineError
from pipeline.tables.annotate import insert_annotations
from pipeline.tables.database import sql_file
from pipeline.tables.facts import RunFacts
from pipeline.tables.frames import insert_frame
from pipeline.tables.locate import insert_spans


@dataclass(frozen=True)
class ParticipantRow:
    """One row of table ``participants`` without its index."""

    participant_id: str
    display_name: str
    provider: str
    model: str


def insert_design(
    connection: duckdb.DuckDBPyConnection,
    dataset: Dataset,
    languages: Sequence[str],
    participants: Iterable[ParticipantRow],
) -> None:
    """Insert what was planned: languages, participants, items and their turns, in given order."""
    connection.executemany("INSERT INTO languages VALUES (?, ?)", list(enumerate(languages)))
    connection.executemany(
        "INSERT INTO participants VALUES (?, ?, ?, ?, ?)",
        [
            (index, row.participant_id, row.display_name, row.provider, row.model)
            for index, row in enumerate(participants)
        ],
    )
    items = dataset.items
    frame = pl.DataFrame(
        {
            "item_index": range(len(items)),
            "item_id": [item.sample_id for item in items],
            "context_turn_count": [item.context_turn_count for item in items],
            "speaker_mode": [item.speaker_mode for item in items],
            "context_expectation": [item.context_expectation for item in items],
            "primary_phenomenon": [item.primary_phenomenon for item in items],
            "secondary_phenomena": [item.secondary_phenomena for item in items],
            "source_text": [item.current_source.source_text for item in items],
        },
        schema_overrides={"secondary_phenomena": pl.List(pl.String)},
    )
    insert_frame(connection, "items", frame, order_by="item_index")
    turns = [
        (index, number, turn.speaker_role, turn.relative_time_label, turn.source_text)
        for index, item in enumerate(items)
        for number, turn in enumerate(item.context_turns)
    ]
    frame = pl.DataFrame(
        turns,
        schema={
            "item_index": pl.Int32,
            "turn_index": pl.Int32,
            "speaker_role": pl.String,
            "relative_time_label": pl.String,
            "source_text": pl.String,
        },
        orient="row",
    )
    insert_frame(connection, "turns", frame, order_by="item_index, turn_index")


def create_staging(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the temporary staging tables of ``staging.sql``, to be filled by the caller."""
    connection.execute(sql_file("staging.sql"))


def build(connection: duckdb.DuckDBPyConnection, facts: RunFacts, *, translations_known: bool) -> None:
    """Turn staged inputs into the run's tables.

    Args:
        connection: schema, design and staging tables are there.
        facts: the row of table ``run``.
        translations_known: whether the run kept its translations. Where it did not, an expected
            cell with neither an answer nor a translation failure was translated but its judge
            answer was lost: ``judge_failed`` of type ``unrecorded``.

    Raises:
        PipelineError: a cell has another number of answers than ``facts.repeats``.
    """
    _check_repeats(connection, facts.repeats)
    connection.execute(_INSERT_RUN, asdict(facts))
    insert_annotations(connection, facts.annotation_form, facts.parser_mode)
    connection.execute(
        sql_file("build_cells.sql"),
        {"repeats": facts.repeats, "translations_known": translations_known},
    )
    connection.execute(sql_file("build_judgments.sql"))
    insert_spans(connection)
    connection.execute(sql_file("build_rest.sql"))


_INSERT_RUN = """
INSERT INTO run
SELECT
    1, $run_id, $run_name, $dataset_fingerprint, $dataset_sha256, $prompt_set_id, $prompt_set_sha256,
    $judge_profile, $judge_description, $judge_backend, $judge_model, $reasoning_effort, $repeats,
    $parser_mode, $annotation_form
"""

_WRONG_REPEATS = """
SELECT item_id, language, participant_id, count(*) AS answers
FROM staged_answers
GROUP BY item_id, language, participant_id
HAVING count(*) <> $repeats OR min(repeat) <> 0 OR max(repeat) <> $repeats - 1
ORDER BY ALL
LIMIT 1
"""


def _check_repeats(connection: duckdb.DuckDBPyConnection, repeats: int) -> None:
    found = connection.execute(_WRONG_REPEATS, {"repeats": repeats}).fetchone()
    if found:
        item, language, participant, count = found
        raise PipelineError(
            f"cell {item} {language} {participant} has {count} answers where {repeats} belong; "
            "run `dvc repro judge`, or mend the published run so that each stands once"
        )
