"""Judge profiles: ``experiments/judges/<name>.yaml`` as frozen, validated models, one shape per backend.

The section ``request`` decides the bytes of a request, and so its hash; ``transport`` only decides how
requests travel, and may change without an answer being asked for again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from pipeline.canonical import canonical_bytes, canonical_hash
from pipeline.errors import ConfigError
from pipeline.validation import StrictModel, secret_error, validate
from pipeline.yaml_file import ProjectPath, read_yaml

PROFILE_FOLDER = Path("experiments/judges")
# The stages depend on these folders in dvc.yaml, so prompt sets stand in them.
PROMPT_SET_ROOTS = ("data/judge-prompts", "experiments/2026-04-gemini-context-v2-archived/judge-prompts")

BackendName = Literal["openai-compatible", "openrouter-batch", "vertex", "gemini-cli"]

_ENVIRONMENT_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"https?://[^\s?#@/\\]+(/[^\s?#@\\]*)?")
_LARGEST = 2**31 - 1
_DAY = 86_400


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


Sha256 = Annotated[str, AfterValidator(_digest)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_json_object)]
EnvironmentName = Annotated[str, BeforeValidator(_environment)]
Url = Annotated[str, BeforeValidator(_url)]
UrlPath = Annotated[str, Field(pattern=r"^/[^\s?#]*$")]
# A part of a URL's path, which no slash or dot-dot may leave.
Segment = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]*$")]
Count = Annotated[int, Field(ge=1, le=_LARGEST)]
Seconds = Annotated[float, Field(gt=0, le=_DAY)]
Temperature = Annotated[float, Field(ge=0, le=2)]


class RequestProfile(StrictModel):
    """The part of a judge profile that decides the bytes of a request (and so its hash)."""

    service: Annotated[str, Field(min_length=1)]
    model: Annotated[str, Field(min_length=1)]
    model_file_sha256: Sha256 | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None


class ChatRequest(RequestProfile):
    """A chat completion.

    ``provider`` pins a router's provider. ``effort_field`` is how the service wants the effort:
    OpenRouter's ``reasoning: {effort}``, or OpenAI's ``reasoning_effort`` (vLLM, llama.cpp, Ollama).
    """

    temperature: Temperature = 0
    max_tokens: Count
    provider: JsonObject | None = None
    response_format: JsonObject | None = None
    send_seed: bool = False
    # Left out of the identity where it is as it always was.
    effort_field: Annotated[
        Literal["reasoning", "reasoning_effort"], Field(exclude_if=lambda value: value == "reasoning")
    ] = "reasoning"


class VertexRequest(RequestProfile):
    """A ``generateContent`` call; ``response_schema`` asks for the JSON form by its schema."""

    model: Segment
    model_file_sha256: None = None
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    temperature: Temperature = 0
    max_tokens: Count
    response_schema: bool = True


class CliRequest(RequestProfile):
    """One prompt to a command; the command has no option for anything else."""

    model: Segment
    model_file_sha256: None = None
    reasoning_effort: None = None


class Transport(StrictModel):
    """How long calls may take, one by one and together, and how often one is tried.

    A run that reaches ``run_timeout_seconds`` ends as if it had been interrupted.
    """

    timeout_seconds: Seconds = 120
    max_tries: Annotated[int, Field(ge=1, le=20)] = 5
    run_timeout_seconds: Annotated[float, Field(gt=0, le=90 * _DAY)] | None = None


class LiveTransport(Transport):
    """How many calls are under way at once, and how many start in a minute."""

    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    requests_per_minute: Count | None = None


class HttpTransport(LiveTransport):
    """An HTTP service with an optional bearer key."""

    base_url: Url
    path: UrlPath = "/v1/chat/completions"
    api_key_env: EnvironmentName | None = None


class BatchTransport(Transport):
    """OpenRouter's Batch API: how jobs are cut, and how patiently they are waited for.

    ``timeout_seconds`` bounds one HTTP call, ``max_rounds`` how often a line that failed is sent again.
    """

    base_url: Url = "https://openrouter.ai/api"
    path: UrlPath = "/v1/batches"
    api_key_env: EnvironmentName | None = "OPENROUTER_API_KEY"
    poll_seconds: Seconds = 30
    max_rounds: Annotated[int, Field(ge=1, le=20)] = 3
    max_requests_per_job: Annotated[int, Field(ge=1, le=5000)] = 1000
    max_bytes_per_job: Annotated[int, Field(ge=1 << 16, le=200_000_000)] = 50_000_000
    jobs_in_flight: Annotated[int, Field(ge=1, le=64)] = 4


class VertexTransport(LiveTransport):
    """Vertex AI of the project that the variable ``project_env`` names.

    ``base_url`` is by the location unless it is given. ``credentials``: ``google-auth`` takes
    application default credentials (a login by ``gcloud``, or the service account file that
    GOOGLE_APPLICATION_CREDENTIALS names); ``gcloud`` asks that command for a token; ``token`` takes
    one from the variable ``token_env``.
    """

    base_url: Url | None = None
    api_version: Segment = "v1"
    location: Segment = "global"
    project_env: EnvironmentName = "GOOGLE_CLOUD_PROJECT"
    credentials: Literal["google-auth", "gcloud", "token"] = "google-auth"
    token_env: EnvironmentName = "VERTEX_ACCESS_TOKEN"  # noqa: S105 - the name of a variable


class CliTransport(LiveTransport):
    """A command that is run once a request; ``api_key_env`` is handed to it under the same name."""

    command: Annotated[str, Field(min_length=1)] = "gemini"
    api_key_env: EnvironmentName | None = None
    concurrency: Annotated[int, Field(ge=1, le=64)] = 2


AnyTransport = TypeVar("AnyTransport", bound=Transport)
AnyRequest = TypeVar("AnyRequest", bound=RequestProfile)


class JudgeProfile(StrictModel):
    """Everything that decides what is asked of a judge, and how it travels there."""

    description: str = ""
    backend: BackendName
    prompt_set: ProjectPath
    request: RequestProfile
    transport: Transport

    def identity_hash(self) -> str:
        """SHA-256 of what decides the answers: backend, prompt set and request, not transport."""
        return canonical_hash(self.model_dump(mode="json", include={"backend", "prompt_set", "request"}))

    def transport_as(self, kind: type[AnyTransport]) -> AnyTransport:
        """The transport, which is of the kind that goes with the backend."""
        if not isinstance(self.transport, kind):
            raise TypeError(f"backend {self.backend} has no {kind.__name__}")
        return self.transport

    def request_as(self, kind: type[AnyRequest]) -> AnyRequest:
        """The request section, which is of the kind that goes with the backend."""
        if not isinstance(self.request, kind):
            raise TypeError(f"backend {self.backend} has no {kind.__name__}")
        return self.request


class OpenAICompatibleProfile(JudgeProfile):
    """A judge behind ``POST /v1/chat/completions``."""

    backend: Literal["openai-compatible"]
    request: ChatRequest
    transport: HttpTransport


class OpenRouterBatchProfile(JudgeProfile):
    """A judge behind OpenRouter's Batch API."""

    backend: Literal["openrouter-batch"]
    request: ChatRequest
    transport: BatchTransport = BatchTransport()


