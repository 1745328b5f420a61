"""Translations of one participant: JSON lines of ``item_id``, ``target_language`` and a text or a failure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pydantic import model_validator

from pipeline.config import Language
from pipeline.dataset import Text
from pipeline.errors import TranslationError
from pipeline.jsonl import read_json_lines
from pipeline.validation import StrictModel, validate

Cell = tuple[str, str]
"""(item_id, target_language)."""


class TranslationLine(StrictModel):
    """One line of a translations file: exactly one of ``translation`` and ``failure``."""

    item_id: str
    target_language: Language
    translation: Text | None = None
    failure: Text | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> TranslationLine:
        if (self.translation is None) == (self.failure is None):
            raise ValueError(
                "give either translation or failure; a system that gave nothing is a failure with its reason"
            )
        return self


@dataclass(frozen=True)
class Translations:
    """What a participant gave: texts and failures by cell; no entry where there is neither."""

    texts: dict[Cell, str]
    failures: dict[Cell, str]


def read_translations(path: Path, item_ids: Collection[str], languages: Collection[str]) -> Translations:
    """Read a participant's translations; lines in other languages than the run's are passed over.

    Raises:
        TranslationError: the file is missing or a line is broken, stands twice, names an unknown
            item, or spells one of the run's languages in another case.
    """
    texts: dict[Cell, str] = {}
    failures: dict[Cell, str] = {}
    spelled = {language.casefold(): language for language in languages}
    first_at: dict[Cell, int] = {}
    for line, row in read_json_lines(path, TranslationError):
        entry = validate(TranslationLine, row, path, TranslationError, line=line)
        if entry.item_id not in item_ids:
            raise TranslationError.at(
                path,
                f"{entry.item_id!r} is not in the dataset; correct the id or remove the line",
                line=line,
                field="item_id",
            )
        wanted = spelled.get(entry.target_language.casefold())
        if wanted is None:
            continue
        if wanted != entry.target_language:
            raise TranslationError.at(
                path,
                f"{entry.target_language!r} is spelled {wanted!r} in params.yaml",
                line=line,
                field="target_language",
            )
        cell = (entry.item_id, entry.target_language)
        if cell in first_at:
            raise TranslationError.at(
                path, f"the same item and language stand at line {first_at[cell]} already", line=line
            )
        first_at[cell] = line
        if entry.translation is not None:
            texts[cell] = entry.translation
        else:
            failures[cell] = str(entry.failure)
    return Translations(texts, failures)
