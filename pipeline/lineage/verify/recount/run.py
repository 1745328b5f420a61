"""A run as plain Python reads it: every expected cell with what became of it, from raw answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pipeline.annotation import Annotation, Form, Mode, read_answer
from pipeline.answers import Answer
from pipeline.dataset import Dataset, Item
from pipeline.lineage.verify.recount.weights import penalty

CellKey = tuple[str, str, str]
"""(item id, language, participant id)."""


@dataclass(frozen=True, slots=True)
class System:
    """A participant."""

    participant_id: str
    display_name: str
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One answer about a cell, how it was read, and its penalty in points."""

    text: str
    finish_reason: str | None
    annotation: Annotation
    penalty: Fraction


@dataclass(frozen=True, slots=True)
class Cell:
    """An expected cell. ``penalty`` is the sum over its verdicts, in points; None unless it is ok."""

    item: Item
    item_index: int
    language: str
    participant: int
    status: str
    judge_failure: str | None
    translation: str | None
    translation_failure: str | None
    request_hash: str | None
    verdicts: tuple[Verdict, ...]
    penalty: Fraction | None


@dataclass(frozen=True)
class Design:
    """What was planned, and how it is read and scored. ``translations_known``: the run kept them."""

    run_name: str
    dataset: Dataset
    languages: tuple[str, ...]
    systems: tuple[System, ...]
    repeats: int
    form: Form
    mode: Mode
    scheme: str
    translations_known: bool


@dataclass(frozen=True)
class Given:
    """What there is for the cells. ``answers`` maps a cell to (text, finish reason) by repeat.

    ``failures`` holds each cell's last recorded failure to translate; ``history`` every one, in order.
    """

    answers: Mapping[CellKey, Sequence[tuple[str, str | None]]]
    translations: Mapping[CellKey, str] = field(default_factory=dict)
    failures: Mapping[CellKey, str] = field(default_factory=dict)
    history: Sequence[tuple[CellKey, str]] = ()
    request_hashes: Mapping[CellKey, str] = field(default_factory=dict)
    attempts: Sequence[Answer] = ()


@dataclass(frozen=True)
class PlainRun:
    """The design and every expected cell, in the order item, language, participant."""

    design: Design
    given: Given
    cells: tuple[Cell, ...]

    @property
    def ok(self) -> list[Cell]:
        """The validly judged cells."""
        return [cell for cell in self.cells if cell.status == "ok"]


class Reader:
    """Reads answers, each distinct one once."""

    def __init__(self, form: Form, mode: Mode, scheme: str) -> None:
        self._form, self._mode, self._scheme = form, mode, scheme
        self._read: dict[tuple[str, str | None], Verdict] = {}

    def verdict(self, text: str, finish_reason: str | None) -> Verdict:
        """An answer as it is read."""
        key = text, finish_reason
        if key not in self._read:
            annotation = read_answer(text, form=self._form, mode=self._mode, finish_reason=finish_reason)
            points = penalty(annotation.errors, self._scheme)
            self._read[key] = Verdict(text, finish_reason, annotation, points)
        return self._read[key]


def recount(design: Design, given: Given) -> PlainRun:
    """Read every answer and say what became of every expected cell.

    Raises:
        ConfigError: there is no scoring scheme of that name.
    """
    reader = Reader(design.form, design.mode, design.scheme)
    cells = []
    for item_index, item in enumerate(design.dataset.items):
        for language in design.languages:
            for participant, system in enumerate(design.systems):
                key = (item.sample_id, language, system.participant_id)
                verdicts = tuple(reader.verdict(*answer) for answer in given.answers.get(key, ()))
                translation = given.translations.get(key)
                failure = given.failures.get(key)
                status, judge_failure = _fate(design, verdicts, translation, failure)
                cells.append(
                    Cell(
                        item,
                        item_index,
                        language,
                        participant,
                        status,
                        judge_failure,
                        translation,
                        failure if status == "translation_failed" else None,
                        given.request_hashes.get(key),
                        verdicts,
                        sum((v.penalty for v in verdicts), Fraction(0)) if status == "ok" else None,
                    )
                )
    return PlainRun(design, given, tuple(cells))


def _fate(
    design: Design, verdicts: Sequence[Verdict], translation: str | None, failure: str | None
) -> tuple[str, str | None]:
    """(status, judge failure) of a cell; docs/methodology.md, "Reading an answer" and "Means"."""
    if verdicts:
        refused = [v.annotation.status for v in verdicts if v.annotation.status != "ok"]
        whole = len(verdicts) == design.repeats and not refused
        return ("ok", None) if whole else ("judge_failed", refused[0] if refused else "unrecorded")
    if translation is None and failure is not None:
        return "translation_failed", None
    if translation is None and design.translations_known:
        return "translation_missing", None
    return "judge_failed", "unrecorded"
