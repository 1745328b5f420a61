"""Published files into the staging tables, checked set-wise before anything is built on them."""

from __future__ import annotations

from pathlib import Path

import duckdb

from pipeline.canonical import canonical_hash
from pipeline.dataset import Dataset
from pipeline.errors import PublishedRunError, one_line
from pipeline.jsonl import read_json_lines
from pipeline.lineage.signature import UNRECORDED
from pipeline.published.source import RAW_ANSWERS, TRANSLATION_FAILURES, TRANSLATIONS, PublishedRun
from pipeline.tables.build import (
    ParticipantRow,
    RunFacts,
    build,
    create_staging,
    insert_design,
)
from pipeline.tables.database import create_schema

_READ_ANSWERS = """
CREATE TEMP TABLE published_lines AS
SELECT
    stable_key, source_id, target_language, raw_judge_output AS text,
    split_part(stable_key, '::', 1) AS run_id, split_part(stable_key, '::', 2) AS item_id,
    split_part(stable_key, '::', 3) AS language, split_part(stable_key, '::', 4) AS participant_id
FROM read_json(
    $path, format = 'newline_delimited', columns = {
        stable_key: 'VARCHAR', source_id: 'VARCHAR', target_language: 'VARCHAR', raw_judge_output: 'VARCHAR'})
"""

_READ_TRANSLATIONS = """
CREATE TEMP TABLE published_lines AS
SELECT
    stable_key, source_id, target_language, translation AS text,
    split_part(stable_key, '::', 1) AS run_id, split_part(stable_key, '::', 2) AS item_id,
    split_part(stable_key, '::', 3) AS language, split_part(stable_key, '::', 4) AS participant_id
FROM read_json(
    $path, format = 'newline_delimited', columns = {
        stable_key: 'VARCHAR', source_id: 'VARCHAR', target_language: 'VARCHAR', translation: 'VARCHAR'})
"""

# The first broken line by stable key, with what is wrong; no row where all is well.
_FIRST_PROBLEM = """
SELECT stable_key, problem
FROM (
    SELECT
        stable_key,
        CASE
            WHEN stable_key IS NULL THEN 'a line has no stable_key; each line needs one'
            WHEN stable_key <> concat_ws('::', run_id, item_id, language, participant_id)
                THEN 'is not run::item::language::participant'
            WHEN run_id <> $run_id THEN 'names another run than the manifest'
            WHEN item_index IS NULL THEN 'names an item that the dataset does not hold'
            WHEN language_index IS NULL THEN 'names a language that the manifest does not list'
            WHEN participant_index IS NULL THEN 'names a participant that the manifest does not list'
            WHEN source_id <> item_id OR target_language <> language
                THEN 'disagrees with the source_id or target_language beside it'
            WHEN text IS NULL THEN 'has no text'
        END AS problem
    FROM published_lines
    LEFT JOIN items USING (item_id)
    LEFT JOIN languages USING (language)
    LEFT JOIN participants USING (participant_id)
)
WHERE problem IS NOT NULL
ORDER BY stable_key NULLS FIRST
LIMIT 1
"""

_FIRST_DUPLICATE = """
SELECT item_id, language, participant_id
FROM published_lines
GROUP BY item_id, language, participant_id
HAVING count(*) > 1
ORDER BY ALL
LIMIT 1
"""

_STAGE_ANSWERS = """
INSERT INTO staged_answers
SELECT item_id, language, participant_id, 0, text, NULL FROM published_lines;
DROP TABLE published_lines
"""

_STAGE_TRANSLATIONS = """
INSERT INTO staged_cells
SELECT item_id, language, participant_id, text, NULL, NULL FROM published_lines;
DROP TABLE published_lines
"""

# A failure line whose cell has a translation after all is history only.
_STAGE_FAILED_CELLS = """
INSERT INTO staged_cells
SELECT item_id, language, participant_id, NULL, arg_max(reason, failure_index), NULL
FROM staged_translation_failures
ANTI JOIN staged_cells USING (item_id, language, participant_id)
GROUP BY item_id, language, participant_id
"""


