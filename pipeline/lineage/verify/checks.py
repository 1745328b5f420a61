"""What a check is: a name, an outcome, figures, and the values that differ, each with its address."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from pipeline.errors import one_line

# Checks of hashes alone: they say that a file has changed, not what in it.
HASHES = ("manifest: files", "dvc.lock", "reports are fresh")
_SHOWN = 120
_BEFORE = 40
MISSING: Any = type("Missing", (), {"__repr__": lambda _: "missing"})()
"""Stands for a value that is not there."""


@dataclass(frozen=True)
class Difference:
    """A value that is not what it must be. ``address`` is a file with a JSON pointer, a line, or a row."""

    address: str
    found: str
    expected: str

    def line(self) -> str:
        """The difference as one line for people."""
        return one_line(f"{self.address}: is {self.found}, must be {self.expected}")


@dataclass(frozen=True)
class Check:
    """One check that ran, or was skipped: ``figures`` then holds the reason.

    ``differences`` are in the order they were found; ``more`` counts those that are not kept. ``notes`` are
    worth knowing and no failure.
    """

    name: str
    status: Literal["ok", "FAIL", "skip"]
    figures: str
    differences: tuple[Difference, ...] = ()
    more: int = 0
    notes: tuple[str, ...] = ()


@dataclass
class Findings:
    """Collects the values of one check: counts all of them, keeps the first that differ."""

    values: int = 0
    differences: list[Difference] = field(default_factory=list)
    more: int = 0

    def compare(self, address: str, found: Any, expected: Any) -> bool:
        """Count a value and note it if it differs; returns whether it agrees."""
        self.values += 1
        if same(found, expected):
            return True
        self.note(address, *shown_apart(found, expected))
        return False

    def note(self, address: str, found: str, expected: str) -> None:
        """Note a difference, in words."""
        if len(self.differences) < _KEPT:
            self.differences.append(Difference(address, found, expected))
        else:
            self.more += 1

    def check(self, name: str, figures: str, notes: Sequence[str] = ()) -> Check:
        """The check that these findings make."""
        return Check(
            name,
            "FAIL" if self.differences else "ok",
            figures,
            tuple(self.differences),
            self.more,
            tuple(notes),
        )


_KEPT = 1000


def skipped(name: str, reason: str) -> Check:
    """A check that has nothing to look at here."""
    return Check(name, "skip", reason)


def failed(name: str, problem: str) -> Check:
    """A check that could not be carried out because something is broken; ``problem`` names the place."""
    return Check(name, "FAIL", problem)


def same(found: Any, expected: Any) -> bool:
    """Whether two values are one, to the last bit: 1 is not true, and a fraction is its nearest double."""
    if isinstance(expected, Fraction):
        expected = float(expected)
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected
    if isinstance(expected, float):
        return isinstance(found, int | float) and float_of(found) == expected
    if isinstance(expected, int):
        return isinstance(found, int) and found == expected
    return type(found) is type(expected) and bool(found == expected)


def float_of(value: int | float) -> float:
    """A JSON number as a double; an integer beyond all doubles is infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def shown(value: Any) -> str:
    """A value as it is shown to people: JSON, on one line, not too long."""
    if value is MISSING:
        return "missing"
    if isinstance(value, Fraction):
        value = float(value)
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    text = one_line(text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def shown_apart(found: Any, expected: Any) -> tuple[str, str]:
    """Two values as they are shown side by side: long texts from shortly before where they part."""
    if isinstance(found, str) and isinstance(expected, str) and max(len(found), len(expected)) > _SHOWN:
        parted = next(
            (i for i, pair in enumerate(zip(found, expected, strict=False)) if len(set(pair)) > 1), 0
        )
        start = max(0, parted - _BEFORE)
        found, expected = (f"{'...' if start else ''}{text[start:]}" for text in (found, expected))
    return shown(found), shown(expected)


def pointer(parts: Sequence[str | int]) -> str:
    """A JSON pointer (RFC 6901) of keys and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def compare_json(
    findings: Findings, file: str, found: Any, expected: Any, path: tuple[str | int, ...] = ()
) -> None:
    """Compare every value of a JSON document. A value that is not expected is a difference, too."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in (*expected, *(key for key in found if key not in expected)):
            compare_json(findings, file, found.get(key, MISSING), expected.get(key, MISSING), (*path, key))
    elif isinstance(expected, list) and isinstance(found, list):
        for index in range(max(len(expected), len(found))):
            compare_json(findings, file, _at(found, index), _at(expected, index), (*path, index))
    elif expected is MISSING:
        findings.values += 1
        findings.note(f"{file}#{pointer(path)}", shown(found), "not there: an unknown value")
    else:
        findings.compare(f"{file}#{pointer(path)}", found, expected)


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else MISSING


def counted(number: int, one: str, many: str = "") -> str:
    """``3 files``, ``1 file``; thousands apart by commas."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def first_failure(checks: Iterable[Check]) -> str:
    """The first value that differs, or the first hash if no value does, with the check that found it."""
    bad = failures(checks)
    first = next((check for check in bad if check.name not in HASHES), bad[0])
    return f"{first.name}: {first.differences[0].line() if first.differences else first.figures}"


def failures(checks: Iterable[Check]) -> list[Check]:
    """Those of the checks that failed."""
    return [check for check in checks if check.status == "FAIL"]
