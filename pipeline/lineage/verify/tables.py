"""Every row of every table, from raw answers read again: a swapped answer shows in its cell."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from pipeline.lineage.verify.checks import Check, Findings, counted, shown
from pipeline.lineage.verify.parquet import compare_rows
from pipeline.lineage.verify.recount.counts import Spans, storable
from pipeline.lineage.verify.recount.run import Cell, PlainRun, Verdict
from pipeline.tables.database import connect, create_schema, export_tables
from pipeline.tables.facts import RunFacts

Rows = list[tuple[Any, ...]]


def check_tables(root: Path, folder: Path, run: PlainRun, facts: RunFacts) -> Check:
    """Compare the exported tables in ``root / folder`` row by row with what they have to hold.

    Raises:
        TablesError: a table is missing or cannot be read.
    """
    findings = Findings()
    rows = 0
    with connect() as connection:
        for name, (columns, wanted) in expected_tables(run, facts).items():
            compare_rows(findings, connection, root, folder / f"{name}.parquet", columns, wanted)
            rows += len(wanted)
    _compare_sql(findings, root, folder)
    return findings.check("tables", f"{counted(rows, 'row')} compared, field by field")


def expected_tables(run: PlainRun, facts: RunFacts) -> dict[str, tuple[tuple[str, ...], Rows]]:
    """Columns and rows of each table, in the order of ``schema.sql``."""
    annotations = _Annotations(run)
    items = run.design.dataset.items
    return {
        "run": (("only_row", *(field.name for field in fields(RunFacts))), [(1, *astuple(facts))]),
        "languages": (("language_index", "language"), list(enumerate(run.design.languages))),
        "participants": (
            ("participant_index", "participant_id", "display_name", "provider", "model"),
            [
                (index, system.participant_id, system.display_name, system.provider, system.model)
                for index, system in enumerate(run.design.systems)
            ],
        ),
        "items": (
            (
                "item_index",
                "item_id",
                "context_turn_count",
                "speaker_mode",
                "context_expectation",
                "primary_phenomenon",
                "secondary_phenomena",
                "source_text",
            ),
            [
                (
                    index,
                    item.sample_id,
                    item.context_turn_count,
                    item.speaker_mode,
                    item.context_expectation,
                    item.primary_phenomenon,
                    item.secondary_phenomena,
                    item.current_source.source_text,
                )
                for index, item in enumerate(items)
            ],
        ),
        "turns": (
            ("item_index", "turn_index", "speaker_role", "relative_time_label", "source_text"),
            [
                (index, number, turn.speaker_role, turn.relative_time_label, turn.source_text)
                for index, item in enumerate(items)
                for number, turn in enumerate(item.context_turns)
            ],
        ),
        "annotations": (
            (
                "annotation_id",
                "text",
                "finish_reason",
                "status",
                "reason",
                "context_behavior",
                "repairs",
                "contradictory_section",
            ),
            [_annotation_row(number, verdict) for number, verdict in enumerate(annotations.distinct)],
        ),
        "annotation_errors": (
            ("annotation_id", "error_index", "severity", "error_class", "span", "source_span", "explanation"),
            [
                (
                    number,
                    index,
                    error.severity,
                    error.error_class,
                    storable(error.span),
                    storable(error.source_span),
                    storable(error.explanation),
                )
                for number, verdict in enumerate(annotations.distinct)
                for index, error in enumerate(verdict.annotation.errors)
            ],
        ),
        "cells": (
            (
                "cell_id",
                "item_index",
                "language_index",
                "participant_index",
                "status",
                "judge_failure",
                "translation",
                "translation_failure",
                "request_hash",
            ),
            [_cell_row(run, number, cell) for number, cell in enumerate(run.cells)],
        ),
        "judgments": (
            ("cell_id", "repeat", "annotation_id"),
            [
                (number, repeat, annotations.number(verdict))
                for number, cell in enumerate(run.cells)
                for repeat, verdict in enumerate(cell.verdicts)
            ],
        ),
        "spans": (
            ("cell_id", "repeat", "error_index", "location", "starts", "ends"),
            list(_span_rows(run)),
        ),
        "attempts": (_ATTEMPTS, list(_attempt_rows(run))),
        "translation_failures": (
            ("failure_index", "item_index", "language_index", "participant_index", "reason"),
            list(_failure_rows(run)),
        ),
    }


class _Annotations:
    """Distinct verdicts, numbered by the first cell that has them."""

    def __init__(self, run: PlainRun) -> None:
        self._numbers: dict[tuple[str, str | None], int] = {}
        self.distinct: list[Verdict] = []
        for cell in run.cells:
            for verdict in cell.verdicts:
                key = verdict.text, verdict.finish_reason
                if key not in self._numbers:
                    self._numbers[key] = len(self.distinct)
                    self.distinct.append(verdict)

    def number(self, verdict: Verdict) -> int:
        return self._numbers[verdict.text, verdict.finish_reason]


def _annotation_row(number: int, verdict: Verdict) -> tuple[Any, ...]:
    read = verdict.annotation
    return (
        number,
        verdict.text,
        verdict.finish_reason,
        read.status,
        read.reason,
        read.context_behavior,
        list(read.repairs),
        read.contradictory,
    )


def _cell_row(run: PlainRun, number: int, cell: Cell) -> tuple[Any, ...]:
    return (
        number,
        cell.item_index,
        run.design.languages.index(cell.language),
        cell.participant,
        cell.status,
        cell.judge_failure,
        cell.translation,
        cell.translation_failure,
        cell.request_hash,
    )


def _span_rows(run: PlainRun) -> Iterator[tuple[Any, ...]]:
    spans = Spans()
    for number, cell in enumerate(run.cells):
        for repeat, verdict in enumerate(cell.verdicts):
            for index, error in enumerate(verdict.annotation.errors):
                yield (number, repeat, index, *spans.place(cell, error))


_ATTEMPTS = (
    "request_hash",
    "repeat",
    "attempt_index",
    "selected",
    "round_number",
    "backend",
    "http_status",
    "finish_reason",
    "served_model",
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "cost_nano_usd",
)


def _attempt_rows(run: PlainRun) -> Iterator[tuple[Any, ...]]:
    for answer in run.given.attempts:
        for index, (attempt, number) in enumerate(zip(answer.attempts, answer.rounds, strict=True)):
            usage = attempt.usage
            yield (
                answer.request_hash,
                answer.repeat,
                index,
                index == answer.selected,
                number,
                attempt.backend,
                attempt.http_status,
                attempt.finish_reason,
                attempt.served_model,
                usage.prompt_tokens if usage else None,
                usage.completion_tokens if usage else None,
                usage.reasoning_tokens if usage else None,
                attempt.cost_nano_usd,
            )


def _failure_rows(run: PlainRun) -> Iterator[tuple[Any, ...]]:
    items = {item.sample_id: index for index, item in enumerate(run.design.dataset.items)}
    systems = {system.participant_id: index for index, system in enumerate(run.design.systems)}
    for number, ((item, language, participant), reason) in enumerate(run.given.history):
        yield number, items[item], run.design.languages.index(language), systems[participant], reason


def _compare_sql(findings: Findings, root: Path, folder: Path) -> None:
    """``schema.sql`` and ``load.sql`` against those of an export of empty tables."""
    with tempfile.TemporaryDirectory(prefix="ctxeval-") as name, connect() as connection:
        create_schema(connection)
        export_tables(connection, Path(name) / "tables")
        for file in ("schema.sql", "load.sql"):
            wanted = (Path(name) / "tables" / file).read_text(encoding="utf-8").splitlines()
            path = root / folder / file
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
            found = text.splitlines()
            for number in range(max(len(found), len(wanted))):
                here = found[number] if number < len(found) else None
                there = wanted[number] if number < len(wanted) else None
                if here != there:
                    address = f"{(folder / file).as_posix()}:{number + 1}"
                    findings.note(address, shown(here), shown(there))
                    break
            findings.values += len(wanted)
