"""Which metric and which slice every number of every report is: one table.

A pattern is a JSON pointer with placeholders. ``{name}`` takes a key as the value of that column;
``{a}::{b}`` takes two; ``#`` takes the index of a list entry, which names its participant itself;
``{metric}`` takes the name of a metric.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pipeline.errors import TraceError
from pipeline.lineage.trace.metrics import METRICS
from pipeline.lineage.trace.run_tables import SLICES

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Question:
    """What a number is: a metric, over the cells where the slice columns have these values.

    ``where`` and ``of`` are sorted pairs: the slice, and what is counted. ``common``: over common cells only.
    """

    metric: str
    where: Pairs = ()
    of: Pairs = ()
    common: bool = False


def question(metric: str, values: dict[str, str], *, common: bool = False) -> Question:
    """A question; ``values`` are parted into slice columns and what is counted."""
    where = {name: value for name, value in values.items() if name in SLICES or name == "item_id"}
    of = {name: value for name, value in values.items() if name not in where}
    return Question(metric, tuple(sorted(where.items())), tuple(sorted(of.items())), common)


@dataclass(frozen=True)
class Address:
    """A place in a report and the metric that stands there."""

    pattern: str
    metric: str = "{metric}"
    common: bool = False


def _sliced(slices: str, *, common: bool = False) -> tuple[Address, ...]:
    return (Address(f"/{slices}/#/{{metric}}", common=common),)


def _costs(prefix: str, costs: str, unknown: str) -> tuple[Address, ...]:
    return Address(f"{prefix}/totalCostUsd", costs), Address(f"{prefix}/unknownCostRecordCount", unknown)


_SEVERITIES = "{participant_id}/{severity}"
_CLASSES = "{participant_id}/{error_class}"

REPORTS: dict[str, tuple[Address, ...]] = {
    "summary-overall.penalty": (Address("/#/{metric}"),),
    "summary-overall.penalty.common-cell": (Address("/#/{metric}", common=True),),
    "summary-overall.normalized": (Address("/#/{metric}"),),
    "leaderboard-chart-input": (Address("/#/{metric}"),),
    "leaderboard.by-language": (
        Address("/{language}/leaderboard/#/{metric}"),
        Address(f"/{{language}}/severityBreakdown/{_SEVERITIES}", "errors"),
        Address(f"/{{language}}/errorClassBreakdown/{_CLASSES}", "errors"),
    ),
    "leaderboard.by-language.common-cell": _sliced("{language}", common=True),
    "leaderboard.by-context-expectation": _sliced("{context_expectation}"),
    "leaderboard.by-context-expectation.common-cell": _sliced("{context_expectation}", common=True),
    "leaderboard.by-context-turn-count": _sliced("{context_turn_count}"),
    "leaderboard.by-speaker-mode": _sliced("{speaker_mode}"),
    "leaderboard.by-context-turn-count-and-speaker-mode": _sliced("{context_turn_count}::{speaker_mode}"),
    "leaderboard.by-primary-phenomenon": _sliced("{primary_phenomenon}"),
    "slices": (Address("/#/{metric}"),),
    "severity-breakdown.by-language": (Address(f"/{{language}}/{_SEVERITIES}", "errors"),),
    "error-class-breakdown.by-language": (Address(f"/{{language}}/{_CLASSES}", "errors"),),
    "context-behavior.counts": (Address("/{participant_id}/{label}", "labels"),),
    "context-behavior.rates": (Address("/{participant_id}/{metric}"),),
    "failed-samples.by-language": (),
    "run-status": (
        Address("/benchmarkValid", "benchmark_valid"),
        Address("/totalExpected", "expected"),
        Address("/totalNormalized", "judged"),
        Address("/totalOk", "samples"),
        Address("/translationFailureHistoricalCount", "historical_translation_failures"),
        Address("/translationFailureUnresolvedCount", "unresolved_translation_failures"),
        Address("/commonCellCount", "common_cells"),
        Address("/judgeFailureRatesByParticipantLanguage/{participant_id}::{language}/ok", "samples"),
        Address(
            "/judgeFailureRatesByParticipantLanguage/{participant_id}::{language}/failed", "failed_samples"
        ),
        Address("/judgeFailuresByType/{judge_failure}", "judge_failures"),
        Address("/cellsSharingARequest", "cells_sharing_a_request"),
        Address("/requestsShared", "requests_shared"),
        Address("/rounds/{rounds}", "rounds"),
        Address("/reading/answers", "answers"),
        Address("/reading/valid", "answers_valid"),
        Address("/reading/repaired", "answers_repaired"),
        Address("/reading/contradictorySections", "answers_contradictory"),
        Address("/reading/repairs/{repair}", "repairs"),
        Address("/reading/spans/{location}", "spans"),
    ),
    "cost-summary": (
        *_costs("/byModel/{model}", "judge_cost_usd", "unknown_costs"),
        *_costs("/byPhase/translation", "translation_cost_usd", "translation_unknown_costs"),
        *_costs("/byPhase/judge", "judge_cost_usd", "judge_unknown_costs"),
        Address("/byPhase/judge/attempts", "attempts"),
        Address("/byPhase/judge/reaskedAttempts", "reasked_attempts"),
        Address("/byPhase/judge/reaskedCostUsd", "reasked_cost_usd"),
        Address("/byPhase/judge/promptTokens", "prompt_tokens"),
        Address("/byPhase/judge/completionTokens", "completion_tokens"),
        Address("/byPhase/judge/reasoningTokens", "reasoning_tokens"),
        *_costs("/overall", "judge_cost_usd", "unknown_costs"),
    ),
    "cost-by-model": _costs("/{model}", "judge_cost_usd", "unknown_costs"),
    "metrics": (
        Address("/{participant_id}/mean_penalty_common_cell", "mean_penalty", common=True),
        Address("/{participant_id}/{metric}"),
    ),
}


def tokens(pointer: str) -> list[str]:
    """The keys of a JSON pointer (RFC 6901).

    Raises:
        TraceError: it does not begin with ``/``.
    """
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise TraceError(f"{pointer!r} is no JSON pointer; write it like /0/mean_penalty")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def pointer_of(keys: list[str]) -> str:
    """The JSON pointer of keys."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def numbers(document: Any) -> Iterator[str]:
    """Pointers of every number, null and boolean of a JSON document, in its order."""

    def walk(value: Any, keys: list[str]) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from walk(inner, [*keys, key])
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from walk(inner, [*keys, str(index)])
        elif not isinstance(value, str):
            yield pointer_of(keys)

    yield from walk(document, [])


