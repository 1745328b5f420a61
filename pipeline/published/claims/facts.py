"""Evaluate a claim's functions over something that knows a run: its tables, or its published reports."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from pipeline.published.claims.expressions import (
    Average,
    Change,
    Combination,
    Difference,
    Leaf,
    Ratio,
    Reduction,
    Sum,
    parts,
)


@dataclass(frozen=True)
class Absent:
    """What stands for a value that cannot be had, and what is missing for it."""

    missing: str


Value = Fraction | Absent


class Facts(Protocol):
    """What is known of a run."""

    def leaf(self, leaf: Leaf) -> Value:
        """The exact value of one function, or what is missing for it."""

    def names(self, field: str) -> tuple[str | int, ...]:
        """All values of a slice field, in the run's order."""


def evaluate(expression: Leaf | Combination, facts: Facts) -> Value:
    """The exact value of an expression.

    A mean over no cells and a division by zero are absent, never zero. Penalties are in points, rates and
    changes are shares, costs are in US dollars.
    """
    inner = parts(expression)
    if not inner:
        return facts.leaf(expression)  # type: ignore[arg-type]
    values: list[Fraction] = []
    for part in inner:
        value = evaluate(part, facts)
        if isinstance(value, Absent):
            return value
        values.append(value)
    return _combine(expression, values)


def _combine(expression: Leaf | Combination, values: list[Fraction]) -> Value:
    match expression:
        case Difference():
            return values[0] - values[1]
        case Ratio():
            return _divided(values[0], values[1])
        case Change():
            return _divided(values[1] - values[0], values[0])
        case Reduction():
            return _divided(values[0] - values[1], values[0])
        case Average():
            return sum(values, Fraction()) / len(values)
        case Sum():
            return sum(values, Fraction())
    raise TypeError(f"{expression.function} combines nothing")


def _divided(value: Fraction, by: Fraction) -> Value:
    return value / by if by else Absent("a divisor other than zero")
