"""A run that is open for reading: its files, its tables, and what it was made from."""

from __future__ import annotations

import gc
from dataclasses import dataclass

from pipeline.errors import TraceError
from pipeline.lineage.places import RunPlace
from pipeline.lineage.trace.files import RunFiles
from pipeline.lineage.trace.published_sources import PublishedSources
from pipeline.lineage.trace.run_tables import RunTables
from pipeline.lineage.trace.sources import Sources
from pipeline.scoring.schemes import Scheme, scheme_named


@dataclass(frozen=True)
class OpenRun:
    """Everything that a run's numbers can be taken back to."""

    place: RunPlace
    files: RunFiles
    tables: RunTables
    sources: Sources


def open_run(place: RunPlace) -> OpenRun:
    """Read a run's manifest and tables; its other files are read when they are asked for.

    Raises:
        InputError: the manifest, a table or the list of participants is missing or damaged.
    """
    files = RunFiles(place)
    scheme = _scheme(files)
    collects = gc.isenabled()
    gc.disable()  # many objects, no cycles: to look for some takes as long as to make them
    try:
        tables = RunTables(place.tables, scheme)
    finally:
        if collects:
            gc.enable()
    return OpenRun(place, files, tables, _sources(files))


def _sources(files: RunFiles) -> Sources:
    if files.place.published:
        return PublishedSources(files)
    from pipeline.lineage.trace.project_sources import ProjectSources  # knows judges, which take time to load

    return ProjectSources(files)


def _scheme(files: RunFiles) -> Scheme:
    parameters = files.manifest.get("parameters")
    try:
        name = parameters["scoring_scheme"] if files.place.published else parameters["scoring"]["scheme"]  # type: ignore[index]
    except (TypeError, KeyError):
        raise TraceError.at(
            files.place.manifest, "names no scoring scheme; run `dvc repro` or build the run anew"
        ) from None
    return scheme_named(str(name))
