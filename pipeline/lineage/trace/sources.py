"""Where the bytes of each item, translation, answer and request stand: file and line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pipeline.dataset import read_dataset
from pipeline.lineage.trace.files import RunFiles
from pipeline.lineage.trace.json_place import element_lines
from pipeline.lineage.trace.run_tables import CellKey

AnswerKey = tuple[CellKey, str | None, int]
"""A cell, the hash of its request where there is one, and the repeat."""


@dataclass(frozen=True)
class Found:
    """A thing that was read from a line of a file: its text, and the whole object it stands in."""

    path: str
    line: int
    text: str | None
    value: Mapping[str, Any]


@dataclass(frozen=True)
class Rendered:
    """A request that was rendered again: its hash now, its body, and the files that decide it."""

    request_hash: str
    body: dict[str, Any]
    files: tuple[str, ...]


class Sources(Protocol):
    """What a run was made from, by cell."""

    def item(self, item_id: str) -> Found | None:
        """The line of the dataset; ``text`` is the utterance to translate."""

    def translation(self, key: CellKey) -> Found | None:
        """The line with the translation; None where none was made, or none was kept."""

    def failures(self, key: CellKey) -> list[Found]:
        """The lines that record a failure to translate; ``text`` is the reason."""

    def answer(self, key: AnswerKey) -> Found | None:
        """The line with the judge's answer; ``text`` is what it said."""

    def recorded(self, key: AnswerKey) -> Found | None:
        """The line of ``data/recorded`` with the same answer."""

    def request(self, request_hash: str) -> Found | None:
        """The line of ``requests.jsonl``."""

    def rendered(self, found: Found) -> Rendered:
        """The request of such a line, rendered again from the prompts and the profile.

        Raises:
            InputError: they cannot be read by this version.
        """

    def searched(self, what: str) -> list[str]:
        """The files that were read for ``item``, ``translation``, ``failure`` or ``answer``."""


def items_of(files: RunFiles, path: str) -> dict[str, Found]:
    """The items of a dataset file, in either of its forms, by id.

    Raises:
        InputError: the dataset is wrong.
    """
    dataset = read_dataset(files.place.root / path)
    content = files.content(path).decode("utf-8")
    lines = element_lines(content) or [n for n, _ in files.lines(path)]
    return {
        item.sample_id: Found(path, line, item.current_source.source_text, item.model_dump(mode="json"))
        for line, item in zip(lines, dataset.items, strict=True)
    }


def text_or_none(value: Any) -> str | None:
    """A value if it is a text."""
    return value if isinstance(value, str) else None
