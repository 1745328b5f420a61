"""Audit a run: every claim gets a verdict, and the run is checked for agreement with itself."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.canonical import sha256_file
from pipeline.errors import ManifestError, PublishedRunError
from pipeline.jsonl import read_json
from pipeline.layout import MANIFEST as OWN_MANIFEST
from pipeline.lineage.places import place_of
from pipeline.published.audit_fingerprint import check_fingerprint
from pipeline.published.audit_model import (
    Audit,
    Check,
    CheckResult,
    ClaimResult,
    Outcome,
    not_applicable,
    outcome_of,
)
from pipeline.published.audit_report_checks import check_reports
from pipeline.published.audit_run_checks import check_cells, check_configuration, check_files
from pipeline.published.build import build_published
from pipeline.published.check import Missing, check_published
from pipeline.published.claims.expressions import JudgeCost, Leaf, Reported, Unreported
from pipeline.published.claims.facts import Absent, Facts, Value
from pipeline.published.claims.model import CLAIMS, Claim, Claims, read_claims
from pipeline.published.claims.report_facts import ReportFacts
from pipeline.published.claims.table_facts import TableFacts, load_table_facts
from pipeline.published.claims.verdicts import Finding, judge_claim
from pipeline.published.experiment import EXPERIMENTS, Experiment, experiment_of, read_experiment
from pipeline.published.report_model import ReportFigures
from pipeline.published.report_reading import read_reports
from pipeline.published.source import MANIFEST, NORMALISED, RAW_ANSWERS
from pipeline.scoring.schemes import scheme_named
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


@dataclass(frozen=True)
class _Opened:
    """What an audit computes from: ``facts`` is None where there are no tables."""

    facts: Facts | None
    figures: ReportFigures
    checks: list[Check]


def audit_run(
    project: Path,
    source: Path,
    *,
    experiment: str | None = None,
    dataset: Path | None = None,
    rebuilt: Path | None = None,
) -> Audit:
    """Audit the run in ``source`` with the claims of a project's experiment.

    Args:
        project: the folder that holds ``experiments/``.
        source: a published run folder, or a project where ``dvc repro`` ran, whose tables are used as
            they are.
        experiment: the experiment's id; found by the run id or the folder's name if it is not given.
        dataset: the dataset file; looked for in ``source/dataset`` and beside ``source`` if not given.
        rebuilt: an output of ``published build`` of this run; rebuilt in a temporary folder if not given.

    Raises:
        ConfigError: no experiment is known for it, or its files are broken.
        PublishedRunError, DatasetError, TablesError: an input is missing or broken.
    """
    if not source.is_dir():
        raise PublishedRunError.at(source, "no such folder; name a published run folder")
    own = (source / OWN_MANIFEST).is_file()
    manifest = _own_manifest(source) if own else _published_manifest(source)
    run_id = manifest.get("run_name" if own else "runId") if manifest else None
    chosen = read_experiment(project, experiment) if experiment else experiment_of(project, source, run_id)
    path = project / EXPERIMENTS / chosen.id / CLAIMS
    claims = read_claims(path, chosen.id, chosen.participants, chosen.languages)
    if own:
        opened = _open_own(chosen, source, manifest or {})
    else:
        opened = _open_published(chosen, source, manifest, dataset_file(chosen, source, dataset), rebuilt)
    reports = ReportFacts(opened.figures, chosen.participants, chosen.languages, chosen.dataset.items)
    facts = opened.facts or _NoTables(reports)
    return _put_together(
        chosen,
        run_id,
        claims,
        [
            (claim, judge_claim(claim, facts, claims.rounding), judge_claim(claim, reports, claims.rounding))
            for claim in claims.claims
        ],
        opened.checks,
    )


def _put_together(
    experiment: Experiment,
    run_id: str | None,
    claims: Claims,
    verdicts: list[tuple[Claim, Finding, Finding]],
    checks: list[Check],
) -> Audit:
    """Give each failure the reason on record, where exactly what is on record was found."""
    on_record = {(known.finding, known.found): known.why for known in experiment.known_findings}
    claim_results = []
    for claim, finding, by_reports in verdicts:
        result = ClaimResult(claim, finding, by_reports, known=None)
        why = on_record.pop((claim.id, result.found), None) if result.fails else None
        claim_results.append(replace(result, known=why))
    check_results = tuple(
        CheckResult(
            check,
            on_record.pop((check.id, check.found), None) if check.outcome is Outcome.FAILED else None,
        )
        for check in checks
    )
    unfounded = tuple(f"{finding} (on record: {found})" for finding, found in on_record)
    return Audit(experiment, run_id, claims, tuple(claim_results), check_results, unfounded)


def _open_published(
    experiment: Experiment,
    source: Path,
    manifest: dict[str, Any] | None,
    dataset: Path,
    rebuilt: Path | None,
) -> _Opened:
    """A published run folder: rebuilt from its raw answers if it has any."""
    figures = read_reports(source / "reports")
    for path in sorted(source.glob("*.json")):
        figures.documents.setdefault(path.name, read_json(path, PublishedRunError))
    checks = [
        check_files(experiment, source),
        _check_dataset(experiment, sha256_file(dataset)),
    ]
    if manifest is not None:
        checks.append(check_configuration(experiment, manifest))
        note, recorded = (
            value if isinstance(value := manifest.get(key), str) else None
            for key in ("datasetFingerprintNote", "datasetFingerprintSha256")
        )
        checks.append(check_fingerprint(recorded, note, dataset))
    facts: Facts | None = None
    if (source / RAW_ANSWERS).is_file():
        checks += check_cells(experiment, source, figures)
        with contextlib.ExitStack() as stack:
            built = rebuilt or stack.enter_context(_rebuilt(source, dataset))
            checks.append(_check_values(source, built))
            facts = _table_facts(built / "tables", SCHEME)
    return _Opened(facts, figures, checks + check_reports(experiment, figures))


def _open_own(experiment: Experiment, source: Path, manifest: dict[str, Any]) -> _Opened:
    """A project's own run: its tables and reports as they are."""
    place = place_of(source)
    if place.published:
        raise PublishedRunError.at(
            source, "is an output of `published build`; audit the run folder it was made from"
        )
    scheme, repeats = _scheme_and_repeats(manifest)
    figures = read_reports(place.scores)
    with connect() as connection:
        load_tables(connection, place.tables, views=False)
        facts = load_table_facts(connection, scheme_named(scheme))
        digest = connection.execute("SELECT dataset_sha256 FROM run").fetchone()
    checks = [_check_dataset(experiment, str(digest[0]) if digest else "unknown")]
    checks += check_reports(experiment, figures, plain=scheme == SCHEME and repeats == 1)
    return _Opened(facts, figures, checks)


