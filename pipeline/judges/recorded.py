"""Keep a run's answers in ``data/recorded/``: in git, final, and the first place every run looks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.answers import read_answer_folder, read_answers, write_answers
from pipeline.errors import InputError, RecordedAnswerError


@dataclass(frozen=True)
class Recorded:
    """What ``record`` did: the file, how many answers it holds, how many of them are new."""

    path: Path
    total: int
    added: int


def record(responses: Path, folder: Path, profile: str) -> Recorded:
    """Merge the projection ``responses`` into ``folder/<profile>.jsonl``, sorted by key.

    Answers that are there stay; a second time changes nothing.

    Raises:
        InputError: there is no projection yet.
        RecordedAnswerError: an answer is damaged, or another answer to its request is recorded already.
        StorageError: the file cannot be written.
    """
    if not responses.is_file():
        raise InputError.at(responses, "missing; run `dvc repro judge` first")
    path = folder / f"{profile}.jsonl"
    everywhere = read_answer_folder(folder)
    here = {answer.key: answer for _, answer in read_answers(path)} if path.is_file() else {}
    added = 0
    for number, answer in read_answers(responses):
        if everywhere.get(answer.key, answer) != answer:
            raise RecordedAnswerError.at(
                responses,
                f"another answer to request {answer.request_hash[:12]}, repeat {answer.repeat}, is recorded "
                f"in {folder}; recorded answers are final: run `dvc repro judge` to use it",
                line=number,
            )
        added += answer.key not in here
        here[answer.key] = answer
    if added:
        write_answers(path, (here[key] for key in sorted(here)))
    return Recorded(path, len(here), added)
