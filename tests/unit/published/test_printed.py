"""Printed numbers: each case says what the text means, and which exact values print as it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pipeline.published.claims.printed import Rounding, parse_bound, parse_printed, parse_range

# text, value, rounding, agrees, the value in the text's form
CASES: list[tuple[str, Fraction, Rounding, bool, str]] = [
    ("1.577", Fraction(1022, 648), "half_up", True, "1.577"),  # 1.57716...
    ("1.577", Fraction(15765, 10000), "half_up", True, "1.577"),  # a tie goes away from zero
    ("1.577", Fraction(15765, 10000), "half_even", False, "1.576"),  # 1576 is even
    ("1.578", Fraction(15775, 10000), "half_even", True, "1.578"),
    ("1.577", Fraction(15764999, 10**7), "half_up", False, "1.576"),
    ("5.810", Fraction(581, 100), "half_up", True, "5.810"),
    ("5.81", Fraction(581, 100), "half_up", True, "5.81"),
    ("0.333", Fraction(1, 3), "half_up", True, "0.333"),
    ("31.5 %", Fraction(315, 1000), "half_up", True, "31.5 %"),
    ("31.5%", Fraction(3145, 10000), "half_up", True, "31.5%"),  # 31.45 is halfway
    ("31.5%", Fraction(3145, 10000), "half_even", False, "31.4%"),
    ("0%", Fraction(4, 1000), "half_up", True, "0%"),
    ("0%", Fraction(5, 1000), "half_up", False, "1%"),
    ("−0.667", Fraction(-2, 3), "half_up", True, "−0.667"),
    ("-0.667", Fraction(-2, 3), "half_up", True, "-0.667"),
    ("−0.667", Fraction(2, 3), "half_up", False, "0.667"),
    ("0.667", Fraction(-2, 3), "half_up", False, "-0.667"),
    ("-2", Fraction(-3, 2), "half_up", True, "-2"),
    ("-1", Fraction(-3, 2), "half_even", False, "-2"),
    ("+102", Fraction(102), "half_up", True, "+102"),
    ("7,759", Fraction(7759), "half_up", True, "7,759"),
    ("7,759", Fraction(7758), "half_up", False, "7,758"),
    ("7759", Fraction(12345), "half_up", False, "12345"),
    ("1", Fraction(12345), "half_up", False, "12,345"),
    ("$7.74", Fraction(7737473, 10**6), "half_up", True, "$7.74"),
    ("-$7.74", Fraction(-7737473, 10**6), "half_up", True, "-$7.74"),
    ("7.4x", Fraction(5998, 813), "half_up", True, "7.4x"),  # 7.377...
    ("7.0×", Fraction(5717, 813), "half_up", True, "7.0×"),  # 7.032...
    ("1,234.5", Fraction(12345, 10), "half_up", True, "1,234.5"),
    ("0.000", Fraction(-1, 10**6), "half_up", True, "0.000"),
]


@pytest.mark.parametrize(("text", "value", "rounding", "agrees", "shown"), CASES)
def test_a_value_at_printed_precision(
    text: str, value: Fraction, rounding: Rounding, agrees: bool, shown: str
) -> None:
    printed = parse_printed(text)
    assert printed.agrees(value, rounding) is agrees
    assert printed.show(value, rounding) == shown


@pytest.mark.parametrize(
    "text", ["", "1.", ".5", "1,23", "1,2345", "1 577", "about 1", "1.5 percent", "1e3", "NaN", "--1", "1%%"]
)
def test_what_is_no_printed_number(text: str) -> None:
    with pytest.raises(ValueError, match="is no printed number"):
        parse_printed(text)


def test_a_range_takes_its_unit_from_its_end() -> None:
    lower, upper = parse_range("1.2–1.9 %")
    assert lower.agrees(Fraction(12, 1000), "half_up")
    assert upper.agrees(Fraction(19, 1000), "half_up")
    lower, upper = parse_range("638-648")
    assert (lower.units, upper.units) == (638, 648)
    with pytest.raises(ValueError, match="is no range"):
        parse_range("1.2")


@pytest.mark.parametrize("text", ["<= 0.5 %", "≤0.5%", "<=0.5 %"])
def test_a_bound(text: str) -> None:
    sign, limit = parse_bound(text)
    assert sign == "<="
    assert limit.agrees(Fraction(5, 1000), "half_up")
    with pytest.raises(ValueError, match="is no bound"):
        parse_bound("about 0.5 %")
