"""Walk all numbers of a run: each is recomputed, and each thing it is made of ends in lines of files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pipeline.lineage.trace.document import trace_document
from pipeline.lineage.trace.tracer import Tracer

Json = dict[str, Any]
ANSWER_FILES = {"source/run/judge-raw.jsonl", "data/responses/responses.jsonl"}


def places(value: Any) -> Iterator[Json]:
    """Every ``at`` of an ancestry."""
    if isinstance(value, dict):
        if isinstance(value.get("at"), dict):
            yield value["at"]
        for inner in value.values():
            yield from places(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from places(inner)


def check_every_number(tracer: Tracer) -> int:
    """Trace every number of every report: its value is recomputed and each unit ends in lines of files."""
    checked: set[int] = set()
    count = 0
    for path, pointer in tracer.numbers():
        found = tracer.resolve(path, pointer)
        assert found.agrees, (path, pointer, found.reported, found.derivation.value)
        assert found.reported is not None
        for unit in found.derivation.units:
            if id(unit.subject) not in checked:
                checked.add(id(unit.subject))
                check_lines(tracer, unit.kind, unit.subject)
        if not found.derivation.units:
            nothing = trace_document(tracer, found, 1)["nothing"]
            assert (nothing["at"]["rows"], found.derivation.value) == (0, 0)
        count += 1
    return count


def check_lines(tracer: Tracer, kind: str, subject: Any) -> None:
    show = {
        "cell": tracer.ancestry.cell,
        "attempt": tracer.ancestry.attempt,
        "translation_failure": tracer.ancestry.failure,
    }[kind]
    ancestry = show(subject)
    found = list(places(ancestry))
    lines = [at for at in found if "line" in at]
    assert lines, ancestry
    for at in found:
        artifact = tracer.files.artifact(at["path"])
        assert artifact.agrees
        assert "agrees" in (artifact.manifest, artifact.dvc_lock)
    assert "false" not in json.dumps(list(steps(ancestry)))
    if kind == "cell" and subject.verdicts:
        paths = {at["path"] for at in lines}
        assert paths & ANSWER_FILES


def steps(value: Any) -> Iterator[bool]:
    """Every ``agrees`` of an ancestry."""
    if isinstance(value, dict):
        if "agrees" in value:
            yield value["agrees"]
        for name, inner in value.items():
            if name != "body":
                yield from steps(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from steps(inner)
