"""Rebuild a published run: tables, score reports, leaderboard, manifest."""

from __future__ import annotations

from pathlib import Path

from pipeline.canonical import write_json, write_text
from pipeline.dataset import read_dataset
from pipeline.lineage.manifest import file_entries, manifest_document
from pipeline.lineage.run_signature import counts_of, signature_of
from pipeline.published.importing import import_run
from pipeline.published.source import PublishedRun, open_run
from pipeline.reporting.markdown import leaderboard_markdown
from pipeline.reporting.reports import score_reports
from pipeline.reporting.table import write_reports
from pipeline.scoring.schemes import scheme_named
from pipeline.scoring.scores import Scores, score_run
from pipeline.tables.database import connect, export_tables
from pipeline.tables.folders import folder_beside, replace_folders

_OUTPUTS = ("tables", "reports")


def build_published(source: Path, dataset_path: Path, out: Path, scheme: str = "context-v1") -> Scores:
    """Write ``out/tables`` and ``out/reports`` from a published run folder; both whole or not at all.

    Returns:
        The scores that were written.

    Raises:
        PublishedRunError, DatasetError: an input is broken; ``out`` is as it was.
        ConfigError: there is no such scheme.
        StorageError: ``out`` cannot be written.
    """
    run = open_run(source)
    chosen = scheme_named(scheme)
    dataset = read_dataset(dataset_path)
    with connect() as connection:
        import_run(connection, run, dataset)
        scores = score_run(connection, chosen)
        # Nothing is written before all inputs are known to be good.
        with folder_beside(out / "tables") as staging:
            export_tables(connection, staging / "tables")
            write_reports(staging / "reports" / "scores", score_reports(scores))
            write_text(staging / "reports" / "leaderboard.md", leaderboard_markdown(scores))
            _write_manifest(staging, run, dataset_path, scores)
            replace_folders(staging, out, _OUTPUTS)
    return scores


def _write_manifest(staging: Path, run: PublishedRun, dataset_path: Path, scores: Scores) -> None:
    inputs = file_entries(run.folder, run.files) + file_entries(dataset_path.parent, [dataset_path.name])
    document = manifest_document(
        signature=signature_of(scores),
        run_name=scores.run.run_name,
        inputs=inputs,
        outputs=file_entries(staging, _OUTPUTS),
        parameters={
            "languages": list(scores.languages),
            "participants": [participant.participant_id for participant in scores.participants],
            "parser_mode": scores.run.parser_mode,
            "scoring_scheme": scores.scheme,
        },
        profile=None,
        requirements_lock_sha256=None,
        counts=counts_of(scores),
    )
    write_json(staging / "reports" / "manifest.json", document)
