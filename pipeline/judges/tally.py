"""Counts of a judge run: what was there, what was asked, what failed and what it cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Answers by where they came from; ``failures`` counts the requests that brought none, by reason."""

    wanted: int
    recorded: int = 0
    ledger: int = 0
    live: int = 0
    tries_without_answer: int = 0
    cost_nano_usd: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def there(self) -> int:
        """Answers there are."""
        return self.recorded + self.ledger + self.live

    @property
    def missing(self) -> int:
        """Answers there are not."""
        return self.wanted - self.there

    @property
    def failed(self) -> int:
        """Requests given up in this run."""
        return self.failures.total()

    def paid(self) -> str:
        """What this run cost, and how many calls brought nothing, for people."""
        wasted = f", {self.tries_without_answer} tries without an answer" if self.tries_without_answer else ""
        return f"{usd(self.cost_nano_usd)} paid now{wasted}"

    def sources(self) -> str:
        """The hits by source, for people."""
        return f"{self.recorded} recorded, {self.ledger} from the ledger, {self.live} asked now"

    def reasons(self, most: int = 3) -> str:
        """The most frequent reasons of failure, for people."""
        shown = "; ".join(f"{count} x {reason}" for reason, count in self.failures.most_common(most))
        return shown + ("; ..." if len(self.failures) > most else "")


def usd(nano: int) -> str:
    """Billionths of a dollar as an amount for people."""
    return f"${nano // 10**9}.{nano % 10**9:09d}"[:-5]
