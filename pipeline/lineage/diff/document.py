"""The comparison of two runs as one JSON value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pipeline.lineage.diff.causes import CAUSES, CellChange, State, cell_changes
from pipeline.lineage.diff.inputs import input_differences
from pipeline.lineage.diff.moves import Move, moves
from pipeline.lineage.places import RunPlace
from pipeline.lineage.trace.opened import OpenRun, open_run

Json = dict[str, Any]

_BEHIND_REQUESTS = ("prompts", "profile")


def diff_document(a: RunPlace, b: RunPlace, limit: int | None) -> Json:
    """What differs between two runs.

    Args:
        a: the run before.
        b: the run after.
        limit: so many changed cells are listed, those whose penalty changed most first; None lists all.

    Raises:
        InputError: one of the runs is unusable.
    """
    before, after = open_run(a), open_run(b)
    changes = list(cell_changes(before, after))
    changed = sorted(
        (change for change in changes if change.causes), key=lambda change: (-_size(change), change.key)
    )
    order = list(dict.fromkeys([*before.tables.participants, *after.tables.participants]))
    moved = moves(changes, order)
    inputs = input_differences(before, after)
    return {
        "a": _run(before),
        "b": _run(after),
        "inputs": [
            {"name": each.name, "same": each.same, "used": each.used, "details": list(each.details)}
            for each in inputs
        ],
        "causes": dict(CAUSES),
        "behind_requests": [
            each.name for each in inputs if each.name in _BEHIND_REQUESTS and each.used and not each.same
        ],
        "cells": {
            "a": len(before.tables.cells),
            "b": len(after.tables.cells),
            "changed": len(changed),
            "by_cause": _by_cause(changes),
            "by_kind": _kinds(changed),
            "shown": len(changed if limit is None else changed[:limit]),
            "list": [_cell(change) for change in (changed if limit is None else changed[:limit])],
        },
        "leaderboard": [_move(move) for move in moved],
        "same": not changed
        and all(each.same for each in inputs)
        and before.tables.run["run_id"] == after.tables.run["run_id"],
    }


def _run(run: OpenRun) -> Json:
    signature = run.files.manifest.get("signature")
    return {
        "name": run.place.name,
        "run_name": run.tables.run["run_name"],
        "run_id": run.tables.run["run_id"],
        "signature": signature.get("short") if isinstance(signature, dict) else None,
    }


def _size(change: CellChange) -> Fraction:
    """How far the penalty moved; a cell that has one on one side only comes before all others."""
    one, other = (state.penalty if state else None for state in (change.a, change.b))
    if one is None or other is None:
        return Fraction() if one is other else Fraction(10**9)
    return abs(other - one)


def _by_cause(changes: Sequence[CellChange]) -> dict[str, dict[str, int]]:
    """How many cells a cause touched, and how many of all cells it changed."""
    touched = Counter(change.touched for change in changes)
    changed = Counter(cause for change in changes for cause in change.causes)
    return {
        cause: {"touched": max(touched[cause], changed[cause]), "changed": changed[cause]}
        for cause in CAUSES
        if touched[cause] or changed[cause]
    }


def _kinds(changed: Sequence[CellChange]) -> dict[str, int]:
    kinds: Counter[str] = Counter()
    for change in changed:
        if change.a is None or change.b is None:
            kinds["only in B" if change.a is None else "only in A"] += 1
            continue
        kinds["status"] += change.a.status != change.b.status
        kinds["penalty"] += change.a.penalty != change.b.penalty
        kinds["label"] += change.a.labels != change.b.labels
    return {name: count for name, count in sorted(kinds.items()) if count}


def _cell(change: CellChange) -> Json:
    item, language, participant = change.key
    return {
        "item_id": item,
        "language": language,
        "participant_id": participant,
        "a": _state(change.a),
        "b": _state(change.b),
        "causes": list(change.causes),
    }


def _state(state: State | None) -> Json | None:
    if state is None:
        return None
    penalty = state.penalty
    return {
        "status": state.status,
        "penalty": None if penalty is None else _number(penalty),
        "labels": list(state.labels),
    }


def _move(move: Move) -> Json:
    return {
        "participant_id": move.participant,
        "mean_a": _number(move.a),
        "mean_b": _number(move.b),
        "rank_a": move.rank_a,
        "rank_b": move.rank_b,
        "difference": None if move.a is None or move.b is None else _exact(move.b - move.a),
        "after": {cause: _number(mean) for cause, mean in move.after.items()},
        "contributions": {
            cause: None if part is None else _exact(part) for cause, part in move.contributions.items()
        },
    }


def _number(value: Fraction | None) -> float | None:
    return None if value is None else value.numerator / value.denominator


def _exact(value: Fraction) -> Json:
    """A difference of means in points, as a float and as the exact fraction."""
    return {"points": _number(value), "exact": str(value)}
