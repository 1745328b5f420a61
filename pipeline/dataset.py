"""The dataset: items of one to three context turns and a current Korean utterance.

Two file forms give the same items: the project's JSON lines (snake_case) and the published JSON
array (camelCase).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pipeline.canonical import canonical_hash, sha256_file
from pipeline.errors import DatasetError
from pipeline.jsonl import read_json, read_json_lines
from pipeline.validation import StrictModel, validate
from pipeline.vocabulary import PHENOMENA_BY_EXPECTATION

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def _filled(text: str) -> str:
    if all(unicodedata.category(character)[0] in "CZ" for character in text):
        raise ValueError("is empty or blank; text is required")
    return text


def _identifier(text: str) -> str:
    if not _IDENTIFIER.fullmatch(text):
        raise ValueError("must be 1-200 ASCII letters, digits, '.', '_', '-', the first a letter or digit")
    return text


def _whole(number: Any) -> Any:
    if type(number) is not int:  # a Literal lets true and 1.0 pass as 1
        raise ValueError("must be a whole number: 1, 2 or 3")
    return number


def _or_empty(values: Any) -> Any:
    return [] if values is None else values


Text = Annotated[str, AfterValidator(_filled)]
"""A text of at least one visible character."""
Identifier = Annotated[str, AfterValidator(_identifier)]


class _Record(StrictModel):
    """Keys by field name in the project's form, by camelCase alias in the published form."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=False)


class Turn(_Record):
    """One utterance: who spoke, when relative to now (a label or null), and the Korean text."""

    speaker_role: Literal["self", "other"]
    relative_time_label: Text | None = None
    source_text: Text


class Item(_Record):
    """One dataset sample in the runtime form."""

    sample_id: Identifier
    context_turn_count: Annotated[Literal[1, 2, 3], BeforeValidator(_whole)]
    speaker_mode: Literal["single", "dyadic"]
    context_expectation: Literal["use", "ignore"]
    primary_phenomenon: str
    secondary_phenomena: Annotated[list[Text], BeforeValidator(_or_empty)] = Field(default_factory=list)
    context_turns: list[Turn]
    current_source: Turn


@dataclass(frozen=True)
class Dataset:
    """Items in file order, with the content fingerprint and the file's own SHA-256."""

    items: tuple[Item, ...]
    fingerprint: str
    file_sha256: str


def read_dataset(path: Path) -> Dataset:
    """Read a dataset in either form (``.jsonl``: project; ``.json``: published array).

    Raises:
        DatasetError: names file, line (or item number), field, and what is allowed.
    """
    published = path.suffix == ".json"
    rows = _published_rows(path) if published else read_json_lines(path, DatasetError)
    items: list[Item] = []
    first_at: dict[str, int] = {}
    for number, row in rows:
        place, line = (f"{path}: item {number}", None) if published else (str(path), number)
        item = validate(Item, row, place, DatasetError, line=line, by_alias=published)
        problem = _inconsistency(item)
        if problem is None and item.sample_id in first_at:
            unit = "item" if published else "line"
            problem = (
                "sample_id",
                f"{item.sample_id!r} stands at {unit} {first_at[item.sample_id]} already; ids are unique",
            )
        if problem:
            field, what = problem
            spelled = ".".join(map(to_camel, field.split("."))) if published else field
            raise DatasetError.at(place, what, line=line, field=spelled)
        first_at[item.sample_id] = number
        items.append(item)
    if not items:
        raise DatasetError.at(path, "holds no items; a dataset has at least one")
    return Dataset(tuple(items), fingerprint(items), sha256_file(path))


def fingerprint(items: Iterable[Item]) -> str:
    """SHA-256 over the RFC 8785 form of the items in order, nulls left out.

    Neither key order, spacing, file form nor an optional null changes it; any text does.
    """
    return canonical_hash([item.model_dump(mode="json", exclude_none=True) for item in items])


def _inconsistency(item: Item) -> tuple[str, str] | None:
    """The first pair (field, problem) that the fields of an item contradict each other in."""
    turns = item.context_turns
    if len(turns) != item.context_turn_count:
        return "context_turn_count", (
            f"says {item.context_turn_count} but context_turns holds {len(turns)}; they must be equal"
        )
    others = sum(turn.speaker_role == "other" for turn in turns)
    if item.speaker_mode == "single" and others:
        return "speaker_mode", "is 'single' but a context turn is by 'other'; use 'dyadic' or mend it"
    if item.speaker_mode == "dyadic" and not others:
        return "speaker_mode", "is 'dyadic' but every context turn is by 'self'; use 'single' or mend it"
    if item.current_source.speaker_role != "self":
        return "current_source.speaker_role", "must be 'self': the current utterance is the user's own"
    allowed = PHENOMENA_BY_EXPECTATION[item.context_expectation]
    if item.primary_phenomenon not in allowed:
        return "primary_phenomenon", (
            f"{item.primary_phenomenon!r} is not a phenomenon of {item.context_expectation!r} items; "
            f"allowed: {', '.join(allowed)}"
        )
    return None


def _published_rows(path: Path) -> Iterable[tuple[int, Any]]:
    value = read_json(path, DatasetError)
    if not isinstance(value, list):
        raise DatasetError.at(path, "the published form is a JSON array of items; JSON lines end in .jsonl")
    return enumerate(value, start=1)
