"""All score reports as they have to be: the boards, and the reports of counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pipeline.lineage.verify.recount import counts
from pipeline.lineage.verify.recount.boards import Expected, boards, flat, grouped, who
from pipeline.lineage.verify.recount.means import Means
from pipeline.lineage.verify.recount.run import PlainRun
from pipeline.lineage.verify.recount.status import cost_reports, run_status
from pipeline.vocabulary import CONTEXT_BEHAVIORS, ERROR_CLASSES, SEVERITIES

_FIELDS = ("mean_penalty", "samples", "failed_samples")
_Counts = dict[str, dict[str, dict[str, int]]]


def expected_reports(run: PlainRun, means: Means) -> dict[str, Expected]:
    """Every report of ``reports/scores`` by name."""
    errors = counts.errors_by_language(run)
    severities: _Counts = {}
    classes: _Counts = {}
    for language in run.design.languages:
        severities[language], classes[language] = {}, {}
        for index, system in enumerate(run.design.systems):
            mine = {key[2:]: n for key, n in errors.items() if key[:2] == (language, index)}
            severities[language][system.participant_id] = {
                name: sum(n for (severity, _), n in mine.items() if severity == name) for name in SEVERITIES
            }
            by_class = {
                name: sum(n for (_, kind), n in mine.items() if kind == name) for name in ERROR_CLASSES
            }
            classes[language][system.participant_id] = {name: n for name, n in by_class.items() if n}
    failed = _failed_samples(run)
    rows = means.rows("language")
    by_language = grouped(run, rows, _FIELDS)
    combined = {
        language: {
            "leaderboard": by_language[language],
            "severityBreakdown": severities[language],
            "errorClassBreakdown": classes[language],
            "failures": failed.document[language],
        }
        for language in run.design.languages
    }
    return {
        **boards(run, means),
        "leaderboard.by-language": Expected(combined, *flat(run, rows, ("language",), _FIELDS)),
        "severity-breakdown.by-language": _counts(severities, "severity"),
        "error-class-breakdown.by-language": _counts(classes, "error_class"),
        "failed-samples.by-language": failed,
        **_behaviors(run),
        "run-status": run_status(run, len(means.common)),
        **cost_reports(run),
    }


def _counts(numbers: _Counts, column: str) -> Expected:
    rows = [
        (language, participant, name, number)
        for language, by_participant in numbers.items()
        for participant, by_name in by_participant.items()
        for name, number in by_name.items()
    ]
    return Expected(numbers, ("language", "participant_id", column, "errors"), rows)


def _failed_samples(run: PlainRun) -> Expected:
    columns = (
        "language",
        "participant_id",
        "participant_display_name",
        "source_id",
        "stable_key",
        "judge_failure",
    )
    document: dict[str, list[dict[str, Any]]] = {language: [] for language in run.design.languages}
    for cell in counts.without_verdict(run):
        if cell.status == "judge_failed":
            system = run.design.systems[cell.participant].participant_id
            key = f"{run.design.run_name}::{cell.item.sample_id}::{cell.language}::{system}"
            document[cell.language].append(
                who(run, cell.participant)
                | {"source_id": cell.item.sample_id, "stable_key": key, "judge_failure": cell.judge_failure}
            )
    rows = [
        (language, *(entry[column] for column in columns[1:]))
        for language, entries in document.items()
        for entry in entries
    ]
    return Expected(document, columns, rows)


def _behaviors(run: PlainRun) -> dict[str, Expected]:
    found = counts.labels(run)
    numbers = {
        system.participant_id: {
            label: sum(n for key, n in found.items() if (key[0], key[2]) == (index, label))
            for label in CONTEXT_BEHAVIORS
        }
        for index, system in enumerate(run.design.systems)
    }
    names = [system.participant_id for system in run.design.systems]
    shares = dict(zip(names, counts.rates(run), strict=True))
    return {
        "context-behavior.counts": Expected(
            numbers,
            ("participant_id", *CONTEXT_BEHAVIORS),
            [(name, *by_label.values()) for name, by_label in numbers.items()],
        ),
        "context-behavior.rates": Expected(
            shares,
            ("participant_id", "missed_required_context_rate", "misused_context_rate"),
            [(name, *by_rate.values()) for name, by_rate in shares.items()],
        ),
    }


def expected_metrics(run: PlainRun, means: Means) -> dict[str, Any]:
    """``metrics.json`` as it has to be."""
    common = {row.participant: row.mean_penalty for row in means.rows(common=True)}
    shares = counts.rates(run)
    return {
        run.design.systems[row.participant].participant_id: {
            "mean_penalty": row.mean_penalty,
            "mean_penalty_common_cell": common[row.participant],
            "coverage": Fraction(row.samples, row.expected) if row.expected else None,
            "missed_required_context_rate": shares[row.participant]["missed_required_context_rate"],
        }
        for row in means.rows()
    }
