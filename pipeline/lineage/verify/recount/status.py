"""The reports on coverage and cost as they have to be, and the counts that the manifest repeats."""

from __future__ import annotations

from typing import Any

from pipeline.lineage.verify.recount import counts
from pipeline.lineage.verify.recount.boards import Expected
from pipeline.lineage.verify.recount.run import PlainRun

_FATES = ("judge_failed", "ok", "translation_failed", "translation_missing")
_WORDS = {
    "translation_failed": "could not be translated",
    "translation_missing": "have no translation",
    "judge_failed": "have no valid judge answer",
}


def run_status(run: PlainRun, common_cells: int) -> Expected:
    """``run-status``: whether the run is valid, and what became of every cell."""
    fates, whole = counts.fates(run), len(run.cells)
    shared = counts.shared_requests(run)
    ids = [system.participant_id for system in run.design.systems]
    by_type: dict[str, int] = {}
    rates = {
        f"{name}::{language}": {"ok": 0, "failed": 0} for name in ids for language in run.design.languages
    }
    for (participant, language, status, failure), cells in fates.items():
        place = rates[f"{ids[participant]}::{language}"]
        if status == "ok":
            place["ok"] += cells
        if status == "judge_failed":
            place["failed"] += cells
            by_type[str(failure)] = by_type.get(str(failure), 0) + cells
    reasons = [
        f"{number} of {whole} cells {words}"
        for status, words in _WORDS.items()
        if (number := counts.total(run, status))
    ]
    document = {
        "benchmarkValid": counts.total(run, "ok") == whole,
        "reasons": reasons or [f"all {whole} expected cells are validly judged"],
        "totalExpected": whole,
        "totalNormalized": counts.total(run, "ok", "judge_failed"),
        "totalOk": counts.total(run, "ok"),
        "translationFailureHistoricalCount": len(run.given.history),
        "translationFailureUnresolvedCount": counts.total(run, "translation_failed", "translation_missing"),
        "commonCellCount": common_cells,
        "judgeFailureRatesByParticipantLanguage": rates,
        "judgeFailuresByType": by_type,
        "cellsWithoutVerdict": [
            {
                "source_id": cell.item.sample_id,
                "target_language": cell.language,
                "participant_id": ids[cell.participant],
                "status": cell.status,
                "reason": cell.translation_failure or cell.judge_failure,
            }
            for cell in counts.without_verdict(run)
        ],
        "cellsSharingARequest": shared.cells,
        "requestsShared": shared.requests,
        "rounds": {str(number): cells for number, cells in counts.rounds(run).items()},
        "reading": reading(run),
    }
    rows = [
        (name, language, status, failure, fates[index, language, status, failure])
        for index, name in enumerate(ids)
        for language in run.design.languages
        for status in _FATES
        for failure in sorted((key[3] for key in fates if key[:3] == (index, language, status)), key=str)
    ]
    return Expected(document, ("participant_id", "language", "status", "judge_failure", "cells"), rows)


def reading(run: PlainRun) -> dict[str, Any]:
    """How the answers could be read, and where their errors' spans stand."""
    read = [verdict.annotation for _, verdict in counts.verdicts(run)]
    return {
        "answers": len(read),
        "valid": sum(annotation.status == "ok" for annotation in read),
        "repaired": sum(bool(annotation.repairs) for annotation in read),
        "contradictorySections": sum(annotation.contradictory for annotation in read),
        "repairs": counts.repairs(run),
        "spans": counts.span_locations(run),
    }


def manifest_counts(run: PlainRun, common_cells: int) -> dict[str, int]:
    """The manifest's ``counts`` as they have to be."""
    read = [verdict.annotation for _, verdict in counts.verdicts(run)]
    return {
        "participants": len(run.design.systems),
        "languages": len(run.design.languages),
        "cells_expected": len(run.cells),
        "cells_ok": counts.total(run, "ok"),
        "cells_judge_failed": counts.total(run, "judge_failed"),
        "cells_translation_failed": counts.total(run, "translation_failed"),
        "cells_translation_missing": counts.total(run, "translation_missing"),
        "common_cells": common_cells,
        "cells_sharing_a_request": counts.shared_requests(run).cells,
        "answers": len(read),
        "answers_valid": sum(annotation.status == "ok" for annotation in read),
        "answers_repaired": sum(bool(annotation.repairs) for annotation in read),
    }


def cost_reports(run: PlainRun) -> dict[str, Expected]:
    """``cost-summary`` and ``cost-by-model``: dollars of the attempts, and records without a cost.

    What translations cost is not recorded, so each translated cell is such a record of its system's model.
    """
    nano: dict[str, int] = {}
    unknown: dict[str, int] = {}
    for system in run.design.systems:
        nano[system.model], unknown[system.model] = 0, 0
    for cell in run.cells:
        if cell.status in ("ok", "judge_failed"):
            unknown[run.design.systems[cell.participant].model] += 1
    translated = sum(unknown.values())
    bills = counts.bills(run)
    for model, bill in bills.items():
        nano[model] = nano.get(model, 0) + bill.nano_usd
        unknown[model] = unknown.get(model, 0) + bill.unknown_cost
    paid = counts.usd(sum(bill.nano_usd for bill in bills.values()))
    judge_unknown = sum(bill.unknown_cost for bill in bills.values())
    by_model = {
        model: {"totalCostUsd": counts.usd(nano[model]), "unknownCostRecordCount": unknown[model]}
        for model in nano
    }
    judge = {
        "totalCostUsd": paid,
        "unknownCostRecordCount": judge_unknown,
        "attempts": sum(bill.attempts for bill in bills.values()),
        "reaskedAttempts": sum(bill.reasked for bill in bills.values()),
        "reaskedCostUsd": counts.usd(sum(bill.reasked_nano_usd for bill in bills.values())),
        "promptTokens": sum(bill.prompt_tokens for bill in bills.values()),
        "completionTokens": sum(bill.completion_tokens for bill in bills.values()),
        "reasoningTokens": sum(bill.reasoning_tokens for bill in bills.values()),
    }
    summary = {
        "byPhase": {
            "translation": {"totalCostUsd": counts.usd(0), "unknownCostRecordCount": translated},
            "judge": judge,
        },
        "byModel": by_model,
        "overall": {"totalCostUsd": paid, "unknownCostRecordCount": translated + judge_unknown},
    }
    columns = ("total_cost_usd", "unknown_cost_records")
    return {
        "cost-summary": Expected(
            summary,
            ("phase", *columns),
            [
                ("translation", counts.usd(0), translated),
                ("judge", paid, judge_unknown),
                ("overall", paid, translated + judge_unknown),
            ],
        ),
        "cost-by-model": Expected(
            by_model, ("model", *columns), [(model, *entry.values()) for model, entry in by_model.items()]
        ),
    }
