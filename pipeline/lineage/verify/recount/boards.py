"""The score reports of means: what each has to hold, as JSON and as a flat table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.lineage.verify.recount.means import SLICES, Means, Row
from pipeline.lineage.verify.recount.run import PlainRun

WHO = ("participant_id", "participant_display_name")
_MEAN = ("mean_penalty", "samples", "failed_samples")
_COMMON = ("mean_penalty", "samples")
# Report -> its slice columns; those of the second list have a report over common cells beside them.
_SLICED = {
    "leaderboard.by-context-expectation": ("context_expectation",),
    "leaderboard.by-context-turn-count": ("context_turn_count",),
    "leaderboard.by-speaker-mode": ("speaker_mode",),
    "leaderboard.by-context-turn-count-and-speaker-mode": ("context_turn_count", "speaker_mode"),
    "leaderboard.by-primary-phenomenon": ("primary_phenomenon",),
}
_SLICED_COMMON = {
    "leaderboard.by-language.common-cell": ("language",),
    "leaderboard.by-context-expectation.common-cell": ("context_expectation",),
}


@dataclass(frozen=True)
class Expected:
    """A report as it has to be; numbers are integers, exact fractions, or doubles of a stated order."""

    document: Any
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def boards(run: PlainRun, means: Means) -> dict[str, Expected]:
    """The reports of means by name, all but ``leaderboard.by-language``, which holds counts as well."""
    overall, common = means.rows(), means.rows(common=True)
    normalised = [
        who(run, index) | {"normalized_macro_mean_penalty": value}
        for index, value in enumerate(means.normalised())
    ]
    found = {
        "summary-overall.penalty": Expected(
            _entries(run, overall, (*_MEAN, "expected")), *flat(run, overall, (), (*_MEAN, "expected"))
        ),
        "summary-overall.penalty.common-cell": Expected(
            _entries(run, common, _COMMON), *flat(run, common, (), _COMMON)
        ),
        "summary-overall.normalized": Expected(
            normalised,
            (*WHO, "normalized_macro_mean_penalty"),
            [tuple(entry.values()) for entry in normalised],
        ),
        "leaderboard-chart-input": Expected(
            _entries(run, overall, ("mean_penalty",)),
            *flat(run, means.best_first(), (), ("mean_penalty",)),
        ),
    }
    for name, columns in _SLICED.items():
        rows = means.rows(*columns)
        found[name] = Expected(grouped(run, rows, _MEAN), *flat(run, rows, columns, _MEAN))
    for name, columns in _SLICED_COMMON.items():
        rows = means.rows(*columns, common=True)
        found[name] = Expected(grouped(run, rows, _COMMON), *flat(run, rows, columns, _COMMON))
    return found | {"slices": _all_slices(run, means)}


def _all_slices(run: PlainRun, means: Means) -> Expected:
    columns = ("slice", "value", *WHO, "mean_penalty", "samples")
    rows = [
        (column, str(row.key[0]), *who(run, row.participant).values(), row.mean_penalty, row.samples)
        for column in SLICES
        for row in means.rows(column)
    ]
    return Expected([dict(zip(columns, row, strict=True)) for row in rows], columns, rows)


def who(run: PlainRun, participant: int) -> dict[str, Any]:
    """The two keys that name a participant in a report."""
    system = run.design.systems[participant]
    return dict(zip(WHO, (system.participant_id, system.display_name), strict=True))


def _entries(run: PlainRun, rows: Iterable[Row], fields: Sequence[str]) -> list[dict[str, Any]]:
    return [who(run, row.participant) | {field: getattr(row, field) for field in fields} for row in rows]


def grouped(run: PlainRun, rows: Iterable[Row], fields: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Entries by slice value; the values of several columns are joined by ``::``."""
    document: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = "::".join(map(str, row.key))
        document.setdefault(name, []).extend(_entries(run, [row], fields))
    return document


def flat(
    run: PlainRun, rows: Iterable[Row], columns: Sequence[str], fields: Sequence[str]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Header and lines of the flat table of the same numbers."""
    lines = [
        (*row.key, *who(run, row.participant).values(), *(getattr(row, field) for field in fields))
        for row in rows
    ]
    return (*columns, *WHO, *fields), lines
