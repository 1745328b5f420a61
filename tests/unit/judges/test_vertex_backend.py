"""The Vertex backend: where it posts to, how it logs in, and what it says when it may not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import google.auth
import pytest
from fake_openai import Reply, as_json
from fake_vertex import FakeVertex, answer
from google.auth import exceptions
from judge_samples import a_vertex_profile

from pipeline.answers import Attempt
from pipeline.errors import ConfigError
from pipeline.judges import google_tokens
from pipeline.judges.base import CallFailed, GiveUp, RetryLater
from pipeline.judges.secrets import Secret
from pipeline.judges.vertex import Vertex
from pipeline.requests import JudgeRequest

TOKEN = "ya29.never/shown"
REQUEST = JudgeRequest("vertex-ai", None, {"model": "gemini-x", "contents": [], "generationConfig": {}})


def find_secret(name: str) -> Secret:
    return Secret({"GOOGLE_CLOUD_PROJECT": "some-project", "VERTEX_ACCESS_TOKEN": TOKEN}[name])


def send(base_url: str, **transport: Any) -> Attempt:
    with contextlib.closing(Vertex(a_vertex_profile(base_url=base_url, **transport), find_secret)) as backend:
        return backend.send(REQUEST)


@pytest.fixture
def service() -> Iterator[FakeVertex]:
    with FakeVertex() as running:
        yield running


def test_where_it_posts_to_and_with_what(service: FakeVertex) -> None:
    assert send(service.base_url, location="europe-west4", api_version="v1beta1").text is not None
    assert service.paths == [
        "/v1beta1/projects/some-project/locations/europe-west4/publishers/google/models/"
        "gemini-x:generateContent"
    ]
    assert service.authorizations == [f"Bearer {TOKEN}"]


@pytest.mark.parametrize(
    ("location", "host"),
    [("global", "aiplatform.googleapis.com"), ("us-central1", "us-central1-aiplatform.googleapis.com")],
)
def test_the_host_goes_by_the_location(location: str, host: str) -> None:
    backend = Vertex(a_vertex_profile(location=location), find_secret)
    assert backend._client.origin == f"https://{host}"


@pytest.mark.parametrize("project", ["a/../b", "p?x=1", "Project"])
def test_a_project_that_is_none_is_refused(project: str) -> None:
    with pytest.raises(ConfigError, match="GOOGLE_CLOUD_PROJECT is no project id"):
        Vertex(a_vertex_profile(), lambda name: Secret(project))


STATUSES = [
    (400, GiveUp, "correct the judge profile"),
    (401, GiveUp, "log in again"),
    (402, GiveUp, "check its billing"),
    (403, GiveUp, "the role Vertex AI User"),
    (404, GiveUp, "check request.model 'gemini-x'"),
    (413, GiveUp, "correct the judge profile"),
    (429, RetryLater, "ask for more quota"),
    (500, RetryLater, "HTTP 500"),
    (503, RetryLater, "HTTP 503"),
]


@pytest.mark.parametrize(("status", "error", "said"), STATUSES)
def test_statuses(service: FakeVertex, status: int, error: type[CallFailed], said: str) -> None:
    service.script = lambda body, nth: as_json({"error": {"message": f"no: {TOKEN}"}}, status)
    with pytest.raises(error) as caught:
        send(service.base_url)
    assert said in caught.value.problem
    assert "no: [redacted]" in caught.value.problem
    assert caught.value.attempt is not None
    assert TOKEN not in repr(caught.value) + repr(caught.value.attempt)
    assert service.asked.total() == 1


class Credentials:
    """What google-auth gives, without a token service: each refresh makes the next token."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.token: str | None = None
        self.valid = False
        self.refreshed = 0
        self.failure = failure

    def refresh(self, request: object) -> None:
        if self.failure is not None:
            raise self.failure
        self.refreshed += 1
        self.token, self.valid = f"token-{self.refreshed}", True


def use(monkeypatch: pytest.MonkeyPatch, give: Callable[[], Credentials]) -> None:
    monkeypatch.setattr(google.auth, "default", lambda scopes: (give(), None))


