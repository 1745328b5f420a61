"""How fast and how patiently a judge is asked."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """Exponential backoff with full jitter, bounded in tries and in time waited.

    Full jitter: a wait drawn evenly from 0 to the bound, so that many callers do not come back at once
    (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
    """

    tries: int
    first_seconds: float = 1.0
    longest_seconds: float = 60.0
    total_seconds: float = 300.0

    def wait(self, tried: int, waited: float, asked_for: float | None) -> float | None:
        """Seconds to wait after ``tried`` tries and ``waited`` seconds of waiting; None: ask no more.

        A service that asks for more time than is left is not asked before that time, so not at all.
        """
        if tried >= self.tries:
            return None
        bound = min(self.longest_seconds, self.first_seconds * 2 ** (tried - 1))
        seconds = random.uniform(0, bound)  # noqa: S311
        if asked_for is not None:
            seconds += asked_for
        return seconds if waited + seconds <= self.total_seconds else None


class Pace:
    """Spaces out the starts of calls over all threads: requests per minute, and pauses a service asks for."""

    def __init__(self, requests_per_minute: int | None) -> None:
        self._interval = 60 / requests_per_minute if requests_per_minute else 0.0
        self._next = time.monotonic()
        self._lock = threading.Lock()

    def wait(self, stop: threading.Event) -> None:
        """Wait for this call's turn, or until ``stop`` is set."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self._interval
        stop.wait(max(0.0, turn - time.monotonic()))

    def pause(self, seconds: float) -> None:
        """Let no call start for that long."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)
