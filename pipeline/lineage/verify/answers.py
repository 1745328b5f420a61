"""Every answer of a project: sealed, final, recorded, and still what its raw bytes say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.annotation import read_answer
from pipeline.answers import Answer, Attempt, Key, read_answer_folder, seal
from pipeline.errors import RecordedAnswerError
from pipeline.jsonl import read_json_lines
from pipeline.judges.rereading import read_again
from pipeline.layout import RECORDED, RESPONSES
from pipeline.lineage.verify.checks import Check, Findings, compare_json, counted, shown
from pipeline.lineage.verify.rendered import Rendered, Sources
from pipeline.validation import validate


@dataclass(frozen=True)
class Placed:
    """An answer and the line of ``responses.jsonl`` it stands at."""

    answer: Answer
    line: int


def read_responses(root: Path) -> list[Placed]:
    """The answers of ``responses.jsonl`` in file order; seals are compared by ``check_answers``.

    Raises:
        RecordedAnswerError: the file is missing, or a line is not of an answer's shape.
    """
    placed = []
    for line, row in read_json_lines(root / RESPONSES, RecordedAnswerError):
        row.pop("sha256", None)
        answer = validate(Answer, row, root / RESPONSES, RecordedAnswerError, line=line)
        placed.append(Placed(answer, line))
    return placed


def check_answers(root: Path, sources: Sources, rendered: Rendered, placed: list[Placed]) -> Check:
    """Each answer answers a request of this run, once, and says what its raw bytes say."""
    findings = Findings()
    file = RESPONSES.as_posix()
    _compare_seals(findings, root)
    wanted = [
        (digest, repeat)
        for digest in sorted(rendered.variables)
        for repeat in range(sources.params.judge.repeats)
    ]
    _compare_keys(findings, file, wanted, placed)
    attempts = 0
    for one in placed:
        for index, attempt in enumerate(one.answer.attempts):
            attempts += 1
            _compare_attempt(findings, f"{file}:{one.line}", index, attempt, sources.profile.request.model)
        _compare_selection(findings, f"{file}:{one.line}", one.answer, sources)
    figures = (
        f"{counted(len(placed), 'answer')}, {counted(attempts, 'attempt')} read again from their raw bytes"
    )
    return findings.check("answers", figures)


def check_recorded(root: Path, placed: list[Placed]) -> Check:
    """Each answer that stands in ``data/recorded``, too, is the same there; the others are counted."""
    findings = Findings()
    recorded = read_answer_folder(root / RECORDED, {one.answer.key for one in placed})
    missing = []
    for one in placed:
        other = recorded.get(one.answer.key)
        if other is None:
            key = one.answer.key
            missing.append(
                f"{RESPONSES.as_posix()}:{one.line}: request {key[0]}, repeat {key[1]}, not recorded"
            )
            continue
        here, there = one.answer.model_dump(mode="json"), other.model_dump(mode="json")
        compare_json(findings, f"{RESPONSES.as_posix()}:{one.line}", here, there)
    cure = "; `python -m pipeline record` keeps the others" if missing else ""
    figures = (
        f"{len(placed) - len(missing):,} of {counted(len(placed), 'used answer')} recorded, and the same"
    )
    return findings.check("recorded answers", figures + cure, missing)


def _compare_seals(findings: Findings, root: Path) -> None:
    for line, row in read_json_lines(root / RESPONSES, RecordedAnswerError):
        stated = row.pop("sha256", None)
        findings.compare(f"{RESPONSES.as_posix()}:{line}#/sha256", stated, seal(row))


def _compare_keys(findings: Findings, file: str, wanted: list[Key], placed: list[Placed]) -> None:
    """One line a request and repeat, sorted."""
    there = [one.answer.key for one in placed]
    for key in sorted(set(wanted) - set(there)):
        findings.note(file, f"without an answer to request {key[0]}, repeat {key[1]}", "one that has it")
    expected = set(wanted)
    before: Key | None = None
    for one in placed:
        key = one.answer.key
        address = f"{file}:{one.line}"
        if key not in expected:
            findings.note(f"{address}#/request_hash", key[0], "a request of this run")
        elif before is not None and key <= before:
            findings.note(address, f"the answer to {key[0]}", f"sorted after {before[0]}, each once")
        before = key


def _compare_attempt(findings: Findings, address: str, index: int, attempt: Attempt, model: str) -> None:
    where = f"/attempts/{index}"
    try:
        again = read_again(attempt, model)
    except (ValueError, RecursionError) as problem:
        findings.note(f"{address}#{where}/raw", shown(str(problem)), "what the backend's reader can read")
        return
    here, there = attempt.model_dump(mode="json"), again.model_dump(mode="json")
    compare_json(findings, address, here, there, ("attempts", index))


def _compare_selection(findings: Findings, address: str, answer: Answer, sources: Sources) -> None:
    """The last attempt counts, and asking ended with the first answer that strict reading takes."""
    findings.compare(f"{address}#/selected", answer.selected, len(answer.attempts) - 1)
    form = sources.prompt_set.manifest.form
    for index, attempt in enumerate(answer.attempts[: answer.selected]):
        if attempt.answered:
            read = read_answer(
                attempt.text or "", form=form, mode="strict", finish_reason=attempt.finish_reason
            )
            if read.status == "ok":
                findings.note(f"{address}#/selected", str(answer.selected), f"{index}, the first valid one")
                return
