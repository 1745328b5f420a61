"""A run's tables as plain rows: cells with their verdicts, attempts, failures to translate.

Penalties are added up here from the errors of each annotation, apart from the SQL of the scores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.errors import TraceError
from pipeline.scoring.schemes import Scheme
from pipeline.tables.rows import ROW, read_rows

Row = Mapping[str, Any]
CellKey = tuple[str, str, str]
"""(item_id, language, participant_id)."""

_TABLES = (
    "run",
    "languages",
    "participants",
    "items",
    "annotations",
    "annotation_errors",
    "cells",
    "judgments",
    "spans",
    "attempts",
    "translation_failures",
)
# Columns of a cell that a slice may fix, each with the value it has there.
SLICES = (
    "participant_id",
    "language",
    "context_expectation",
    "context_turn_count",
    "speaker_mode",
    "primary_phenomenon",
)


@dataclass(frozen=True)
class FoundError:
    """An error of an annotation: its row, where its span stands, and what it weighs in tenths."""

    row: int
    severity: str
    error_class: str
    span: str | None
    source_span: str | None
    explanation: str | None
    location: str | None
    tenths: int


@dataclass(frozen=True)
class Verdict:
    """An answer about a cell as it was read; ``tenths`` is its penalty, 0 unless ``status`` is ok."""

    repeat: int
    annotation_row: int
    text: str
    finish_reason: str | None
    status: str
    reason: str | None
    label: str | None
    repairs: tuple[str, ...]
    contradictory: bool
    errors: tuple[FoundError, ...]
    tenths: int


@dataclass(frozen=True)
class Cell:
    """An expected cell. ``row`` is its row in ``cells.parquet``; ``values`` has an entry per slice column.

    ``common``: every participant has a valid verdict on the cell's item and language. ``rounds``: how often
    its request was asked until an answer settled it, None where attempts were not recorded.
    """

    row: int
    key: CellKey
    participant_index: int
    values: Mapping[str, str]
    status: str
    judge_failure: str | None
    translation: str | None
    translation_failure: str | None
    request_hash: str | None
    verdicts: tuple[Verdict, ...]
    common: bool
    rounds: int | None
    first_of_shared_request: bool
    shares_request: bool
    model: str
    source_text: str

    @property
    def ok(self) -> bool:
        """Whether the cell is validly judged."""
        return self.status == "ok"

    @property
    def tenths(self) -> int:
        """Penalty summed over the verdicts, in tenths of a point."""
        return sum(verdict.tenths for verdict in self.verdicts)


@dataclass(frozen=True)
class AttemptRow:
    """A row of table ``attempts``."""

    row: int
    request_hash: str
    repeat: int
    attempt_index: int
    round_number: int | None
    served_model: str
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cost_nano_usd: int | None


@dataclass(frozen=True)
class FailureRow:
    """A row of table ``translation_failures``."""

    row: int
    key: CellKey
    reason: str


class RunTables:
    """The rows of a run, with penalties under a scheme."""

    names = _TABLES

    def __init__(self, folder: Path, scheme: Scheme) -> None:
        """Read the tables of ``folder``.

        Raises:
            TablesError: a table is missing or damaged.
            TraceError: the tables contradict each other.
        """
        self.scheme = scheme
        self._tables = read_rows(folder, _TABLES)
        if len(self._tables["run"]) != 1:
            raise TraceError.at(folder / "run.parquet", "holds no run; build the tables anew")
        self.run: Row = self._tables["run"][0]
        self.repeats = int(self.run["repeats"])
        self.languages = [str(row["language"]) for row in self._tables["languages"]]
        self.participants = [str(row["participant_id"]) for row in self._tables["participants"]]
        try:
            self.cells = self._cells()
            self.failures = self._failures()
        except (KeyError, IndexError, TypeError) as problem:
            raise TraceError.at(
                folder, f"the tables contradict each other ({problem!r}); build them anew"
            ) from None

    @cached_property
    def by_key(self) -> dict[CellKey, Cell]:
        """Cells by (item_id, language, participant_id)."""
        return {cell.key: cell for cell in self.cells}

    @cached_property
    def by_request(self) -> dict[str, list[Cell]]:
        """Cells by the hash of the request that asked about them."""
        cells: dict[str, list[Cell]] = defaultdict(list)
        for cell in self.cells:
            if cell.request_hash is not None:
                cells[cell.request_hash].append(cell)
        return cells

    @cached_property
    def attempts(self) -> list[AttemptRow]:
        """Every recorded attempt, in the table's order."""
        return [
            AttemptRow(
                row=row[ROW],
                request_hash=row["request_hash"],
                repeat=row["repeat"],
                attempt_index=row["attempt_index"],
                round_number=row.get("round_number"),
                served_model=row["served_model"] or "unknown",
                prompt_tokens=row["prompt_tokens"] or 0,
                completion_tokens=row["completion_tokens"] or 0,
                reasoning_tokens=row["reasoning_tokens"] or 0,
                cost_nano_usd=row["cost_nano_usd"],
            )
            for row in self._tables["attempts"]
        ]

    def _failures(self) -> list[FailureRow]:
        items = {row["item_index"]: row["item_id"] for row in self._tables["items"]}
        return [
            FailureRow(
                row[ROW],
                (
                    items[row["item_index"]],
                    self.languages[row["language_index"]],
                    self.participants[row["participant_index"]],
                ),
                row["reason"],
            )
            for row in self._tables["translation_failures"]
        ]

    def _cells(self) -> list[Cell]:
        tables = self._tables
        items = {row["item_index"]: row for row in tables["items"]}
        verdicts = self._verdicts()
        rounds: dict[str, int | None] = {}
        for attempt in self.attempts:
            known = rounds.get(attempt.request_hash)
            rounds[attempt.request_hash] = max(known or 0, attempt.round_number or 0) or None
        judged: dict[tuple[int, int], int] = defaultdict(int)
        asked: dict[str, list[int]] = defaultdict(list)
        for row in tables["cells"]:
            judged[row["item_index"], row["language_index"]] += row["status"] == "ok"
            if row["request_hash"] is not None:
                asked[row["request_hash"]].append(row["cell_id"])
        cells = []
        for row in tables["cells"]:
            item, number = items[row["item_index"]], row["cell_id"]
            participant = tables["participants"][row["participant_index"]]
            language = self.languages[row["language_index"]]
            together = asked[row["request_hash"]] if row["request_hash"] is not None else [number]
            cells.append(
                Cell(
                    row=row[ROW],
                    key=(item["item_id"], language, participant["participant_id"]),
                    participant_index=row["participant_index"],
                    values={
                        "participant_id": participant["participant_id"],
                        "language": language,
                        **{name: str(item[name]) for name in SLICES[2:]},
                    },
                    status=row["status"],
                    judge_failure=row["judge_failure"],
                    translation=row["translation"],
                    translation_failure=row["translation_failure"],
                    request_hash=row["request_hash"],
                    verdicts=tuple(verdicts.get(number, ())),
                    common=judged[row["item_index"], row["language_index"]] == len(self.participants),
                    rounds=rounds.get(row["request_hash"]),
                    first_of_shared_request=len(together) > 1 and together[0] == number,
                    shares_request=len(together) > 1,
                    model=participant["model"],
                    source_text=item["source_text"],
                )
            )
        return cells

    def _verdicts(self) -> dict[int, list[Verdict]]:
        tables = self._tables
        errors: dict[int, list[Row]] = defaultdict(list)
        for row in tables["annotation_errors"]:
            errors[row["annotation_id"]].append(row)
        locations = {
            (row["cell_id"], row["repeat"], row["error_index"]): row["location"] for row in tables["spans"]
        }
        annotations = {row["annotation_id"]: row for row in tables["annotations"]}
        verdicts: dict[int, list[Verdict]] = defaultdict(list)
        for judgment in tables["judgments"]:
            annotation = annotations[judgment["annotation_id"]]
            place = judgment["cell_id"], judgment["repeat"]
            found = tuple(
                FoundError(
                    row=row[ROW],
                    severity=row["severity"],
                    error_class=row["error_class"],
                    span=row["span"],
                    source_span=row["source_span"],
                    explanation=row["explanation"],
                    location=locations.get((*place, row["error_index"])),
                    tenths=self.scheme.weights[row["severity"], row["error_class"]],
                )
                for row in errors.get(judgment["annotation_id"], ())
            )
            verdicts[judgment["cell_id"]].append(
                Verdict(
                    repeat=judgment["repeat"],
                    annotation_row=annotation[ROW],
                    text=annotation["text"],
                    finish_reason=annotation["finish_reason"],
                    status=annotation["status"],
                    reason=annotation["reason"],
                    label=annotation["context_behavior"],
                    repairs=tuple(annotation["repairs"]),
                    contradictory=annotation["contradictory_section"],
                    errors=found,
                    tenths=penalty_tenths((error.tenths for error in found), self.scheme),
                )
            )
        return verdicts


def penalty_tenths(weights: Iterable[int], scheme: Scheme) -> int:
    """Penalty of an annotation in tenths: its heaviest errors up to the scheme's limit, capped."""
    heaviest = sorted(weights, reverse=True)[: scheme.max_errors]
    total = sum(heaviest)
    return total if scheme.cap_tenths is None else min(total, scheme.cap_tenths)
