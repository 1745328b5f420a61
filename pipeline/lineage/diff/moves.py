"""How each participant's mean penalty moved from A to B, cause by cause; the parts add up exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pipeline.lineage.diff.causes import CAUSES, CellChange, State

A, B = "a", "b"


@dataclass(frozen=True)
class Move:
    """A participant on two leaderboards. Means are in penalty points; None without an ok cell.

    ``after`` holds the mean after each cause, in the order in which they are applied, and
    ``contributions`` what each changed: they add up to ``b - a`` exactly. A cause after which there is no
    mean has none; its part is in that of the next cause after which there is one.
    """

    participant: str
    a: Fraction | None
    b: Fraction | None
    rank_a: int | None
    rank_b: int | None
    after: Mapping[str, Fraction | None]
    contributions: Mapping[str, Fraction | None]


def moves(changes: Iterable[CellChange], order: Sequence[str]) -> list[Move]:
    """The moves of all participants, in the given order of them."""
    sums: dict[str, dict[str, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
    for change in changes:
        of = sums[change.key[2]]
        for stage, state in ((A, change.a), *change.states.items()):
            _add(of[stage], state)
    means = {
        participant: {stage: _mean(of[stage]) for stage in (A, *CAUSES)} for participant, of in sums.items()
    }
    last = list(CAUSES)[-1]
    return [
        Move(
            participant=participant,
            a=means[participant][A],
            b=means[participant][last],
            rank_a=_rank(means, participant, A),
            rank_b=_rank(means, participant, last),
            after={cause: means[participant][cause] for cause in CAUSES},
            contributions=_contributions(means[participant]),
        )
        for participant in order
        if participant in means
    ]


def _add(penalties: list[Fraction], state: State | None) -> None:
    if state is not None and state.penalty is not None:
        penalties.append(state.penalty)


def _mean(penalties: list[Fraction]) -> Fraction | None:
    return sum(penalties, Fraction()) / len(penalties) if penalties else None


def _contributions(means: Mapping[str, Fraction | None]) -> dict[str, Fraction | None]:
    known, found = means[A], {}
    for cause in CAUSES:
        mean = means[cause]
        found[cause] = None if mean is None or known is None else mean - known
        known = mean if mean is not None else known
    return found


def _rank(means: Mapping[str, Mapping[str, Fraction | None]], participant: str, stage: str) -> int | None:
    """One more than the participants with a lower mean: equal means share a rank."""
    own = means[participant][stage]
    if own is None:
        return None
    others = (of[stage] for of in means.values())
    return 1 + sum(other is not None and other < own for other in others)
