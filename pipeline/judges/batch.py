"""Ask a judge by batch jobs: several in flight, each held by the ledger until all its lines have an end.

What leaves this loop early (a signal, a time-out, ``--detach``, a service that is gone) leaves its jobs
open; the next run adopts them. Nothing is sent twice that may have been accepted once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import cast

from pipeline.answers import Key
from pipeline.judges.base import Backend
from pipeline.judges.batch_desk import Desk, Waits
from pipeline.judges.batch_jobs import name_lines
from pipeline.judges.batch_keys import KeyQueue
from pipeline.judges.batch_reconcile import TWO_WAYS, Service
from pipeline.judges.books import Books
from pipeline.judges.budget import OverBudget
from pipeline.judges.interrupts import Signals, counted_signals
from pipeline.judges.openrouter_batch_wire import Line, split
from pipeline.judges.progress import Progress
from pipeline.profiles import BatchTransport, JudgeProfile
from pipeline.requests import JudgeRequest

_SHOW_SECONDS = 0.1
_NAMES_SHOWN = 3


class BatchAsker:
    """Works off keys by jobs, in one thread; see ``books.Asker``."""

    def __init__(
        self, profile: JudgeProfile, backend: Backend, books: Books, waits: Waits | None = None
    ) -> None:
        self._profile = profile
        self._transport = profile.transport_as(BatchTransport)
        self._service = cast(Service, backend)
        self._books = books
        self._waits = waits or Waits()
        self._queue = KeyQueue(books, self._transport.max_rounds)
        self._desk = Desk(self._transport, self._service, books, self._queue, self._waits)
        self._next_look = 0.0
        self._short = False
        self.stopped: str | None = None

    def ask(self, keys: Iterable[Key], progress: Progress) -> None:
        """See ``books.Asker.ask``. A signal ends it at once: the jobs go on without it."""
        self._queue.add(keys)
        desk = self._desk
        with counted_signals() as signals:
            try:
                desk.adopt(set(), self._profile.request.model)
                while (desk.flights or self._queue) and not self._has_to_stop(signals):
                    self._look_elsewhere()
                    self._fill()
                    for flight in [flight for flight in desk.flights if flight.due <= time.monotonic()]:
                        if not signals.count:
                            desk.step(flight)
                    if self._books.detach and not self._can_hand_in():
                        break
                    self._rest(signals, progress)
            finally:
                desk.let_go()
                self._queue.release()
        if self._books.detach and desk.left and self.stopped is None:
            self.stopped = f"{len(desk.left)} jobs are in flight (--detach)"

    def note(self) -> str:
        """See ``books.Asker.note``."""
        undecided = [flight for flight in self._desk.left if flight.job.provider_id is None]
        running = [flight for flight in self._desk.left if flight.job.provider_id is not None]
        notes = []
        if running:
            lines = sum(len(flight.keys) for flight in running)
            names = _named([str(flight.job.provider_id) for flight in running])
            trouble = next((f" ({flight.trouble})" for flight in running if flight.trouble), "")
            notes.append(f"{lines} of them are in jobs at the service: {names}{trouble}")
        if undecided:
            keys = [key[0][:12] for flight in undecided for key in flight.keys]
            candidates = [name for flight in undecided for name in flight.undecided]
            maybe = f", perhaps as {_named(candidates)}" if candidates else ""
            trouble = next((f" ({flight.trouble})" for flight in undecided if flight.trouble), "")
            notes.append(
                f"it is not known whether the service took {len(keys)} lines (requests "
                f"{_named(keys)}){maybe}{trouble}; they are not asked again: {TWO_WAYS}"
            )
        return "; ".join(notes)

    def _has_to_stop(self, signals: Signals) -> bool:
        if signals.count:
            self.stopped = "interrupted"
        elif self._books.time_is_over:
            self.stopped = "the run's time is over (transport.run_timeout_seconds)"
        elif self._desk.gone is not None:
            self.stopped = self._desk.gone
        return self.stopped is not None

    def _can_hand_in(self) -> bool:
        return self._has_room() or any(flight.upload is not None for flight in self._desk.flights)

    def _has_room(self) -> bool:
        return self._queue.ready and not self._desk.full

    def _rest(self, signals: Signals, progress: Progress) -> None:
        now = time.monotonic()
        due = [flight.due for flight in self._desk.flights]
        if self._queue.elsewhere:
            due.append(self._next_look)
        if self._has_room() and not (self._short and self._desk.flights):
            due.append(now)
        until = min(due, default=now)
        while True:
            progress.show(self._books.tally)
            left = until - time.monotonic()
            if left <= 0 or signals.count or self._books.time_is_over:
                return
            time.sleep(min(left, _SHOW_SECONDS))

    def _look_elsewhere(self) -> None:
        """Find out about keys that others had: a job that holds some is adopted if nobody works on it."""
        if self._queue.elsewhere and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + self._waits.look
            if self._queue.look_elsewhere():
                model = self._profile.request.model
                self._queue.elsewhere -= self._desk.adopt(self._queue.elsewhere, model)

    def _fill(self) -> None:
        """Begin jobs as long as there are keys, room and money."""
        while self._has_room() and self._desk.gone is None and self.stopped is None:
            claimed = self._queue.claim(self._desk.most_lines, self._waits.lease)
            requests = [(key, self._books.render(key[0])) for key in claimed]
            lines = self._affordable(self._cut(requests), requests)
            self._queue.put(claimed[len(lines) :], first=True)
            if lines:
                self._desk.begin(lines, claimed[: len(lines)])
            elif claimed:
                return

    def _cut(self, requests: Sequence[tuple[Key, JudgeRequest]]) -> list[Line]:
        names = name_lines(requests, lambda key: self._desk.rounds[key] + 1)
        return next(split(names, self._desk.most_lines, self._transport.max_bytes_per_job), [])

    def _affordable(self, lines: list[Line], requests: Sequence[tuple[Key, JudgeRequest]]) -> list[Line]:
        """The lines that the budget allows now; if there is none and nothing is in flight, the run ends."""
        budget = self._books.budget
        self._short = False
        for number, line in enumerate(lines):
            if budget.try_reserve(line.request):
                continue
            self._short = number == 0
            if self._short and not self._desk.flights:
                try:
                    budget.reserve(line.request, stop=lambda: True)
                except OverBudget as why:
                    self.stopped = str(why)
            return lines[:number]
        return lines


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more
