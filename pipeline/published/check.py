"""Compare every value of a published run's JSON reports with the regenerated ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

from pipeline.errors import PublishedRunError
from pipeline.jsonl import read_json, read_json_lines
from pipeline.published.normalised import normalised_records
from pipeline.published.source import MANIFEST, NORMALISED, RAW_ANSWERS, read_manifest
from pipeline.tables.database import connect, load_tables

_KEYS = ("stable_key", "participant_id")


class Missing(Enum):
    """What stands for a value that is not there."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return self.value


_MISSING = Missing.MISSING
_SCORES = "reports/scores"


class NotRecomputable(StrEnum):
    """The closed list of reasons why a published value does not follow from the run's raw files."""

    ASR_ATTRIBUTES = "needs speech recognition results, which are no judge answers"
    COST_NOT_RECORDED = "the raw files hold no cost"
    PARTICIPANT_NOT_IN_RUN = "a row of a participant that the manifest does not list"
    UNKNOWN_REPORT = "no report of this pipeline"
    NO_RAW_ANSWERS = "the run kept no raw judge answers"


@dataclass(frozen=True)
class Difference:
    """A published value and what was regenerated in its place; either may be ``Missing.MISSING``."""

    pointer: str
    published: Any
    regenerated: Any


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
        PublishedRunError: the source has neither reports nor normalised records, ``rebuilt`` is of
            another run, or a file of it is missing.
    """
    manifest = read_manifest(source)
    can_be_rebuilt = (source / RAW_ANSWERS).is_file()
    known = _rebuilt_files(rebuilt, manifest.run_id) if can_be_rebuilt else frozenset[str]()
    participants = {participant.participant_id for participant in manifest.participants}
    checks = []
    for path in sorted((source / "reports").glob("*.json")):
        name = f"{_SCORES}/{path.name}"
        reason = _whole_file_reason(path.name, known=name in known, can_be_rebuilt=can_be_rebuilt)
        checks.append(_check_report(path, rebuilt / name, participants, reason))
    if (source / NORMALISED).is_file() and can_be_rebuilt:
        checks.append(_check_normalised(source / NORMALISED, rebuilt))
    if not checks:
        raise PublishedRunError.at(source, f"holds neither reports/*.json nor {NORMALISED}: nothing to check")
    return checks


def _rebuilt_files(rebuilt: Path, run_id: str) -> frozenset[str]:
    """Paths of the outputs that the rebuilt run's manifest lists."""
    path = rebuilt / "reports" / MANIFEST
    document = read_json(path, PublishedRunError)
    try:
        built, outputs = document["run_name"], frozenset(entry["path"] for entry in document["outputs"])
    except (TypeError, KeyError):
        raise PublishedRunError.at(
            path, "no manifest of a rebuilt run; run `published build` again"
        ) from None
    if built != run_id:
        raise PublishedRunError.at(
            path, f"is of run {built!r}, the source of {run_id!r}; run `published build` on this source"
        )
    return outputs


def _whole_file_reason(name: str, *, known: bool, can_be_rebuilt: bool) -> NotRecomputable | None:
    if not can_be_rebuilt:
        return NotRecomputable.NO_RAW_ANSWERS
    if name.startswith("ASR-"):
        return NotRecomputable.ASR_ATTRIBUTES
    if name in ("cost-summary.json", "cost-by-model.json"):
        return NotRecomputable.COST_NOT_RECORDED
    return None if known else NotRecomputable.UNKNOWN_REPORT


def _check_report(
    path: Path, rebuilt: Path, participants: set[str], reason: NotRecomputable | None
) -> FileCheck:
    check = FileCheck(path.name)
    published = read_json(path, PublishedRunError)
    if reason:
        check.not_recomputable[reason] += _count(published)
    else:
        _compare(check, "", published, read_json(rebuilt, PublishedRunError), participants)
    return check


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
    if (published == {} or published == []) and type(rebuilt) is not type(published):
        # It holds no value, but its place has to be there.
        check.differences.append(Difference(pointer, published, rebuilt))
    elif isinstance(published, dict):
        for key, value in published.items():
            other = rebuilt.get(key, _MISSING) if isinstance(rebuilt, dict) else _MISSING
            _compare(check, f"{pointer}/{_escaped(key)}", value, other, participants)
    elif isinstance(published, list):
        for place, value, other in _matched(published, rebuilt):
            owner = value.get("participant_id") if isinstance(value, dict) else None
            if participants and isinstance(owner, str) and owner not in participants:
                check.not_recomputable[NotRecomputable.PARTICIPANT_NOT_IN_RUN] += _count(value)
            else:
                _compare(check, f"{pointer}/{_escaped(place)}", value, other, participants)
    elif _equal(published, rebuilt):
        check.agree += 1
    else:
        check.differences.append(Difference(pointer, published, rebuilt))


def _matched(published: list[Any], rebuilt: Any) -> Iterator[tuple[str, Any, Any]]:
    """Pairs of list entries: by key where each entry has one of its own, by position elsewhere.

    By position, entries that the published list does not have come, too: it is another list then.
    """
    others = rebuilt if isinstance(rebuilt, list) else []
    key = next((name for name in _KEYS if _identified(published, name)), None)
    if key is None:
        for index in range(max(len(published), len(others))):
            yield (
                str(index),
                published[index] if index < len(published) else _MISSING,
                others[index] if index < len(others) else _MISSING,
            )
        return
    by_key = {str(other[key]): other for other in others if isinstance(other, dict) and key in other}
    for value in published:
        yield value[key], value, by_key.get(value[key], _MISSING)


def _identified(entries: list[Any], key: str) -> bool:
    names = [entry.get(key) if isinstance(entry, dict) else None for entry in entries]
    return bool(names) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


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