def import_run(connection: duckdb.DuckDBPyConnection, run: PublishedRun, dataset: Dataset) -> None:
    """Build the tables of a published run in an empty connection.

    Raises:
        PublishedRunError: a line is broken, stands twice, or names what is not there.
    """
    manifest = run.manifest
    create_schema(connection)
    insert_design(
        connection,
        dataset,
        manifest.languages,
        [
            ParticipantRow(p.participant_id, p.display_name, p.provider, p.model)
            for p in manifest.participants
        ],
    )
    create_staging(connection)
    _stage(connection, run, RAW_ANSWERS, _READ_ANSWERS, _STAGE_ANSWERS)
    if run.has_translations:
        _stage(connection, run, TRANSLATIONS, _READ_TRANSLATIONS, _STAGE_TRANSLATIONS)
    if TRANSLATION_FAILURES in run.files:
        _stage_failures(connection, run.path(TRANSLATION_FAILURES), manifest.run_id)
        connection.execute(_STAGE_FAILED_CELLS)
    build(connection, _facts(run, dataset), translations_known=run.has_translations)


def _facts(run: PublishedRun, dataset: Dataset) -> RunFacts:
    manifest = run.manifest
    return RunFacts(
        run_id=canonical_hash({"dataset": dataset.fingerprint, "files": run.files}),
        run_name=manifest.run_id,
        dataset_fingerprint=dataset.fingerprint,
        dataset_sha256=dataset.file_sha256,
        prompt_set_id=manifest.prompt_set_id,
        prompt_set_sha256=None,
        judge_profile=None,
        judge_backend=manifest.judge_backend,
        judge_model=manifest.judge_model,
        reasoning_effort=UNRECORDED,
        repeats=1,
        parser_mode="strict",
        annotation_form="text",
    )


def _stage(
    connection: duckdb.DuckDBPyConnection, run: PublishedRun, name: str, read: str, stage: str
) -> None:
    path = run.path(name)
    try:
        connection.execute(read, {"path": str(path)})
    except duckdb.Error as problem:
        detail = one_line(str(problem))[:300]
        raise PublishedRunError.at(path, f"not JSON lines of the published form: {detail}") from problem
    found = connection.execute(_FIRST_PROBLEM, {"run_id": run.manifest.run_id}).fetchone()
    if found:
        key, problem_text = found
        raise PublishedRunError.at(
            path, f"{problem_text}; mend or remove the line", field=key or "stable_key"
        )
    connection.execute(stage)


_KNOWN_CELL = """
SELECT
    (SELECT count(*) FROM items WHERE item_id = ?),
    (SELECT count(*) FROM languages WHERE language = ?),
    (SELECT count(*) FROM participants WHERE participant_id = ?)
"""


def _stage_failures(connection: duckdb.DuckDBPyConnection, path: Path, run_id: str) -> None:
    rows = []
    for line, row in read_json_lines(path, PublishedRunError):
        key = row.get("stable_key")
        parts = key.split("::") if isinstance(key, str) else []
        if len(parts) != 4 or parts[0] != run_id:
            raise PublishedRunError.at(
                path,
                "must be run::item::language::participant of the manifest's run",
                line=line,
                field="stable_key",
            )
        if connection.execute(_KNOWN_CELL, parts[1:]).fetchone() != (1, 1, 1):
            raise PublishedRunError.at(
                path,
                "names an item, language or participant that is not in the run",
                line=line,
                field="stable_key",
            )
        reason = ": ".join(
            str(row[name]) for name in ("error_class", "last_error_summary") if row.get(name) is not None
        )
        rows.append((line - 1, *parts[1:], reason or "unrecorded"))
    if rows:
        connection.executemany("INSERT INTO staged_translation_failures VALUES (?, ?, ?, ?, ?)", rows)
