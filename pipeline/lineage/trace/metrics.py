"""What every number of a report is added up from: one row a metric.

A metric gives each unit (a cell, an attempt, a recorded failure to translate) of the slice an amount, or
None where the unit does not count. ``form`` says how the sum becomes the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pipeline.lineage.trace.run_tables import AttemptRow, Cell, FailureRow, Verdict

Of = Mapping[str, str]
"""What is counted, where a metric counts several things: ``severity``, ``label``, ``model``, ..."""

CellAmount = Callable[[Cell, Of], int | None]
AttemptAmount = Callable[[AttemptRow, Of], int | None]
FailureAmount = Callable[[FailureRow, Of], int | None]

# count: the sum. mean: sum of tenths / 10 / verdicts counted. penalty: sum of tenths / 10 / repeats.
# share: sum / verdicts counted. coverage: sum / cells. usd: sum / 10**9. none_left: whether the sum is 0.
# normalised: made of other means.
Form = Literal["count", "mean", "penalty", "share", "coverage", "usd", "none_left", "normalised"]


@dataclass(frozen=True)
class Metric:
    """How a number comes about. ``meaning`` and ``formula`` are for people.

    ``within`` fixes slice columns besides those of the question; ``needs`` names what a question has to
    say, of the slice or of what is counted.
    """

    meaning: str
    formula: str
    form: Form = "count"
    cells: CellAmount | None = None
    attempts: AttemptAmount | None = None
    failures: FailureAmount | None = None
    within: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


def _if(condition: bool) -> int:
    return int(condition)


def _verdicts(counts: Callable[[Verdict, Of], int]) -> CellAmount:
    """Amount of a cell with answers: the sum over its verdicts."""
    return lambda cell, of: sum(counts(v, of) for v in cell.verdicts) if cell.verdicts else None


def _ok_verdicts(counts: Callable[[Verdict, Of], int]) -> CellAmount:
    """Amount of an ok cell: the sum over its verdicts."""
    return lambda cell, of: sum(counts(v, of) for v in cell.verdicts) if cell.ok else None


def _errors(verdict: Verdict, of: Of) -> int:
    return sum(
        of.get("severity", error.severity) == error.severity
        and of.get("error_class", error.error_class) == error.error_class
        for error in verdict.errors
    )


def _served(amount: Callable[[AttemptRow], int]) -> AttemptAmount:
    return lambda attempt, of: (
        amount(attempt) if of.get("model", attempt.served_model) == attempt.served_model else None
    )


def _translated(cell: Cell, of: Of) -> int | None:
    """1 for a cell whose translation was made, by the model in question."""
    return _if(cell.status in ("ok", "judge_failed")) if of.get("model", cell.model) == cell.model else None


def _cost(attempt: AttemptRow) -> int:
    return attempt.cost_nano_usd or 0


def _unknown_cost(attempt: AttemptRow) -> int:
    return _if(attempt.cost_nano_usd is None)


def _reasked(attempt: AttemptRow) -> bool:
    return (attempt.round_number or 0) > 1


def _of_status(*statuses: str) -> CellAmount:
    return lambda cell, _: _if(cell.status in statuses)


_PARTICIPANT = ("participant_id",)

METRICS: dict[str, Metric] = {
    "mean_penalty": Metric(
        "mean cell penalty over validly judged cells; lower is better",
        "sum of cell penalties / validly judged cells",
        "mean",
        cells=lambda cell, _: cell.tenths if cell.ok else None,
        needs=_PARTICIPANT,
    ),
    "normalized_macro_mean_penalty": Metric(
        "mean over languages of (mean penalty - best) / (worst - best) among participants; 0 is best",
        "(sum over languages of (mean - best) / (worst - best)) / languages, added in language order",
        "normalised",
        needs=_PARTICIPANT,
    ),
    "samples": Metric("validly judged cells", "number of cells with status ok", cells=_of_status("ok")),
    "failed_samples": Metric(
        "cells without a valid judge answer",
        "number of cells with status judge_failed",
        cells=_of_status("judge_failed"),
    ),
    "expected": Metric("cells that were to be judged", "number of cells", cells=lambda _, __: 1),
    "coverage": Metric(
        "share of expected cells that are validly judged",
        "cells with status ok / cells",
        "coverage",
        cells=_of_status("ok"),
    ),
    "missed_required_context_rate": Metric(
        "share of missed_required_context among verdicts on ok cells whose item needs its context",
        "verdicts missed_required_context / verdicts",
        "share",
        cells=_ok_verdicts(lambda verdict, _: _if(verdict.label == "missed_required_context")),
        within={"context_expectation": "use"},
        needs=_PARTICIPANT,
    ),
    "misused_context_rate": Metric(
        "share of misused_context among verdicts on ok cells whose item does not need its context",
        "verdicts misused_context / verdicts",
        "share",
        cells=_ok_verdicts(lambda verdict, _: _if(verdict.label == "misused_context")),
        within={"context_expectation": "ignore"},
        needs=_PARTICIPANT,
    ),
    "labels": Metric(
        "verdicts on ok cells with a context-behavior label",
        "number of verdicts with the label",
        cells=_ok_verdicts(lambda verdict, of: _if(verdict.label == of["label"])),
        needs=("label",),
    ),
    "errors": Metric(
        "errors found in ok cells",
        "number of errors",
        cells=_ok_verdicts(_errors),
    ),
    "benchmark_valid": Metric(
        "whether every expected cell is validly judged",
        "cells whose status is not ok = 0",
        "none_left",
        cells=lambda cell, _: _if(not cell.ok),
    ),
    "judged": Metric(
        "cells that were translated and put to the judge",
        "number of cells with status ok or judge_failed",
        cells=_of_status("ok", "judge_failed"),
    ),
    "judge_failures": Metric(
        "cells the judge failed on, by the type of failure",
        "number of cells with that judge failure",
        cells=lambda cell, of: _if(cell.judge_failure == of["judge_failure"]),
        needs=("judge_failure",),
    ),
    "unresolved_translation_failures": Metric(
        "cells without a translation",
        "number of cells with status translation_failed or translation_missing",
        cells=_of_status("translation_failed", "translation_missing"),
    ),
    "historical_translation_failures": Metric(
        "recorded failures to translate, whether or not a translation came after all",
        "number of recorded failures",
        failures=lambda _, __: 1,
    ),
    "common_cells": Metric(
        "(item, language) pairs that are validly judged for every participant",
        "number of pairs, each counted at the cell of its first participant",
        cells=lambda cell, _: _if(cell.common) if cell.participant_index == 0 else None,
    ),
    "cells_sharing_a_request": Metric(
        "cells whose request is also that of another cell",
        "number of cells",
        cells=lambda cell, _: _if(cell.shares_request),
    ),
    "requests_shared": Metric(
        "distinct requests that ask about more than one cell",
        "number of requests, each counted at its first cell",
        cells=lambda cell, _: _if(cell.first_of_shared_request),
    ),
    "rounds": Metric(
        "cells whose request was asked so many times until an answer settled it",
        "number of cells",
        cells=lambda cell, of: _if(str(cell.rounds) == of["rounds"]) if cell.rounds else None,
        needs=("rounds",),
    ),
    "answers": Metric("judge answers", "number of verdicts", cells=_verdicts(lambda _, __: 1)),
    "answers_valid": Metric(
        "judge answers that could be read",
        "number of verdicts with status ok",
        cells=_verdicts(lambda verdict, _: _if(verdict.status == "ok")),
    ),
    "answers_repaired": Metric(
        "judge answers that lenient reading repaired",
        "number of verdicts with a repair",
        cells=_verdicts(lambda verdict, _: _if(bool(verdict.repairs))),
    ),
    "answers_contradictory": Metric(
        "judge answers with no-error beside an error",
        "number of verdicts",
        cells=_verdicts(lambda verdict, _: _if(verdict.contradictory)),
    ),
    "repairs": Metric(
        "repairs of one kind in judge answers",
        "number of repairs",
        cells=_verdicts(lambda verdict, of: verdict.repairs.count(of["repair"])),
        needs=("repair",),
    ),
    "spans": Metric(
        "errors whose span stands in such a place",
        "number of errors",
        cells=_verdicts(lambda verdict, of: sum(e.location == of["location"] for e in verdict.errors)),
        needs=("location",),
    ),
    "judge_cost_usd": Metric(
        "what the judge's attempts cost, in US dollars, as far as the service said",
        "sum of costs in billionths of a dollar / 1,000,000,000",
        "usd",
        attempts=_served(_cost),
    ),
    "reasked_cost_usd": Metric(
        "what asking again after a refused answer cost, in US dollars",
        "sum of costs in billionths of a dollar / 1,000,000,000",
        "usd",
        attempts=lambda attempt, _: _cost(attempt) if _reasked(attempt) else None,
    ),
    "translation_cost_usd": Metric(
        "what translating cost: runs record no cost of translations, so nothing is added up",
        "0 for every translated cell; unknownCostRecordCount says how many there are",
        "usd",
        cells=lambda cell, of: None if _translated(cell, of) is None else 0,
    ),
    "judge_unknown_costs": Metric(
        "attempts whose cost the service did not say",
        "number of attempts without a cost",
        attempts=_served(_unknown_cost),
    ),
    "translation_unknown_costs": Metric(
        "translated cells, none of whose costs is recorded",
        "number of cells with status ok or judge_failed",
        cells=_translated,
    ),
    "unknown_costs": Metric(
        "translated cells, whose costs are not recorded, and attempts whose cost the service did not say",
        "number of translated cells + number of attempts without a cost",
        cells=_translated,
        attempts=_served(_unknown_cost),
    ),
    "attempts": Metric(
        "times a request was put to the judge", "number of attempts", attempts=_served(lambda _: 1)
    ),
    "reasked_attempts": Metric(
        "attempts after a refused answer",
        "number of attempts in round 2 or later",
        attempts=lambda attempt, _: _if(_reasked(attempt)),
    ),
    "prompt_tokens": Metric(
        "tokens of the requests", "sum over attempts", attempts=_served(lambda a: a.prompt_tokens)
    ),
    "completion_tokens": Metric(
        "tokens of the answers", "sum over attempts", attempts=_served(lambda a: a.completion_tokens)
    ),
    "reasoning_tokens": Metric(
        "tokens of the judge's reasoning", "sum over attempts", attempts=_served(lambda a: a.reasoning_tokens)
    ),
    "cell_penalty": Metric(
        "sum of the severity weights of a cell's errors",
        "sum of weights, as the cell's errors below",
        "penalty",
        cells=lambda cell, _: cell.tenths if cell.ok else None,
        needs=("item_id", "language", "participant_id"),
    ),
}
