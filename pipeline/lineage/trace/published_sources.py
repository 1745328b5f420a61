"""Sources of a rebuilt published run: ``source/run`` and ``source/dataset``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pipeline.errors import TraceError
from pipeline.lineage.trace.files import RunFiles
from pipeline.lineage.trace.run_tables import CellKey
from pipeline.lineage.trace.sources import AnswerKey, Found, Rendered, items_of, text_or_none


class PublishedSources:
    """The files a published run was rebuilt from: ``source/run`` and ``source/dataset``."""

    _ANSWERS = "source/run/judge-raw.jsonl"
    _TRANSLATIONS = "source/run/translations.jsonl"
    _FAILURES = "source/run/translation-failures.jsonl"

    def __init__(self, files: RunFiles) -> None:
        """Find the dataset file.

        Raises:
            TraceError: the rebuilt run holds not exactly one, or no answers.
        """
        self._files = files
        datasets = [path for path in files.listed if path.startswith("source/dataset/")]
        if len(datasets) != 1 or self._ANSWERS not in files.listed:
            raise TraceError.at(
                files.place.manifest,
                f"lists {len(datasets)} dataset files, not one, or no {self._ANSWERS}; build the run anew",
            )
        self._dataset = datasets[0]

    def item(self, item_id: str) -> Found | None:
        """See ``Sources``."""
        return self._items.get(item_id)

    def translation(self, key: CellKey) -> Found | None:
        """See ``Sources``."""
        return self._translations.get(key)

    def failures(self, key: CellKey) -> list[Found]:
        """See ``Sources``."""
        return self._failures.get(key, [])

    def answer(self, key: AnswerKey) -> Found | None:
        """See ``Sources``."""
        return self._answers.get(key[0])

    def recorded(self, key: AnswerKey) -> Found | None:
        """See ``Sources``: a published run has none."""
        return None

    def request(self, request_hash: str) -> Found | None:
        """See ``Sources``: a published run has none."""
        return None

    def rendered(self, found: Found) -> Rendered:
        """See ``Sources``."""
        raise TraceError("a published run records no requests")

    def searched(self, what: str) -> list[str]:
        """See ``Sources``."""
        wanted = {"item": self._dataset, "translation": self._TRANSLATIONS, "failure": self._FAILURES}
        path = wanted.get(what, self._ANSWERS)
        return [path] if path in self._files.listed else []

    @cached_property
    def _items(self) -> dict[str, Found]:
        return items_of(self._files, self._dataset)

    @cached_property
    def _answers(self) -> dict[CellKey, Found]:
        return self._by_cell(self._ANSWERS, "raw_judge_output")

    @cached_property
    def _translations(self) -> dict[CellKey, Found]:
        return self._by_cell(self._TRANSLATIONS, "translation")

    @cached_property
    def _failures(self) -> dict[CellKey, list[Found]]:
        found: dict[CellKey, list[Found]] = {}
        for line, row in self._lines(self._FAILURES):
            reason = ": ".join(str(row[k]) for k in ("error_class", "last_error_summary") if row.get(k))
            entry = Found(self._FAILURES, line, reason or "unrecorded", row)
            found.setdefault(_cell_key(row), []).append(entry)
        return found

    def _by_cell(self, path: str, field: str) -> dict[CellKey, Found]:
        return {
            _cell_key(row): Found(path, line, text_or_none(row.get(field)), row)
            for line, row in self._lines(path)
        }

    def _lines(self, path: str) -> list[tuple[int, dict[str, Any]]]:
        return self._files.lines(path) if path in self._files.listed else []


def _cell_key(row: Mapping[str, Any]) -> CellKey:
    """``run::item::language::participant`` as a cell."""
    parts = str(row.get("stable_key")).split("::")
    return (parts[1], parts[2], parts[3]) if len(parts) == 4 else ("", "", "")
