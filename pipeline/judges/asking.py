"""Ask a live judge for many answers at once, each stored in the ledger before the next step."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

from pipeline.answers import Attempt, Key
from pipeline.errors import BackendError
from pipeline.judges.base import Backend, CallFailed, GiveUp, RetryLater, Uncertain
from pipeline.judges.interrupts import counted_signals
from pipeline.judges.ledger import Intent, Kind, Ledger
from pipeline.judges.pace import Pace, Patience
from pipeline.judges.progress import Progress
from pipeline.judges.tally import Tally
from pipeline.profiles import JudgeProfile, LiveTransport
from pipeline.requests import JudgeRequest

# How long until a key that another process is asking is looked at again.
_LEASED_SECONDS = 0.2
_SHOW_SECONDS = 0.1
_UNCERTAIN = "this process was told twice to stop and did not wait for the answer"


class Asker:
    """A pool of threads that works off a queue of keys.

    A request that brings no answer is counted in ``tally.failures`` and the others go on, unless so many
    fail one after the other that the service must be gone. ``refused`` is why the run was stopped, if so.
    """

    def __init__(
        self,
        profile: JudgeProfile,
        backend: Backend,
        ledger: Ledger,
        render: Callable[[str], JudgeRequest],
        tally: Tally,
        patience: Patience | None = None,
    ) -> None:
        transport = profile.transport_as(LiveTransport)
        self._backend_name = profile.backend
        self._backend = backend
        self._ledger = ledger
        self._render = render
        self._tally = tally
        self._threads = transport.concurrency
        self._pace = Pace(transport.requests_per_minute)
        self._patience = patience or Patience(transport.max_tries)
        # A call and the waits around it fit in; a process that ends gives its leases back at once.
        self._lease_seconds = 2 * transport.timeout_seconds + 2 * self._patience.total_seconds + 60
        self._failures_in_a_row_allowed = max(8, 2 * transport.concurrency)
        self._failures_in_a_row = 0
        self._queue: deque[Key] = deque()
        self._in_flight: dict[int, Intent] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self.interrupted = False
        self.service_gone = False

    def ask(self, keys: Iterable[Key], progress: Progress) -> None:
        """Ask for every key; returns when all are answered or given up, or the run was told to stop.

        The first signal (Ctrl-C, SIGTERM) ends the asking and waits for the answers under way. The
        second does not wait: what is under way is written down as uncertain.

        Raises:
            BackendError: the service refuses in a way that asking again cannot change.
            LedgerError, StorageError: an answer could not be stored.
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
                    progress.show(self._tally)
                    if signals.count:
                        self.interrupted = True
                        self._stop.set()
            if signals.count >= 2:
                self._abandon()
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                with self._lock:
                    if not self._queue:
                        return
                    key = self._queue.popleft()
                if not self._settle(key):
                    with self._lock:
                        self._queue.append(key)
                    self._stop.wait(_LEASED_SECONDS)
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
            self._stop.set()

    def _settle(self, key: Key) -> bool:
        """Ask for one key until it is answered or given up; False if another process is asking it."""
        refusal = self._ledger.refusal(key)
        if refusal is None:
            request = self._render(key[0])
            tried, waited = 0, 0.0
            while True:
                self._pace.wait(self._stop)
                if self._stop.is_set():
                    self._ledger.release(key)
                    return True
                begun = self._ledger.begin(request, key, self._backend_name, self._lease_seconds)
                if not isinstance(begun, Intent):
                    refusal = begun
                    break
                failure = self._call(request, begun)
                if failure is None:
                    return True
                tried += 1
                asked_for = failure.retry_after if isinstance(failure, RetryLater) else None
                wait = self._patience.wait(tried, waited, asked_for)
                if wait is None:
                    self._give_up(key, failure.problem)
                    return True
                if asked_for:
                    self._pace.pause(asked_for)
                waited += wait
                self._stop.wait(wait)
        if refusal == "answered":
            with self._lock:
                self._tally.ledger += 1
        return refusal == "answered"

    def _call(self, request: JudgeRequest, intent: Intent) -> CallFailed | None:
        """Send once and write down what came of it; None for an answer."""
        with self._lock:
            self._in_flight[intent.number] = intent
        try:
            attempt = self._backend.send(request)
        except CallFailed as failure:
            kind: Kind = "uncertain" if isinstance(failure, Uncertain) else "failed"
            self._ledger.finish(intent, kind, attempt=failure.attempt, problem=failure.problem)
            self._count(failure.attempt, answered=False)
            if isinstance(failure, GiveUp):
                self._ledger.release(intent.key)
                raise BackendError(f"{failure.problem} (request {intent.key[0]})") from None
            return failure
        else:
            self._ledger.finish(intent, "answer", attempt=attempt)
            self._count(attempt, answered=True)
            return None
        finally:
            with self._lock:
                self._in_flight.pop(intent.number, None)

    def _count(self, attempt: Attempt | None, *, answered: bool) -> None:
        with self._lock:
            if attempt is not None:
                self._tally.cost_nano_usd += attempt.cost_nano_usd or 0
            if answered:
                self._tally.live += 1
                self._failures_in_a_row = 0
            else:
                self._tally.tries_without_answer += 1

    def _give_up(self, key: Key, problem: str) -> None:
        self._ledger.release(key)
        with self._lock:
            self._tally.failures[problem] += 1
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= self._failures_in_a_row_allowed:
                self.service_gone = True
        if self.service_gone:
            self._stop.set()

    def _abandon(self) -> None:
        with self._lock:
            under_way = list(self._in_flight.values())
        for intent in under_way:
            self._ledger.finish(intent, "uncertain", problem=_UNCERTAIN)
