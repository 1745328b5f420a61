"""All checks of a run, in one order: bytes, then what they say, then every number, then who it is."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.errors import ManifestError, PipelineError
from pipeline.jsonl import decode, read_bytes
from pipeline.layout import LEADERBOARD, METRICS, SCORES
from pipeline.lineage.places import RunPlace
from pipeline.lineage.sealed import OUTPUTS, inputs
from pipeline.lineage.signature import METRIC, PARTS
from pipeline.lineage.verify.answers import check_answers, check_recorded, read_responses
from pipeline.lineage.verify.checks import HASHES, Check, Findings, counted, failed, skipped
from pipeline.lineage.verify.dvc_lock import check_lock
from pipeline.lineage.verify.files import Files
from pipeline.lineage.verify.made import Made, make_imported, make_project
from pipeline.lineage.verify.manifest import Manifest, check_facts, check_files, read_manifest
from pipeline.lineage.verify.recount.compare import check_documents, check_flat_tables, check_metrics
from pipeline.lineage.verify.recount.leaderboard import Printed, compare_leaderboard
from pipeline.lineage.verify.recount.reports import expected_metrics, expected_reports
from pipeline.lineage.verify.rendered import read_sources, render_again
from pipeline.lineage.verify.requests import check_requests
from pipeline.lineage.verify.signature import check_expected, check_expected_form, check_signature
from pipeline.lineage.verify.tables import check_tables

_UNREAD = "what the run was made from cannot be read; see the failure above"
_NUMBERS = (
    "tables",
    "score reports",
    "score tables",
    "metrics",
    "leaderboard",
    "manifest: facts",
    "signature",
)


def verify_place(place: RunPlace, *, expect: str | None = None) -> list[Check]:
    """Carry out every check on a run; none of them changes anything.

    ``expect`` is a run id, at least its first 8 digits, or a whole signature line: what somebody quoted.

    Raises:
        ManifestError: there is no manifest that can be read.
        SignatureError: ``expect`` is none of these.
    """
    if expect is not None:
        check_expected_form(expect)
    manifest = read_manifest(place.root)
    look = _look_at_output_folder if place.published else _look_at_project
    checks, made = look(place, manifest)
    if made is None:
        checks += [skipped(name, _UNREAD) for name in _NUMBERS]
    else:
        checks += _numbers(place, manifest, made)
    if expect is not None:
        unread = failed("expected run", _UNREAD)
        checks.append(unread if made is None else check_expected(expect, made.signature))
    return checks


def _look_at_project(place: RunPlace, manifest: Manifest) -> tuple[list[Check], Made | None]:
    """Everything before the numbers, and the run as its inputs make it (None: they cannot be read)."""
    root, files = place.root, Files(place.root)
    sealed = [path.as_posix() for path in inputs()], [path.as_posix() for path in OUTPUTS]
    checks = [_guarded(HASHES[0], lambda: check_files(manifest, files, *sealed))]
    try:
        checks += check_lock(files)
    except PipelineError as problem:
        checks.append(failed(HASHES[1], str(problem)))
    try:
        sources = read_sources(root)
        rendered = render_again(sources)
    except PipelineError as problem:
        return [*checks, failed("inputs", str(problem))], None
    checks.append(_guarded("requests", lambda: check_requests(root, sources, rendered)))
    try:
        placed = read_responses(root)
    except PipelineError as problem:
        return [*checks, failed("answers", str(problem))], None
    checks.append(_guarded("answers", lambda: check_answers(root, sources, rendered, placed)))
    checks.append(_guarded("recorded answers", lambda: check_recorded(root, placed)))
    try:
        made = make_project(root, sources, rendered, [one.answer for one in placed])
    except PipelineError as problem:
        return [*checks, failed("inputs", str(problem))], None
    return checks, made


def _look_at_output_folder(place: RunPlace, manifest: Manifest) -> tuple[list[Check], Made | None]:
    """The same for an output folder of ``published build``, which has no project around it."""
    files = Files(place.root)
    checks = [
        _guarded(HASHES[0], lambda: check_files(manifest, files, ["source"], ["tables", "reports"])),
        skipped(HASHES[1], "an output folder of `published build` has none"),
        skipped("requests", "an imported run recorded none"),
    ]
    try:
        made = make_imported(place.root, manifest)
    except PipelineError as problem:
        return [*checks, failed("answers", str(problem))], None
    verdicts = [verdict for cell in made.run.cells for verdict in cell.verdicts]
    distinct = len({id(verdict) for verdict in verdicts})
    figures = f"{counted(len(verdicts), 'raw answer')} read again, {counted(distinct, 'distinct text')}"
    return [*checks, Check("answers", "ok", figures)], made


def _numbers(place: RunPlace, manifest: Manifest, made: Made) -> list[Check]:
    root, reports = place.root, expected_reports(made.run, made.means)
    tables = place.tables.relative_to(root)
    checks = [
        _guarded("tables", lambda: check_tables(root, tables, made.run, made.facts)),
        _guarded("score reports", lambda: check_documents(root, SCORES, reports)),
        _guarded("score tables", lambda: check_flat_tables(root, SCORES, reports)),
    ]
    if place.published:
        checks.append(skipped("metrics", "an output folder of `published build` has none"))
    else:
        metrics = expected_metrics(made.run, made.means)
        checks.append(_guarded("metrics", lambda: check_metrics(root, METRICS, metrics)))
    return [
        *checks,
        _guarded("leaderboard", lambda: _check_leaderboard(place, made)),
        check_facts(manifest, made.stated),
        check_signature(manifest, made.signature),
    ]


def _check_leaderboard(place: RunPlace, made: Made) -> Check:
    path, facts = place.root / LEADERBOARD, made.facts
    text = decode(path, read_bytes(path, ManifestError), ManifestError)
    said = Printed(
        facts.judge_backend,
        facts.judge_model,
        facts.judge_description,
        facts.reasoning_effort,
        made.signature.short(),
        made.signature.long(),
        has_long=f"\n`{METRIC}|{PARTS[0][1]}:" in text,
    )
    findings = Findings()
    compare_leaderboard(findings, LEADERBOARD.as_posix(), text, made.run, made.means, said)
    figures = f"{counted(findings.values, 'table cell and line', 'table cells and lines')} recomputed"
    return findings.check("leaderboard", figures)


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    """A check whose input is broken fails with the message that names the place."""
    try:
        return check()
    except PipelineError as problem:
        return failed(name, str(problem))
