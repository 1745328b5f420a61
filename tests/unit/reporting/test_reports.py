"""The reports as a set: names, what CSV and JSON share, costs, slices for plots, metrics."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_run import CLEAN, TinyRun, answer, item

from pipeline.reporting.metrics import metrics_document
from pipeline.reporting.reports import score_reports
from pipeline.reporting.table import Report
from pipeline.scoring.scores import Scores

# DESIGN.md, "Report files", and the two that plots need.
NAMES = {
    "summary-overall.penalty",
    "summary-overall.penalty.common-cell",
    "summary-overall.normalized",
    "leaderboard.by-language",
    "leaderboard.by-language.common-cell",
    "leaderboard.by-context-expectation",
    "leaderboard.by-context-expectation.common-cell",
    "leaderboard.by-context-turn-count",
    "leaderboard.by-speaker-mode",
    "leaderboard.by-context-turn-count-and-speaker-mode",
    "leaderboard.by-primary-phenomenon",
    "context-behavior.counts",
    "context-behavior.rates",
    "severity-breakdown.by-language",
    "error-class-breakdown.by-language",
    "failed-samples.by-language",
    "run-status",
    "cost-summary",
    "cost-by-model",
    "leaderboard-chart-input",
    "slices",
}


@pytest.fixture(scope="module")
def scores() -> Scores:
    def attempt(request: str, index: int, model: str | None, cost: int | None) -> tuple[object, ...]:
        return (request * 64, 0, index, index == 0, index + 1, "b", 200, "stop", model, 100, 10, 1, cost)

    return TinyRun(
        items=[item("i1"), item("i2", "ignore", turns=2, mode="dyadic")],
        languages=["ja", "en"],
        participants=["p2", "p1"],
        models={"p1": "m", "p2": "m"},
        answers={
            ("i1", "en", "p1"): [answer(minor=("other",))],
            ("i1", "en", "p2"): [CLEAN],
            ("i2", "ja", "p1"): ["?"],
        },
        attempts=[
            attempt("a", 0, "judge-1", 1_500_000),
            attempt("a", 1, "judge-1", None),
            attempt("b", 0, None, 500_000),
            attempt("c", 0, "m", 1),
        ],
    ).scores()


@pytest.fixture(scope="module")
def reports(scores: Scores) -> dict[str, Report]:
    return {report.name: report for report in score_reports(scores)}


def test_names(reports: dict[str, Report]) -> None:
    assert set(reports) == NAMES


def test_every_csv_has_as_many_fields_as_columns(reports: dict[str, Report]) -> None:
    for report in reports.values():
        assert len(set(report.columns)) == len(report.columns), report.name
        assert all(len(row) == len(report.columns) for row in report.rows), report.name


@pytest.mark.parametrize(
    "name", ["leaderboard.by-context-expectation", "leaderboard.by-primary-phenomenon", "slices"]
)
def test_csv_says_what_json_says(reports: dict[str, Report], name: str) -> None:
    report = reports[name]
    rows = [dict(zip(report.columns, row, strict=True)) for row in report.rows]
    if isinstance(report.document, list):
        assert rows == report.document
        return
    column = report.columns[0]
    assert rows == [
        {column: key} | entry for key, entries in sorted(report.document.items()) for entry in entries
    ]


def test_participants_stand_in_the_order_of_the_run(reports: dict[str, Report]) -> None:
    document: Any = reports["summary-overall.penalty"].document
    assert [row["participant_id"] for row in document] == ["p2", "p1"]
    board: Any = reports["leaderboard.by-language"].document
    assert list(board) == ["ja", "en"]


def test_the_chart_is_best_first(reports: dict[str, Report]) -> None:
    assert reports["leaderboard-chart-input"].rows == [("p2", "p2", 0.0), ("p1", "p1", 1.0)]


def test_costs_are_sums_of_whole_nano_dollars(reports: dict[str, Report]) -> None:
    # 1.5 + 0.5 million nano-dollars, and one: 0.002000001 USD. What translating cost is recorded for
    # none of the three translated cells, all by model m.
    document: Any = reports["cost-summary"].document
    assert document["byPhase"]["judge"] == {
        "totalCostUsd": 0.002000001,
        "unknownCostRecordCount": 1,
        "attempts": 4,
        "reaskedAttempts": 1,
        "reaskedCostUsd": 0.0,
        "promptTokens": 400,
        "completionTokens": 40,
        "reasoningTokens": 4,
    }
    assert document["byPhase"]["translation"] == {"totalCostUsd": 0, "unknownCostRecordCount": 3}
    assert document["overall"] == {"totalCostUsd": 0.002000001, "unknownCostRecordCount": 4}
    assert reports["cost-by-model"].document == {
        "judge-1": {"totalCostUsd": 0.0015, "unknownCostRecordCount": 1},
        "unknown": {"totalCostUsd": 0.0005, "unknownCostRecordCount": 0},
        "m": {"totalCostUsd": 1e-9, "unknownCostRecordCount": 3},
    }


def test_metrics_are_four_a_participant(scores: Scores) -> None:
    assert metrics_document(scores) == {
        "p2": {
            "mean_penalty": 0.0,
            "mean_penalty_common_cell": 0.0,
            "coverage": 0.25,  # one of four cells
            "missed_required_context_rate": 0.0,
        },
        "p1": {
            "mean_penalty": 1.0,
            "mean_penalty_common_cell": 1.0,
            "coverage": 0.25,
            "missed_required_context_rate": 0.0,
        },
    }
