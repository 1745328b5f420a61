"""``params.yaml``, ``participants.yaml`` and judge profiles as frozen, validated models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

from pipeline.canonical import canonical_bytes, canonical_hash
from pipeline.dataset import Identifier
from pipeline.errors import ConfigError
from pipeline.jsonl import decode, has_surrogate, read_bytes
from pipeline.validation import StrictModel, secret_error, validate

LANGUAGE_LABELS = {"en": "English", "ja": "Japanese", "zh-Hans": "Simplified Chinese"}
# Render depends on these folders in dvc.yaml, so what a run reads stands in them.
DATASETS_ROOT = "data/datasets"
TRANSLATIONS_ROOT = "data/translations"
PROMPT_SET_ROOTS = ("data/judge-prompts", "experiments/2026-04-gemini-context-v2-archived/judge-prompts")
PROFILE_FOLDER = Path("experiments/judges")

_BCP47 = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_ENVIRONMENT_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"https?://[^\s?#@/\\]+(/[^\s?#@\\]*)?")
_DEEPEST = 50
_LARGEST = 2**31 - 1


def _language(tag: str) -> str:
    if not _BCP47.fullmatch(tag):
        raise ValueError("must be a BCP-47 language tag such as 'en' or 'zh-Hans'")
    return tag


def _relative(path: str) -> str:
    if not path or not path.isprintable() or path.startswith("/") or "\\" in path or ".." in path.split("/"):
        raise ValueError("must be a path inside the project, written with '/'")
    return path


def _dataset_file(path: str) -> str:
    if not Path(_relative(path)).is_relative_to(DATASETS_ROOT):
        raise ValueError(f"must be a file inside {DATASETS_ROOT}/")
    return path


def _translations_file(path: str) -> str:
    if not Path(_relative(path)).is_relative_to(TRANSLATIONS_ROOT):
        raise ValueError(f"must be a file inside {TRANSLATIONS_ROOT}/")
    return path


def _unique(values: list[str]) -> list[str]:
    if len({value.casefold() for value in values}) != len(values):
        raise ValueError("names one entry twice; each stands once, in one spelling")
    return values


def _environment(name: Any) -> Any:
    if not isinstance(name, str) or not _ENVIRONMENT_NAME.fullmatch(name):
        raise secret_error("must be the NAME of an environment variable, never a key itself")
    return name


def _url(url: Any) -> Any:
    if not isinstance(url, str) or not _URL.fullmatch(url):
        raise secret_error("must be http(s)://HOST[:PORT][/PATH] without a user, password, '?' or '#'")
    return url


def _json_object(value: dict[str, Any]) -> dict[str, Any]:
    try:
        canonical_bytes(value)
    except ValueError as problem:
        raise ValueError(f"must be plain JSON: {problem}") from None
    return value


def _digest(text: str) -> str:
    if not _SHA256.fullmatch(text):
        raise ValueError("must be a SHA-256 of 64 lower-case hex digits")
    return text


Language = Annotated[str, AfterValidator(_language)]
ProjectPath = Annotated[str, AfterValidator(_relative)]
Sha256 = Annotated[str, AfterValidator(_digest)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_json_object)]


class JudgeParams(StrictModel):
    """Which judge, whether it may be called, and how often each request is asked."""

    profile: Identifier
    offline: bool = True
    repeats: Annotated[int, Field(ge=1, le=100)] = 1


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


class RequestProfile(StrictModel):
    """The part of a judge profile that decides the bytes of a request (and so its hash)."""

    service: Annotated[str, Field(min_length=1)]
    model: Annotated[str, Field(min_length=1)]
    model_file_sha256: Sha256 | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] = 0
    max_tokens: Annotated[int, Field(ge=1, le=_LARGEST)]
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    provider: JsonObject | None = None
    response_format: JsonObject | None = None
    send_seed: bool = False


class TransportProfile(StrictModel):
    """The part of a judge profile that only decides how requests travel."""

    base_url: Annotated[str, BeforeValidator(_url)]
    path: Annotated[str, Field(pattern=r"^/[^\s?#]*$")] = "/v1/chat/completions"
    api_key_env: Annotated[str, BeforeValidator(_environment)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    requests_per_minute: Annotated[int, Field(ge=1, le=_LARGEST)] | None = None
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] = 120
    max_tries: Annotated[int, Field(ge=1, le=20)] = 5


class JudgeProfile(StrictModel):
    """Everything that decides what is asked of a judge, and how it travels there."""

    description: str = ""
    backend: Literal["openai-compatible"]
    prompt_set: ProjectPath
    request: RequestProfile
    transport: TransportProfile

    def identity_hash(self) -> str:
        """SHA-256 of what decides the answers: backend, prompt set and request, not transport."""
        return canonical_hash(self.model_dump(mode="json", include={"backend", "prompt_set", "request"}))


def read_params(path: Path) -> Params:
    """Read ``params.yaml``.

    Raises:
        ConfigError: the file is missing, no YAML mapping, or has a wrong or unknown key.
    """
    return validate(Params, _read_yaml(path), path, ConfigError)


def read_participants(path: Path, wanted: list[str]) -> dict[str, Participant]:
    """Read ``participants.yaml`` and return the wanted participants in the order of ``wanted``.

    Raises:
        ConfigError: an entry is invalid, or a wanted participant has none.
    """
    entries = _read_yaml(path)
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


def read_profile(root: Path, name: str) -> JudgeProfile:
    """Read ``experiments/judges/<name>.yaml``.

    Raises:
        ConfigError: there is no such profile, or a key in it is wrong or unknown.
    """
    folder = root / PROFILE_FOLDER
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = sorted(p.stem for p in folder.glob("*.yaml"))
        raise ConfigError.at(
            path, f"no judge profile {name!r}; add the file or choose from: {', '.join(known) or 'none yet'}"
        )
    profile = validate(JudgeProfile, _read_yaml(path), path, ConfigError)
    if not any(Path(profile.prompt_set).is_relative_to(folder) for folder in PROMPT_SET_ROOTS):
        raise ConfigError.at(
            path, f"must be inside one of: {', '.join(PROMPT_SET_ROOTS)}", field="prompt_set"
        )
    return profile


def language_label(tag: str) -> str:
    """The language's English name as prompts say it; an unlisted tag stands for itself."""
    return LANGUAGE_LABELS.get(tag, tag)


