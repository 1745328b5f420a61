"""Numbers as they were printed: what precision was given, and what an exact value looks like in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

Rounding = Literal["half_up", "half_even"]

_NUMBER = re.compile(
    r"(?P<sign>[+\-−])?(?P<currency>\$)?(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<places>\d+))?"
    r"(?P<unit> ?%|x|×)?"
)


@dataclass(frozen=True)
class Printed:
    """A printed number: ``31.5 %`` has ``units`` 315, ``places`` 1 and is a ``percent``."""

    units: int  # the number in units of its last printed place
    places: int
    percent: bool = False
    prefix: str = ""
    suffix: str = ""
    minus: str = "-"
    signed: bool = False
    grouped: bool = False

    def agrees(self, value: Fraction, rounding: Rounding) -> bool:
        """Whether ``value``, rounded to the printed places, is the printed number."""
        return self._rounded(value, rounding) == self.units

    def compared(self, value: Fraction, rounding: Rounding | None) -> tuple[Fraction, Fraction]:
        """``value`` and the printed number in units of the last place; rounded if a rounding is given."""
        exact = self._scaled(value) if rounding is None else Fraction(self._rounded(value, rounding))
        return exact, Fraction(self.units)

    def show(self, value: Fraction, rounding: Rounding) -> str:
        """``value`` in the printed precision, sign, unit and grouping."""
        units = self._rounded(value, rounding)
        number = Decimal(abs(units)).scaleb(-self.places)
        digits = f"{number:,.{self.places}f}" if self.grouped else f"{number:.{self.places}f}"
        sign = self.minus if units < 0 else "+" if self.signed and units > 0 else ""
        return f"{sign}{self.prefix}{digits}{self.suffix}"

    def _scaled(self, value: Fraction) -> Fraction:
        return value * int(10**self.places) * (100 if self.percent else 1)

    def _rounded(self, value: Fraction, rounding: Rounding) -> int:
        scaled = self._scaled(value)
        if rounding == "half_even":
            return round(scaled)
        whole = int(abs(scaled) + Fraction(1, 2))
        return -whole if scaled < 0 else whole


def parse_printed(text: str) -> Printed:
    """Read a printed number: digits with an optional sign, ``$``, thousands commas, ``%`` or ``x``.

    Raises:
        ValueError: it is no such number.
    """
    found = _NUMBER.fullmatch(text)
    if not found:
        raise ValueError(
            f"{text!r} is no printed number; write it as 1.577, 31.5 %, 7,759, $7.74 or 7.4x, with its sign"
        )
    places = found["places"] or ""
    units = int(found["whole"].replace(",", "") + places)
    negative = found["sign"] in ("-", "−")
    unit = found["unit"] or ""
    return Printed(
        units=-units if negative else units,
        places=len(places),
        percent=unit.endswith("%"),
        prefix=found["currency"] or "",
        suffix=unit,
        minus=found["sign"] if negative else "-",
        signed=found["sign"] == "+",
        # Numbers below 1,000 cannot show whether they are grouped; a computed one of more digits is.
        grouped="," in found["whole"] or len(found["whole"]) <= 3,
    )


def parse_range(text: str) -> tuple[Printed, Printed]:
    """Read ``1.2-1.9 %`` (hyphen or en dash): both numbers, the unit of the second for both.

    Raises:
        ValueError: it is no such range.
    """
    first, dash, second = text.replace("–", "-").partition("-")
    if not dash:
        raise ValueError(f"{text!r} is no range; write it as 1.2-1.9 %")
    upper = parse_printed(second)
    return parse_printed(first if first.endswith(upper.suffix) else first + upper.suffix), upper


def parse_bound(text: str) -> tuple[str, Printed]:
    """Read ``<= 0.5 %``, ``>= 2``, ``< 1`` or ``> 50 %`` (also with the one-character signs).

    Raises:
        ValueError: it is no such bound.
    """
    plain = text.replace("≤", "<=").replace("≥", ">=")
    found = re.fullmatch(r"(<=|>=|<|>) ?(.+)", plain)
    if not found:
        raise ValueError(f"{text!r} is no bound; write it as <= 0.5 % or > 50 %")
    return found[1], parse_printed(found[2])
