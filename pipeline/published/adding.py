"""Put a published run into a project, checked, and make its reports again from there."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from pipeline.canonical import sha256_file, write_json, write_text
from pipeline.errors import PublishedRunError
from pipeline.published.audit import audit_run, dataset_file
from pipeline.published.audit_model import Audit
from pipeline.published.audit_run_checks import files_below
from pipeline.published.audit_text import audit_document, audit_markdown
from pipeline.published.build import build_published
from pipeline.published.experiment import EXPERIMENTS, Experiment, read_experiment
from pipeline.tables.folders import whole_folder

PUBLISHED = Path("data/published")
AUDIT_JSON = "audit.json"
AUDIT_MARKDOWN = "audit.md"


def add_published(project: Path, source: Path, name: str, dataset: Path | None = None) -> list[str]:
    """Copy a run folder and its dataset file to ``data/published/<name>``, if every byte is as published.

    The folder appears whole or not at all.

    Returns:
        Files of ``source`` that were not published and so were left out.

    Raises:
        ConfigError: there is no such experiment.
        PublishedRunError: a file is missing or differs from the SHA-256 list of ``experiment.yaml``.
        StorageError: the folder cannot be written.
    """
    experiment = read_experiment(project, name)
    target = project / PUBLISHED / experiment.id
    if not source.is_dir():
        raise PublishedRunError.at(source, "no such folder; name a published run folder")
    if source.resolve() == target.resolve():
        raise PublishedRunError.at(source, "is where the run is put; name the folder it comes from")
    file = dataset_file(experiment, source, dataset)
    with whole_folder(target) as staging:
        copies = [(source / path, staging / path, digest) for path, digest in experiment.files.items()]
        copies.append((file, staging / "dataset" / experiment.dataset.file, experiment.dataset.sha256))
        for path, copy, digest in copies:
            _copy(path, copy, digest)
    return [path for path in files_below(source) if path not in experiment.files]


def _copy(path: Path, copy: Path, digest: str) -> None:
    if not path.is_file():
        raise PublishedRunError.at(
            path, "missing; experiment.yaml lists it as published: complete the folder"
        )
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, copy)
    # What was copied is what is hashed: the source may change in between.
    if (found := sha256_file(copy)) != digest:
        raise PublishedRunError.at(
            path, f"has SHA-256 {found}, was published as {digest}; take the published file"
        )


def regenerate(project: Path, name: str) -> Audit:
    """Make ``experiments/<name>/reports`` again from ``data/published/<name>``, and audit the run into it.

    Returns:
        The audit that was written; the reports are there even if it found something.

    Raises:
        ConfigError: there is no such experiment.
        PublishedRunError: the run is not there, or was published without raw answers.
        StorageError: the folder cannot be written.
    """
    experiment = read_experiment(project, name)
    source = project / PUBLISHED / experiment.id
    _check_ready(experiment, source)
    with tempfile.TemporaryDirectory(prefix="ctxeval-") as folder:
        built = Path(folder) / "out"
        file = dataset_file(experiment, source, None)
        build_published(source, file, built)
        audit = audit_run(project, source, experiment=name, rebuilt=built)
        with whole_folder(project / EXPERIMENTS / experiment.id / "reports") as staging:
            shutil.copytree(built / "reports", staging, dirs_exist_ok=True)
            write_audit(staging, audit)
    return audit


def _check_ready(experiment: Experiment, source: Path) -> None:
    if not experiment.raw_answers:
        raise PublishedRunError(
            f"{experiment.id} was published without raw judge answers: it keeps its claims, no reports can "
            "be made; audit its run folder with `published audit`"
        )
    if not source.is_dir():
        raise PublishedRunError.at(
            source,
            f"not there; run `python -m pipeline published add RUN_FOLDER --experiment {experiment.id}`",
        )


def write_audit(folder: Path, audit: Audit) -> None:
    """Write ``audit.json`` and ``audit.md`` into a folder."""
    write_json(folder / AUDIT_JSON, audit_document(audit))
    write_text(folder / AUDIT_MARKDOWN, audit_markdown(audit))
