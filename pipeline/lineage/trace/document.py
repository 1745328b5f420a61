"""A trace as one JSON value: the number, its calculation, its units with their ancestry, all files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from pipeline.lineage.trace.addresses import Question, tokens
from pipeline.lineage.trace.derivation import Derivation, Kind, Unit
from pipeline.lineage.trace.files import RunFiles
from pipeline.lineage.trace.json_place import line_of
from pipeline.lineage.trace.metrics import METRICS
from pipeline.lineage.trace.points import points
from pipeline.lineage.trace.run_tables import AttemptRow, Cell, FailureRow
from pipeline.lineage.trace.tracer import Reported, Trace, Tracer
from pipeline.tables.rows import ROW

Json = dict[str, Any]

_PLURALS: dict[Kind, str] = {
    "cell": "cells",
    "attempt": "attempts",
    "translation_failure": "translation_failures",
}
# What it means where a part of an ancestry does not agree.
_DISAGREEMENTS = {
    "report": "the report says another value than the one recomputed",
    "answer": "the answer is not the text that the tables hold",
    "sealed": "the line's own seal does not match its content",
    "recorded": "the recorded answer is another one",
    "read_again": "read again just now, the answer gives something else than the tables hold",
    "rendered_again": "rendered again just now, the request has another hash",
    "request": "the request is not among the run's requests",
    "item": "the item is not the one that the tables hold",
    "translation": "the translation is not the one that the tables hold",
}


def trace_document(tracer: Tracer, trace: Trace, limit: int | None) -> Json:
    """Everything behind a number.

    Args:
        tracer: the run.
        trace: the number.
        limit: so many units of each kind come with their ancestry; None shows every one.

    Returns:
        A JSON value. ``agrees`` is false if the report says another value than the one recomputed, or if a
        file or a step does not agree; ``problems`` then says where.
    """
    document: Json = {
        "run": {
            "name": tracer.place.name,
            "run_name": tracer.files.manifest.get("run_name"),
            "run_id": tracer.tables.run["run_id"],
            "scoring_scheme": tracer.tables.scheme.name,
            "signature": (tracer.files.manifest.get("signature") or {}).get("short"),
        },
        **_number(tracer, trace.question, trace.derivation, trace.reported, limit),
    }
    if trace.reported is not None:
        document["report"]["agrees"] = trace.agrees
    if trace.derivation.parts:
        few = None if limit is None else min(limit, 1)
        document["parts"] = [
            {"role": part.role, **_number(tracer, part.question, part.derivation, None, few)}
            for part in trace.derivation.parts
        ]
    document["files"] = [asdict(tracer.files.artifact(path)) for path in _paths(tracer, document)]
    document["problems"] = [*_problems(document), *_file_problems(document["files"])]
    document["agrees"] = not document["problems"]
    return document


def _number(
    tracer: Tracer, asked: Question, derivation: Derivation, reported: Reported | None, limit: int | None
) -> Json:
    metric = METRICS[asked.metric]
    number: Json = {
        "metric": asked.metric,
        "value": derivation.value,
        "meaning": metric.meaning,
        "where": dict(asked.where) | dict(metric.within),
        "counted": dict(asked.of),
        "common_cells_only": asked.common,
        "formula": metric.formula,
        "calculation": derivation.expression,
        "sum": _sum(tracer, asked, derivation),
        "divided_by": derivation.count,
        "report": None if reported is None else _report(tracer.files, reported),
    }
    for kind, plural in _PLURALS.items():
        units = [unit for unit in derivation.units if unit.kind == kind]
        if units:
            number[plural] = _units(tracer, asked, units, limit)
    if not derivation.units:
        table = "translation_failures" if metric.failures else "attempts"
        folder = tracer.files.place.tables.relative_to(tracer.files.place.root).as_posix()
        number["nothing"] = {
            "why": f"the run recorded no {table.replace('_', ' ')}",
            "at": {"path": f"{folder}/{table}.parquet", "rows": 0},
        }
    return number


def _sum(tracer: Tracer, asked: Question, derivation: Derivation) -> str | None:
    if derivation.total is None:
        return None
    return _amount(tracer, asked, derivation.total)


def _amount(tracer: Tracer, asked: Question, amount: int) -> str:
    """An amount as people write it; penalties are in points."""
    form = METRICS[asked.metric].form
    return points(amount, tracer.tables.repeats) if form in ("mean", "penalty", "normalised") else str(amount)


def _report(files: RunFiles, reported: Reported) -> Json:
    text = files.content(reported.path).decode("utf-8")
    return {
        "at": {
            "path": reported.path,
            "pointer": reported.pointer,
            "line": line_of(text, tokens(reported.pointer)),
        },
        "value": reported.value,
    }


def _units(tracer: Tracer, asked: Question, units: Sequence[Unit], limit: int | None) -> Json:
    left_out = Counter(_left_out(asked, unit.subject) for unit in units if unit.amount is None)
    shown = units if limit is None else units[:limit]
    return {
        "total": len(units),
        "counted": sum(unit.amount is not None for unit in units),
        "not_counted": dict(sorted(left_out.items())),
        "shown": len(shown),
        "list": [
            {
                "amount": None if unit.amount is None else _amount(tracer, asked, unit.amount),
                **_ancestry(tracer, unit.subject),
            }
            for unit in shown
        ],
    }


def _left_out(asked: Question, subject: Cell | AttemptRow | FailureRow) -> str:
    """Why a unit of the slice does not count."""
    if not isinstance(subject, Cell):
        return "outside"
    if asked.common and not subject.common:
        return "not common"
    return "outside" if subject.ok else subject.status


def _ancestry(tracer: Tracer, subject: Cell | AttemptRow | FailureRow) -> Json:
    if isinstance(subject, Cell):
        return tracer.ancestry.cell(subject)
    if isinstance(subject, AttemptRow):
        return tracer.ancestry.attempt(subject)
    return tracer.ancestry.failure(subject)


def _paths(tracer: Tracer, document: Json) -> list[str]:
    """Every file the trace rests on, the records of the run first."""
    folder = tracer.place.tables.relative_to(tracer.place.root).as_posix()
    tables = [f"{folder}/{table}.parquet" for table in tracer.tables.names]
    named = [str(part["path"]) for _, part in _walk(document, ()) if "path" in part]
    return list(dict.fromkeys([*tracer.files.records, *tables, *named]))


def _problems(document: Json) -> Iterator[str]:
    for trail, part in _walk(document, ()):
        if part.get("agrees") is False:
            kind = trail[-1]
            place = part.get("at") or {}
            where = f"{place['path']} {_inside(place)}" if place else "/".join(trail)
            yield f"{where}: {_DISAGREEMENTS.get(kind, f'{kind} does not agree')}"


def _file_problems(files: Sequence[Json]) -> Iterator[str]:
    for file in files:
        records = [name for name in ("manifest", "dvc_lock") if file[name] == "differs"]
        if records:
            names = " and ".join(records).replace("dvc_lock", "dvc.lock")
            yield f"{file['path']}: hashed just now, it is not what {names} says"


def _inside(place: Json) -> str:
    return " ".join(f"{name} {place[name]}" for name in ("pointer", "line", ROW) if name in place)


def _walk(value: Any, trail: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Every object of a JSON value with the keys that lead there; a list's index is no key."""
    if isinstance(value, dict):
        yield trail, value
        for name, inner in value.items():
            if name != "body":
                yield from _walk(inner, (*trail, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value, start=1):
            yield from _walk(inner, (*trail[:-1], f"{trail[-1] if trail else ''} {number}"))
