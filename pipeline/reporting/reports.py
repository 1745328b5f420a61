"""The score reports: names and keys of the benchmark's published reports, and a flat table each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pipeline.reporting.status import cost_reports, failed_samples_report, run_status_report
from pipeline.reporting.table import Report
from pipeline.scoring.leaderboards import MeanRow
from pipeline.scoring.penalties import SLICE_COLUMNS
from pipeline.scoring.scores import Scores
from pipeline.vocabulary import CONTEXT_BEHAVIORS, ERROR_CLASSES, SEVERITIES

_PARTICIPANT = ("participant_id", "participant_display_name")


@dataclass(frozen=True)
class _Slice:
    name: str
    columns: tuple[str, ...]
    common_too: bool


_SLICES = (
    _Slice("leaderboard.by-context-expectation", ("context_expectation",), True),
    _Slice("leaderboard.by-context-turn-count", ("context_turn_count",), False),
    _Slice("leaderboard.by-speaker-mode", ("speaker_mode",), False),
    _Slice(
        "leaderboard.by-context-turn-count-and-speaker-mode", ("context_turn_count", "speaker_mode"), False
    ),
    _Slice("leaderboard.by-primary-phenomenon", ("primary_phenomenon",), False),
)


def score_reports(scores: Scores) -> list[Report]:
    """Every report of a run, in a stable order."""
    reports = [*_summaries(scores), *_by_language(scores)]
    for part in _SLICES:
        reports.append(_slice_report(scores, part.name, part.columns, common=False))
        if part.common_too:
            reports.append(_slice_report(scores, f"{part.name}.common-cell", part.columns, common=True))
    reports += [
        _flat_slices(scores),
        *_context_behavior(scores),
        failed_samples_report(scores),
        run_status_report(scores),
    ]
    return reports + cost_reports(scores)


def _identity(scores: Scores, index: int) -> dict[str, Any]:
    participant = scores.participants[index]
    return {
        "participant_id": participant.participant_id,
        "participant_display_name": participant.display_name,
    }


def _entries(scores: Scores, rows: Iterable[MeanRow], *fields: str) -> list[dict[str, Any]]:
    return [
        _identity(scores, row.participant_index) | {field: getattr(row, field) for field in fields}
        for row in rows
    ]


def _flat(
    scores: Scores, rows: Iterable[MeanRow], columns: tuple[str, ...], fields: tuple[str, ...]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    header = (*columns, *_PARTICIPANT, *fields)
    return header, [
        (
            *row.key,
            *_identity(scores, row.participant_index).values(),
            *(getattr(row, field) for field in fields),
        )
        for row in rows
    ]


def _summaries(scores: Scores) -> list[Report]:
    overall, common = scores.means(), scores.means(common=True)
    normalised = [
        _identity(scores, index) | {"normalized_macro_mean_penalty": value}
        for index, value in enumerate(scores.normalised())
    ]
    coverage = ("mean_penalty", "samples", "failed_samples", "expected")
    best_first = sorted(
        overall, key=lambda row: (row.mean_penalty is None, row.mean_penalty or 0, row.participant_index)
    )
    return [
        Report(
            "summary-overall.penalty",
            _entries(scores, overall, *coverage),
            *_flat(scores, overall, (), coverage),
        ),
        Report(
            "summary-overall.penalty.common-cell",
            _entries(scores, common, "mean_penalty", "samples"),
            *_flat(scores, common, (), ("mean_penalty", "samples")),
        ),
        Report(
            "summary-overall.normalized",
            normalised,
            (*_PARTICIPANT, "normalized_macro_mean_penalty"),
            [tuple(entry.values()) for entry in normalised],
        ),
        Report(
            "leaderboard-chart-input",
            _entries(scores, overall, "mean_penalty"),
            *_flat(scores, best_first, (), ("mean_penalty",)),
        ),
    ]


def _slice_report(scores: Scores, name: str, columns: tuple[str, ...], *, common: bool) -> Report:
    fields = ("mean_penalty", "samples") if common else ("mean_penalty", "samples", "failed_samples")
    rows = scores.means(*columns, common=common)
    return Report(name, _grouped(scores, rows, fields), *_flat(scores, rows, columns, fields))


def _flat_slices(scores: Scores) -> Report:
    """Every single-column slice in one table, for plots."""
    rows = [
        (
            column,
            str(row.key[0]),
            *_identity(scores, row.participant_index).values(),
            row.mean_penalty,
            row.samples,
        )
        for column in SLICE_COLUMNS
        for row in scores.means(column)
    ]
    columns = ("slice", "value", *_PARTICIPANT, "mean_penalty", "samples")
    return Report("slices", [dict(zip(columns, row, strict=True)) for row in rows], columns, rows)


def _grouped(
    scores: Scores, rows: Iterable[MeanRow], fields: tuple[str, ...]
) -> dict[str, list[dict[str, Any]]]:
    document: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = "::".join(str(part) for part in row.key)
        document.setdefault(name, []).extend(_entries(scores, [row], *fields))
    return document


def _by_language(scores: Scores) -> list[Report]:
    fields = ("mean_penalty", "samples", "failed_samples")
    rows = scores.means("language")
    boards = _grouped(scores, rows, fields)
    severities = _count_by_language(scores, lambda key: key[2], SEVERITIES, keep_zeros=True)
    classes = _count_by_language(scores, lambda key: key[3], ERROR_CLASSES, keep_zeros=False)
    failures = failed_samples_report(scores).document
    combined = {
        language: {
            "leaderboard": boards[language],
            "severityBreakdown": severities[language],
            "errorClassBreakdown": classes[language],
            "failures": failures[language],
        }
        for language in scores.languages
    }
    return [
        Report("leaderboard.by-language", combined, *_flat(scores, rows, ("language",), fields)),
        _slice_report(scores, "leaderboard.by-language.common-cell", ("language",), common=True),
        _counts_report("severity-breakdown.by-language", severities, "severity"),
        _counts_report("error-class-breakdown.by-language", classes, "error_class"),
    ]


_Counts = dict[str, dict[str, dict[str, int]]]


def _count_by_language(
    scores: Scores,
    pick: Callable[[tuple[str, int, str, str]], str],
    names: tuple[str, ...],
    *,
    keep_zeros: bool,
) -> _Counts:
    """Error counts as language -> participant -> name."""
    counts: _Counts = {
        language: {p.participant_id: dict.fromkeys(names, 0) for p in scores.participants}
        for language in scores.languages
    }
    for key, count in scores.breakdowns.errors.items():
        language, index = key[:2]
        counts[language][scores.participants[index].participant_id][pick(key)] += count
    if keep_zeros:
        return counts
    return {
        language: {
            participant: {name: count for name, count in by_name.items() if count}
            for participant, by_name in by_participant.items()
        }
        for language, by_participant in counts.items()
    }


def _counts_report(name: str, counts: _Counts, column: str) -> Report:
    rows = [
        (language, participant, value, count)
        for language, by_participant in counts.items()
        for participant, by_value in by_participant.items()
        for value, count in by_value.items()
    ]
    return Report(name, counts, ("language", "participant_id", column, "errors"), rows)


def _context_behavior(scores: Scores) -> list[Report]:
    counts = {p.participant_id: dict.fromkeys(CONTEXT_BEHAVIORS, 0) for p in scores.participants}
    for (index, _, label), count in scores.breakdowns.behaviors.items():
        counts[scores.participants[index].participant_id][label] += count
    rates = {
        p.participant_id: {
            "missed_required_context_rate": scores.behavior_rate(index, "use", "missed_required_context"),
            "misused_context_rate": scores.behavior_rate(index, "ignore", "misused_context"),
        }
        for index, p in enumerate(scores.participants)
    }
    return [
        Report(
            "context-behavior.counts",
            counts,
            ("participant_id", *CONTEXT_BEHAVIORS),
            [(participant, *by_label.values()) for participant, by_label in counts.items()],
        ),
        Report(
            "context-behavior.rates",
            rates,
            ("participant_id", "missed_required_context_rate", "misused_context_rate"),
            [(participant, *by_name.values()) for participant, by_name in rates.items()],
        ),
    ]
