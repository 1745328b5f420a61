"""The OpenAI-compatible backend against a service that misbehaves."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from fake_openai import Drop, FakeOpenAI, Reply, answer, as_json, completion, say
from judge_samples import a_profile, a_request

from pipeline.answers import Attempt
from pipeline.errors import ConfigError
from pipeline.judges import http_client
from pipeline.judges.base import CallFailed, GiveUp, RetryLater, Uncertain
from pipeline.judges.http_client import retry_after
from pipeline.judges.openai_compatible import OpenAICompatible
from pipeline.judges.secrets import Secret

KEY = "sk-very/secret"


def no_secret(name: str) -> Secret:
    raise AssertionError("no key is asked for")


def send(base_url: str, **transport: Any) -> Attempt:
    backend = OpenAICompatible(a_profile(base_url, **transport), lambda name: Secret(KEY))
    try:
        return backend.send(a_request())
    finally:
        backend.close()


@pytest.fixture
def service() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


def test_the_canonical_bytes_are_sent_and_the_answer_comes_back(service: FakeOpenAI) -> None:
    attempt = send(service.base_url)
    assert attempt.raw_bytes() == json.dumps(completion(a_request().body)).encode()
    assert attempt.text == completion(a_request().body)["choices"][0]["message"]["content"]
    assert attempt.cost_nano_usd == 123_000
    assert set(service.asked) == {openai_body_digest()}
    assert service.authorizations == [None]


def openai_body_digest() -> str:
    from pipeline.canonical import sha256_hex

    return sha256_hex(a_request().body_bytes)


def test_the_key_goes_into_the_header_whatever_netrc_says(
    service: FakeOpenAI, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login u password p\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    send(service.base_url, api_key_env="SOME_KEY")
    send(service.base_url)
    assert service.authorizations == [f"Bearer {KEY}", None]


def test_path_and_trailing_slash(service: FakeOpenAI) -> None:
    assert send(service.base_url + "/", path="/api/v9/chat").text is not None


STATUSES = [
    (400, GiveUp, "correct the judge profile"),
    (401, GiveUp, "check the key in SOME_KEY"),
    (402, GiveUp, "top it up"),
    (403, GiveUp, "SOME_KEY"),
    (404, GiveUp, "model name 'm'"),
    (413, GiveUp, "correct the judge profile"),
    (422, GiveUp, "correct the judge profile"),
    (408, RetryLater, "HTTP 408"),
    (409, RetryLater, "HTTP 409"),
    (429, RetryLater, "HTTP 429"),
    (500, RetryLater, "HTTP 500"),
    (502, RetryLater, "HTTP 502"),
    (503, RetryLater, "HTTP 503"),
    (529, RetryLater, "HTTP 529"),
]


@pytest.mark.parametrize(("status", "error", "said"), STATUSES)
def test_statuses(service: FakeOpenAI, status: int, error: type[CallFailed], said: str) -> None:
    service.script = lambda body, nth: as_json({"error": {"message": f"refused: {KEY}"}}, status)
    with pytest.raises(error) as caught:
        send(service.base_url, api_key_env="SOME_KEY")
    assert said in caught.value.problem
    assert "refused: [redacted]" in caught.value.problem
    assert caught.value.attempt is not None
    assert caught.value.attempt.http_status == status
    assert KEY not in repr(caught.value) + repr(caught.value.attempt)


def test_a_401_without_a_key_says_that_none_is_named(service: FakeOpenAI) -> None:
    service.script = lambda body, nth: as_json({}, 401)
    with pytest.raises(GiveUp, match=r"transport\.api_key_env \(none is named\)"):
        send(service.base_url)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(service: FakeOpenAI, status: int) -> None:
    with FakeOpenAI() as elsewhere:
        service.script = lambda body, nth: Reply(status, headers={"Location": elsewhere.base_url})
        with pytest.raises(GiveUp, match="redirects are not followed"):
            send(service.base_url, api_key_env="SOME_KEY")
        assert elsewhere.asked.total() == 0


NO_ANSWER_IN_A_200 = [
    as_json({"error": {"message": "provider down"}}),
    Reply(body=b"<html>"),
    Reply(body=b""),
    Reply(body=b'{"choices":[{"message":{"content":"\xff"}}]}'),
    Reply(body=b'{"choices":[{"mess'),
    as_json({"choices": []}),
    Reply(204),
]


@pytest.mark.parametrize("reply", NO_ANSWER_IN_A_200)
def test_a_200_without_an_answer_is_kept_and_can_be_asked_again(service: FakeOpenAI, reply: Reply) -> None:
    service.script = lambda body, nth: reply
    with pytest.raises(RetryLater) as caught:
        send(service.base_url)
    assert caught.value.attempt is not None
    assert caught.value.attempt.raw_bytes() == reply.body
    assert caught.value.attempt.text is None


def test_white_space_before_the_json_is_kept_and_read(service: FakeOpenAI) -> None:
    service.script = lambda body, nth: Reply(body=b"\n \n" + json.dumps(completion(body)).encode())
    assert send(service.base_url).raw.startswith("\n \n{")


@pytest.mark.parametrize(("content", "finish"), [(None, "stop"), ("", "stop"), ("Cri", "length")])
def test_an_odd_answer_is_an_answer(service: FakeOpenAI, content: str | None, finish: str) -> None:
    service.script = lambda body, nth: say(body, content, finish)
    attempt = send(service.base_url)
    assert (attempt.text, attempt.finish_reason) == (content, finish)


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "7"}, {"Retry-After": "soon"}])
def test_retry_after_reaches_the_caller(service: FakeOpenAI, headers: dict[str, str]) -> None:
    service.script = lambda body, nth: Reply(429, b"{}", headers)
    with pytest.raises(RetryLater) as caught:
        send(service.base_url)
    assert caught.value.retry_after == (7.0 if headers.get("Retry-After") == "7" else None)


NOW = datetime(2026, 11, 5, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("1.5", 1.5),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        ("Thu, 05 Nov 2026 12:00:30 -0000", 30.0),
        (format_datetime(NOW - timedelta(hours=1), usegmt=True), 0.0),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("1e9", None),
        ("٣", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, NOW.timestamp()) == seconds


@pytest.mark.parametrize(
    "script",
    [
        lambda body, nth: Drop(),
        lambda body, nth: Reply(body=answer(body, nth).body, cut=0),
        lambda body, nth: Reply(body=answer(body, nth).body, cut=40),
        lambda body, nth: Reply(delay=1.0),
    ],
    ids=["no response", "no body", "cut body", "silence"],
)
def test_a_lost_answer_is_uncertain(service: FakeOpenAI, script: Any) -> None:
    service.script = script
    with pytest.raises(Uncertain) as caught:
        send(service.base_url, timeout_seconds=0.3)
    assert caught.value.attempt is None
    assert service.asked.total() == 1


def _serve_raw(*pieces: bytes, pause: float = 0.0) -> tuple[str, threading.Thread]:
    """A service that writes these bytes to its first caller, with pauses between them."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(65536)
            try:
                for piece in pieces:
                    connection.sendall(piece)
                    time.sleep(pause)
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}", thread


