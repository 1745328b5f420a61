"""The keys of a batch run that have no job now: grouped for the next jobs, or held by somebody else."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from pipeline.answers import Key
from pipeline.judges.books import Books


class KeyQueue:
    """Groups of keys waiting for a job, in order; no job mixes two groups.

    A key that brought no answer in ``max_rounds`` + 1 rounds is given up. Keys that nobody wants here (of
    an adopted job) are never queued.
    """

    def __init__(self, books: Books, max_rounds: int) -> None:
        self._books = books
        self._ledger = books.ledger
        self._max_rounds = max_rounds
        self._groups: deque[list[Key]] = deque()
        self._failures: Counter[Key] = Counter()
        self.wanted: set[Key] = set()
        self.elsewhere: set[Key] = set()

    def __bool__(self) -> bool:
        return bool(self._groups or self.elsewhere)

    @property
    def ready(self) -> bool:
        """Whether there are keys for another job."""
        return bool(self._groups)

    def add(self, keys: Iterable[Key]) -> None:
        """Want keys; whether they can be asked is looked at later."""
        self.wanted.update(keys)
        self.elsewhere.update(self.wanted)

    def put(self, keys: Iterable[Key], *, first: bool = False) -> None:
        """Queue keys as a group of their own."""
        group = [key for key in keys if key in self.wanted]
        if group and first:
            self._groups.appendleft(group)
        elif group:
            self._groups.append(group)

    def claim(self, most: int, lease_seconds: float) -> list[Key]:
        """Lease up to ``most`` keys of the first group; those that others have now are put aside."""
        group = self._groups.popleft()
        self.put(group[most:], first=True)
        claimed = self._ledger.claim(group[:most], lease_seconds)
        self.elsewhere.update(set(group[:most]) - set(claimed))
        return claimed

    def look_elsewhere(self) -> bool:
        """Sort out the keys that others had; returns whether some are in an open job."""
        free, in_job = [], False
        for key in sorted(self.elsewhere):
            refusal = self._ledger.refusal(key)
            if refusal == "answered":
                self._books.found(key)
            elif refusal is None:
                free.append(key)
            else:
                in_job = in_job or refusal == "in_job"
                continue
            self.elsewhere.discard(key)
        self.put(free)
        return in_job

    def again(self, keys: Sequence[Key], problem: str) -> list[Key]:
        """Those of keys that failed which have a round left; the others are given up."""
        self._failures.update(keys)
        self.give_up([key for key in keys if self._failures[key] > self._max_rounds], problem)
        return [key for key in keys if self._failures[key] <= self._max_rounds]

    def give_up(self, keys: Iterable[Key], problem: str) -> None:
        """Ask for keys no more in this run."""
        for key in keys:
            if key in self.wanted:
                self._books.gave_up(key, problem)

    def release(self) -> None:
        """Give the leases of all queued keys back."""
        for group in self._groups:
            for key in group:
                self._ledger.release(key)