class VertexProfile(JudgeProfile):
    """A Gemini model on Vertex AI."""

    backend: Literal["vertex"]
    request: VertexRequest
    transport: VertexTransport = VertexTransport()


class GeminiCliProfile(JudgeProfile):
    """A Gemini model by way of its command line."""

    backend: Literal["gemini-cli"]
    request: CliRequest
    transport: CliTransport = CliTransport()


PROFILES: dict[str, type[JudgeProfile]] = {
    "openai-compatible": OpenAICompatibleProfile,
    "openrouter-batch": OpenRouterBatchProfile,
    "vertex": VertexProfile,
    "gemini-cli": GeminiCliProfile,
}


class _Unknown(StrictModel):
    """A profile whose ``backend`` is missing or unknown: only that is worth saying."""

    description: Any = None
    backend: BackendName
    prompt_set: Any = None
    request: Any = None
    transport: Any = None


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
    content = read_yaml(path)
    shape = PROFILES.get(str(content.get("backend")))
    if shape is None:
        validate(_Unknown, content, path, ConfigError)
        raise ConfigError.at(path, f"must be one of: {', '.join(PROFILES)}", field="backend")
    profile = validate(shape, content, path, ConfigError)
    if not any(Path(profile.prompt_set).is_relative_to(root) for root in PROMPT_SET_ROOTS):
        raise ConfigError.at(
            path, f"must be inside one of: {', '.join(PROMPT_SET_ROOTS)}", field="prompt_set"
        )
    return profile
