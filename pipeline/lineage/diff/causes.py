"""Which cells of two runs changed, and by which cause.

A cell's state is what counts of it: its verdicts' statuses, penalties and labels. On the way from A to B a
cell goes through B's answers as A would have read and weighed them, then through B's reading, then through
B's weights; so every change of it has exactly one cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from pipeline.annotation import Annotation, read_answer
from pipeline.lineage.trace.opened import OpenRun
from pipeline.lineage.trace.run_tables import Cell, CellKey, RunTables, Verdict, penalty_tenths
from pipeline.scoring.schemes import Scheme

# In the order in which they are applied. The five in the middle bring B's answer.
CAUSES: dict[str, str] = {
    "cells": "cells that only one of the runs has",
    "item": "the item's text changed",
    "translation": "the translation changed",
    "request": "the request changed: prompts or judge profile",
    "repeats": "other number of verdicts per cell",
    "answer": "another answer to the same request",
    "reading": "the answer is read otherwise: parser",
    "weights": "the errors weigh otherwise: scoring scheme",
}


@dataclass(frozen=True)
class State:
    """What counts of a cell: its status, its penalty in points (None unless ok), its verdicts' labels."""

    status: str
    penalty: Fraction | None
    labels: tuple[str | None, ...]


@dataclass(frozen=True)
class CellChange:
    """A cell of two runs, None where a run has it not, and its state after each cause in their order.

    ``touched`` is the cause furthest upstream that differs, whether or not the state changed by it.
    """

    key: CellKey
    touched: str | None
    a: State | None
    b: State | None
    states: Mapping[str, State | None]

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes that changed its state, in their order."""
        before, found = self.a, []
        for cause, after in self.states.items():
            if after != before:
                found.append(cause)
            before = after
        return tuple(found)


def cell_changes(a: OpenRun, b: OpenRun) -> Iterator[CellChange]:
    """Every cell of either run, changed or not: A's in its order, then those that only B has."""
    reread = _reader(a.tables)
    items = _ItemTexts(a, b)
    keys = dict.fromkeys([*a.tables.by_key, *b.tables.by_key])
    for key in keys:
        before, after = a.tables.by_key.get(key), b.tables.by_key.get(key)
        if after is None:
            state = _state(before, a.tables.scheme, a.tables.repeats)
            yield CellChange(key, "cells", state, None, dict.fromkeys(CAUSES))
            continue
        # B's answers as A would have read and weighed them; then as B reads, but A weighs them.
        as_a_reads = _state(after, a.tables.scheme, b.tables.repeats, reread(before, after, b.tables))
        as_b_reads = _state(after, a.tables.scheme, b.tables.repeats)
        final = _state(after, b.tables.scheme, b.tables.repeats)
        first = _state(before, a.tables.scheme, a.tables.repeats)
        brought = "cells"
        touched: str | None = "cells"
        if before is not None:
            brought = _why_other_answer(before, after, items, a.tables.repeats != b.tables.repeats)
            touched = brought if brought != "answer" or _answers(before) != _answers(after) else None
        states: dict[str, State | None] = {}
        current = first
        for cause in CAUSES:
            if cause == brought:
                current = as_a_reads
            elif cause == "reading":
                current = as_b_reads
            elif cause == "weights":
                current = final
            states[cause] = current
        yield CellChange(key, touched, first, final, states)


def _why_other_answer(a: Cell, b: Cell, items: _ItemTexts, other_repeats: bool) -> str:
    """The cause furthest upstream that could have brought another answer."""
    if not items.same(a.key[0]):
        return "item"
    if (a.translation, a.translation_failure) != (b.translation, b.translation_failure):
        return "translation"
    if None not in (a.request_hash, b.request_hash) and a.request_hash != b.request_hash:
        return "request"
    return "repeats" if other_repeats else "answer"


def _answers(cell: Cell) -> list[tuple[str, str | None]]:
    return [(verdict.text, verdict.finish_reason) for verdict in cell.verdicts]


class _ItemTexts:
    """Whether an item says the same in both runs."""

    def __init__(self, a: OpenRun, b: OpenRun) -> None:
        self._runs = a, b
        self._known: dict[str, bool] = {}

    def same(self, item_id: str) -> bool:
        """Whether all that is asked about the item, and how it is sliced, is equal."""
        if item_id not in self._known:
            one, other = (run.sources.item(item_id) for run in self._runs)
            self._known[item_id] = (one and one.value) == (other and other.value)
        return self._known[item_id]


def _reader(a: RunTables) -> Any:
    """How A reads B's answers: as its tables say where it has the same text, else by today's reader."""
    form_a, mode_a = a.run["annotation_form"], a.run["parser_mode"]

    @cache
    def read(text: str, form: Any, finish_reason: str | None) -> Annotation:
        return read_answer(text, form=form, mode=mode_a, finish_reason=finish_reason)

    def reread(before: Cell | None, after: Cell, b: RunTables) -> list[_Reading]:
        known = {
            (verdict.text, verdict.finish_reason): verdict for verdict in (before.verdicts if before else ())
        }
        form_b, mode_b = b.run["annotation_form"], b.run["parser_mode"]
        found = []
        for verdict in after.verdicts:
            same = known.get((verdict.text, verdict.finish_reason)) if form_a == form_b else None
            if same is not None:
                found.append(_of_verdict(same))
            elif mode_a == mode_b:
                found.append(_of_verdict(verdict))
            else:
                found.append(_of_annotation(read(verdict.text, form_b, verdict.finish_reason)))
        return found

    return reread


@dataclass(frozen=True)
class _Reading:
    """What an answer was read as, before it is weighed."""

    status: str
    errors: tuple[tuple[str, str], ...]
    label: str | None


def _of_verdict(verdict: Verdict) -> _Reading:
    errors = tuple((error.severity, error.error_class) for error in verdict.errors)
    return _Reading(verdict.status, errors, verdict.label)


def _of_annotation(annotation: Annotation) -> _Reading:
    errors = tuple((error.severity, error.error_class) for error in annotation.errors)
    return _Reading(annotation.status, errors, annotation.context_behavior)


def _state(
    cell: Cell | None, scheme: Scheme, repeats: int, readings: list[_Reading] | None = None
) -> State | None:
    if cell is None:
        return None
    if readings is None:
        readings = [_of_verdict(verdict) for verdict in cell.verdicts]
    if not readings:
        status = cell.status
        return State(f"{status} ({cell.judge_failure})" if cell.judge_failure else status, None, ())
    labels = tuple(reading.label for reading in readings)
    failed = [reading.status for reading in readings if reading.status != "ok"]
    if failed or len(readings) != repeats:
        return State(f"judge_failed ({(failed or ['unrecorded'])[0]})", None, labels)
    tenths = sum(
        penalty_tenths((scheme.weights[error] for error in reading.errors), scheme) for reading in readings
    )
    return State("ok", Fraction(tenths, 10 * repeats), labels)
