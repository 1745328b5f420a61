"""Ask a judge by batch jobs: several in flight, each held by the ledger until all its lines have an end.

    keys ──► claimed ──► job begun in the ledger ──► handed in ──► polled ... ──► harvested ──► closed
                              │                        │ lost                        │ failed, missing
                              └── refused: not sent    └──► looked for in the list   └──► next round

What leaves this loop early (a signal, a time-out, ``--detach``, a service that is gone) leaves its jobs
open; the next run adopts them. Nothing is sent twice that may have been accepted once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pipeline.answers import Attempt, Key
from pipeline.errors import BackendError
from pipeline.judges.base import CallFailed, GiveUp, RetryLater, Uncertain
from pipeline.judges.batch_jobs import Flight, begin, harvest, name_lines, parts
from pipeline.judges.batch_keys import KeyQueue
from pipeline.judges.batch_reconcile import TWO_WAYS, Service, search
from pipeline.judges.interrupts import Signals, counted_signals
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_jobs import Job
from pipeline.judges.openrouter_batch import NoList, TooLarge, missing_names
from pipeline.judges.openrouter_batch_wire import NAME, Batch, split
from pipeline.judges.pace import Patience
from pipeline.judges.progress import Progress
from pipeline.judges.tally import Tally
from pipeline.profiles import BatchTransport, JudgeProfile
from pipeline.requests import JudgeRequest

_SHOW_SECONDS = 0.1


@dataclass(frozen=True)
class Waits:
    """Times, in seconds, that hang on the service and not on a profile.

    ``settle``: how long after a lost submission a batch that was accepted may still be absent from the
    service's list. ``trouble``: how long a job may be out of sight before a run leaves it for the next
    one. ``look``: how often other processes' work is looked at.
    """

    settle: float = 120.0
    trouble: float = 3600.0
    look: float = 2.0
    lease: float = 3600.0


class Settling(Protocol):
    """Decides which of a key's answers counts, if any does yet."""

    def decide(self, rounds: Sequence[Attempt]) -> int | None:
        """See ``ledger.Decide``."""


class Context(Protocol):
    """What an asker is given by the runner."""

    ledger: Ledger
    render: Callable[[str], JudgeRequest]
    tally: Tally
    settling: Settling
    budget: Any
    events: Any
    patience: Patience
    deadline: float | None
    detach: bool


