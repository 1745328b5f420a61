"""Mean penalties in slices, as exact fractions; and the one mean of means, in its stated float order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pipeline.lineage.verify.recount.run import Cell, PlainRun

Key = tuple[str | int, ...]

# Slices by the names of their columns, as the reports spell them.
SLICES: dict[str, Callable[[Cell], str | int]] = {
    "language": lambda cell: cell.language,
    "context_expectation": lambda cell: cell.item.context_expectation,
    "context_turn_count": lambda cell: cell.item.context_turn_count,
    "speaker_mode": lambda cell: cell.item.speaker_mode,
    "primary_phenomenon": lambda cell: cell.item.primary_phenomenon,
}


@dataclass
class Tally:
    """A participant in a slice: cells by fate, and penalty points over ok cells and repeats."""

    expected: int = 0
    samples: int = 0
    failed_samples: int = 0
    points: Fraction = Fraction(0)


@dataclass(frozen=True)
class Row:
    """``Tally`` with its place and its mean, in points a verdict; None where there is no ok cell."""

    key: Key
    participant: int
    mean_penalty: Fraction | None
    samples: int
    failed_samples: int
    expected: int


class Means:
    """Mean penalties of one run."""

    def __init__(self, run: PlainRun) -> None:
        self._run = run
        self._systems = len(run.design.systems)
        judged: dict[tuple[int, str], int] = {}
        for cell in run.ok:
            place = cell.item_index, cell.language
            judged[place] = judged.get(place, 0) + 1
        self.common = {place for place, count in judged.items() if count == self._systems}
        self._rows: dict[tuple[tuple[str, ...], bool], list[Row]] = {}

    def rows(self, *columns: str, common: bool = False) -> list[Row]:
        """A row for each slice value, sorted, and participant, in order.

        ``common``: over the (item, language) pairs that every participant is validly judged on.
        """
        if (columns, common) not in self._rows:
            self._rows[columns, common] = self._count(columns, common)
        return self._rows[columns, common]

    def _count(self, columns: tuple[str, ...], common: bool) -> list[Row]:
        pick = [SLICES[column] for column in columns]
        tallies: dict[Key, list[Tally]] = {} if columns else {(): self._zeros()}
        for cell in self._run.cells:
            key = tuple(function(cell) for function in pick)
            if key not in tallies:
                tallies[key] = self._zeros()
            tally = tallies[key][cell.participant]
            tally.expected += 1
            tally.failed_samples += cell.status == "judge_failed"
            if cell.penalty is not None and (not common or (cell.item_index, cell.language) in self.common):
                tally.samples += 1
                tally.points += cell.penalty
        repeats = self._run.design.repeats
        return [
            Row(
                key,
                participant,
                tally.points / (tally.samples * repeats) if tally.samples else None,
                tally.samples,
                tally.failed_samples,
                tally.expected,
            )
            for key in sorted(tallies)
            for participant, tally in enumerate(tallies[key])
        ]

    def _zeros(self) -> list[Tally]:
        return [Tally() for _ in range(self._systems)]

    def best_first(self) -> list[Row]:
        """The overall rows by mean; without one last."""
        return sorted(self.rows(), key=lambda r: (r.mean_penalty is None, r.mean_penalty or 0, r.participant))

    def normalised(self) -> list[float | None]:
        """Per participant the mean over languages of (mean - best) / (worst - best).

        In doubles and in this order, as docs/methodology.md has it: each language's mean is rounded,
        the shares are added in the run's language order, the sum is divided by the number of languages.
        """
        languages = self._run.design.languages
        means = {
            (row.key[0], row.participant): None if row.mean_penalty is None else float(row.mean_penalty)
            for row in self.rows("language")
        }
        return [
            _macro(
                [[means.get((language, other)) for other in range(self._systems)] for language in languages],
                one,
            )
            for one in range(self._systems)
        ]


def _macro(by_language: Sequence[Sequence[float | None]], participant: int) -> float | None:
    total = 0.0
    for means in by_language:
        mean = means[participant]
        known = [value for value in means if value is not None]
        if mean is None:
            return None
        best, worst = min(known), max(known)
        total += (mean - best) / (worst - best) if worst != best else 0.0
    return total / len(by_language)
