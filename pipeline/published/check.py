"""Compare every value of a published run's JSON reports with the regenerated ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from pipeline.errors import PublishedRunError
from pipeline.jsonl import read_json, read_json_lines
from pipeline.published.normalised import normalised_records
from pipeline.published.source import NORMALISED, read_manifest
from pipeline.tables.database import connect, load_tables

_KEYS = ("stable_key", "participant_id")
_MISSING = object()


class NotRecomputable(StrEnum):
    """The closed list of reasons why a published value does not follow from the run's raw files."""

    ASR_ATTRIBUTES = "needs speech recognition results, which are no judge answers"
    COST_NOT_RECORDED = "the raw files hold no cost"
    PARTICIPANT_NOT_IN_RUN = "a row of a participant that the manifest does not list"
    UNKNOWN_REPORT = "no report of this pipeline"


@dataclass(frozen=True)
class Difference:
    """A published value and what was regenerated in its place (``None`` with ``missing``)."""

    pointer: str
    published: Any
    regenerated: Any
    missing: bool


@dataclass
class FileCheck:
    """The outcome for one published file, in values (JSON scalars)."""

    name: str
    agree: int = 0
    differences: list[Difference] = field(default_factory=list)
    not_recomputable: Counter[NotRecomputable] = field(default_factory=Counter)


def check_published(source: Path, rebuilt: Path) -> list[FileCheck]:
    """Check all JSON reports of ``source`` and, where there are any, its normalised records.

    Lists are matched by ``stable_key`` or ``participant_id``; extra keys and rows of the rebuilt
    run are allowed, missing ones are differences; numbers must be equal to the last bit.

    Raises:
        PublishedRunError: the source has neither reports nor normalised records, or a rebuilt
            file is missing.
    """
    manifest = read_manifest(source)
    participants = {participant.participant_id for participant in manifest.participants}
    checks = [
        _check_report(path, rebuilt / "reports" / "scores" / path.name, participants)
        for path in sorted((source / "reports").glob("*.json"))
    ]
    if (source / NORMALISED).is_file():
        checks.append(_check_normalised(source / NORMALISED, rebuilt))
    if not checks:
        raise PublishedRunError.at(source, f"holds neither reports/*.json nor {NORMALISED}: nothing to check")
    return checks


def _check_report(path: Path, rebuilt: Path, participants: set[str]) -> FileCheck:
    check = FileCheck(path.name)
    published = read_json(path, PublishedRunError)
    if reason := _whole_file_reason(path.name, rebuilt):
        check.not_recomputable[reason] += _count(published)
        return check
    _compare(check, "", published, read_json(rebuilt, PublishedRunError), participants)
    return check


def _whole_file_reason(name: str, rebuilt: Path) -> NotRecomputable | None:
    if name.startswith("ASR-"):
        return NotRecomputable.ASR_ATTRIBUTES
    if name in ("cost-summary.json", "cost-by-model.json"):
        return NotRecomputable.COST_NOT_RECORDED
    return None if rebuilt.is_file() else NotRecomputable.UNKNOWN_REPORT


def _check_normalised(path: Path, rebuilt: Path) -> FileCheck:
    check = FileCheck(path.name)
    with connect() as connection:
        load_tables(connection, rebuilt / "tables", views=False)
        records = {record["stable_key"]: record for record in normalised_records(connection)}
    for _, row in read_json_lines(path, PublishedRunError):
        key = row.get("stable_key")
        _compare(check, f"/{key}", row, records.get(str(key), _MISSING), set())
    return check


def _compare(check: FileCheck, pointer: str, published: Any, rebuilt: Any, participants: set[str]) -> None:
    if isinstance(published, dict):
        for key, value in published.items():
            other = rebuilt.get(key, _MISSING) if isinstance(rebuilt, dict) else _MISSING
            _compare(check, f"{pointer}/{_escaped(key)}", value, other, participants)
    elif isinstance(published, list):
        for place, value, other in _matched(published, rebuilt):
            owner = value.get("participant_id") if isinstance(value, dict) else None
            if participants and owner is not None and owner not in participants:
                check.not_recomputable[NotRecomputable.PARTICIPANT_NOT_IN_RUN] += _count(value)
            else:
                _compare(check, f"{pointer}/{_escaped(place)}", value, other, participants)
    elif _equal(published, rebuilt):
        check.agree += 1
    else:
        missing = rebuilt is _MISSING
        check.differences.append(Difference(pointer, published, None if missing else rebuilt, missing))


def _matched(published: list[Any], rebuilt: Any) -> Iterator[tuple[str, Any, Any]]:
    """Pairs of list entries: by key where the entries have one, by position elsewhere."""
    others = rebuilt if isinstance(rebuilt, list) else []
    key = next((name for name in _KEYS if published and _all_have(published, name)), None)
    if key is None:
        for index, value in enumerate(published):
            yield str(index), value, others[index] if index < len(others) else _MISSING
        return
    by_key = {other[key]: other for other in others if isinstance(other, dict) and key in other}
    for value in published:
        yield str(value[key]), value, by_key.get(value[key], _MISSING)


def _all_have(entries: list[Any], key: str) -> bool:
    return all(isinstance(entry, dict) and key in entry for entry in entries)


def _equal(published: Any, rebuilt: Any) -> bool:
    if isinstance(published, bool) or isinstance(rebuilt, bool):
        return published is rebuilt
    if isinstance(published, int | float) and isinstance(rebuilt, int | float):
        return published == rebuilt
    return type(published) is type(rebuilt) and bool(published == rebuilt)


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    if isinstance(value, list):
        return sum(map(_count, value))
    return 1


def _escaped(key: str) -> str:
    """A reference token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
