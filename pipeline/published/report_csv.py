"""Read the CSV reports and ``run-summary.json`` of the benchmark's first publication into figures."""

from __future__ import annotations

import csv
import io
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pipeline.errors import PublishedRunError
from pipeline.jsonl import decode, read_bytes
from pipeline.published.report_model import OVERALL, ReportFigures, Row, SliceKey
from pipeline.validation import validate
from pipeline.vocabulary import CONTEXT_BEHAVIORS

SUMMARY = "run-summary.json"
_RATES = ("missed_required_context_rate", "misused_context_rate")
_NUMBER = re.compile(r"\d+(?:\.(\d+))?")


class _Edge(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Samples(_Edge):
    participant: str = Field(alias="participantId")
    valid: int = Field(alias="validSamples")
    expected: int = Field(alias="expectedSamples")
    unresolved: int = Field(alias="unresolvedCells")


class _SourceStatus(_Edge):
    expected: int = Field(alias="totalExpected")
    normalised: int = Field(alias="totalNormalized")
    untranslated: int = Field(alias="translationFailureUnresolvedCount")


class _SourceRun(_Edge):
    run_id: str = Field(alias="runId")
    status: _SourceStatus = Field(alias="runStatus")
    samples: list[_Samples] = Field(alias="participantSampleCounts")


class _SummaryRow(_Edge):
    participant: str = Field(alias="participantId")
    mean: float = Field(alias="meanPenalty", allow_inf_nan=False)
    samples: int
    rank: int


class _Summary(_Edge):
    runs: list[_SourceRun] = Field(alias="sourceRuns")
    leaderboard: list[_SummaryRow]


def read_csv_reports(folder: Path, figures: ReportFigures) -> None:
    """Add what the CSV reports of the first publication say, where they are there.

    A project's own reports have CSV forms of other names beside the JSON ones; those are left alone.

    Raises:
        PublishedRunError: one is broken.
    """
    if SUMMARY not in figures.documents:
        return
    _read_boards(folder, figures)
    _read_behavior(folder / "context-behavior.csv", figures)
    path = folder / SUMMARY
    summary = validate(_Summary, figures.documents[SUMMARY], path, PublishedRunError, by_alias=True)
    unit = Fraction(1, 10**12)
    for row in summary.leaderboard:
        figures.rows.append(
            Row(
                SUMMARY,
                OVERALL,
                False,
                row.participant,
                Fraction(row.mean),
                unit,
                row.samples,
                None,
                row.rank,
            )
        )
    for run in summary.runs:
        figures.sources[run.run_id] = {
            "expected": run.status.expected,
            "normalised": run.status.normalised,
            "untranslated": run.status.untranslated,
            "samples": {one.participant: (one.valid, one.expected, one.unresolved) for one in run.samples},
        }


def _read_boards(folder: Path, figures: ReportFigures) -> None:
    for name, column, index in (
        ("leaderboard.overall.csv", None, 0),
        ("leaderboard.by-language.csv", "language", 0),
        ("leaderboard.by-context-expectation.csv", "context_expectation", 1),
    ):
        path = folder / name
        for line, row in _lines(path):
            key: list[Any] = list(OVERALL)
            if column:
                key[index] = _text(path, line, row, column)
            mean, unit = _decimal(path, line, row, "mean_penalty")
            place: SliceKey = tuple(key)
            figures.rows.append(
                Row(
                    name,
                    place,
                    False,
                    _text(path, line, row, "participant_id"),
                    mean,
                    unit,
                    _whole(path, line, row, "samples"),
                    _whole(path, line, row, "failed_samples") if "failed_samples" in row else None,
                    _whole(path, line, row, "rank"),
                )
            )


def _read_behavior(path: Path, figures: ReportFigures) -> None:
    for line, row in _lines(path):
        participant = _text(path, line, row, "participant_id")
        figures.labels[participant] = {label: _whole(path, line, row, label) for label in CONTEXT_BEHAVIORS}
        figures.rates[participant] = {rate: _decimal(path, line, row, rate) for rate in _RATES}


def _lines(path: Path) -> list[tuple[int, dict[str, str]]]:
    """(line number, row by column); none where there is no such file."""
    if not path.is_file():
        return []
    text = decode(path, read_bytes(path, PublishedRunError), PublishedRunError)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as problem:
        raise PublishedRunError.at(path, f"not CSV: {problem}", line=reader.line_num) from None
    for line, row in rows:
        if None in row or None in row.values():
            raise PublishedRunError.at(path, "has more or fewer fields than the header", line=line)
    return rows


def _text(path: Path, line: int, row: dict[str, str], column: str) -> str:
    if column not in row:
        raise PublishedRunError.at(path, f"has no column {column}; it has {', '.join(row)}", line=line)
    return row[column]


def _decimal(path: Path, line: int, row: dict[str, str], column: str) -> tuple[Fraction, Fraction]:
    """A printed decimal and half a unit of its last place."""
    text = _text(path, line, row, column)
    found = _NUMBER.fullmatch(text)
    if not found:
        raise PublishedRunError.at(path, f"{text!r} is no number", line=line, field=column)
    return Fraction(text), Fraction(1, 2 * 10 ** len(found[1] or ""))


def _whole(path: Path, line: int, row: dict[str, str], column: str) -> int:
    value, _ = _decimal(path, line, row, column)
    if value.denominator != 1:
        raise PublishedRunError.at(path, f"{row[column]!r} is no whole number", line=line, field=column)
    return int(value)
