"""A run published elsewhere, as plain Python reads it from the bytes that its rebuilt folder keeps."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.dataset import Dataset, read_dataset
from pipeline.errors import PublishedRunError
from pipeline.jsonl import read_json_lines
from pipeline.lineage.verify.recount.run import CellKey, Design, Given, System
from pipeline.published.source import (
    RAW_ANSWERS,
    TRANSLATION_FAILURES,
    TRANSLATIONS,
    PublishedManifest,
    read_manifest,
)

RUN = Path("source/run")
DATASET = Path("source/dataset")
_UNRECORDED = "unrecorded"


@dataclass(frozen=True)
class Imported:
    """A published run's own manifest, its dataset, and what there is for its cells."""

    manifest: PublishedManifest
    design: Design
    given: Given


def read_imported(root: Path, scheme: str) -> Imported:
    """Read ``source/run`` and ``source/dataset`` below ``root``.

    Raises:
        PublishedRunError, DatasetError: a file is missing or broken, or a line names what is not there.
    """
    manifest = read_manifest(root / RUN)
    dataset = _read_dataset(root)
    systems = tuple(
        System(p.participant_id, p.display_name, p.provider, p.model) for p in manifest.participants
    )
    design = Design(
        run_name=manifest.run_id,
        dataset=dataset,
        languages=tuple(manifest.languages),
        systems=systems,
        repeats=1,
        form="text",
        mode="strict",
        scheme=scheme,
        translations_known=(root / RUN / TRANSLATIONS).is_file(),
    )
    known = _Known(
        manifest.run_id,
        {item.sample_id for item in dataset.items},
        set(manifest.languages),
        {system.participant_id for system in systems},
    )
    answers = _texts(root / RUN / RAW_ANSWERS, "raw_judge_output", known)
    translations = (
        _texts(root / RUN / TRANSLATIONS, "translation", known) if design.translations_known else {}
    )
    history = list(_failures(root / RUN / TRANSLATION_FAILURES, known))
    given = Given(
        answers={cell: [(text, None)] for cell, text in answers.items()},
        translations=translations,
        failures={cell: reason for cell, reason in history if cell not in translations},
        history=history,
    )
    return Imported(manifest, design, given)


@dataclass(frozen=True)
class _Known:
    """What a line's key may name."""

    run_id: str
    items: Collection[str]
    languages: Collection[str]
    participants: Collection[str]

    def cell(self, path: Path, line: int, row: dict[str, Any]) -> CellKey:
        """The cell that a line's ``stable_key`` names: run::item::language::participant."""
        key = row.get("stable_key")
        parts = key.split("::") if isinstance(key, str) else []
        if len(parts) != 4 or not (
            parts[0] == self.run_id
            and parts[1] in self.items
            and parts[2] in self.languages
            and parts[3] in self.participants
        ):
            raise PublishedRunError.at(
                path, f"{key!r} names no cell of this run; restore the file", line=line, field="stable_key"
            )
        return parts[1], parts[2], parts[3]


def _read_dataset(root: Path) -> Dataset:
    files = sorted(path for path in (root / DATASET).glob("*") if path.is_file())
    if len(files) != 1:
        raise PublishedRunError.at(
            root / DATASET, f"holds {len(files)} files where the dataset belongs; build the run anew"
        )
    return read_dataset(files[0])


def _texts(path: Path, field: str, known: _Known) -> dict[CellKey, str]:
    texts: dict[CellKey, str] = {}
    for line, row in read_json_lines(path, PublishedRunError):
        cell = known.cell(path, line, row)
        text = row.get(field)
        if cell in texts:
            raise PublishedRunError.at(path, f"{'::'.join(cell)} stands twice; restore the file", line=line)
        if not isinstance(text, str):
            raise PublishedRunError.at(path, "no text; restore the file", line=line, field=field)
        texts[cell] = text
    return texts


def _failures(path: Path, known: _Known) -> Iterator[tuple[CellKey, str]]:
    if path.is_file():
        for line, row in read_json_lines(path, PublishedRunError):
            said = [row.get("error_class"), row.get("last_error_summary")]
            words = [word for word in said if isinstance(word, str) and word]
            yield known.cell(path, line, row), ": ".join(words) or _UNRECORDED
