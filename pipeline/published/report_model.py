"""The figures of a run's own reports, whatever form they were published in."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

# (language, expectation, turns, speaker_mode, phenomenon); None: all of them.
SliceKey = tuple[str | None, str | None, int | None, str | None, str | None]
OVERALL: SliceKey = (None, None, None, None, None)
SLICE_NAMES = ("language", "expectation", "turns", "speaker_mode", "phenomenon")


@dataclass(frozen=True)
class Row:
    """A participant in a slice, as one report gives it. ``unit`` is what ``mean`` may be off by."""

    report: str
    key: SliceKey
    common: bool
    participant: str
    mean: Fraction | None
    unit: Fraction
    samples: int | None
    failed: int | None
    rank: int | None = None

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the slice fields that are given."""
        return tuple(name for name, value in zip(SLICE_NAMES, self.key, strict=True) if value is not None)


@dataclass
class Totals:
    """What ``run-status`` says of the run as a whole; ``None`` where it does not."""

    expected: int | None = None
    normalised: int | None = None
    untranslated: int | None = None
    failure_lines: int | None = None
    common_cells: int | None = None


@dataclass
class ReportFigures:
    """All figures of a run's reports. Counters are by (participant, language) where a report splits them."""

    rows: list[Row] = field(default_factory=list)
    severities: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    classes: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    labels: dict[str, dict[str, int]] = field(default_factory=dict)
    rates: dict[str, dict[str, tuple[Fraction, Fraction]]] = field(default_factory=dict)  # value, unit
    judged: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)  # ok, failed
    failed_samples: dict[str, list[str]] = field(default_factory=dict)  # participants by language
    totals: Totals = field(default_factory=Totals)
    judge_cost: Fraction | None = None
    documents: dict[str, Any] = field(default_factory=dict)  # JSON reports by file name
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)  # run-summary's parts, by run id
