"""Stage ``parse``: cells and answers into the run's tables."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl

from pipeline.answers import Answer, read_answers
from pipeline.canonical import sha256_file
from pipeline.config import Params, read_params, read_participants
from pipeline.dataset import Dataset, read_dataset
from pipeline.errors import InputError, one_line
from pipeline.layout import CELLS, PARAMS, PARTICIPANTS, REQUESTS, RESPONSES, TABLES
from pipeline.profiles import read_profile
from pipeline.prompts import read_prompt_set
from pipeline.tables.build import ParticipantRow, build, create_staging, insert_design
from pipeline.tables.database import connect, create_schema, export_tables, literal_path
from pipeline.tables.facts import RunFacts
from pipeline.tables.frames import insert_frame
from pipeline.tables.run_id import own_run_id

_STAGE_CELLS = "INSERT INTO staged_cells BY NAME SELECT * FROM read_parquet(?)"

_CELLS_PLACED = """
SELECT
    (SELECT count(DISTINCT (item_id, language, participant_id))
     FROM staged_cells JOIN items USING (item_id) JOIN languages USING (language)
     JOIN participants USING (participant_id)),
    (SELECT count(*) FROM staged_cells),
    (SELECT count(*) FROM items) * (SELECT count(*) FROM languages) * (SELECT count(*) FROM participants)
"""

_STAGE_ANSWERS = """
INSERT INTO staged_answers
SELECT item_id, language, participant_id, repeat, text, finish_reason
FROM staged_cells
JOIN answer_texts USING (request_hash)
"""

_STAGE_FAILURES = """
INSERT INTO staged_translation_failures
SELECT
    row_number() OVER (ORDER BY participant_index, item_index, language_index) - 1,
    item_id, language, participant_id, translation_failure
FROM staged_cells
JOIN items USING (item_id)
JOIN languages USING (language)
JOIN participants USING (participant_id)
WHERE translation_failure IS NOT NULL
"""

_UNANSWERED = """
SELECT count(DISTINCT request_hash)
FROM staged_cells
ANTI JOIN answer_texts USING (request_hash)
WHERE request_hash IS NOT NULL
"""


def run(root: Path) -> str:
    """Write ``data/tables`` below ``root``; returns the line to print.

    Raises:
        InputError: an input is missing or broken; nothing is written.
    """
    for path in (CELLS, RESPONSES):
        if not (root / path).is_file():
            raise InputError.at(path, "missing; run `dvc repro` so that render and judge come first")
    params = read_params(root / PARAMS)
    dataset = read_dataset(root / params.dataset)
    participants = read_participants(root / PARTICIPANTS, params.participants)
    with connect() as connection:
        create_schema(connection)
        insert_design(
            connection,
            dataset,
            params.languages,
            [ParticipantRow(key, p.display_name, p.provider, p.model) for key, p in participants.items()],
        )
        create_staging(connection)
        _stage_cells(connection, root / CELLS)
        _check_cells(connection)
        _stage_answers(connection, [answer for _, answer in read_answers(root / RESPONSES)])
        connection.execute(_STAGE_FAILURES)
        build(connection, _facts(root, params, dataset), translations_known=True)
        export_tables(connection, root / TABLES)
        counts = connection.execute(
            "SELECT count(*), count(*) FILTER (status = 'ok') FROM cells"
        ).fetchone() or (0, 0)
    return f"parse: {counts[1]} of {counts[0]} cells ok -> {TABLES}"


def _facts(root: Path, params: Params, dataset: Dataset) -> RunFacts:
    profile = read_profile(root, params.judge.profile)
    prompt_set = read_prompt_set(root / profile.prompt_set)
    run_id = own_run_id(
        dataset_fingerprint=dataset.fingerprint,
        judge_identity=profile.identity_hash(),
        prompt_set_sha256=prompt_set.sha256,
        languages=params.languages,
        participants=params.participants,
        repeats=params.judge.repeats,
        parser_mode=params.parser.mode,
        cells_sha256=sha256_file(root / CELLS),
        requests_sha256=sha256_file(root / REQUESTS),
        responses_sha256=sha256_file(root / RESPONSES),
    )
    return RunFacts(
        run_id=run_id,
        run_name=params.run_name,
        dataset_fingerprint=dataset.fingerprint,
        dataset_sha256=dataset.file_sha256,
        prompt_set_id=prompt_set.manifest.id,
        prompt_set_sha256=prompt_set.sha256,
        judge_profile=params.judge.profile,
        judge_description=profile.description,
        judge_backend=profile.backend,
        judge_model=profile.request.model,
        reasoning_effort=profile.request.reasoning_effort or "default",
        repeats=params.judge.repeats,
        parser_mode=params.parser.mode,
        annotation_form=prompt_set.manifest.form,
    )


def _stage_cells(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        connection.execute(_STAGE_CELLS, [literal_path(path)])
    except duckdb.Error as problem:
        raise InputError.at(
            CELLS, f"cannot be read ({one_line(str(problem))[:200]}); run `dvc repro --force render`"
        ) from problem


def _check_cells(connection: duckdb.DuckDBPyConnection) -> None:
    placed, staged, expected = connection.execute(_CELLS_PLACED).fetchone() or (0, 0, 0)
    if not placed == staged == expected:
        raise InputError.at(
            CELLS,
            f"holds {staged} cells, {placed} of this run's {expected}; run `dvc repro render`",
        )


def _stage_answers(connection: duckdb.DuckDBPyConnection, answers: list[Answer]) -> None:
    connection.execute(
        "CREATE TEMP TABLE answer_texts "
        "(request_hash VARCHAR, repeat INTEGER, text VARCHAR, finish_reason VARCHAR)"
    )
    texts = pl.DataFrame(
        [(a.request_hash, a.repeat, a.attempt.text or "", a.attempt.finish_reason) for a in answers],
        schema={
            "request_hash": pl.String,
            "repeat": pl.Int32,
            "text": pl.String,
            "finish_reason": pl.String,
        },
        orient="row",
    )
    insert_frame(connection, "answer_texts", texts, order_by="request_hash, repeat")
    rows = [
        (
            answer.request_hash,
            answer.repeat,
            index,
            index == answer.selected,
            number,
            attempt.backend,
            attempt.http_status,
            attempt.finish_reason,
            attempt.served_model,
            attempt.usage.prompt_tokens if attempt.usage else None,
            attempt.usage.completion_tokens if attempt.usage else None,
            attempt.usage.reasoning_tokens if attempt.usage else None,
            attempt.cost_nano_usd,
        )
        for answer in answers
        for index, (attempt, number) in enumerate(zip(answer.attempts, answer.rounds, strict=True))
    ]
    attempts = pl.DataFrame(
        rows,
        schema={
            "request_hash": pl.String,
            "repeat": pl.Int32,
            "attempt_index": pl.Int32,
            "selected": pl.Boolean,
            "round_number": pl.Int32,
            "backend": pl.String,
            "http_status": pl.Int32,
            "finish_reason": pl.String,
            "served_model": pl.String,
            "prompt_tokens": pl.Int64,
            "completion_tokens": pl.Int64,
            "reasoning_tokens": pl.Int64,
            "cost_nano_usd": pl.Int64,
        },
        orient="row",
    )
    insert_frame(connection, "staged_attempts", attempts, order_by="request_hash, repeat, attempt_index")
    unanswered = (connection.execute(_UNANSWERED).fetchone() or (0,))[0]
    if unanswered:
        raise InputError.at(RESPONSES, f"lacks the answers to {unanswered} requests; run `dvc repro judge`")
    connection.execute(_STAGE_ANSWERS)
