"""A chat-completions service on 127.0.0.1 that answers by a script and counts what it was asked.

    with FakeOpenAI() as service:
        ...                      # POST to service.base_url + "/v1/chat/completions"
        service.asked[digest]    # how often the body with that SHA-256 came in

A script is a function of (the parsed body, how often this body has come in, from 1) that returns what to
do. The default says the same to the same body, so that answers can be predicted from requests.

    python tests/support/fake_openai.py --port 8091 [--fault 429]

runs it for people; a fault (see ``faults``) befalls each request once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import rfc8785


@dataclass(frozen=True)
class Reply:
    """An HTTP response; ``cut`` sends that many bytes of the body and then drops the connection."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None


@dataclass(frozen=True)
class Drop:
    """Close the connection without a response."""


Script = Callable[[dict[str, Any], int], Reply | Drop]


def completion(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A well-formed completion whose words depend on the body only."""
    digest = hashlib.sha256(rfc8785.dumps(body)).hexdigest()
    content = (
        f'Critical:\nno-error\nMajor:\naccuracy/omission - "{digest[:8]} 한국어"\nMinor:\nno-error\n'
        "contextBehavior: used_correctly"
    )
    return {
        "id": f"gen-{digest[:12]}",
        "object": "chat.completion",
        "model": f"{body.get('model')}-served",
        "system_fingerprint": "fp-1",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cost": 0.000123},
        **changes,
    }


def say(body: dict[str, Any], content: Any, finish_reason: str = "stop", **message: Any) -> Reply:
    """A completion with that content."""
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": content, **message},
    }
    return as_json(completion(body, choices=[choice]))


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON response."""
    return Reply(status, json.dumps(value).encode(), headers)


def answer(body: dict[str, Any], nth: int) -> Reply:
    """The default script."""
    return as_json(completion(body))


class FakeOpenAI:
    """The running service; leave it as a context manager."""

    def __init__(self, script: Script = answer, port: int = 0) -> None:
        self.script = script
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.authorizations: list[str | None] = []
        self.paths: list[str] = []
        self.started: list[float] = []
        self._lock = threading.Lock()
        service = self

        class Handler(_Handler):
            owner = service

        self._server = _Server(("127.0.0.1", port), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FakeOpenAI:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def note(self, digest: str, authorization: str | None) -> int:
        with self._lock:
            self.started.append(time.monotonic())
            self.authorizations.append(authorization)
            self.asked[digest] += 1
            return self.asked[digest]

    def note_answered(self, digest: str) -> None:
        with self._lock:
            self.answered[digest] += 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers are killed in these tests; that is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ClassVar[FakeOpenAI]

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        digest = hashlib.sha256(raw).hexdigest()
        self.owner.paths.append(self.path)
        nth = self.owner.note(digest, self.headers.get("Authorization"))
        reply = self.owner.script(json.loads(raw), nth)
        if isinstance(reply, Drop):
            self._hang_up()
            return
        if reply.delay:
            time.sleep(reply.delay)
        with contextlib.suppress(OSError):  # the client may be gone
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body if reply.cut is None else reply.body[: reply.cut])
            self.wfile.flush()
            if reply.cut is None:
                self.owner.note_answered(digest)
            else:
                self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:
        pass


if __name__ == "__main__":  # by way of the module of that name, so that its classes are there once
    import fake_openai
    from faults import serve

    serve(fake_openai.FakeOpenAI, fake_openai.answer)
