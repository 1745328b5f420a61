"""Ask a live judge for many answers at once, each stored in the ledger before the next step."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from pipeline.answers import Attempt, Key
from pipeline.errors import BackendError
from pipeline.judges.base import Backend, CallFailed, GiveUp, RetryLater, Uncertain
from pipeline.judges.books import Books
from pipeline.judges.budget import OverBudget
from pipeline.judges.interrupts import counted_signals
from pipeline.judges.ledger import Intent, Kind, Refusal
from pipeline.judges.pace import Pace, Patience
from pipeline.judges.progress import Progress
from pipeline.profiles import JudgeProfile, LiveTransport
from pipeline.requests import JudgeRequest

# How long until a key that another process is asking is looked at again.
_LEASED_SECONDS = 0.2
_SHOW_SECONDS = 0.1
# One more thread for so many calls at once: storing an answer takes a small part of the time of a call.
_CALLS_A_SPARE = 4
_UNCERTAIN = "this process was told twice to stop and did not wait for the answer"
_UNSENT = "not sent: the run was told to stop"
_IN_JOB = "stands in an open batch job; see `python -m pipeline ledger status`"


class LiveAsker:
    """A pool of threads that works off a queue of keys; see ``books.Asker``.

    At most ``transport.concurrency`` calls are under way. There are more threads than that, so that writing
    down an intent or an answer, a wait for the disk, keeps no call from being made.

    A request that brings no answer is counted and the others go on, unless so many fail one after the
    other that the service must be gone.
    """

    def __init__(self, profile: JudgeProfile, backend: Backend, books: Books) -> None:
        transport = profile.transport_as(LiveTransport)
        self._backend_name = profile.backend
        self._backend = backend
        self._books = books
        self._ledger = books.ledger
        self._calls = threading.Semaphore(transport.concurrency)
        self._threads = transport.concurrency + max(1, transport.concurrency // _CALLS_A_SPARE)
        self._pace = Pace(transport.requests_per_minute)
        self._patience = books.patience or Patience(transport.max_tries)
        # A call and the waits around it fit in; a process that ends gives its leases back at once.
        self._lease_seconds = 2 * transport.timeout_seconds + 2 * self._patience.total_seconds + 60
        self._failures_in_a_row_allowed = max(8, 2 * transport.concurrency)
        self._failures_in_a_row = 0
        self._queue: deque[Key] = deque()
        self._in_flight: dict[int, tuple[JudgeRequest, Intent]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self.stopped: str | None = None

    def ask(self, keys: Iterable[Key], progress: Progress) -> None:
        """Ask for every key.

        The first signal (Ctrl-C, SIGTERM), or the end of the run's time, ends the asking and waits for the
        answers under way. The second signal does not wait: what is under way is written down as uncertain.
        """
        self._queue.extend(keys)
        workers = [
            threading.Thread(target=self._work, name=f"judge-{number}", daemon=True)
            for number in range(min(self._threads, len(self._queue)))
        ]
        with counted_signals() as signals:
            for worker in workers:
                worker.start()
            for worker in workers:
                while worker.is_alive() and signals.count < 2:
                    worker.join(_SHOW_SECONDS)
                    progress.show(self._books.tally)
                    if signals.count:
                        self._end("interrupted")
                    elif self._books.time_is_over:
                        self._end("the run's time is over (transport.run_timeout_seconds)")
            if signals.count >= 2:
                self._abandon()
        if self._error is not None:
            raise self._error

    def note(self) -> str:
        """See ``books.Asker.note``: a live call leaves nothing open."""
        return ""

    def _end(self, why: str) -> None:
        with self._lock:
            if self.stopped is None:
                self.stopped = why
                self._books.note("stopping", why=why)
        self._stop.set()

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                with self._lock:
                    if not self._queue:
                        return
                    key = self._queue.popleft()
                if not self._pursue(key):
                    with self._lock:
                        self._queue.append(key)
                    self._stop.wait(_LEASED_SECONDS)
        except OverBudget as why:
            self._end(str(why))
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
            self._stop.set()

    def _pursue(self, key: Key) -> bool:
        """Ask for one key until it is settled or given up; False if another process is asking it."""
        refusal = self._ledger.refusal(key)
        if refusal is None:
            request = self._books.render(key[0])
            tried, waited = 0, 0.0
            while True:
                if not self._stop.is_set():
                    self._books.budget.reserve(request, self._stop.is_set)
                if self._stop.is_set():
                    self._ledger.release(key)
                    return True
                begun = self._ledger.begin(request, key, self._backend_name, self._lease_seconds)
                if not isinstance(begun, Intent):
                    self._books.budget.withdraw(request)
                    refusal = begun
                    break
                done = self._call(request, begun)
                if done is True:
                    return True
                if done is False:  # refused by strict reading: another round
                    tried, waited = 0, 0.0
                    continue
                tried += 1
                asked_for = done.retry_after if isinstance(done, RetryLater) else None
                wait = self._patience.wait(tried, waited, asked_for)
                if wait is None:
                    self._give_up(key, done.problem)
                    return True
                self._books.note("waiting to ask again", key, seconds=round(wait, 3), problem=done.problem)
                waited += wait
                self._stop.wait(wait)
        return self._passed_over(key, refusal)

    def _passed_over(self, key: Key, refusal: Refusal) -> bool:
        if refusal == "answered":
            self._books.found(key)
        elif refusal == "in_job":
            self._books.gave_up(key, _IN_JOB)
        return refusal != "leased"

    def _call(self, request: JudgeRequest, intent: Intent) -> bool | CallFailed:
        """Send once and write down what came of it; for an answer, whether it settles its key."""
        try:
            attempt = self._send(request, intent)
        except CallFailed as failure:
            kind: Kind = "uncertain" if isinstance(failure, Uncertain) else "failed"
            self._books.outcome(request, intent, kind, attempt=failure.attempt, problem=failure.problem)
            if isinstance(failure, GiveUp):
                self._ledger.release(intent.key)
                raise BackendError(f"{failure.problem} (request {intent.key[0]})") from None
            return failure
        else:
            if attempt is None:
                self._books.unsent(request, intent, _UNSENT)
                return True
            self._failures_in_a_row = 0
            return self._books.outcome(request, intent, "answer", attempt=attempt)
        finally:
            with self._lock:
                self._in_flight.pop(intent.number, None)

    def _send(self, request: JudgeRequest, intent: Intent) -> Attempt | None:
        """Make the call when there is room for one; None if the run has to end before that."""
        with self._calls:
            self._pace.wait(self._stop)
            with self._lock:
                if self._stop.is_set():
                    return None
                self._in_flight[intent.number] = request, intent
            self._books.note("asked", intent.key, intent=intent.number)
            try:
                return self._backend.send(request)
            except GiveUp:
                self._stop.set()  # before there is room for the next call
                raise
            except RetryLater as later:
                if later.retry_after and later.retry_after <= self._patience.total_seconds:
                    self._pace.pause(later.retry_after)
                raise

    def _give_up(self, key: Key, problem: str) -> None:
        self._books.gave_up(key, problem)
        with self._lock:
            self._failures_in_a_row += 1
            gone = self._failures_in_a_row >= self._failures_in_a_row_allowed
        if gone:
            self._end(f"stopped after {self._failures_in_a_row} failures in a row")

    def _abandon(self) -> None:
        with self._lock:
            under_way = list(self._in_flight.values())
        for request, intent in under_way:
            self._books.outcome(request, intent, "uncertain", problem=_UNCERTAIN)
