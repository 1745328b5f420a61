"""What a user asks to be traced, in the three ways there are."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.errors import TraceError
from pipeline.lineage.trace.addresses import question
from pipeline.lineage.trace.run_tables import CellKey
from pipeline.lineage.trace.tracer import Trace, Tracer

_WAYS = "give one of: FILE.json#/json/pointer, --metric, --cell"


def traced(
    tracer: Tracer,
    *,
    target: str | None = None,
    cell: CellKey | None = None,
    metric: str | None = None,
    values: Mapping[str, str | None] | None = None,
    common: bool = False,
) -> Trace:
    """The number of a ``FILE.json#/json/pointer``, of a cell, or of a metric and what it is taken over.

    ``values``: slice columns and what is counted; None where nothing was said.

    Raises:
        TraceError: not exactly one way was used, or what was named does not exist.
    """
    said = {name: value for name, value in (values or {}).items() if value is not None}
    if sum(way is not None for way in (target, cell, metric)) != 1:
        raise TraceError(_WAYS)
    if metric is not None:
        return tracer.ask(question(metric, said, common=common))
    if said or common:
        raise TraceError("a slice belongs to --metric; a pointer or a cell says where it is itself")
    if cell is not None:
        return tracer.cell(cell)
    file, hash_sign, pointer = str(target).partition("#")
    if not hash_sign:
        raise TraceError(f"{target!r} names no number; write it like summary-overall.penalty#/0/mean_penalty")
    return tracer.resolve(file, pointer)
