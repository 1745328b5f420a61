"""Backend ``vertex``: Gemini models on Vertex AI, through ``generateContent``."""

from __future__ import annotations

from typing import Any

from pipeline.answers import Attempt
from pipeline.errors import ConfigError
from pipeline.judges.base import FindSecret, GiveUp, Messages, RetryLater
from pipeline.judges.google_tokens import AccessToken, TokenSource
from pipeline.judges.http_client import HttpClient, HttpReply
from pipeline.judges.vertex_wire import read_response, request_body, sent_bytes
from pipeline.profiles import JudgeProfile, VertexTransport
from pipeline.requests import JudgeRequest

NAME = "vertex"
_RETRIED_STATUSES = frozenset({408, 409, 429})
# What may stand in a URL's path as a project.
_PROJECT = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.:")


class Vertex:
    """``POST .../models/{model}:generateContent`` with a token that is renewed when it is refused."""

    def __init__(self, profile: JudgeProfile, find_secret: FindSecret) -> None:
        transport = profile.transport_as(VertexTransport)
        # Not a secret, but looked up in the same places.
        project = find_secret(transport.project_env).reveal()
        if not set(project) <= _PROJECT:
            raise ConfigError(f"{transport.project_env} is no project id of Google Cloud; correct it")
        host = "" if transport.location == "global" else f"{transport.location}-"
        self._source = TokenSource(transport, find_secret)
        self._token = AccessToken(self._source.fetch)
        self._client = HttpClient(
            transport.base_url or f"https://{host}aiplatform.googleapis.com",
            transport.timeout_seconds,
            self._token,
        )
        self._path = (
            f"/{transport.api_version}/projects/{project}/locations/{transport.location}"
            f"/publishers/google/models/{profile.request.model}:generateContent"
        )
        self._project_env = transport.project_env
        self._model = profile.request.model

    @staticmethod
    def body(profile: JudgeProfile, messages: Messages, seed: int) -> dict[str, Any]:
        """See ``Backend.body``. The service promises nothing about a seed, so none is sent."""
        return request_body(profile, messages)

    def send(self, request: JudgeRequest) -> Attempt:
        """See ``Backend.send``."""
        body = sent_bytes(request)
        token = self._token.reveal()
        reply = self._client.call("POST", self._path, body)
        if reply.status == 401 and self._source.renew(token):
            # It ran out, or was withdrawn. The service refused before it did any work.
            reply = self._client.call("POST", self._path, body)
        return self._read(reply)

    def close(self) -> None:
        """See ``Backend.close``."""
        self._client.close()

    def _read(self, reply: HttpReply) -> Attempt:
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

    def _cure(self, status: int) -> str:
        return {
            401: "log in again (see transport.credentials of the judge profile)",
            402: "the project has no credit left: check its billing, then run again",
            403: f"check {self._project_env}, that its Vertex AI API and billing are on, and that "
            "the account has the role Vertex AI User",
            404: f"check request.model {self._model!r}, transport.location and transport.api_version",
        }.get(status, "the service does not take this request: correct the judge profile")
