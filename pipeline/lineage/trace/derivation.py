"""How a number comes about: its units with their amounts, the sum, and the value made of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import Literal

from pipeline.errors import TraceError
from pipeline.lineage.trace.addresses import Question
from pipeline.lineage.trace.metrics import METRICS, Metric
from pipeline.lineage.trace.points import points
from pipeline.lineage.trace.run_tables import AttemptRow, Cell, FailureRow, RunTables

Kind = Literal["cell", "attempt", "translation_failure"]
_NANO = 10**9


@dataclass(frozen=True)
class Unit:
    """What a number is added up from; ``amount`` is None where the unit does not count."""

    subject: Cell | AttemptRow | FailureRow
    amount: int | None

    @property
    def kind(self) -> Kind:
        """Which of the three it is."""
        if isinstance(self.subject, Cell):
            return "cell"
        return "attempt" if isinstance(self.subject, AttemptRow) else "translation_failure"


@dataclass(frozen=True)
class Part:
    """A mean that a normalised value is made of, and what it is there."""

    role: str
    question: Question
    derivation: Derivation


@dataclass(frozen=True)
class Derivation:
    """A recomputed value.

    ``total`` is the exact sum of the amounts in the metric's own unit (tenths, billionths of a dollar, or
    one); ``count`` is what it is divided by, None where nothing is. ``expression`` is the calculation as
    people write it, without the result. ``units`` come with the largest amount first.
    """

    value: float | int | bool | None
    total: int | None
    count: int | None
    expression: str
    units: tuple[Unit, ...]
    parts: tuple[Part, ...] = ()


class Slices:
    """Cells of a run by slice, each looked up once."""

    def __init__(self, tables: RunTables) -> None:
        self.tables = tables
        self._by_participant: dict[str, list[Cell]] = defaultdict(list)
        self._known: dict[tuple[tuple[str, str], ...], list[Cell]] = {}
        for cell in tables.cells:
            self._by_participant[cell.values["participant_id"]].append(cell)

    def cells(self, where: dict[str, str]) -> list[Cell]:
        """Expected cells with these values, in the tables' order.

        Raises:
            TraceError: no cell of the run has one of the values.
        """
        key = tuple(sorted(where.items()))
        if key not in self._known:
            given = where.get("participant_id")
            cells = self._by_participant.get(given, []) if given is not None else self.tables.cells
            for name, value in where.items():
                if name == "item_id":
                    cells = [cell for cell in cells if cell.key[0] == value]
                else:
                    cells = [cell for cell in cells if cell.values[name] == value]
            if not cells:
                self._raise(where)
            self._known[key] = cells
        return self._known[key]

    def _raise(self, where: dict[str, str]) -> None:
        for name, value in where.items():
            if name != "item_id":
                known = sorted({cell.values[name] for cell in self.tables.cells})
                if value not in known:
                    raise TraceError(
                        f"no cell of the run has {name} {value!r}; choose from: {', '.join(known)}"
                    )
        said = ", ".join(f"{name} {value}" for name, value in where.items())
        raise TraceError(f"no cell of the run has all of: {said}; leave one out")


def derive(slices: Slices, asked: Question) -> Derivation:
    """Recompute a number from the rows of the tables.

    Raises:
        TraceError: the metric or a value does not exist, or the metric needs more to be said.
    """
    metric = METRICS.get(asked.metric)
    if metric is None:
        raise TraceError(f"no metric {asked.metric!r}; choose from: {', '.join(METRICS)}")
    where, of = dict(asked.where), dict(asked.of)
    for name in metric.needs:
        if name not in where and name not in of:
            raise TraceError(f"{asked.metric} needs {name.removesuffix('_id').replace('_', '-')} to be named")
    for name, value in metric.within.items():
        if where.setdefault(name, value) != value:
            raise TraceError(f"{asked.metric} is over cells with {name} {value}; ask for no other")
    if metric.form == "normalised":
        return _normalised(slices, asked, where)
    return _added_up(slices, metric, where, of, common=asked.common)


def _added_up(
    slices: Slices, metric: Metric, where: dict[str, str], of: dict[str, str], *, common: bool
) -> Derivation:
    units: list[Unit] = []
    if metric.cells:
        for cell in slices.cells(where):
            counts = cell.common or not common
            units.append(Unit(cell, metric.cells(cell, of) if counts else None))
    elif where or common:
        raise TraceError("this number is over the whole run; name no slice")
    if metric.attempts:
        units += [Unit(attempt, metric.attempts(attempt, of)) for attempt in slices.tables.attempts]
    if metric.failures:
        units += [Unit(failure, metric.failures(failure, of)) for failure in slices.tables.failures]
    counted = [unit.amount for unit in units if unit.amount is not None]
    units.sort(key=lambda unit: (unit.amount is None, -(unit.amount or 0)))
    value, count, expression = _value(metric, sum(counted), len(counted), slices.tables.repeats)
    if not expression:
        expression = _sum_in_words(units)
    return Derivation(value, sum(counted), count, expression, tuple(units))


def _value(
    metric: Metric, total: int, counted: int, repeats: int
) -> tuple[float | int | bool | None, int | None, str]:
    """The value, what the sum was divided by, and the calculation in writing; none for a mere sum."""
    if metric.form == "mean":
        verdicts = counted * repeats
        value = total / (10 * verdicts) if verdicts else None
        return value, counted, f"{points(total, repeats)} / {counted}"
    if metric.form == "penalty":
        return (
            total / (10 * repeats) if counted else None,
            None,
            points(total, repeats) if counted else "none",
        )
    if metric.form in ("share", "coverage"):
        count = counted * repeats if metric.form == "share" else counted
        return total / count if count else None, count, f"{total} / {count}"
    if metric.form == "usd":
        return total / _NANO, None, f"{total} / {_NANO}"
    if metric.form == "none_left":
        return total == 0, None, f"{total} = 0"
    return total, None, ""


def _sum_in_words(units: list[Unit]) -> str:
    counted = Counter(unit.kind.replace("_", " ") for unit in units if unit.amount is not None)
    parts = (f"{number} {kind}{'' if number == 1 else 's'}" for kind, number in counted.items())
    return f"the sum over {' and '.join(parts) or 'nothing'}"


def _normalised(slices: Slices, asked: Question, where: dict[str, str]) -> Derivation:
    """Floats are added in language order, then divided once, as the published value was."""
    if asked.of or asked.common or set(where) != {"participant_id"}:
        raise TraceError(f"{asked.metric} is over all languages of one participant; name no other slice")
    slices.cells(where)  # raises for an unknown participant
    parts: list[Part] = []
    terms: list[str] = []
    sum_of_shares: float | None = 0.0
    for language in slices.tables.languages:
        means = [_mean_of(slices, participant, language) for participant in slices.tables.participants]
        own = means[slices.tables.participants.index(where["participant_id"])]
        known = [part for part in means if part.derivation.value is not None]
        order = sorted(known, key=lambda part: part.derivation.value or 0)
        parts.append(replace(own, role=f"mean in {language}"))
        mean = own.derivation.value
        if mean is None or sum_of_shares is None:
            sum_of_shares = None
            terms.append("no mean")
            continue
        for role, part in (("best", order[0]), ("worst", order[-1])):
            parts.append(replace(part, role=f"{role} mean in {language}"))
        low, high = order[0].derivation.value or 0, order[-1].derivation.value or 0
        sum_of_shares += 0.0 if high == low else (mean - low) / (high - low)
        terms.append(f"({mean} - {low}) / ({high} - {low})" if high != low else "0, as all are equal")
    value = None if sum_of_shares is None else sum_of_shares / len(slices.tables.languages)
    units = tuple(unit for part in parts if part.role.startswith("mean in") for unit in part.derivation.units)
    ordered = sorted(units, key=lambda unit: (unit.amount is None, -(unit.amount or 0)))
    expression = f"({' + '.join(terms)}) / {len(slices.tables.languages)}"
    return Derivation(value, None, len(slices.tables.languages), expression, tuple(ordered), tuple(parts))


def _mean_of(slices: Slices, participant: str, language: str) -> Part:
    pairs = (("language", language), ("participant_id", participant))
    asked = Question("mean_penalty", pairs)
    return Part("mean", asked, derive(slices, asked))
