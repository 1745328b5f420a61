"""The jobs a batch run works on, and what the service's replies about them mean.

begun in the ledger ──► handed in ──► polled ... ──► harvested ──► closed
      │                    │ reply lost                  │ lines failed or missing: next round
      └── refused:         └──► looked for in the list, and found, or sent again
          not sent
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.answers import Key
from pipeline.errors import BackendError
from pipeline.judges.base import CallFailed, GiveUp, RetryLater, Uncertain
from pipeline.judges.batch_jobs import MISSING, Flight, begin, parts, read_job_results
from pipeline.judges.batch_keys import KeyQueue
from pipeline.judges.batch_reconcile import Service, search
from pipeline.judges.books import Books
from pipeline.judges.ledger import Kind
from pipeline.judges.ledger_jobs import Job, JobLine
from pipeline.judges.openrouter_batch import NoList, TooLarge
from pipeline.judges.openrouter_batch_wire import NAME, Batch, Line, LineResult
from pipeline.judges.pace import Patience
from pipeline.profiles import BatchTransport

_FAILED_JOBS_IN_A_ROW = 16


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


class Desk:
    """Jobs in flight, and those left open. ``gone`` says why it is no use to go on, if it is none."""

    def __init__(
        self, transport: BatchTransport, service: Service, books: Books, queue: KeyQueue, waits: Waits
    ) -> None:
        self._transport = transport
        self._service = service
        self._books = books
        self._ledger = books.ledger
        self._queue = queue
        self._waits = waits
        self._patience = books.patience or Patience(transport.max_tries)
        self._failed_in_a_row = 0
        self.rounds: Counter[Key] = Counter()
        self.most_lines = transport.max_requests_per_job
        self.flights: list[Flight] = []
        self.left: list[Flight] = []
        self.gone: str | None = None

    @property
    def full(self) -> bool:
        """Whether as many jobs are in flight as may be."""
        return len(self.flights) >= self._transport.jobs_in_flight

    def begin(self, lines: Sequence[Line], keys: Sequence[Key]) -> None:
        """Write a job down and hand it in. The keys are claimed and paid for by the budget."""
        flight = begin(self._ledger, lines, keys, self._waits.lease)
        self.rounds.update(keys)
        self.flights.append(flight)
        self._note("job begun", flight, bytes=len(flight.upload or b""))
        self._hand_in(flight)

    def adopt(self, wanted: set[Key], model: str) -> set[Key]:
        """Take over the open jobs that hold wanted keys and that nobody works on; returns all their keys."""
        adopted: set[Key] = set()
        left = {flight.job.number for flight in self.left}
        for job in self._ledger.jobs.open(NAME):
            keys = {line.intent.key for line in job.waiting}
            if not keys and self._ledger.jobs.adopt(job, self._waits.lease):
                # Its lines were all stored by a process that died right after.
                self._ledger.jobs.close(job, "failed", "all lines have their outcome")
            elif job.number in left or job.model != model or not keys & wanted:
                continue
            elif self._ledger.jobs.adopt(job, self._waits.lease):
                flight = Flight(job, time.monotonic())
                self.flights.append(flight)
                adopted |= keys
                self._note("job adopted", flight)
                if job.provider_id is None:
                    self._lost(flight, "the run that began it ended before the service's reply was stored")
        return adopted

    def step(self, flight: Flight) -> None:
        """Do the next thing about a job that is due.

        Raises:
            BackendError: the service refuses in a way that asking again cannot change. Jobs that it took
                before stay open.
        """
        if not self._ledger.jobs.adopt(flight.job, self._waits.lease):  # renews the lease
            self.flights.remove(flight)
            self._queue.elsewhere.update(self._queue.wanted.intersection(flight.keys))
        elif flight.upload is not None:
            self._hand_in(flight)
        elif flight.job.provider_id is None:
            self._look_for(flight)
        else:
            self._poll(flight)

    def let_go(self) -> None:
        """Give everything back for the next run; what was surely not accepted is no open job."""
        for flight in list(self.flights):
            if flight.upload is not None:
                self._not_taken(flight, f"not handed in: {flight.trouble or 'the run ended first'}")
            else:
                self._leave(flight)

    def _hand_in(self, flight: Flight) -> None:
        try:
            batch = self._service.submit(flight.upload or b"")
        except TooLarge as refusal:
            keys = self._not_taken(flight, f"too large for the service ({refusal.problem})")
            self.most_lines = max(1, min(self.most_lines, (len(keys) + 1) // 2))
            if len(keys) > 1:
                self._queue.put(keys, first=True)
            else:
                self._queue.give_up(keys, f"a request too large for the service ({refusal.problem})")
        except RetryLater as refusal:
            flight.tried += 1
            flight.trouble = refusal.problem
            wait = self._patience.wait(flight.tried, flight.waited, refusal.retry_after)
            if wait is None:
                self._queue.give_up(self._not_taken(flight, refusal.problem), refusal.problem)
                self.gone = f"the service took no job after {flight.tried} tries"
            else:
                flight.waited += wait
                flight.due = time.monotonic() + wait
        except Uncertain as lost:
            self._ledger.jobs.event(flight.job, "lost", detail=lost.problem)
            self._lost(flight, lost.problem)
        except GiveUp as refusal:
            self._not_taken(flight, refusal.problem)
            raise BackendError(refusal.problem) from None
        else:
            self._ledger.jobs.submitted(flight.job, batch.provider_id)
            self._known(flight, batch.provider_id)
            self._note("job submitted", flight)

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
        self._note("job lost", flight, problem=problem)

    def _look_for(self, flight: Flight) -> None:
        """Decide whether a lost submission was accepted, as far as that can be known now."""
        others = {job.provider_id for job in self._ledger.jobs.open(NAME) if job.provider_id is not None}
        try:
            found = search(self._service, flight.job, others, flight.lost_at)
        except NoList as refusal:
            flight.trouble = refusal.problem
            self._leave(flight)
            return
        except RetryLater as refusal:
            self._out_of_sight(flight, refusal)
            return
        except GiveUp as refusal:
            raise BackendError(refusal.problem) from None
        flight.undecided, flight.trouble_since = found.undecided, None
        if found.provider_id is not None:
            self._ledger.jobs.event(
                flight.job, "reconciled", provider_id=found.provider_id, detail="by its custom ids"
            )
            self._known(flight, found.provider_id)
            flight.due = time.monotonic()
            self._note("job found", flight)
        elif found.undecided or time.monotonic() - (flight.lost_since or 0.0) < self._waits.settle:
            flight.due = time.monotonic() + min(self._waits.settle, self._transport.poll_seconds)
        else:
            problem = f"the service did not take the job ({flight.trouble})"
            self._ledger.jobs.event(flight.job, "reconciled", detail="not in the service's list")
            self._queue.put(self._queue.again(self._not_taken(flight, problem), problem))

    def _poll(self, flight: Flight) -> None:
        provider_id = flight.job.provider_id or ""
        try:
            batch = self._service.poll(provider_id)
            rows = self._service.results(batch) if batch.terminal else None
        except RetryLater as refusal:
            self._out_of_sight(flight, refusal)
            return
        except GiveUp as refusal:
            raise BackendError(f"{refusal.problem}; job {provider_id} is not lost: run again then") from None
        flight.trouble, flight.trouble_since = "", None
        flight.due = time.monotonic() + self._transport.poll_seconds
        if batch.status != flight.status:
            flight.status = batch.status
            self._ledger.jobs.event(flight.job, "polled", detail=batch.status)
            self._note("job status", flight, status=batch.status)
        if batch.terminal and rows:
            self._harvest(flight, batch, rows)
        elif batch.terminal:
            self._without_results(flight, batch)

    def _out_of_sight(self, flight: Flight, refusal: CallFailed) -> None:
        """A call about a job failed: that says nothing about the job, so wait, but not for ever."""
        now = time.monotonic()
        flight.trouble = refusal.problem
        flight.trouble_since = now if flight.trouble_since is None else flight.trouble_since
        asked_for = refusal.retry_after if isinstance(refusal, RetryLater) else None
        flight.due = now + max(self._transport.poll_seconds, asked_for or 0.0)
        self._note("job out of sight", flight, problem=refusal.problem)
        if now - flight.trouble_since >= self._waits.trouble:
            self._leave(flight)

    def _harvest(self, flight: Flight, batch: Batch, rows: Sequence[str]) -> None:
        """Store the outcome of every line that the results name, then close the job.

        A process that dies on the way leaves the job open, and the next one stores the rest.
        """
        waiting = {line.custom_id: line for line in flight.job.waiting}
        found, strange = read_job_results(flight.job, rows, batch.cost_nano_usd)
        again = []
        for result in found:
            line = waiting.pop(result.custom_id, None)
            if line is None:
                continue
            if not self._store(line, result):
                key = [line.intent.key]
                again += key if result.problem is None else self._queue.again(key, result.problem)
        self._failed_in_a_row = 0
        self._note("job harvested", flight, lines=len(found), missing=len(waiting), strange=strange)
        missing = [line.intent.key for line in waiting.values()]
        self._end(flight, MISSING, missing)
        self._books.tally.tries_without_answer += len(missing)
        self._queue.put([*again, *self._queue.again(missing, MISSING)])

    def _store(self, line: JobLine, result: LineResult) -> bool:
        kind: Kind = "answer" if result.problem is None else "failed"
        key, attempt, problem = line.intent.key, result.attempt, result.problem
        if key in self._queue.wanted:
            request = self._books.render(key[0])
            return self._books.outcome(request, line.intent, kind, attempt=attempt, problem=problem)
        decide = self._books.settling.decide
        return self._ledger.finish(line.intent, kind, attempt=attempt, problem=problem, decide=decide)

    def _without_results(self, flight: Flight, batch: Batch) -> None:
        """A job that ended and answered nothing. One bad line can fail a whole job, so it is taken apart."""
        reason = f": {batch.problem}" if batch.problem else ""
        problem = f"a job that ended as {batch.status!r} without results{reason}"
        lines, keys = flight.job.waiting, flight.keys
        self._end(flight, problem, keys)
        self._books.tally.tries_without_answer += len(keys)
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= _FAILED_JOBS_IN_A_ROW:
            self._queue.give_up(keys, problem)
            self.gone = f"stopped after {self._failed_in_a_row} failed jobs in a row"
        elif batch.status == "failed" and len(keys) > 1:
            for part in reversed(parts(lines, batch.problem or "")):
                self._queue.put(part, first=True)
        else:
            self._queue.put(self._queue.again(keys, problem))

    def _not_taken(self, flight: Flight, problem: str) -> list[Key]:
        """Close a job that the service surely did not take; its keys are free again."""
        keys = flight.keys
        self._end(flight, problem, keys)
        return keys

    def _end(self, flight: Flight, problem: str, keys: Sequence[Key]) -> None:
        """Close a job; ``keys`` are those of its lines that have no outcome."""
        self._ledger.jobs.close(flight.job, "failed", problem)
        self.flights.remove(flight)
        for key in self._queue.wanted.intersection(keys):
            self._books.budget.withdraw(self._books.render(key[0]))
        self._note("job closed", flight, problem=problem if keys else None)

    def _leave(self, flight: Flight) -> None:
        """Let a job be for this run; it stays open, and its lines are asked by nobody else."""
        self._ledger.jobs.leave(flight.job)
        self.flights.remove(flight)
        self.left.append(flight)
        self._note("job left open", flight, problem=flight.trouble or None)

    def _note(self, event: str, flight: Flight, **facts: str | int | None) -> None:
        job: Job = flight.job
        self._books.note(event, None, job=job.number, provider_id=job.provider_id, **facts)