class BatchAsker:
    """Works off keys by jobs, in one thread.

    ``interrupted``, ``service_gone`` and ``detached`` say why it ended early, ``note`` what is left open.
    """

    def __init__(
        self, profile: JudgeProfile, backend: Service, context: Context, waits: Waits | None = None
    ) -> None:
        self._model = profile.request.model
        self._transport = profile.transport_as(BatchTransport)
        self._service = backend
        self._context = context
        self._ledger = context.ledger
        self._waits = waits or Waits()
        self._most_lines = self._transport.max_requests_per_job
        self._queue = KeyQueue(context.ledger, context.tally, self._transport.max_rounds)
        self._flights: list[Flight] = []
        self._left: list[Flight] = []
        self._rounds: Counter[Key] = Counter()
        self._failed_jobs_in_a_row = 0
        self._next_look = 0.0
        self.interrupted = False
        self.service_gone = False
        self.detached = False

    def ask(self, keys: Iterable[Key], progress: Progress) -> None:
        """Ask for every key; returns when all are settled or given up, or the run has to end.

        Raises:
            BackendError: the service refuses in a way that asking again cannot change. Jobs that it took
                before stay open.
            LedgerError, StorageError: an answer could not be stored.
        """
        self._queue.add(keys)
        self._close_finished()
        with counted_signals() as signals:
            try:
                while self._flights or self._queue:
                    if self._has_to_stop(signals):
                        break
                    self._look_elsewhere()
                    self._fill()
                    for flight in [flight for flight in self._flights if flight.due <= time.monotonic()]:
                        if not signals.count:
                            self._step(flight)
                    if self._context.detach and not self._can_hand_in():
                        self.detached = bool(self._flights or self._queue)
                        break
                    self._rest(signals, progress)
            finally:
                self._let_go()

    def note(self) -> str:
        """What stays open, as the end of a sentence for people; empty if nothing does."""
        undecided = [flight for flight in self._left if flight.job.provider_id is None]
        running = [flight for flight in self._left if flight.job.provider_id is not None]
        notes = []
        if running:
            lines = sum(len(flight.keys) for flight in running)
            names = missing_names(f"{flight.job.provider_id}" for flight in running)
            trouble = next((f" ({flight.trouble})" for flight in running if flight.trouble), "")
            notes.append(f"{len(running)} jobs with {lines} lines are still at the service: {names}{trouble}")
        if undecided:
            keys = [key[0][:12] for flight in undecided for key in flight.keys]
            candidates = [name for flight in undecided for name in flight.undecided]
            maybe = f", may be {missing_names(candidates)}" if candidates else ""
            trouble = next((f" ({flight.trouble})" for flight in undecided if flight.trouble), "")
            notes.append(
                f"it is not known whether the service took {len(keys)} lines (requests "
                f"{missing_names(keys)}){maybe}{trouble}; they are not asked again: {TWO_WAYS}"
            )
        return "; ".join(notes)

    # The loop.

    def _has_to_stop(self, signals: Signals) -> bool:
        deadline = self._context.deadline
        if signals.count or (deadline is not None and time.monotonic() >= deadline):
            self.interrupted = True
        return self.interrupted or self.service_gone

    def _can_hand_in(self) -> bool:
        unsent = any(flight.upload is not None for flight in self._flights)
        return unsent or self._has_room()

    def _has_room(self) -> bool:
        return self._queue.ready and len(self._flights) < self._transport.jobs_in_flight

    def _rest(self, signals: Signals, progress: Progress) -> None:
        now = time.monotonic()
        due = [flight.due for flight in self._flights]
        if self._queue.elsewhere:
            due.append(self._next_look)
        if self._has_room():
            due.append(now)
        if self._context.deadline is not None:
            due.append(self._context.deadline)
        until = min(due, default=now)
        while True:
            progress.show(self._context.tally)
            left = until - time.monotonic()
            if left <= 0 or signals.count:
                return
            time.sleep(min(left, _SHOW_SECONDS))

    def _let_go(self) -> None:
        """Give everything back for the next run; what was surely not accepted is no open job."""
        for flight in self._flights:
            if flight.upload is not None:
                self._close(flight, f"not handed in: {flight.trouble or 'the run ended first'}")
            else:
                self._ledger.jobs.leave(flight.job)
                self._left.append(flight)
        self._flights.clear()
        self._queue.release()

    # Keys.

    def _look_elsewhere(self) -> None:
        if self._queue.elsewhere and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + self._waits.look
            if self._queue.look_elsewhere():
                self._adopt()

    def _adopt(self) -> None:
        left = {flight.job.number for flight in self._left}
        for job in self._ledger.jobs.open(NAME):
            keys = {line.intent.key for line in job.waiting}
            if job.number in left or job.model != self._model or not keys & self._queue.elsewhere:
                continue
            if self._ledger.jobs.adopt(job, self._waits.lease):
                flight = Flight(job, time.monotonic())
                self._queue.elsewhere -= keys
                self._flights.append(flight)
                self._emit("job adopted", flight)
                if job.provider_id is None:
                    self._lost(flight, "the run that began it ended before the service's reply was stored")

    def _close_finished(self) -> None:
        """Close jobs whose lines were all stored by a process that died right after."""
        for job in self._ledger.jobs.open(NAME):
            if not job.waiting and self._ledger.jobs.adopt(job, self._waits.lease):
                self._ledger.jobs.close(job, "failed", "all lines have their outcome")

    def _fill(self) -> None:
        while self._has_room() and not self.service_gone:
            claimed = self._queue.claim(self._most_lines, self._waits.lease)
            if claimed:
                requests = [(key, self._context.render(key[0])) for key in claimed]
                names = name_lines(requests, lambda key: self._rounds[key] + 1)
                lines = next(split(names, self._most_lines, self._transport.max_bytes_per_job))
                self._queue.put(claimed[len(lines) :], first=True)
                keys = claimed[: len(lines)]
                reserved = self._reserve(requests[: len(lines)])
                flight = begin(self._ledger, lines, keys, self._waits.lease)
                flight.reserved = reserved
                self._rounds.update(keys)
                self._flights.append(flight)
                self._emit("job begun", flight, bytes=len(flight.upload or b""))
                self._hand_in(flight)

    def _reserve(self, requests: Sequence[tuple[Key, JudgeRequest]]) -> dict[Key, int]:
        if self._context.budget is None:
            return {}
        return {key: self._context.budget.reserve(request) for key, request in requests}

    # One job.

    def _step(self, flight: Flight) -> None:
        if not self._ledger.jobs.adopt(flight.job, self._waits.lease):  # renews the lease
            self._flights.remove(flight)
            self._queue.elsewhere.update(self._queue.wanted.intersection(flight.keys))
        elif flight.upload is not None:
            self._hand_in(flight)
        elif flight.job.provider_id is None:
            self._look_for(flight)
        else:
            self._poll(flight)

    def _hand_in(self, flight: Flight) -> None:
        assert flight.upload is not None  # noqa: S101
        try:
            batch = self._service.submit(flight.upload)
        except TooLarge as refusal:
            keys = self._end(flight, f"too large for the service ({refusal.problem})")
            self._most_lines = max(1, min(self._most_lines, (len(keys) + 1) // 2))
            if len(keys) > 1:
                self._queue.put(keys, first=True)
            else:
                self._queue.give_up(keys, f"a request too large for the service ({refusal.problem})")
        except RetryLater as refusal:
            flight.tried += 1
            flight.trouble = refusal.problem
            wait = self._context.patience.wait(flight.tried, flight.waited, refusal.retry_after)
            if wait is None:
                self._queue.give_up(self._end(flight, refusal.problem), refusal.problem)
                self.service_gone = True
            else:
                flight.waited += wait
                flight.due = time.monotonic() + wait
        except Uncertain as lost:
            self._ledger.jobs.event(flight.job, "lost", detail=lost.problem)
            self._lost(flight, lost.problem)
        except GiveUp as refusal:
            self._end(flight, refusal.problem)
            raise BackendError(refusal.problem) from None
        else:
            self._ledger.jobs.submitted(flight.job, batch.provider_id)
            self._known(flight, batch.provider_id)
            self._emit("job submitted", flight)

    def _known(self, flight: Flight, provider_id: str) -> None:
        flight.job = replace(flight.job, provider_id=provider_id)
        flight.upload = flight.lost_since = flight.trouble_since = None
        flight.trouble = ""
        flight.due = time.monotonic() + self._transport.poll_seconds

    def _lost(self, flight: Flight, problem: str) -> None:
        flight.upload = None
        flight.lost_since, flight.lost_at = time.monotonic(), time.time()
        flight.due = flight.lost_since + min(self._waits.settle, self._transport.poll_seconds)
        flight.trouble = problem
        self._emit("job lost", flight, problem=problem)

    def _look_for(self, flight: Flight) -> None:
        """Decide whether a lost submission was accepted, as far as that can be known now."""
        others = {job.provider_id for job in self._ledger.jobs.open(NAME) if job.provider_id is not None}
        try:
            found = search(self._service, flight.job, others, flight.lost_at)
        except NoList as problem:
            flight.trouble = problem.problem
            self._leave(flight)
            return
        except RetryLater as problem:
            self._out_of_sight(flight, problem)
            return
        except GiveUp as refusal:
            raise BackendError(refusal.problem) from None
        flight.undecided = found.undecided
        if found.provider_id is not None:
            self._ledger.jobs.event(
                flight.job, "reconciled", provider_id=found.provider_id, detail="by its custom ids"
            )
            self._known(flight, found.provider_id)
            flight.due = time.monotonic()
            self._emit("job found", flight)
        elif found.undecided or time.monotonic() - (flight.lost_since or 0.0) < self._waits.settle:
            flight.due = time.monotonic() + min(self._waits.settle, self._transport.poll_seconds)
        else:
            problem_text = f"the service did not take the job ({flight.trouble})"
            self._ledger.jobs.event(flight.job, "reconciled", detail="not in the service's list")
            self._emit("job not accepted", flight)
            self._queue.put(self._queue.again(self._end(flight, problem_text), problem_text))

    def _poll(self, flight: Flight) -> None:
        provider_id = flight.job.provider_id or ""
        try:
            batch = self._service.poll(provider_id)
            rows = self._service.results(batch) if batch.terminal else None
        except RetryLater as problem:
            self._out_of_sight(flight, problem)
            return
        except GiveUp as refusal:
            raise BackendError(f"{refusal.problem}; job {provider_id} is not lost: run again then") from None
        flight.trouble, flight.trouble_since = "", None
        flight.due = time.monotonic() + self._transport.poll_seconds
        if batch.status != flight.status:
            flight.status = batch.status
            self._ledger.jobs.event(flight.job, "polled", detail=batch.status)
            self._emit("job status", flight, status=batch.status)
        if batch.terminal:
            if rows:
                self._harvest(flight, batch, rows)
            else:
                self._without_results(flight, batch)

    def _out_of_sight(self, flight: Flight, problem: CallFailed) -> None:
        """A call about a job failed: that says nothing about the job, so wait, but not for ever."""
        now = time.monotonic()
        flight.trouble = problem.problem
        flight.trouble_since = now if flight.trouble_since is None else flight.trouble_since
        asked_for = problem.retry_after if isinstance(problem, RetryLater) else None
        flight.due = now + max(self._transport.poll_seconds, asked_for or 0.0)
        self._emit("job out of sight", flight, problem=problem.problem)
        if now - flight.trouble_since >= self._waits.trouble:
            self._leave(flight)

    def _harvest(self, flight: Flight, batch: Batch, rows: Sequence[str]) -> None:
        tally = self._context.tally
        ended, strange = harvest(
            self._ledger, flight.job, rows, batch.cost_nano_usd, self._context.settling.decide
        )
        self._flights.remove(flight)
        self._failed_jobs_in_a_row = 0
        again = []
        for line in ended:
            cost = None if line.attempt is None else line.attempt.cost_nano_usd
            tally.cost_nano_usd += cost or 0
            if self._context.budget is not None and line.key in flight.reserved:
                self._context.budget.settle(flight.reserved[line.key], cost)
            if line.settled:
                tally.live += line.key in self._queue.wanted
            elif line.problem is None:
                again.append(line.key)
            else:
                again += self._queue.again([line.key], line.problem)
        self._queue.put(again)
        self._emit("job harvested", flight, lines=len(ended), again=len(again), strange=strange)

    def _without_results(self, flight: Flight, batch: Batch) -> None:
        """A job that ended and answered nothing. One bad line can fail a whole job, so it is taken apart."""
        reason = f": {batch.problem}" if batch.problem else ""
        problem = f"a job that {_ended_as(batch.status)} without results{reason}"
        lines = flight.job.waiting
        keys = self._end(flight, problem)
        self._failed_jobs_in_a_row += 1
        if self._failed_jobs_in_a_row >= self._transport.max_rounds + 16:
            self._queue.give_up(keys, problem)
            self.service_gone = True
        elif batch.status == "failed" and len(keys) > 1:
            for part in reversed(parts(lines, batch.problem or "")):
                self._queue.put(part, first=True)
        else:
            self._queue.put(self._queue.again(keys, problem))

    # Ends.

    def _end(self, flight: Flight, problem: str) -> list[Key]:
        """Close a job that answered nothing; its keys are free again."""
        keys = flight.keys
        self._close(flight, problem)
        self._flights.remove(flight)
        return keys

    def _close(self, flight: Flight, problem: str) -> None:
        self._ledger.jobs.close(flight.job, "failed", problem)
        if self._context.budget is not None:
            for reserved in flight.reserved.values():
                self._context.budget.settle(reserved, 0)
        self._emit("job closed", flight, problem=problem)

    def _leave(self, flight: Flight) -> None:
        """Let a job be for this run; it stays open, and its lines are asked by nobody else."""
        self._ledger.jobs.leave(flight.job)
        self._flights.remove(flight)
        self._left.append(flight)

    def _emit(self, event: str, flight: Flight, **facts: Any) -> None:
        if self._context.events is not None:
            job: Job = flight.job
            self._context.events.emit(event, job=job.number, provider_id=job.provider_id, **facts)


def _ended_as(status: str) -> str:
    return {"cancelled": "was cancelled", "completed": "was completed"}.get(status, status)
