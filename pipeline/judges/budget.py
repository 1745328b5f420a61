"""``judge.budget_usd``: a run stops before it is passed, not after.

What counts is what was paid for the answers that are not recorded yet, as far as the ledger knows, plus
the greatest cost of every call that is under way. A call without an answer may have been charged and
counts as the greatest it can have cost; a call that failed for sure counts as the service says.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from pipeline.answers import Attempt
from pipeline.errors import ConfigError
from pipeline.judges.estimating import Estimator
from pipeline.judges.tally import usd
from pipeline.requests import JudgeRequest

_LOOK_SECONDS = 0.1


class OverBudget(Exception):
    """The next call could pass the budget."""


class Budget:
    """Spent and promised money of a run, in nano-dollars. ``limit`` None: there is no bound.

    Raises:
        ConfigError: there is a limit, and nobody knows what a call costs.
    """

    def __init__(self, limit: int | None, estimator: Estimator, model: str, spent: int = 0) -> None:
        if limit is not None and (estimator.price is None or estimator.max_tokens is None):
            raise ConfigError(
                f"judge.budget_usd is set, but the price of {model!r} is not known; add the model to "
                "data/judge-prices.yaml, or set judge.budget_usd: null"
            )
        self.limit = limit
        self.spent = spent
        self._estimator = estimator
        self._promised = 0
        self._changed = threading.Condition()

    def reserve(self, request: JudgeRequest, stop: Callable[[], bool] = lambda: False) -> None:
        """Promise the money for a call; waits while calls under way may turn out cheaper.

        Raises:
            OverBudget: even with nothing under way the call could pass the limit.
        """
        if self.limit is None:
            return
        cost = self._cost(request)
        with self._changed:
            while not self._fits(cost):
                if not self._promised:
                    raise OverBudget(self._why(cost))
                if stop():
                    return
                self._changed.wait(_LOOK_SECONDS)
            self._promised += cost

    def try_reserve(self, request: JudgeRequest) -> bool:
        """Promise the money for a call if it fits now."""
        if self.limit is None:
            return True
        cost = self._cost(request)
        with self._changed:
            if not self._fits(cost):
                return False
            self._promised += cost
            return True

    def promise(self, request: JudgeRequest) -> None:
        """Count a call that is under way already, such as a line of an open job."""
        if self.limit is not None:
            with self._changed:
                self._promised += self._cost(request)

    def settle(self, request: JudgeRequest, attempt: Attempt | None, *, uncertain: bool) -> None:
        """Put what a call cost in the place of what was promised for it."""
        if self.limit is None:
            return
        greatest = self._cost(request)
        price = self._estimator.price
        actual = price.of(attempt) if price is not None and attempt is not None else None
        if actual is None:
            answered = attempt is not None and 200 <= attempt.http_status < 300
            actual = greatest if uncertain or answered else 0
        with self._changed:
            self._promised = max(0, self._promised - greatest)
            self.spent += actual
            self._changed.notify_all()

    def withdraw(self, request: JudgeRequest) -> None:
        """Take a promise back: the call was not made."""
        if self.limit is not None:
            with self._changed:
                self._promised = max(0, self._promised - self._cost(request))
                self._changed.notify_all()

    def _fits(self, cost: int) -> bool:
        return self.limit is None or self.spent + self._promised + cost <= self.limit

    def _cost(self, request: JudgeRequest) -> int:
        return self._estimator.greatest(request) or 0

    def _why(self, cost: int) -> str:
        return (
            f"judge.budget_usd of {usd(self.limit or 0)} could be passed: {usd(self.spent)} spent, "
            f"the next call up to {usd(cost)}"
        )
