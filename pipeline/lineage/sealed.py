"""What a project's manifest is over: the files a run was made from, and those its stages make."""

from __future__ import annotations

from pathlib import Path

from pipeline.layout import (
    CELLS,
    DATASETS,
    LEADERBOARD,
    METRICS,
    PARAMS,
    PARTICIPANTS,
    RECORDED,
    REQUIREMENTS,
    RESPONSES,
    SCORES,
    TABLES,
    TRANSLATIONS,
)
from pipeline.profiles import PROFILE_FOLDER, PROMPT_SET_ROOTS

PACKAGE = Path("pipeline")

# What the stages before `seal` make, as dvc.yaml lists it.
OUTPUTS = (CELLS.parent, RESPONSES.parent, TABLES, SCORES, METRICS, LEADERBOARD)


def inputs() -> tuple[Path, ...]:
    """What the run was made from: the dependencies of stage ``seal`` in ``dvc.yaml`` that no stage makes."""
    return (
        PARAMS,
        PARTICIPANTS,
        TRANSLATIONS,
        RECORDED,
        REQUIREMENTS,
        PACKAGE,
        DATASETS,
        PROFILE_FOLDER,
        *map(Path, PROMPT_SET_ROOTS),
    )
