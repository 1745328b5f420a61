"""Counts of a judge run: what was there, what was asked, what failed and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class ModelTally:
    """Calls that a served model answered, and their cost; ``estimated`` is None if nobody knew."""

    calls: int = 0
    nano_usd: int = 0
    estimated: int | None = 0
    unknown_cost: int = 0


@dataclass
class Tally:
    """Answers by where they came from; ``failures`` counts the requests that brought none, by reason.

    ``reasked`` counts calls for a request that had a refused answer already.
    """

    wanted: int
    recorded: int = 0
    ledger: int = 0
    live: int = 0
    tries_without_answer: int = 0
    cost_nano_usd: int = 0
    reasked: int = 0
    reasked_nano_usd: int = 0
    refused: int = 0
    models: dict[str, ModelTally] = field(default_factory=dict)
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

    def account(self) -> Iterator[str]:
        """Lines for people: actual cost against the estimate by model, and what asking again cost."""
        for model, made in sorted(self.models.items()):
            estimate = "unknown" if made.estimated is None else usd(made.estimated)
            unknown = f" ({made.unknown_cost} calls without a cost)" if made.unknown_cost else ""
            yield f"{model}: {made.calls} calls, {usd(made.nano_usd)}{unknown}, estimated {estimate}"
        if self.reasked:
            yield (
                f"asked again {self.reasked} times for {usd(self.reasked_nano_usd)}; "
                f"{self.refused} answers stayed refused"
            )


def usd(nano: int) -> str:
    """Billionths of a dollar as an amount for people."""
    return f"${nano // 10**9}.{nano % 10**9:09d}"[:-5]