def _scheme_and_repeats(manifest: dict[str, Any]) -> tuple[str, int]:
    try:
        parameters = manifest["parameters"]
        scheme, repeats = parameters["scoring"]["scheme"], parameters["judge"]["repeats"]
    except (KeyError, TypeError):
        scheme = repeats = None
    if not isinstance(scheme, str) or not isinstance(repeats, int):
        raise ManifestError.at(OWN_MANIFEST, "names no scoring scheme or repeats; run `dvc repro` again")
    return scheme, repeats


def _table_facts(tables: Path, scheme: str) -> TableFacts:
    with connect() as connection:
        load_tables(connection, tables, views=False)
        return load_table_facts(connection, scheme_named(scheme))


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


def _published_manifest(source: Path) -> dict[str, Any] | None:
    path = source / MANIFEST
    if not path.is_file():
        return None
    document = read_json(path, PublishedRunError)
    participants = document.get("participants") if isinstance(document, dict) else None
    if not isinstance(participants, list) or not all(isinstance(entry, dict) for entry in participants):
        raise PublishedRunError.at(path, "no manifest of a published run: it lists no participants")
    return dict(document)


def _own_manifest(source: Path) -> dict[str, Any]:
    path = source / OWN_MANIFEST
    document = read_json(path, ManifestError)
    if not isinstance(document, dict):
        raise ManifestError.at(path, "no manifest; run `dvc repro` again")
    return dict(document)


@contextlib.contextmanager
def _rebuilt(source: Path, dataset: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ctxeval-") as folder:
        out = Path(folder) / "out"
        build_published(source, dataset, out, SCHEME)
        yield out


def _check_dataset(experiment: Experiment, digest: str) -> Check:
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
