"""Bring together the answers of a run: recorded files first, then the ledger, then a live judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from pipeline.annotation.reader import Form
from pipeline.answers import Answer, Attempt, Key, read_answer_folder, write_answers
from pipeline.errors import AnswersMissing, ConfigError, LedgerError
from pipeline.judges.askers import asker_class, reconciler
from pipeline.judges.base import Backend
from pipeline.judges.books import Asker, Books
from pipeline.judges.budget import Budget
from pipeline.judges.estimating import Estimator, estimator
from pipeline.judges.events import Events
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_file import VARIABLE, ledger_is_there
from pipeline.judges.pace import Patience
from pipeline.judges.prices import Price
from pipeline.judges.progress import Progress, open_progress
from pipeline.judges.registry import backend_class
from pipeline.judges.secrets import Secret, find_secret
from pipeline.judges.settling import Settling
from pipeline.judges.tally import Tally
from pipeline.profiles import BatchTransport, JudgeProfile
from pipeline.requests import JudgeRequest

# So many answers say well enough how long answers are.
_SAMPLE = 200
_RESEND_SECONDS = 60.0


@dataclass(frozen=True)
class Wanted:
    """The answers a run needs: each request ``repeats`` times, asked in the order of ``hashes``.

    ``render`` gives a hash's request.
    """

    hashes: Sequence[str]
    repeats: int
    render: Callable[[str], JudgeRequest]

    def keys(self) -> list[Key]:
        """Every (request_hash, repeat), sorted."""
        return [(request, repeat) for request in sorted(set(self.hashes)) for repeat in range(self.repeats)]

    def in_order(self, keys: Iterable[Key]) -> list[Key]:
        """Keys in the order to ask them."""
        place = {request: number for number, request in enumerate(self.hashes)}
        return sorted(keys, key=lambda key: (place[key[0]], key[1]))


@dataclass(frozen=True)
class Terms:
    """How a run asks: when an answer is good enough, for how much, and what is said of it meanwhile.

    ``budget`` is in nano-dollars. By default whatever the judge says is its answer, at any price.
    """

    form: Form = "text"
    max_rounds: int = 1
    budget: int | None = None
    price: Price | None = None
    detach: bool = False
    events: Events = field(default_factory=Events)
    patience: Patience | None = None
    progress: Callable[[], Progress] = open_progress

    def settling(self, profile: JudgeProfile) -> Settling:
        """When an answer of the profile's judge settles its request."""
        return Settling(self.form, self.max_rounds, getattr(profile.request, "temperature", None))


@dataclass(frozen=True)
class Sources:
    """Where answers may come from. ``env_folders`` are looked through for ``.env`` files, in order."""

    recorded: Path
    ledger: Path
    offline: bool
    env_folders: tuple[Path, ...]


def collect(
    wanted: Wanted, sources: Sources, profile: JudgeProfile, target: Path, terms: Terms | None = None
) -> Tally:
    """Write the projection of all wanted answers to ``target``, asking for what is in no source.

    The bytes written depend on the answers only, not on where they came from, in which order they
    arrived or how many threads asked. The ledger is opened only if a recorded answer is missing.

    Raises:
        AnswersMissing: not all answers could be had; what was answered is in the ledger, and
            ``target`` is not written.
        BackendError: the service refuses in a way that asking again cannot change.
        ConfigError: the judge cannot be asked on these terms.
        RecordedAnswerError: a recorded answer is damaged, or contradicts another.
        LedgerError, StorageError: the ledger is unusable.
    """
    terms = terms or Terms()
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
        unsettled = [key for key in missing if key not in stored]
        if not sources.offline:
            # A run that was killed between two rounds, or that had more of them to go, left answers here.
            decide = terms.settling(profile).decide
            stored |= {key for key in unsettled if ledger.round_count(key) and ledger.settle(key, decide)}
            unsettled = [key for key in missing if key not in stored]
        tally.ledger = len(stored)
        if unsettled and sources.offline:
            raise _offline(tally)
        if unsettled:
            estimate = estimator(profile, terms.price, known(wanted, recorded, ledger, stored))
            budget = _budget(missing, wanted, ledger, profile, terms, estimate)
            books = Books(
                ledger,
                wanted.render,
                tally,
                terms.settling(profile),
                estimate,
                budget,
                terms.events,
                terms.patience,
                _deadline(profile),
                terms.detach,
            )
            _ask(wanted.in_order(unsettled), sources, profile, books, terms)
        write_answers(target, _projection(keys, recorded, ledger))
    return tally


