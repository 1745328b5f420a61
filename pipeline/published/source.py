"""A published run folder: what is in it, and what its manifest says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from pipeline.canonical import sha256_file
from pipeline.errors import PublishedRunError
from pipeline.jsonl import read_json
from pipeline.validation import validate

MANIFEST = "manifest.json"
RAW_ANSWERS = "judge-raw.jsonl"
TRANSLATION_FAILURES = "translation-failures.jsonl"
TRANSLATIONS = "translations.jsonl"
NORMALISED = "judge-normalized.jsonl"


class _Camel(BaseModel):
    """A published object: other keys than those read here are allowed and ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


def _distinct(names: list[str]) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"names {name!r} twice; names are unique")
    return names


class PublishedParticipant(_Camel):
    """One participant of a published manifest."""

    participant_id: str = Field(alias="participantId")
    display_name: str = Field(alias="displayName")
    provider: str
    model: str = Field(alias="providerModelId")


class PublishedManifest(_Camel):
    """The part of a published manifest that the pipeline needs."""

    run_id: str = Field(alias="runId")
    judge_backend: str = Field(alias="judgeBackend")
    judge_model: str = Field(alias="judgeModelId")
    prompt_set_id: str = Field(alias="judgePromptSetId")
    languages: Annotated[list[str], AfterValidator(_distinct)] = Field(alias="targetLanguages", min_length=1)
    participants: list[PublishedParticipant] = Field(min_length=1)

    @field_validator("participants")
    @classmethod
    def _distinct_participants(cls, participants: list[PublishedParticipant]) -> list[PublishedParticipant]:
        _distinct([participant.participant_id for participant in participants])
        return participants


@dataclass(frozen=True)
class PublishedRun:
    """A readable run folder with the SHA-256 of each input file it has, by file name."""

    folder: Path
    manifest: PublishedManifest
    files: dict[str, str]

    @property
    def has_translations(self) -> bool:
        """Whether the run kept its translations."""
        return TRANSLATIONS in self.files

    def path(self, name: str) -> Path:
        """Where an input file of the run stands."""
        return self.folder / name


def read_manifest(folder: Path) -> PublishedManifest:
    """Read and check ``manifest.json`` of a run folder.

    Raises:
        PublishedRunError: missing, unreadable, or a needed key is missing.
    """
    path = folder / MANIFEST
    return validate(
        PublishedManifest, read_json(path, PublishedRunError), path, PublishedRunError, by_alias=True
    )


def open_run(folder: Path) -> PublishedRun:
    """Open a published run folder that holds raw judge answers.

    Raises:
        PublishedRunError: it holds none, or its manifest is unusable.
    """
    manifest = read_manifest(folder)
    if not (folder / RAW_ANSWERS).is_file():
        raise PublishedRunError.at(
            folder / RAW_ANSWERS, "missing: a run without raw judge answers cannot be rebuilt"
        )
    names = (MANIFEST, RAW_ANSWERS, TRANSLATION_FAILURES, TRANSLATIONS)
    return PublishedRun(
        folder, manifest, {name: sha256_file(folder / name) for name in names if (folder / name).is_file()}
    )
