"""The books of a run: ledger, budget, tally and log, kept in step by whoever asks.

An asker (``asking`` for live calls, one call a request; ``batch`` for jobs) decides what to ask and when.
What came of it is written down here, the same way for all of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipeline.answers import Attempt, Key
from pipeline.judges.base import Backend
from pipeline.judges.budget import Budget
from pipeline.judges.estimating import Estimator
from pipeline.judges.events import Events, Fact
from pipeline.judges.ledger import Intent, Kind, Ledger
from pipeline.judges.pace import Patience
from pipeline.judges.progress import Progress
from pipeline.judges.settling import Settling
from pipeline.judges.tally import ModelTally, Tally
from pipeline.profiles import JudgeProfile
from pipeline.requests import JudgeRequest


@dataclass
class Books:
    """What a run writes down, and what bounds it. Its methods may be called from any thread.

    ``deadline`` is on the clock of ``time.monotonic``; ``detach``: submit, and leave.
    """

    ledger: Ledger
    render: Callable[[str], JudgeRequest]
    tally: Tally
    settling: Settling
    estimator: Estimator
    budget: Budget
    events: Events
    patience: Patience | None = None
    deadline: float | None = None
    detach: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def time_is_over(self) -> bool:
        """Whether the run has reached ``transport.run_timeout_seconds``."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def note(self, event: str, key: Key | None = None, **facts: Fact) -> None:
        """Write an event to the log."""
        named: dict[str, Any] = {} if key is None else {"request": key[0], "repeat": key[1]}
        self.events.emit(event, **named, **facts)

    def outcome(
        self,
        request: JudgeRequest,
        intent: Intent,
        kind: Kind,
        *,
        attempt: Attempt | None = None,
        problem: str | None = None,
    ) -> bool:
        """Write down what came of an intent, in the ledger first; whether its key is settled now.

        An ``answer`` that strict reading refuses leaves the key unsettled as long as it may be asked again.
        """
        rounds = self.ledger.round_count(intent.key)
        settled = self.ledger.finish(
            intent, kind, attempt=attempt, problem=problem, decide=self.settling.decide
        )
        self.budget.settle(request, attempt, uncertain=kind == "uncertain")
        cost = (attempt.cost_nano_usd or 0) if attempt is not None else 0
        refused = kind == "answer" and attempt is not None and not self.settling.valid(attempt)
        with self._lock:
            self.tally.cost_nano_usd += cost
            if attempt is not None and kind == "answer":
                self._count_model(request, attempt)
                self.tally.live += settled
                self.tally.refused += settled and refused
            else:
                self.tally.tries_without_answer += 1
            if rounds and kind == "answer":
                self.tally.reasked += 1
                self.tally.reasked_nano_usd += cost
        self.note(
            "refused" if refused else "answered" if kind == "answer" else kind,
            intent.key,
            intent=intent.number,
            problem=problem,
            settled=settled,
            round=rounds + 1 if kind == "answer" else None,
            status=attempt.http_status if attempt else None,
            finish_reason=attempt.finish_reason if attempt else None,
            model=attempt.served_model if attempt else None,
            cost_nano_usd=attempt.cost_nano_usd if attempt else None,
        )
        return settled

    def unsent(self, request: JudgeRequest, intent: Intent, why: str) -> None:
        """An intent that was never carried out: nothing was asked, nothing is spent."""
        self.ledger.finish(intent, "failed", problem=why)
        self.ledger.release(intent.key)
        self.budget.withdraw(request)
        self.note("not sent", intent.key, intent=intent.number, why=why)

    def found(self, key: Key) -> None:
        """Another process has settled a key meanwhile."""
        with self._lock:
            self.tally.ledger += 1
        self.note("found in the ledger", key)

    def gave_up(self, key: Key, problem: str) -> None:
        """A request brought no answer, and this run asks it no more."""
        self.ledger.release(key)
        with self._lock:
            self.tally.failures[problem] += 1
        self.note("gave up", key, problem=problem)

    def _count_model(self, request: JudgeRequest, attempt: Attempt) -> None:
        model = attempt.served_model or str(request.body.get("model", "unknown"))
        made = self.tally.models.setdefault(model, ModelTally())
        made.calls += 1
        made.nano_usd += attempt.cost_nano_usd or 0
        made.unknown_cost += attempt.cost_nano_usd is None
        expected = self.estimator.expected(request)
        made.estimated = None if made.estimated is None or expected is None else made.estimated + expected


class Asker(Protocol):
    """Puts keys to a judge. ``stopped`` says, once ``ask`` is over, why it ended early, if it did.

    An asker of batch jobs has a method ``reconcile`` besides, see ``reconciling``.
    """

    stopped: str | None

    def __init__(self, profile: JudgeProfile, backend: Backend, books: Books) -> None:
        """Prepare; nothing is sent yet."""

    def ask(self, keys: Iterable[Key], progress: Progress) -> None:
        """Ask for every key; returns when all are settled or given up, or the run has to end.

        Raises:
            BackendError: the service refuses in a way that asking again cannot change.
            LedgerError, StorageError: an answer could not be stored.
        """

    def note(self) -> str:
        """A clause on what is left open, for the last line of a run that lacks answers; empty if nothing."""
