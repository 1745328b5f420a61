"""Bring together the answers of a run: recorded files first, then the ledger, then a live judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.answers import Answer, Key, read_answer_folder, write_answers
from pipeline.errors import AnswersMissing, LedgerError
from pipeline.judges.asking import Asker
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_file import VARIABLE, ledger_is_there
from pipeline.judges.pace import Patience
from pipeline.judges.progress import Progress, open_progress
from pipeline.judges.registry import backend_class
from pipeline.judges.secrets import find_secret
from pipeline.judges.tally import Tally
from pipeline.profiles import JudgeProfile
from pipeline.requests import JudgeRequest


@dataclass(frozen=True)
class Wanted:
    """The answers a run needs: each request ``repeats`` times. ``render`` gives a hash's request."""

    hashes: Sequence[str]
    repeats: int
    render: Callable[[str], JudgeRequest]

    def keys(self) -> list[Key]:
        """Every (request_hash, repeat), sorted."""
        return [(request, repeat) for request in sorted(set(self.hashes)) for repeat in range(self.repeats)]


@dataclass(frozen=True)
class Sources:
    """Where answers may come from. ``env_folders`` are looked through for ``.env`` files, in order."""

    recorded: Path
    ledger: Path
    offline: bool
    env_folders: tuple[Path, ...]


def collect(
    wanted: Wanted,
    sources: Sources,
    profile: JudgeProfile,
    target: Path,
    *,
    progress: Callable[[], Progress] = open_progress,
    patience: Patience | None = None,
) -> Tally:
    """Write the projection of all wanted answers to ``target``, asking for what is in no source.

    The bytes written depend on the answers only, not on where they came from, in which order they
    arrived or how many threads asked. The ledger is opened only if a recorded answer is missing.

    Raises:
        AnswersMissing: not all answers could be had; what was answered is in the ledger, and
            ``target`` is not written.
        BackendError: the service refuses in a way that asking again cannot change.
        RecordedAnswerError: a recorded answer is damaged, or contradicts another.
        LedgerError, StorageError: the ledger is unusable.
    """
    keys = wanted.keys()
    recorded = read_answer_folder(sources.recorded, set(keys))
    tally = Tally(wanted=len(keys), recorded=len(recorded))
    missing = [key for key in keys if key not in recorded]
    if not missing:
        write_answers(target, (recorded[key] for key in keys))
        return tally
    if sources.offline and not ledger_is_there(sources.ledger):
        raise _offline(tally)
    with Ledger(sources.ledger, read_only=sources.offline) as ledger:
        stored = ledger.answered(missing)
        tally.ledger = len(stored)
        missing = [key for key in missing if key not in stored]
        if missing and sources.offline:
            raise _offline(tally)
        if missing:
            _ask(missing, wanted, sources, profile, ledger, tally, progress, patience)
        write_answers(target, _projection(keys, recorded, ledger))
    return tally


def _ask(
    missing: list[Key],
    wanted: Wanted,
    sources: Sources,
    profile: JudgeProfile,
    ledger: Ledger,
    tally: Tally,
    progress: Callable[[], Progress],
    patience: Patience | None,
) -> None:
    backend = backend_class(profile.backend)(profile, lambda name: find_secret(name, sources.env_folders))
    asker = Asker(profile, backend, ledger, wanted.render, tally, patience)
    shown = progress()
    try:
        asker.ask(missing, shown)
    finally:
        shown.close()
        backend.close()
    if tally.missing:
        raise _unanswered(tally, asker)


def _projection(keys: list[Key], recorded: Mapping[Key, Answer], ledger: Ledger) -> Iterator[Answer]:
    for key in keys:
        answer = recorded.get(key) or ledger.answer(key)
        if answer is None:
            raise LedgerError(f"{ledger.path} has lost the answer to request {key[0]}; restore a copy of it")
        yield answer


def _offline(tally: Tally) -> AnswersMissing:
    return AnswersMissing(
        f"{tally.missing} of {tally.wanted} judge answers are missing ({tally.recorded} recorded, "
        f"{tally.ledger} in the ledger) and judge.offline is true: they were never asked for, or the judge "
        f"profile, the prompt set, the translations or params.yaml changed since they were recorded; "
        f"either bring them (a file in data/recorded/, or {VARIABLE} set to the ledger that holds them), "
        f"or set judge.offline: false in params.yaml, and run `dvc repro`"
    )


def _unanswered(tally: Tally, asker: Asker) -> AnswersMissing:
    if asker.interrupted:
        why = "interrupted"
    elif asker.service_gone:
        why = f"stopped after {tally.failed} failures in a row"
    else:
        why = f"{tally.failed} requests brought no answer"
    reasons = f" ({tally.reasons()})" if tally.failures else ""
    return AnswersMissing(
        f"{why}{reasons}: {tally.there} of {tally.wanted} judge answers are there, "
        f"{tally.missing} are missing; "
        f"nothing answered is lost: run `dvc repro` to ask for the missing ones only"
    )
