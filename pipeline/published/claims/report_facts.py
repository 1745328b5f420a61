"""A claim's functions looked up in a run's own reports: what they say, not what can be proved."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pipeline.published.claims.expressions import (
    CellCount,
    CommonCellCount,
    DistinctCount,
    ErrorCount,
    JudgeCost,
    LabelCount,
    LabelRate,
    Leaf,
    MeanPenalty,
    Reported,
    Slice,
)
from pipeline.published.claims.facts import Absent, Value
from pipeline.published.report_model import ReportFigures, SliceKey
from pipeline.vocabulary import CONTEXT_EXPECTATIONS, CONTEXT_TURN_COUNTS, SPEAKER_MODES

NOT_REPORTED = Absent("a report that says it")
# The two rates that reports give, by what they are about.
_RATES = {
    ("missed_required_context", "use"): "missed_required_context_rate",
    ("misused_context", "ignore"): "misused_context_rate",
}


class ReportFacts:
    """Facts from reports. Only plain look-ups and sums of counts: a mean is never put together here."""

    def __init__(
        self, figures: ReportFigures, participants: list[str], languages: list[str], items: int | None
    ) -> None:
        self._figures = figures
        self._names: dict[str, tuple[str | int, ...]] = {
            "participant": tuple(participants),
            "language": tuple(languages),
            "expectation": CONTEXT_EXPECTATIONS,
            "turns": CONTEXT_TURN_COUNTS,
            "speaker_mode": SPEAKER_MODES,
            "phenomenon": tuple(sorted({row.key[4] for row in figures.rows if row.key[4] is not None})),
        }
        self._items = items

    def names(self, field: str) -> tuple[str | int, ...]:
        """All values of a slice field."""
        return self._names[field]

    def leaf(self, leaf: Leaf) -> Value:
        """What the reports say, or that they do not."""
        match leaf:
            case MeanPenalty():
                return self._mean(leaf)
            case CellCount():
                return self._cells(leaf)
            case CommonCellCount():
                return self._common_cells(leaf)
            case DistinctCount(status="expected"):
                return self._distinct(leaf)
            case LabelCount() | LabelRate():
                return self._label(leaf)
            case ErrorCount():
                return self._errors(leaf)
            case JudgeCost():
                return NOT_REPORTED if self._figures.judge_cost is None else self._figures.judge_cost
            case Reported():
                return self._pointer(leaf)
        return NOT_REPORTED

    def _mean(self, leaf: MeanPenalty) -> Value:
        key, common = _key(leaf), leaf.cells == "common"
        for row in self._figures.rows:
            if (row.participant, row.key, row.common) == (leaf.participant, key, common):
                return NOT_REPORTED if row.mean is None else row.mean
        return NOT_REPORTED

    def _cells(self, leaf: CellCount) -> Value:
        if leaf.status in ("ok", "judge_failed"):
            return self._judged(leaf)
        totals = {
            "expected": self._figures.totals.expected,
            "judged": self._figures.totals.normalised,
            "translation_failed": self._figures.totals.untranslated,
        }
        total = totals.get(leaf.status) if _is_plain(leaf) and leaf.participant is None else None
        return NOT_REPORTED if total is None else Fraction(total)

    def _judged(self, leaf: CellCount) -> Value:
        index = 0 if leaf.status == "ok" else 1
        fields = {"participant", "language"}
        counts = [
            counts[index]
            for (participant, language), counts in self._figures.judged.items()
            if leaf.participant in (None, participant) and leaf.language in (None, language)
        ]
        if counts and _is_plain(leaf, fields):
            return Fraction(sum(counts))
        for row in self._figures.rows:
            if leaf.participant == row.participant and row.key == _key(leaf) and not row.common:
                count = row.samples if index == 0 else row.failed
                if count is not None:
                    return Fraction(count)
        return NOT_REPORTED

    def _common_cells(self, leaf: CommonCellCount) -> Value:
        total = self._figures.totals.common_cells
        if _is_plain(leaf) and total is not None:
            return Fraction(total)
        for row in self._figures.rows:
            if row.common and row.key == _key(leaf) and row.samples is not None:
                return Fraction(row.samples)
        return NOT_REPORTED

    def _distinct(self, leaf: DistinctCount) -> Value:
        if not _is_plain(leaf) or leaf.participant is not None:
            return NOT_REPORTED
        counts = {
            "participants": len(self._names["participant"]),
            "languages": len(self._names["language"]),
            "items": self._items,
        }
        count = counts[leaf.of]
        return NOT_REPORTED if count is None else Fraction(count)

    def _label(self, leaf: LabelCount | LabelRate) -> Value:
        if leaf.participant is None or not _is_plain(leaf, {"expectation"}):
            return NOT_REPORTED
        if isinstance(leaf, LabelRate):
            name = _RATES.get((leaf.label, leaf.expectation or ""), "")
            rate = self._figures.rates.get(leaf.participant, {}).get(name)
            return NOT_REPORTED if rate is None else rate[0]
        counts = self._figures.labels.get(leaf.participant)
        return NOT_REPORTED if counts is None or leaf.expectation else Fraction(counts.get(leaf.label, 0))

    def _errors(self, leaf: ErrorCount) -> Value:
        if (leaf.severity and leaf.error_class) or not _is_plain(leaf, {"language"}):
            return NOT_REPORTED
        counters = self._figures.classes if leaf.error_class else self._figures.severities
        wanted = leaf.error_class or leaf.severity
        found = [
            counts.get(wanted, 0) if wanted else sum(counts.values())
            for (participant, language), counts in counters.items()
            if leaf.participant in (None, participant) and leaf.language in (None, language)
        ]
        return Fraction(sum(found)) if found else NOT_REPORTED

    def _pointer(self, leaf: Reported) -> Value:
        value: Any = self._figures.documents.get(leaf.file)
        for part in leaf.pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
                value = value[int(name)]
            else:
                value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return NOT_REPORTED
        return Fraction(str(value))


def _key(leaf: Slice) -> SliceKey:
    return (leaf.language, leaf.expectation, leaf.turns, leaf.speaker_mode, leaf.phenomenon)


def _is_plain(leaf: Slice, allowed: set[str] | None = None) -> bool:
    """Whether no slice field but those allowed, and the participant, is given."""
    names = ("language", "expectation", "turns", "speaker_mode", "phenomenon")
    return all(getattr(leaf, name) is None for name in names if name not in (allowed or set()))
