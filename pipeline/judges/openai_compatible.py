"""Backend ``openai-compatible``: OpenRouter live, vLLM, llama.cpp's server, Ollama, LM Studio."""

from __future__ import annotations

from typing import Any

from pipeline.answers import Attempt
from pipeline.judges.base import FindSecret, GiveUp, Messages, RetryLater
from pipeline.judges.http_client import HttpClient
from pipeline.judges.openai_wire import read_response, request_body
from pipeline.profiles import HttpTransport, JudgeProfile
from pipeline.requests import JudgeRequest

NAME = "openai-compatible"
_RETRIED_STATUSES = frozenset({408, 409, 429})


class OpenAICompatible:
    """``POST {base_url}{path}`` with the request's canonical bytes."""

    def __init__(self, profile: JudgeProfile, find_secret: FindSecret) -> None:
        transport = profile.transport_as(HttpTransport)
        key = find_secret(transport.api_key_env) if transport.api_key_env else None
        self._client = HttpClient(transport.base_url, transport.timeout_seconds, key)
        self._path = transport.path
        self._key_name = transport.api_key_env
        self._model = profile.request.model

    @staticmethod
    def body(profile: JudgeProfile, messages: Messages, seed: int) -> dict[str, Any]:
        """See ``Backend.body``."""
        return request_body(profile, messages, seed)

    def send(self, request: JudgeRequest) -> Attempt:
        """See ``Backend.send``."""
        reply = self._client.call("POST", self._path, request.body_bytes)
        status = reply.status
        attempt, problem = read_response(NAME, status, reply.body)
        if problem is None:
            return attempt
        if 200 <= status < 300:
            raise RetryLater(problem, attempt)
        if status == 429:
            problem += "; if it goes on, lower transport.requests_per_minute or ask for more quota"
        if status in _RETRIED_STATUSES or status >= 500:
            raise RetryLater(problem, attempt, reply.retry_after)
        raise GiveUp(f"{self._client.origin} answered {problem}; {self._cure(status)}", attempt)

    def close(self) -> None:
        """See ``Backend.close``."""
        self._client.close()

    def _cure(self, status: int) -> str:
        key = f"the key in {self._key_name}" if self._key_name else "transport.api_key_env (none is named)"
        if 300 <= status < 400:
            return "redirects are not followed: put the final address into transport.base_url"
        return {
            401: f"check {key}",
            402: "the account has no credit left: top it up, then run again",
            403: f"check what {key} is allowed to use, and whether the service refuses the content",
            404: f"check transport.base_url, transport.path and the model name {self._model!r}",
        }.get(status, "the service does not take this request: correct the judge profile")
