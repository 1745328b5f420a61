"""Rebuild a published run: tables, score reports, leaderboard, manifest."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipeline.canonical import write_json, write_text
from pipeline.dataset import read_dataset
from pipeline.errors import PublishedRunError
from pipeline.jsonl import read_json
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

_SOURCE = "source"
_OUTPUTS = ("tables", "reports")
_MANIFEST = "reports/manifest.json"


def build_published(source: Path, dataset_path: Path, out: Path, scheme: str = "context-v1") -> Scores:
    """Write ``out/source``, ``out/tables`` and ``out/reports`` from a published run; whole or not at all.

    ``source`` keeps the very bytes the run was rebuilt from: ``out`` can be traced and verified alone.

    Returns:
        The scores that were written.

    Raises:
        PublishedRunError, DatasetError: an input is broken, or ``out`` is the source or holds other
            things than an earlier rebuild; ``out`` is as it was.
        ConfigError: there is no such scheme.
        StorageError: ``out`` cannot be written.
    """
    _check_place(source, out)
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
            _keep_source(staging / _SOURCE, run, dataset_path)
            _write_manifest(staging, scores)
            replace_folders(staging, out, (_SOURCE, *_OUTPUTS))
    return scores


def _check_place(source: Path, out: Path) -> None:
    """Refuse to replace folders that an earlier rebuild did not write, every file of them."""
    if out.resolve() == source.resolve():
        raise PublishedRunError.at(out, "is the published run itself; name another folder")
    there = {
        file.relative_to(out).as_posix()
        for name in (_SOURCE, *_OUTPUTS)
        for file in (out / name).rglob("*")
        if not file.is_dir() or file.is_symlink()
    }
    if not there:
        return
    known = {_MANIFEST}
    if (out / _MANIFEST).is_file():
        manifest = read_json(out / _MANIFEST, PublishedRunError)
        listed = manifest if isinstance(manifest, dict) else {}
        entries = [entry for part in ("inputs", "outputs") for entry in listed.get(part) or ()]
        known |= {str(entry.get("path")) for entry in entries if isinstance(entry, dict)}
    foreign = sorted(there - known)
    if foreign or "tables/run.parquet" not in known:
        raise PublishedRunError.at(
            out,
            f"holds {(foreign or sorted(there))[0]}, which no rebuild wrote; name another folder",
        )


def _keep_source(kept: Path, run: PublishedRun, dataset_path: Path) -> None:
    files = [run.path(name) for name in run.files]
    for part, paths in (("run", files), ("dataset", [dataset_path])):
        (kept / part).mkdir(parents=True)
        for path in paths:
            shutil.copyfile(path, kept / part / path.name)


def _write_manifest(staging: Path, scores: Scores) -> None:
    document = manifest_document(
        signature=signature_of(scores),
        run_name=scores.run.run_name,
        inputs=file_entries(staging, [_SOURCE]),
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
    write_json(staging / _MANIFEST, document)
