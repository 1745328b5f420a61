"""The closed set of functions a claim is computed by: typed, with their arguments.

Five read the tables (means, counts of cells, of distinct values, of labels, of errors), two compare or
intersect participants, two name what no table holds, and the rest combine values. Every one gives an exact
fraction or says what is missing for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from pipeline.validation import StrictModel

Expectation = Literal["use", "ignore"]
SpeakerMode = Literal["single", "dyadic"]
Status = Literal["expected", "judged", "ok", "judge_failed", "translation_failed", "translation_missing"]
Label = Literal["used_correctly", "missed_required_context", "ignored_irrelevant_context",
                "misused_context", "unclear"]  # fmt: skip

SLICE_FIELDS = ("participant", "language", "expectation", "turns", "speaker_mode", "phenomenon")


class Slice(StrictModel):
    """Which cells: those that agree in every field that is given. ``turns`` counts prior context turns."""

    participant: str | None = None
    language: str | None = None
    expectation: Expectation | None = None
    turns: Annotated[int, Field(ge=1, le=3)] | None = None
    speaker_mode: SpeakerMode | None = None
    phenomenon: str | None = None


class MeanPenalty(Slice):
    """Mean penalty in points over ok cells, or over the cells that are ok for every participant."""

    function: Literal["mean_penalty"]
    cells: Literal["own", "common"] = "own"


class PenaltySum(Slice):
    """Sum of the penalties of ok cells, in points."""

    function: Literal["penalty_sum"]
    cells: Literal["own", "common"] = "own"


class CellCount(Slice):
    """Cells with a status; ``judged`` are ok and judge_failed ones, ``expected`` are all."""

    function: Literal["cell_count"]
    status: Status


class DistinctCount(Slice):
    """Distinct items, languages or participants among the cells with a status."""

    function: Literal["distinct_count"]
    of: Literal["items", "languages", "participants"]
    status: Status = "expected"


class CommonCellCount(Slice):
    """(item, language) pairs that are ok for every participant; ``participant`` must not be given."""

    function: Literal["common_cell_count"]
    participant: None = None


class LabelCount(Slice):
    """Verdicts on ok cells with a context-behavior label."""

    function: Literal["label_count"]
    label: Label


class LabelRate(Slice):
    """Share, 0 to 1, of a label among the verdicts on ok cells."""

    function: Literal["label_rate"]
    label: Label


class ErrorCount(Slice):
    """Errors in the verdicts on ok cells, of a severity or class where one is given."""

    function: Literal["error_count"]
    severity: Literal["critical", "major", "minor"] | None = None
    error_class: str | None = None


class PairedCount(Slice):
    """(item, language) pairs that are ok for both ``a`` and ``b``, by whose penalty is lower."""

    function: Literal["paired_count"]
    participant: None = None
    a: str
    b: str
    outcome: Literal["pairs", "a_lower", "b_lower", "equal"]


class JudgeCost(StrictModel):
    """What judging cost, in US dollars. Imported raw answers hold no cost."""

    function: Literal["judge_cost"]


class Reported(StrictModel):
    """A value that only a report of the run holds, and what its recomputation would need."""

    function: Literal["reported"]
    file: str
    pointer: str
    needs: Literal["speech recognition results", "translations of another run", "another run",
                   "raw judge answers"]  # fmt: skip


class Unreported(StrictModel):
    """A value that was printed in words only: no report of the run holds it."""

    function: Literal["unreported"]
    needs: Literal["speech recognition results", "translations of another run", "another run",
                   "raw judge answers"]  # fmt: skip


class Difference(StrictModel):
    """``of - minus``."""

    function: Literal["difference"]
    of: Expression
    minus: Expression


class Ratio(StrictModel):
    """``of / to``."""

    function: Literal["ratio"]
    of: Expression
    to: Expression


class Change(StrictModel):
    """``(after - before) / before``: a share, negative where it fell."""

    function: Literal["change"]
    before: Expression
    after: Expression


class Reduction(StrictModel):
    """``(before - after) / before``: a share, positive where it fell."""

    function: Literal["reduction"]
    before: Expression
    after: Expression


class Average(StrictModel):
    """Unweighted mean of values."""

    function: Literal["average"]
    of: Annotated[list[Expression], Field(min_length=1)]


class Sum(StrictModel):
    """Sum of values."""

    function: Literal["sum"]
    of: Annotated[list[Expression], Field(min_length=1)]


TableLeaf = (
    MeanPenalty
    | PenaltySum
    | CellCount
    | DistinctCount
    | CommonCellCount
    | LabelCount
    | LabelRate
    | ErrorCount
    | PairedCount
)
Leaf = TableLeaf | JudgeCost | Reported | Unreported
Combination = Difference | Ratio | Change | Reduction | Average | Sum
Expression = Annotated[Leaf | Combination, Field(discriminator="function")]

for _model in (Difference, Ratio, Change, Reduction, Average, Sum):
    _model.model_rebuild()


def parts(expression: Leaf | Combination) -> list[Leaf | Combination]:
    """The values a combination is made of, in the order of its fields; none for a leaf."""
    match expression:
        case Difference(of=of, minus=minus):
            return [of, minus]
        case Ratio(of=of, to=to):
            return [of, to]
        case Change(before=before, after=after) | Reduction(before=before, after=after):
            return [before, after]
        case Average(of=values) | Sum(of=values):
            return list(values)
    return []


def leaves(expression: Leaf | Combination) -> Iterator[Leaf]:
    """All leaves of an expression, left to right."""
    inner = parts(expression)
    if not inner:
        yield expression  # type: ignore[misc]
    for part in inner:
        yield from leaves(part)


def fill(expression: Leaf | Combination, field: str, value: str | int) -> Leaf | Combination:
    """The expression with ``field`` set in every leaf that has such a field and leaves it open."""
    if isinstance(expression, Slice):
        if getattr(expression, field) is not None:
            return expression
        filled: Leaf = expression.model_validate(expression.model_dump() | {field: value})
        return filled
    changes: dict[str, object] = {}
    for name in type(expression).model_fields:
        inner = getattr(expression, name)
        if isinstance(inner, StrictModel):
            changes[name] = fill(inner, field, value)  # type: ignore[arg-type]
        elif isinstance(inner, list):
            changes[name] = [fill(part, field, value) for part in inner]
    return expression.model_copy(update=changes)