def known(
    wanted: Wanted,
    recorded: Mapping[Key, Answer],
    ledger: Ledger | None,
    stored: Iterable[Key],
    most: int = 200,
) -> Iterator[tuple[JudgeRequest, Attempt]]:
    """Answers of this run that are there, to estimate the others by."""
    for key in islice(sorted(recorded), _SAMPLE):
        yield wanted.render(key[0]), recorded[key].attempt
    for key in islice(sorted(stored), max(0, _SAMPLE - len(recorded))):
        answer = ledger.answer(key) if ledger else None
        if answer is not None:
            yield wanted.render(key[0]), answer.attempt


def _budget(
    keys: list[Key],
    wanted: Wanted,
    ledger: Ledger,
    profile: JudgeProfile,
    terms: Terms,
    estimate: Estimator,
) -> Budget:
    """The budget with what the ledger knows was spent on these keys, by whichever run."""
    budget = Budget(terms.budget, estimate, profile.request.model)
    if terms.budget is not None:
        for key in keys:
            calls = ledger.calls(key)
            in_job = bool(calls) and ledger.refusal(key) == "in_job"
            for kind, attempt in calls:
                request = wanted.render(key[0])
                budget.promise(request)
                if kind is None and in_job:
                    in_job = False  # its end is still to come
                else:
                    budget.settle(request, attempt, uncertain=kind in (None, "uncertain"))
    return budget


def _deadline(profile: JudgeProfile) -> float | None:
    seconds = profile.transport.run_timeout_seconds
    return None if seconds is None else time.monotonic() + seconds


def _ask(keys: list[Key], sources: Sources, profile: JudgeProfile, books: Books, terms: Terms) -> None:
    if terms.detach and not isinstance(profile.transport, BatchTransport):
        raise ConfigError(
            f"backend {profile.backend} answers at once: there is nothing to leave behind with --detach; "
            "run without it"
        )

    backend = _backend(sources, profile, terms)
    asker = asker_class(profile.backend)(profile, backend, books)
    books.note("run begins", backend=profile.backend, model=profile.request.model, to_ask=len(keys))
    shown = terms.progress()
    try:
        asker.ask(keys, shown)
    finally:
        shown.close()
        backend.close()
        tally = books.tally
        books.note("run ends", live=tally.live, missing=tally.missing, cost_nano_usd=tally.cost_nano_usd)
    if tally.missing:
        raise _unanswered(tally, asker)


def _backend(sources: Sources, profile: JudgeProfile, terms: Terms) -> Backend:
    def secret(name: str) -> Secret:
        return terms.events.keep_out(find_secret(name, sources.env_folders))

    return backend_class(profile.backend)(profile, secret)


def reconcile_jobs(sources: Sources, profile: JudgeProfile, terms: Terms, resend: bool) -> list[str]:
    """Find out what became of the profile's jobs whose submission got no reply; a line for each.

    ``resend``: those that are not found end as uncertain, on the user's word that they were not taken.

    Raises:
        ConfigError: the profile's backend has no jobs.
        BackendError: the service refuses.
        LedgerError, StorageError: the ledger is unusable.
    """
    reconcile = reconciler(profile.backend)
    if reconcile is None:
        raise ConfigError(
            f"backend {profile.backend} of judge.profile has no batch jobs to reconcile; "
            "name the profile that submitted them in params.yaml"
        )
    with Ledger(sources.ledger) as ledger:
        backend = _backend(sources, profile, terms)
        try:
            told = reconcile(ledger, profile, backend, terms.events)
            for job in ledger.jobs.open(profile.backend) if resend else []:
                if job.provider_id is None and ledger.jobs.adopt(job, _RESEND_SECONDS):
                    lines = ledger.jobs.close(job, "uncertain", "given up by `ledger reconcile --resend`")
                    told.append(f"job {job.number}: given up; the next run asks its {lines} lines again")
            return told or ["ledger: nothing to reconcile"]
        finally:
            backend.close()


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
    why = asker.stopped or f"{tally.failed} requests brought no answer"
    reasons = f" ({tally.reasons()})" if tally.failures else ""
    note = f"; {asker.note()}" if asker.note() else ""
    return AnswersMissing(
        f"{why}{reasons}: {tally.there} of {tally.wanted} judge answers are there, "
        f"{tally.missing} are missing{note}; "
        f"nothing answered is lost: run `dvc repro` to ask for the missing ones only"
    )