def test_an_answer_that_drips_is_bounded_in_time() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    url, _ = _serve_raw(head, *[b" "] * 200, pause=0.05)
    started = time.monotonic()
    with pytest.raises(Uncertain, match="no answer within"):
        send(url, timeout_seconds=0.4)
    assert time.monotonic() - started < 3


def test_a_cut_chunked_answer_is_uncertain() -> None:
    url, _ = _serve_raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b'4\r\n{"ch')
    with pytest.raises(Uncertain):
        send(url)


def test_what_is_not_http_is_uncertain() -> None:
    url, _ = _serve_raw(b"220 mail.example ESMTP\r\n")
    with pytest.raises(Uncertain):
        send(url)


def test_an_answer_without_bounds_is_not_read_to_its_end(
    service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "MAX_BODY_BYTES", 1 << 20)
    service.script = lambda body, nth: Reply(body=b" " * (3 << 20))
    with pytest.raises(Uncertain, match="more than 1 MiB"):
        send(service.base_url)


def test_no_service_is_no_charge() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(
        RetryLater, match=f"cannot connect to http://127.0.0.1:{port}; is the service running"
    ):
        send(f"http://127.0.0.1:{port}")


def test_an_unknown_host_is_no_charge() -> None:
    with pytest.raises(RetryLater, match=r"cannot connect to http://judge\.invalid"):
        send("http://judge.invalid")


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:99999", "http://[::1"])
def test_what_is_no_address_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError, match="is no URL; correct it"):
        OpenAICompatible(a_profile(base_url), no_secret)


def test_threads_do_not_share_a_connection(service: FakeOpenAI) -> None:
    backend = OpenAICompatible(a_profile(service.base_url), no_secret)
    results: list[Attempt] = []
    threads = [threading.Thread(target=lambda: results.append(backend.send(a_request()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    backend.close()
    assert len({attempt.raw for attempt in results}) == 1
    assert service.asked.total() == len(results) == 8
