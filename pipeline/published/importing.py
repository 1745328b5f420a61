"""A published run into tables, by the one way all runs take."""

from __future__ import annotations

import duckdb

from pipeline.dataset import Dataset
from pipeline.lineage.signature import UNRECORDED
from pipeline.published.failures import stage_failures
from pipeline.published.lines import ANSWERS, TRANSLATED, stage_lines
from pipeline.published.source import TRANSLATION_FAILURES, PublishedRun
from pipeline.tables.build import ParticipantRow, build, create_staging, insert_design
from pipeline.tables.database import create_schema
from pipeline.tables.facts import RunFacts
from pipeline.tables.run_id import imported_run_id


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
    stage_lines(connection, run, ANSWERS)
    if run.has_translations:
        stage_lines(connection, run, TRANSLATED)
    if TRANSLATION_FAILURES in run.files:
        stage_failures(connection, run, dataset)
    build(connection, _facts(run, dataset), translations_known=run.has_translations)


def _facts(run: PublishedRun, dataset: Dataset) -> RunFacts:
    manifest = run.manifest
    return RunFacts(
        run_id=imported_run_id(dataset.fingerprint, run.files),
        run_name=manifest.run_id,
        dataset_fingerprint=dataset.fingerprint,
        dataset_sha256=dataset.file_sha256,
        prompt_set_id=manifest.prompt_set_id,
        prompt_set_sha256=None,
        judge_profile=None,
        judge_description="",
        judge_backend=manifest.judge_backend,
        judge_model=manifest.judge_model,
        reasoning_effort=UNRECORDED,
        repeats=1,
        parser_mode="strict",
        annotation_form="text",
    )
