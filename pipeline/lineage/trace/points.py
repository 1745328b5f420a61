"""Penalties as people write them: exact, without a float in between."""

from __future__ import annotations

from fractions import Fraction

_DIGITS = 1


def points(tenths: int, repeats: int = 1) -> str:
    """A penalty of ``tenths`` tenths over ``repeats`` verdicts: ``5``, ``0.1`` or ``16/3``."""
    value = Fraction(tenths, 10 * repeats)
    if value.denominator == 1:
        return str(value.numerator)
    if 10 % value.denominator == 0:
        return f"{float(value):.{_DIGITS}f}"
    return f"{value.numerator}/{value.denominator}"