def _read_yaml(path: Path) -> dict[str, Any]:
    text = decode(path, read_bytes(path, ConfigError), ConfigError)
    try:
        _check_plain(path, text)
        value = YAML(typ="safe", pure=True).load(text)
    except YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        position = getattr(problem, "position", None)  # of a character YAML does not allow
        line = mark.line + 1 if mark else None if position is None else text.count("\n", 0, position) + 1
        what = getattr(problem, "problem", None) or getattr(problem, "reason", None) or "cannot be read"
        what = str(what).partition(" with value ")[0]  # a key that stands twice: its values may be secret
        raise ConfigError.at(path, f"not valid YAML: {what}", line=line) from None
    except ValueError as problem:  # a date or number that is none, such as 2026-02-30
        raise ConfigError.at(path, f"not valid YAML: {problem}; put text in quotes") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ConfigError.at(path, "must be a YAML mapping with text keys")
    return value


def _check_plain(path: Path, text: str) -> None:
    """Refuse YAML that is more than nested mappings, lists and scalars, before it is built.

    Tags can name types, and aliases can stand for themselves or for exponentially much.
    """
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        line = event.start_mark.line + 1
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise ConfigError.at(path, "nested too deeply to be configuration", line=line)
        if isinstance(event, NodeEvent) and event.anchor is not None:
            raise ConfigError.at(path, f"anchor or alias {event.anchor!r}; write the value out", line=line)
        if isinstance(event, CollectionStartEvent | ScalarEvent) and event.tag is not None:
            raise ConfigError.at(path, f"tag {event.tag!r}; write plain YAML without tags", line=line)
        if isinstance(event, ScalarEvent) and has_surrogate(event.value):
            raise ConfigError.at(path, "half of a surrogate pair; write the whole character", line=line)
