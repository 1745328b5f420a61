"""Audit a run: every claim gets a verdict, and the run is checked for agreement with itself."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.canonical import sha256_file
from pipeline.errors import PublishedRunError
from pipeline.jsonl import read_json
from pipeline.published.audit_fingerprint import check_fingerprint
from pipeline.published.audit_model import Audit, Check, CheckResult, ClaimResult, not_applicable, outcome_of
from pipeline.published.audit_report_checks import check_reports
from pipeline.published.audit_run_checks import check_cells, check_configuration, check_files
from pipeline.published.build import build_published
from pipeline.published.check import Missing, check_published
from pipeline.published.claims.expressions import JudgeCost, Leaf, Reported, Unreported
from pipeline.published.claims.facts import Absent, Facts, Value
from pipeline.published.claims.model import CLAIMS, read_claims
from pipeline.published.claims.report_facts import ReportFacts
from pipeline.published.claims.table_facts import load_table_facts
from pipeline.published.claims.verdicts import judge_claim
from pipeline.published.experiment import EXPERIMENTS, Experiment, experiment_of, read_experiment
from pipeline.published.report_reading import read_reports
from pipeline.published.source import MANIFEST, NORMALISED, RAW_ANSWERS
from pipeline.scoring.schemes import SCHEMES
from pipeline.tables.database import connect, load_tables

SCHEME = "context-v1"


@dataclass(frozen=True)
class _NoTables:
    """A run without raw answers: nothing can be computed again, and each function says what it lacks."""

    by_reports: ReportFacts

    def names(self, field: str) -> tuple[str | int, ...]:
        return self.by_reports.names(field)

    def leaf(self, leaf: Leaf) -> Value:
        if isinstance(leaf, Reported | Unreported):
            return Absent(leaf.needs)
        if isinstance(leaf, JudgeCost):
            return Absent("costs, which were published as a sum only")
        return Absent("raw judge answers")


def audit_run(
    project: Path,
    source: Path,
    *,
    experiment: str | None = None,
    dataset: Path | None = None,
    rebuilt: Path | None = None,
) -> Audit:
    """Audit the run folder ``source`` with the claims of a project's experiment.

    Args:
        project: the folder that holds ``experiments/``.
        source: a published run folder.
        experiment: the experiment's id; found by the run id or the folder's name if it is not given.
        dataset: the dataset file; looked for in ``source/dataset`` and beside ``source`` if not given.
        rebuilt: an output of ``published build`` of this run; rebuilt in a temporary folder if not given.

    Raises:
        ConfigError: no experiment is known for it, or its files are broken.
        PublishedRunError, DatasetError: an input is missing or broken.
    """
    if not source.is_dir():
        raise PublishedRunError.at(source, "no such folder; name a published run folder")
    manifest = _manifest(source)
    run_id = manifest.get("runId") if manifest else None
    chosen = read_experiment(project, experiment) if experiment else experiment_of(project, source, run_id)
    claims = read_claims(
        project / EXPERIMENTS / chosen.id / CLAIMS, tuple(chosen.participants), tuple(chosen.languages)
    )
    figures = read_reports(source / "reports")
    reports = ReportFacts(figures, chosen.participants, chosen.languages, chosen.dataset.items)
    file = dataset_file(chosen, source, dataset)
    checks = [check_files(chosen, source), _check_dataset_file(chosen, file)]
    if manifest:
        checks.append(check_configuration(chosen, manifest))
        note = manifest.get("datasetFingerprintNote")
        recorded = manifest.get("datasetFingerprintSha256")
        checks.append(check_fingerprint(recorded, note if isinstance(note, str) else None, file))
    with contextlib.ExitStack() as stack:
        facts: Facts = _NoTables(reports)
        if (source / RAW_ANSWERS).is_file():
            checks += check_cells(chosen, source, figures)
            built = rebuilt or stack.enter_context(_rebuilt(source, file))
            checks.append(_check_values(source, built))
            connection = stack.enter_context(connect())
            load_tables(connection, built / "tables", views=False)
            facts = load_table_facts(connection, SCHEMES[SCHEME])
        checks += check_reports(chosen, figures)
        known = {finding.finding: finding.why for finding in chosen.known_findings}
        results = tuple(
            ClaimResult(
                claim,
                judge_claim(claim, facts, claims.rounding),
                judge_claim(claim, reports, claims.rounding),
                known.get(claim.id),
            )
            for claim in claims.claims
        )
    check_results = tuple(CheckResult(check, known.get(check.id)) for check in checks)
    failing = {r.claim.id for r in results if r.fails} | {r.check.id for r in check_results if r.fails}
    unfounded = tuple(name for name in known if name not in failing)
    return Audit(chosen, run_id, claims, results, check_results, unfounded)


def dataset_file(experiment: Experiment, source: Path, given: Path | None) -> Path:
    """The experiment's dataset file: the one given, in ``source/dataset``, or in ``dataset`` beside it.

    Raises:
        PublishedRunError: it is in neither place; the message names both.
    """
    name = experiment.dataset.file
    places = [given] if given else [source / "dataset" / name, source.resolve().parent / "dataset" / name]
    for place in places:
        if place.is_file():
            return place
    raise PublishedRunError.at(places[0], f"no dataset file (nor at {places[-1]}); name it with --dataset")


def _manifest(source: Path) -> dict[str, Any] | None:
    path = source / MANIFEST
    if not path.is_file():
        return None
    document = read_json(path, PublishedRunError)
    participants = document.get("participants") if isinstance(document, dict) else None
    if not isinstance(participants, list) or not all(isinstance(entry, dict) for entry in participants):
        raise PublishedRunError.at(path, "no manifest of a published run: it lists no participants")
    return dict(document)


@contextlib.contextmanager
def _rebuilt(source: Path, dataset: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ctxeval-") as folder:
        out = Path(folder) / "out"
        build_published(source, dataset, out, SCHEME)
        yield out


def _check_dataset_file(experiment: Experiment, dataset: Path) -> Check:
    digest = sha256_file(dataset)
    expected = experiment.dataset.sha256
    problems = [] if digest == expected else [f"published {expected}, here {digest}"]
    return outcome_of("dataset-file", "the dataset file is the published one", problems, digest)


def _check_values(source: Path, rebuilt: Path) -> Check:
    """Every value of the run's reports and normalised records, as ``published check`` compares them."""
    id, about = "values", "every published value comes out of the raw answers, to the last bit"
    if not (source / NORMALISED).is_file() and not any((source / "reports").glob("*.json")):
        return not_applicable(id, about, "the run published neither JSON reports nor normalised records")
    checks = check_published(source, rebuilt)
    problems = [
        f"{check.name}{difference.pointer}: published {_shown(difference.published)}, "
        f"rebuilt {_shown(difference.regenerated)}"
        for check in checks
        for difference in check.differences
    ]
    agree = sum(check.agree for check in checks)
    lost = sum(check.not_recomputable.total() for check in checks)
    return outcome_of(id, about, problems, f"{agree:,} values agree, {lost:,} are not recomputable")


def _shown(value: object) -> str:
    """A number as it is; of a text only that it is one, since it may be data of the run."""
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    if isinstance(value, dict | list):
        return f"a {type(value).__name__} of {len(value)}"
    return repr(value) if not isinstance(value, Missing) else "missing"