def question_at(report: str, keys: list[str], entries: list[Any]) -> Question | None:
    """What the number under ``keys`` of a report is; None if the table does not know the place.

    ``entries``: the values along the way, that of ``keys[0]`` first.
    """
    for address in REPORTS.get(report, ()):
        values = _match(address.pattern, keys, entries)
        if values is None:
            continue
        metric = values.pop("metric", address.metric)
        if metric in METRICS:
            return question(metric, values, common=address.common)
    return None


def _match(pattern: str, keys: list[str], entries: list[Any]) -> dict[str, str] | None:
    parts = pattern[1:].split("/")
    if len(parts) != len(keys):
        return None
    values: dict[str, str] = {}
    for part, key, entry in zip(parts, keys, entries, strict=True):
        if part == "#":
            if not isinstance(entry, dict):
                return None
            values["participant_id"] = str(entry.get("participant_id"))
            if "slice" in entry:
                values[str(entry["slice"])] = str(entry.get("value"))
        elif (found := _expression(part).fullmatch(key)) is not None:
            values |= found.groupdict()
        else:
            return None
    return values


@cache
def _expression(part: str) -> re.Pattern[str]:
    """``{a}::{b}`` as a pattern; the last ``::`` parts the two, as languages and the like hold none."""
    names = re.split(r"\{(\w+)\}", part)
    return re.compile(
        "".join(f"(?P<{text}>.+)" if index % 2 else re.escape(text) for index, text in enumerate(names)),
        re.DOTALL,
    )
