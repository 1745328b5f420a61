"""Do the files of a published run agree with each other, and with what was published?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.canonical import sha256_file
from pipeline.errors import PublishedRunError
from pipeline.jsonl import read_json_lines
from pipeline.published.audit_model import Check, Outcome, not_applicable, outcome_of
from pipeline.published.experiment import Experiment
from pipeline.published.report_model import ReportFigures
from pipeline.published.source import RAW_ANSWERS, TRANSLATION_FAILURES

Cell = tuple[str, str, str]  # item, language, participant


@dataclass(frozen=True)
class Line:
    """A line of a file of cells: the cell its key names, and the participant its field names."""

    number: int
    cell: Cell
    field: str | None


def cell_lines(path: Path) -> list[Line]:
    """The cells of a file of one line per cell, by ``stable_key``; none where there is no file.

    Raises:
        PublishedRunError: a line is broken or its key is not run::item::language::participant.
    """
    lines = []
    for number, value in read_json_lines(path, PublishedRunError) if path.is_file() else ():
        parts = str(value.get("stable_key")).split("::")
        if len(parts) != 4:
            problem = "must be run::item::language::participant"
            raise PublishedRunError.at(path, problem, line=number, field="stable_key")
        field = value.get("participant_id")
        cell = (parts[1], parts[2], parts[3])
        lines.append(Line(number, cell, field if isinstance(field, str) else None))
    return lines


def check_files(experiment: Experiment, source: Path) -> Check:
    """Every file that was published is there with its bytes, and no other input file."""
    about = "the files are the published ones, byte for byte"
    problems = []
    for name, digest in experiment.files.items():
        path = source / name
        if not path.is_file():
            problems.append(f"{name}: missing")
        elif (found := sha256_file(path)) != digest:
            problems.append(f"{name}: published {digest}, here {found}")
    listed = set(experiment.files)
    problems += [
        f"{name}: not a published file" for name in files_below(source) if listed and name not in listed
    ]
    if not listed:
        return not_applicable("files", about, "experiment.yaml lists no files")
    return outcome_of("files", about, problems, f"{len(listed)} files, SHA-256 equal to experiment.yaml")


def files_below(source: Path) -> list[str]:
    """Paths of all files of a run folder, sorted, without the dataset that ``published add`` puts beside."""
    paths = (path.relative_to(source) for path in source.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in paths if path.parts[0] != "dataset")


_SAME: dict[str, Callable[[Experiment], object]] = {
    "judgeBackend": lambda e: e.judge.backend,
    "judgeModelId": lambda e: e.judge.model,
    "judgePromptSetId": lambda e: e.judge.prompt_set,
    "openRouterBatchJobIds": lambda e: e.judge.batch_jobs,
    "targetLanguages": lambda e: e.languages,
    "datasetFingerprintSha256": lambda e: e.dataset.recorded_sha256,
    "limitApplied": lambda e: e.dataset.items,
}


def check_configuration(experiment: Experiment, manifest: dict[str, Any]) -> Check:
    """``experiment.yaml`` says what the run's manifest says."""
    problems = [
        f"{key}: manifest {manifest[key]!r}, experiment.yaml {value(experiment)!r}"
        for key, value in _SAME.items()
        if key in manifest and manifest[key] != value(experiment)
    ]
    participants = [entry.get("participantId") for entry in manifest.get("participants", ())]
    if participants != experiment.participants:
        problems.append(
            f"participants: manifest {participants!r}, experiment.yaml {experiment.participants!r}"
        )
    if manifest.get("runId") not in experiment.run_ids:
        problems.append(f"runId: manifest {manifest.get('runId')!r}, experiment.yaml {experiment.run_ids!r}")
    about = "experiment.yaml says what the manifest says"
    return outcome_of("configuration", about, problems, "judge, jobs, dataset, languages, participants agree")


def check_cells(experiment: Experiment, source: Path, figures: ReportFigures) -> list[Check]:
    """All checks on the cells that the answers and the failure lines name."""
    answers, failures = cell_lines(source / RAW_ANSWERS), cell_lines(source / TRANSLATION_FAILURES)
    answered, failed = {line.cell for line in answers}, {line.cell for line in failures}
    return [
        _check_counts(experiment, answered, failed - answered, figures),
        _check_overtaken(answered, failures, figures),
        _check_fields("answer-participants", RAW_ANSWERS, answers),
        _check_fields("failure-participants", TRANSLATION_FAILURES, failures),
        _check_silent(experiment, answered, failed),
    ]


def _check_counts(
    experiment: Experiment, answered: set[Cell], untranslated: set[Cell], figures: ReportFigures
) -> Check:
    """expected = answered + failed + untranslated. Raw files hold no judge failures: reports count them."""
    expected = experiment.dataset.items * len(experiment.languages) * len(experiment.participants)
    reported = bool(figures.judged)
    failed = sum(failed for _, failed in figures.judged.values())
    total = len(answered) + failed + len(untranslated)
    sentence = (
        f"{expected:,} expected, {len(answered):,} answered, {failed:,} judge failures "
        f"({'by run-status' if reported else 'no report counts them'}), {len(untranslated):,} not translated"
    )
    problems = [] if total == expected else [f"{sentence}: they add up to {total:,}"]
    for (participant, language), (ok, _) in figures.judged.items():
        count = sum(cell[1:] == (language, participant) for cell in answered)
        if count != ok:
            problems.append(f"{participant}, {language}: {count} answers, run-status says {ok}")
    return outcome_of("counts", "expected = answered + failed + not translated", problems, sentence)


def _check_overtaken(answered: set[Cell], failures: list[Line], figures: ReportFigures) -> Check:
    """A cell that failed and was answered later is no contradiction if ``run-status`` counts it as such."""
    id, about = "answered-and-failed", "no cell was both answered and not translated"
    failed = {line.cell for line in failures}
    both = sorted(answered & failed)
    if not both:
        passed = f"{len(answered):,} answered and {len(failed)} failed cells have none in common"
        return outcome_of(id, about, [], passed)
    totals = figures.totals
    if (totals.failure_lines, totals.untranslated) == (len(failures), len(failed - answered)):
        words = (
            f"{len(both)} cells were answered after they had failed; run-status says so: "
            f"{totals.failure_lines} failures in all, {totals.untranslated} unresolved"
        )
        return Check(id, about, Outcome.EXPLAINED, (words,))
    return outcome_of(
        id, about, [f"{'::'.join(cell)}: answered, and listed as a failure" for cell in both], ""
    )


def _check_fields(id: str, file: str, lines: list[Line]) -> Check:
    about = f"each line of {file} names one participant"
    problems = [
        f"line {line.number}: the key names {line.cell[2]}, the field {line.field}"
        for line in lines
        if line.field is not None and line.field != line.cell[2]
    ]
    if not lines:
        return not_applicable(id, about, f"no {file}, or an empty one")
    return outcome_of(id, about, problems, f"{len(lines):,} lines, key and field agree")


def _check_silent(experiment: Experiment, answered: Iterable[Cell], failed: Iterable[Cell]) -> Check:
    seen = {cell[2] for cell in answered} | {cell[2] for cell in failed}
    problems = [f"{name}: no answer and no failure" for name in experiment.participants if name not in seen]
    about = "every participant has cells"
    return outcome_of("participants", about, problems, f"{len(experiment.participants)} participants")
