"""Mean penalties: overall, in slices, over common cells, and normalised across languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

SUM_COLUMNS = ("expected", "samples", "failed_samples", "tenths", "common_samples", "common_tenths")


@dataclass(frozen=True)
class MeanRow:
    """A participant in a slice.

    ``mean_penalty`` is over ``samples`` ok cells and ``None`` where there are none: a failure is
    never a zero. ``key`` holds the slice's values in the order of its columns.
    """

    key: tuple[str | int, ...]
    participant_index: int
    mean_penalty: float | None
    samples: int
    failed_samples: int
    expected: int


def mean_rows(
    sums: pl.DataFrame, columns: Sequence[str], *, repeats: int, participants: int, common: bool = False
) -> list[MeanRow]:
    """Mean penalties by the given slice columns, sorted by slice, then in participant order.

    Args:
        sums: the frame of ``compute_penalties``.
        columns: slice columns; none for the overall mean.
        repeats: verdicts per cell; a cell's penalty is their mean.
        participants: how many there are; each has a row in each slice.
        common: over the cells every participant has a valid verdict on.
    """
    grouped = sums.group_by([*columns, "participant_index"]).agg(pl.col(name).sum() for name in SUM_COLUMNS)
    by_place = {
        (tuple(row[name] for name in columns), row["participant_index"]): row
        for row in grouped.iter_rows(named=True)
    }
    keys = sorted({key for key, _ in by_place}) if columns else [()]
    samples, tenths = ("common_samples", "common_tenths") if common else ("samples", "tenths")
    rows = []
    for key in keys:
        for index in range(participants):
            row = by_place.get((key, index), dict.fromkeys(SUM_COLUMNS, 0))
            rows.append(
                MeanRow(
                    key=key,
                    participant_index=index,
                    mean_penalty=mean(row[tenths], row[samples] * repeats),
                    samples=row[samples],
                    failed_samples=row["failed_samples"],
                    expected=row["expected"],
                )
            )
    return rows


def mean(tenths: int, verdicts: int) -> float | None:
    """Mean penalty, in penalty points, of ``verdicts`` that sum to ``tenths`` tenths of a point.

    Python divides integers correctly rounded, so the result is the double nearest to the exact mean.
    """
    return tenths / (10 * verdicts) if verdicts else None


def normalised_macro_means(
    by_language: Sequence[MeanRow], languages: Sequence[str], participants: int
) -> list[float | None]:
    """Mean over languages of (mean penalty - best) / (worst - best), per participant.

    A share of the distance from the best (0) to the worst (1) participant, without a unit. Within a
    language where all are equal the value is 0. Floats are added in language order, then divided by the
    number of languages: the benchmark's published ``normalized_macro_mean_penalty``.
    ``None`` where a participant has no mean in some language.
    """
    means = {(row.key[0], row.participant_index): row.mean_penalty for row in by_language}
    totals: list[float | None] = [0.0] * participants
    for language in languages:
        values = [means.get((language, index)) for index in range(participants)]
        known = [value for value in values if value is not None]
        best, worst = (min(known), max(known)) if known else (0.0, 0.0)
        for index, value in enumerate(values):
            total = totals[index]
            if value is None or total is None:
                totals[index] = None
            else:
                totals[index] = total + (0.0 if worst == best else (value - best) / (worst - best))
    return [None if total is None else total / len(languages) for total in totals]
