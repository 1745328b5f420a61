"""The verdict on a claim: computed again and compared at the precision it was printed in."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from pipeline.published.claims.expressions import Combination, Leaf, fill
from pipeline.published.claims.facts import Absent, Facts, Value, evaluate
from pipeline.published.claims.model import Claim
from pipeline.published.claims.printed import Rounding, parse_bound, parse_printed, parse_range


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    NOT_RECOMPUTABLE = "not recomputable"


@dataclass(frozen=True)
class Finding:
    """A verdict. ``computed`` is in the printed form, ``exact`` the fraction behind a single number;
    ``missing`` says what a claim that cannot be recomputed would need."""

    verdict: Verdict
    computed: str | None = None
    exact: str | None = None
    missing: str | None = None


_BOUNDS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def judge_claim(claim: Claim, facts: Facts, rounding: Rounding) -> Finding:
    """Compute a claim again from ``facts`` and compare it with what was printed."""
    match claim.kind:
        case "ordering":
            return _ordering(claim, facts)
        case "every":
            return _every(claim, facts)
        case "largest" | "smallest":
            return _extreme(claim, facts)
        case "range":
            return _range(claim, facts, rounding)
        case "bound":
            return _bound(claim, facts, rounding)
    value = evaluate(claim.chain[0], facts)
    if isinstance(value, Absent):
        return _not_recomputable(value)
    printed = parse_printed(claim.printed)
    return _compared(printed.agrees(value, rounding), printed.show(value, rounding), value)


def _compared(agrees: bool, computed: str, exact: Fraction | None = None) -> Finding:
    verdict = Verdict.REPRODUCED if agrees else Verdict.DIFFERS
    return Finding(verdict, computed, None if exact is None else str(exact))


def _not_recomputable(value: Absent) -> Finding:
    return Finding(Verdict.NOT_RECOMPUTABLE, missing=value.missing)


def _each(
    claim: Claim, facts: Facts, expression: Leaf | Combination, names: Sequence[str | int] | None = None
) -> dict[str, Fraction] | Absent:
    """The value of an expression for every name that ``over`` runs through, in their order."""
    over = claim.over or ""
    values: dict[str, Fraction] = {}
    for name in names or claim.among or facts.names(over):
        value: Value = evaluate(fill(expression, over, name), facts)
        if isinstance(value, Absent):
            return value
        values[str(name)] = value
    return values if values else Absent(f"a {over}")


def _ordering(claim: Claim, facts: Facts) -> Finding:
    names: list[str | int] = [int(n) if claim.over == "turns" and n.isdecimal() else n for n in claim.names()]
    values = _each(claim, facts, claim.chain[0], names)
    if isinstance(values, Absent):
        return _not_recomputable(values)
    ranked = sorted(values, key=lambda name: values[name])
    text = ranked[0]
    for before, name in itertools.pairwise(ranked):
        text += (" < " if values[before] < values[name] else " = ") + name
    return _compared(text == " < ".join(claim.names()), text)


def _every(claim: Claim, facts: Facts) -> Finding:
    chains: list[dict[str, Fraction]] = []
    for expression in claim.chain:
        values = _each(claim, facts, expression)
        if isinstance(values, Absent):
            return _not_recomputable(values)
        chains.append(values)
    wrong = [
        name
        for name in chains[0]
        if not all(one[name] < two[name] for one, two in itertools.pairwise(chains))
    ]
    total = len(chains[0])
    text = f"{total - len(wrong)} of {total}, not {', '.join(wrong)}" if wrong else "every"
    return _compared(not wrong, text)


def _extreme(claim: Claim, facts: Facts) -> Finding:
    values = _each(claim, facts, claim.chain[0])
    if isinstance(values, Absent):
        return _not_recomputable(values)
    extreme = (max if claim.kind == "largest" else min)(values.values())
    found = " = ".join(name for name, value in values.items() if value == extreme)
    return _compared(found == claim.printed, found)


def _range(claim: Claim, facts: Facts, rounding: Rounding) -> Finding:
    values = _each(claim, facts, claim.chain[0])
    if isinstance(values, Absent):
        return _not_recomputable(values)
    lower, upper = parse_range(claim.printed)
    least, most = min(values.values()), max(values.values())
    text = f"{lower.show(least, rounding)} to {upper.show(most, rounding)}"
    return _compared(lower.agrees(least, rounding) and upper.agrees(most, rounding), text)


def _bound(claim: Claim, facts: Facts, rounding: Rounding) -> Finding:
    """Every value, rounded to the printed places for ``<=`` and ``>=``, exactly for ``<`` and ``>``."""
    sign, limit = parse_bound(claim.printed)
    if claim.over is None:
        alone = evaluate(claim.chain[0], facts)
        values = alone if isinstance(alone, Absent) else {"": alone}
    else:
        values = _each(claim, facts, claim.chain[0])
    if isinstance(values, Absent):
        return _not_recomputable(values)
    extreme = (max if sign.startswith("<") else min)(values.values())
    holds = _BOUNDS[sign]
    agrees = all(
        holds(*limit.compared(value, rounding if sign.endswith("=") else None)) for value in values.values()
    )
    return _compared(agrees, limit.show(extreme, rounding), extreme if claim.over is None else None)
