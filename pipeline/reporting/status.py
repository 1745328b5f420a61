"""Reports on coverage and cost."""

from __future__ import annotations

from typing import Any

from pipeline.reporting.table import Report
from pipeline.scoring.scores import Scores
from pipeline.scoring.status import NotOkCell

_NANO = 10**9


def failed_samples_report(scores: Scores) -> Report:
    """Cells the judge failed on, by language."""
    document: dict[str, list[dict[str, Any]]] = {language: [] for language in scores.languages}
    for cell in scores.status.not_ok:
        if cell.status == "judge_failed":
            document[cell.language].append(_failed_sample(scores, cell))
    columns = (
        "language",
        "participant_id",
        "participant_display_name",
        "source_id",
        "stable_key",
        "judge_failure",
    )
    rows = [
        (language, *(entry[column] for column in columns[1:]))
        for language, entries in document.items()
        for entry in entries
    ]
    return Report("failed-samples.by-language", document, columns, rows)


def _failed_sample(scores: Scores, cell: NotOkCell) -> dict[str, Any]:
    participant = scores.participants[cell.participant_index]
    return {
        "participant_id": participant.participant_id,
        "participant_display_name": participant.display_name,
        "source_id": cell.item_id,
        "stable_key": "::".join(
            (scores.run.run_name, cell.item_id, cell.language, participant.participant_id)
        ),
        "judge_failure": cell.judge_failure,
    }


def run_status_report(scores: Scores) -> Report:
    """Whether the run is valid, why not, and how every cell ended."""
    status, reading = scores.status, scores.reading
    rates = {
        f"{participant.participant_id}::{language}": {"ok": 0, "failed": 0}
        for participant in scores.participants
        for language in scores.languages
    }
    failures: dict[str, int] = {}
    for count in status.counts:
        key = f"{scores.participants[count.participant_index].participant_id}::{count.language}"
        if count.status == "ok":
            rates[key]["ok"] += count.cells
        elif count.status == "judge_failed":
            rates[key]["failed"] += count.cells
            failures[str(count.judge_failure)] = failures.get(str(count.judge_failure), 0) + count.cells
    missing = [
        {
            "source_id": cell.item_id,
            "target_language": cell.language,
            "participant_id": scores.participants[cell.participant_index].participant_id,
            "status": cell.status,
            "reason": cell.translation_failure or cell.judge_failure,
        }
        for cell in status.not_ok
    ]
    document = {
        "benchmarkValid": status.benchmark_valid,
        "reasons": _reasons(scores),
        "totalExpected": status.total(),
        "totalNormalized": status.total("ok", "judge_failed"),
        "totalOk": status.total("ok"),
        "translationFailureHistoricalCount": status.historical_translation_failures,
        "translationFailureUnresolvedCount": status.total("translation_failed", "translation_missing"),
        "commonCellCount": status.common_cells,
        "judgeFailureRatesByParticipantLanguage": rates,
        "judgeFailuresByType": failures,
        "cellsWithoutVerdict": missing,
        "cellsSharingARequest": status.cells_sharing_a_request,
        "requestsShared": status.requests_shared,
        "rounds": {str(rounds): cells for rounds, cells in status.rounds},
        "reading": {
            "answers": reading.answers,
            "valid": reading.valid,
            "repaired": reading.repaired,
            "contradictorySections": reading.contradictory,
            "repairs": reading.repairs,
            "spans": reading.spans,
        },
    }
    columns = ("participant_id", "language", "status", "judge_failure", "cells")
    rows = [
        (
            scores.participants[count.participant_index].participant_id,
            count.language,
            count.status,
            count.judge_failure,
            count.cells,
        )
        for count in status.counts
    ]
    return Report("run-status", document, columns, rows)


def _reasons(scores: Scores) -> list[str]:
    status = scores.status
    whole = status.total()
    reasons = []
    for name, text in (
        ("translation_failed", "could not be translated"),
        ("translation_missing", "have no translation"),
        ("judge_failed", "have no valid judge answer"),
    ):
        if number := status.total(name):
            reasons.append(f"{number} of {whole} cells {text}")
    return reasons or [f"all {whole} expected cells are validly judged"]


def cost_reports(scores: Scores) -> list[Report]:
    """Judge cost from the projection's attempts. What translations cost is not recorded."""
    translated = {participant.model: 0 for participant in scores.participants}
    for count in scores.status.counts:
        if count.status in ("ok", "judge_failed"):
            translated[scores.participants[count.participant_index].model] += count.cells
    by_model = {model: {"totalCostUsd": 0.0, "unknownCostRecordCount": n} for model, n in translated.items()}
    for cost in scores.costs:
        entry = by_model.setdefault(cost.model, {"totalCostUsd": 0.0, "unknownCostRecordCount": 0})
        entry["totalCostUsd"] += cost.nano_usd / _NANO
        entry["unknownCostRecordCount"] += cost.unknown_cost
    judge_usd = sum(cost.nano_usd for cost in scores.costs) / _NANO
    judge_unknown = sum(cost.unknown_cost for cost in scores.costs)
    phases: dict[str, dict[str, float]] = {
        "translation": {"totalCostUsd": 0, "unknownCostRecordCount": sum(translated.values())},
        "judge": {
            "totalCostUsd": judge_usd,
            "unknownCostRecordCount": judge_unknown,
            "attempts": sum(cost.attempts for cost in scores.costs),
            "reaskedAttempts": sum(cost.reasked for cost in scores.costs),
            "reaskedCostUsd": sum(cost.reasked_nano_usd for cost in scores.costs) / _NANO,
            "promptTokens": sum(cost.prompt_tokens for cost in scores.costs),
            "completionTokens": sum(cost.completion_tokens for cost in scores.costs),
            "reasoningTokens": sum(cost.reasoning_tokens for cost in scores.costs),
        },
    }
    overall = {
        "totalCostUsd": judge_usd,
        "unknownCostRecordCount": sum(translated.values()) + judge_unknown,
    }
    columns = ("total_cost_usd", "unknown_cost_records")
    return [
        Report(
            "cost-summary",
            {"byPhase": phases, "byModel": by_model, "overall": overall},
            ("phase", *columns),
            [
                (name, phase["totalCostUsd"], phase["unknownCostRecordCount"])
                for name, phase in (*phases.items(), ("overall", overall))
            ],
        ),
        Report(
            "cost-by-model",
            by_model,
            ("model", *columns),
            [(model, *entry.values()) for model, entry in by_model.items()],
        ),
    ]