def test_a_token_that_ran_out_is_renewed_once(service: FakeVertex, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = Credentials()
    use(monkeypatch, lambda: credentials)
    service.script = lambda body, nth: (
        as_json({}, 401) if service.authorizations[-1] == "Bearer token-1" else answer(body, nth)
    )
    assert send(service.base_url, credentials="google-auth").text is not None
    assert service.authorizations == ["Bearer token-1", "Bearer token-2"]
    service.script = lambda body, nth: as_json({}, 401)
    with pytest.raises(GiveUp, match="log in again"):
        send(service.base_url, credentials="google-auth")
    assert service.asked.total() == 4


def test_every_token_it_had_is_struck_out(service: FakeVertex, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = Credentials()
    use(monkeypatch, lambda: credentials)
    service.script = lambda body, nth: as_json({"error": {"message": "token-1 and token-2"}}, 401)
    with pytest.raises(GiveUp) as caught:
        send(service.base_url, credentials="google-auth")
    assert "token-" not in repr(caught.value.attempt) + caught.value.problem


FAILURES = [
    (exceptions.TransportError("secret"), RetryLater, "cannot reach Google's token service"),
    (exceptions.RefreshError("secret"), GiveUp, "Google refused the credentials; run `gcloud auth"),
    (exceptions.DefaultCredentialsError("secret"), GiveUp, "no usable Google credentials were found; run"),
    (exceptions.MalformedError("secret"), GiveUp, "no usable Google credentials"),
    (ValueError("secret"), GiveUp, "Google refused the credentials"),
]


@pytest.mark.parametrize(("failure", "error", "said"), FAILURES)
def test_a_login_that_fails(
    service: FakeVertex,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    error: type[CallFailed],
    said: str,
) -> None:
    use(monkeypatch, lambda: Credentials(failure))
    with pytest.raises(error) as caught:
        send(service.base_url, credentials="google-auth")
    assert said in caught.value.problem
    assert "secret" not in caught.value.problem
    assert service.asked.total() == 0


def test_a_service_account_file_that_is_none(
    service: FakeVertex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The real library, on a key file with nothing usable in it."""
    key = tmp_path / "key.json"
    key.write_text('{"type": "service_account", "private_key": "never shown"}', encoding="utf-8")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
    with pytest.raises(GiveUp, match="GOOGLE_APPLICATION_CREDENTIALS") as caught:
        send(service.base_url, credentials="google-auth")
    assert "never shown" not in caught.value.problem


def gcloud(folder: Path, script: str) -> None:
    command = folder / "gcloud"
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(0o755)
    os.environ["PATH"] = f"{folder}:/usr/bin:/bin"


def test_gcloud_gives_the_token(service: FakeVertex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GiveUp, match="no command gcloud"):
        send(service.base_url, credentials="gcloud")
    gcloud(tmp_path, "echo never-shown >&2; exit 1")
    with pytest.raises(GiveUp, match="run `gcloud auth login`"):
        send(service.base_url, credentials="gcloud")
    gcloud(tmp_path, 'test "$*" = "auth print-access-token" && echo from-gcloud')
    assert send(service.base_url, credentials="gcloud").text is not None
    assert service.authorizations == ["Bearer from-gcloud"]
    gcloud(tmp_path, "true")
    with pytest.raises(GiveUp, match="gave no token that can be sent"):
        send(service.base_url, credentials="gcloud")
    gcloud(tmp_path, "exec sleep 9")
    monkeypatch.setattr(google_tokens, "_GCLOUD_SECONDS", 0.2)
    with pytest.raises(RetryLater, match="gave no token within"):
        send(service.base_url, credentials="gcloud")


def test_retry_after_reaches_the_caller(service: FakeVertex) -> None:
    service.script = lambda body, nth: Reply(429, b"{}", {"Retry-After": "7"})
    with pytest.raises(RetryLater) as caught:
        send(service.base_url)
    assert caught.value.retry_after == 7.0
