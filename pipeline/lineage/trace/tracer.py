"""Resolve addresses of a run to what they are added up from, loading everything once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.errors import TraceError
from pipeline.layout import METRICS as METRICS_FILE
from pipeline.layout import SCORES
from pipeline.lineage.places import RunPlace
from pipeline.lineage.trace.addresses import REPORTS, Question, numbers, question_at, tokens
from pipeline.lineage.trace.ancestry import Ancestry
from pipeline.lineage.trace.derivation import Derivation, Slices, derive
from pipeline.lineage.trace.opened import open_run
from pipeline.lineage.trace.run_tables import CellKey


@dataclass(frozen=True)
class Reported:
    """A value that stands in a report: the file below the root, the JSON pointer, the value."""

    path: str
    pointer: str
    value: Any


@dataclass(frozen=True)
class Trace:
    """A number: what it is, where it stands if it stands in a report, and how it comes about."""

    question: Question
    reported: Reported | None
    derivation: Derivation

    @property
    def agrees(self) -> bool:
        """Whether the report says what was recomputed, to the last bit; true if it stands in no report."""
        if self.reported is None:
            return True
        given, made = self.reported.value, self.derivation.value
        return given == made and isinstance(given, bool) == isinstance(made, bool)


class Tracer:
    """All addresses of one run."""

    def __init__(self, place: RunPlace) -> None:
        """Load the run.

        Raises:
            InputError: the manifest, the tables or an input is missing or damaged.
        """
        run = open_run(place)
        self.place, self.files, self.tables = place, run.files, run.tables
        self.ancestry = Ancestry(run.files, run.tables, run.sources)
        self._slices = Slices(self.tables)
        self._derived: dict[Question, Derivation] = {}
        self._index: dict[Question, tuple[str, str]] | None = None

    @property
    def reports(self) -> list[str]:
        """Paths of the JSON reports with numbers, relative to the run's root."""
        found = sorted(path.name for path in self.place.scores.glob("*.json"))
        paths = [(SCORES / name).as_posix() for name in found]
        return paths + ([METRICS_FILE.as_posix()] if (self.place.root / METRICS_FILE).is_file() else [])

    def report_path(self, name: str) -> str:
        """The report of a name: its path, its file name, or that without ``.json``.

        Raises:
            TraceError: there is no such report; the message lists those there are.
        """
        for path in self.reports:
            file = path.rpartition("/")[2]
            if name in (path, file, file.removesuffix(".json")):
                return path
        known = ", ".join(path.rpartition("/")[2].removesuffix(".json") for path in self.reports)
        raise TraceError(f"no report {name!r} in {self.place.name}; choose from: {known}")

    def numbers(self) -> Iterator[tuple[str, str]]:
        """(path, JSON pointer) of every number, null and boolean of every report."""
        for path in self.reports:
            for pointer in numbers(self.files.document(path)):
                yield path, pointer

    def resolve(self, file: str, pointer: str) -> Trace:
        """The number at a place of a report.

        Raises:
            TraceError: there is no such report or place, or no number there.
        """
        path = self.report_path(file)
        keys = tokens(pointer)
        entries = _walk(self.files.document(path), path, keys)
        value = entries[-1] if entries else None
        if not keys or isinstance(value, dict | list | str):
            raise TraceError(f"{path}#{pointer} is {_described(value, bool(keys))}")
        asked = question_at(path.rpartition("/")[2].removesuffix(".json"), keys, entries)
        if asked is None:
            raise TraceError(f"{path}#{pointer} is a number this version does not know; trace another one")
        return Trace(asked, Reported(path, pointer, value), self.derive(asked))

    def ask(self, asked: Question) -> Trace:
        """A number by what it is; with its place, if it stands in a report.

        Raises:
            TraceError: the question names what the run does not have, or lacks what the metric needs.
        """
        derivation = self.derive(asked)
        place = self._places().get(asked)
        if place is None:
            return Trace(asked, None, derivation)
        path, pointer = place
        value = _walk(self.files.document(path), path, tokens(pointer))[-1]
        return Trace(asked, Reported(path, pointer, value), derivation)

    def cell(self, key: CellKey) -> Trace:
        """The penalty of one cell.

        Raises:
            TraceError: the run has no such cell.
        """
        if key not in self.tables.by_key:
            raise TraceError(f"the run has no cell {' '.join(key)}; {self._near(key)}")
        where = zip(("item_id", "language", "participant_id"), key, strict=True)
        return self.ask(Question("cell_penalty", tuple(sorted(where))))

    def derive(self, asked: Question) -> Derivation:
        """How a number comes about; see ``derivation.derive``."""
        if asked not in self._derived:
            self._derived[asked] = derive(self._slices, asked)
        return self._derived[asked]

    def _places(self) -> dict[Question, tuple[str, str]]:
        """The first place of every question that a report answers."""
        if self._index is None:
            self._index = {}
            for path in self.reports:
                name, document = path.rpartition("/")[2].removesuffix(".json"), self.files.document(path)
                for pointer in numbers(document) if name in REPORTS else ():
                    keys = tokens(pointer)
                    asked = question_at(name, keys, _walk(document, path, keys))
                    if asked is not None:
                        self._index.setdefault(asked, (path, pointer))
        return self._index

    def _near(self, key: CellKey) -> str:
        columns = [{cell.key[place] for cell in self.tables.cells} for place in range(3)]
        for name, given, known in zip(("item", "language", "participant"), key, columns, strict=True):
            if given not in known:
                shown = ", ".join(sorted(known)[:20])
                return f"{name} {given!r} is none of: {shown}{', ...' if len(known) > 20 else ''}"
        return "look at reports/scores/run-status.json"


def _walk(document: Any, path: str, keys: list[str]) -> list[Any]:
    """The values along a pointer, without the document itself."""
    entries: list[Any] = []
    value = document
    for number, key in enumerate(keys):
        inner: Any
        if isinstance(value, Mapping) and key in value:
            inner = value[key]
        elif isinstance(value, list) and key.isascii() and key.isdecimal() and int(key) < len(value):
            inner = value[int(key)]
        else:
            raise TraceError(
                f"{path} has nothing at {'/'.join(['', *keys[: number + 1]])!r}; {_choices(value)}"
            )
        entries.append(inner)
        value = inner
    return entries


def _choices(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"choose from: {', '.join(list(map(str, value))[:20]) or 'nothing'}"
    if isinstance(value, list):
        return f"choose an index from 0 to {len(value) - 1}" if value else "the list is empty"
    return "a value stands above it"


def _described(value: Any, inside: bool) -> str:
    if isinstance(value, str):
        return "a text; trace a number beside it, or a cell with --cell ITEM LANGUAGE PARTICIPANT"
    if not inside:
        return "the whole report; add the pointer of a number, such as #/0/mean_penalty"
    return f"no single number; {_choices(value)}"
