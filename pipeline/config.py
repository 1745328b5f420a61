"""``params.yaml`` and ``participants.yaml`` as frozen, validated models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from pipeline.dataset import Identifier
from pipeline.errors import ConfigError
from pipeline.validation import StrictModel, validate
from pipeline.yaml_file import ProjectPath, project_path, read_yaml

LANGUAGE_LABELS = {"en": "English", "ja": "Japanese", "zh-Hans": "Simplified Chinese"}
# Render depends on these folders in dvc.yaml, so what a run reads stands in them.
DATASETS_ROOT = "data/datasets"
TRANSLATIONS_ROOT = "data/translations"

_BCP47 = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def _language(tag: str) -> str:
    if not _BCP47.fullmatch(tag):
        raise ValueError("must be a BCP-47 language tag such as 'en' or 'zh-Hans'")
    return tag


def _dataset_file(path: str) -> str:
    if not Path(project_path(path)).is_relative_to(DATASETS_ROOT):
        raise ValueError(f"must be a file inside {DATASETS_ROOT}/")
    return path


def _translations_file(path: str) -> str:
    if not Path(project_path(path)).is_relative_to(TRANSLATIONS_ROOT):
        raise ValueError(f"must be a file inside {TRANSLATIONS_ROOT}/")
    return path


def _unique(values: list[str]) -> list[str]:
    if len({value.casefold() for value in values}) != len(values):
        raise ValueError("names one entry twice; each stands once, in one spelling")
    return values


Language = Annotated[str, AfterValidator(_language)]


class JudgeParams(StrictModel):
    """Which judge, whether it may be called, how often each request is asked, and for how much.

    A request is asked ``repeats`` times, and each time up to ``max_rounds`` until strict reading takes
    the answer. ``budget_usd`` None: no bound.
    """

    profile: Identifier
    offline: bool = True
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    max_rounds: Annotated[int, Field(ge=1, le=20)] = 3
    budget_usd: Annotated[float, Field(ge=0, le=1_000_000)] | None = None


class ParserParams(StrictModel):
    """How answers are read."""

    mode: Literal["strict", "lenient"] = "strict"


class ScoringParams(StrictModel):
    """Which named severity weights make a penalty."""

    scheme: Identifier = "context-v1"


class Params(StrictModel):
    """The whole of ``params.yaml``."""

    run_name: Identifier
    dataset: Annotated[str, AfterValidator(_dataset_file)]
    languages: Annotated[list[Language], Field(min_length=1), AfterValidator(_unique)]
    participants: Annotated[list[Identifier], Field(min_length=1), AfterValidator(_unique)]
    judge: JudgeParams
    parser: ParserParams = ParserParams()
    scoring: ScoringParams = ScoringParams()
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0


class Participant(StrictModel):
    """A translation system: how it is shown, what made its translations, where they stand."""

    display_name: Annotated[str, Field(min_length=1)]
    provider: Annotated[str, Field(min_length=1)]
    model: Annotated[str, Field(min_length=1)]
    prompt: ProjectPath | None = None
    translations: Annotated[str, AfterValidator(_translations_file)]
    provenance: dict[str, Any] = Field(default_factory=dict)


def read_params(path: Path) -> Params:
    """Read ``params.yaml``.

    Raises:
        ConfigError: the file is missing, no YAML mapping, or has a wrong or unknown key.
    """
    return validate(Params, read_yaml(path), path, ConfigError)


def read_participants(path: Path, wanted: list[str]) -> dict[str, Participant]:
    """Read ``participants.yaml`` and return the wanted participants in the order of ``wanted``.

    Raises:
        ConfigError: an entry is invalid, or a wanted participant has none.
    """
    entries = read_yaml(path)
    known: dict[str, Participant] = {}
    for participant_id, entry in entries.items():
        try:
            known[participant_id] = validate(Participant, entry, path, ConfigError)
        except ConfigError as problem:
            raise ConfigError(f"{problem} (participant {participant_id!r})") from None
    for participant_id in wanted:
        if participant_id not in known:
            raise ConfigError.at(
                path,
                f"no participant {participant_id!r}, which params.yaml names; "
                f"add it or choose from: {', '.join(known)}",
            )
    return {participant_id: known[participant_id] for participant_id in wanted}


def language_label(tag: str) -> str:
    """The language's English name as prompts say it; an unlisted tag stands for itself."""
    return LANGUAGE_LABELS.get(tag, tag)
