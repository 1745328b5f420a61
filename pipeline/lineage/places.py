"""Where a run stands on disk: a project's working tree, or an output folder of ``published build``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import ManifestError
from pipeline.layout import MANIFEST, SCORES, TABLES


@dataclass(frozen=True)
class RunPlace:
    """A run on disk. ``root`` is what the paths of its manifest are relative to.

    ``name`` is what people call it: a folder, a revision; ``published``: a rebuilt run, with its source
    under ``root/source`` and no project around it.
    """

    root: Path
    name: str
    published: bool

    @property
    def manifest(self) -> Path:
        """The sealed record."""
        return self.root / MANIFEST

    @property
    def scores(self) -> Path:
        """The folder of the score reports."""
        return self.root / SCORES

    @property
    def tables(self) -> Path:
        """The folder of the exported tables."""
        return self.root / ("tables" if self.published else TABLES)


def place_of(folder: Path) -> RunPlace:
    """The run in a folder: a project that was reproduced, or an output folder of ``published build``.

    Raises:
        ManifestError: it holds no manifest.
    """
    if not (folder / MANIFEST).is_file():
        raise ManifestError.at(
            folder / MANIFEST,
            "missing; name a project where `dvc repro` ran, or an output of `published build`",
        )
    return RunPlace(folder, str(folder), published=(folder / "tables").is_dir())
