"""What can go wrong with an HTTP judge service, by name, for tests and for people who try a fake one.

FAULTS["429"](reply)    # what the service does in place of ``reply``
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fake_openai import Drop, FakeOpenAI, Reply, Script

Fault = Callable[[Reply], Reply | Drop]

FAULTS: dict[str, Fault] = {
    "400": lambda reply: _refusal(400, "INVALID_ARGUMENT"),
    "401": lambda reply: _refusal(401, "UNAUTHENTICATED"),
    "402": lambda reply: _refusal(402, "PAYMENT_REQUIRED"),
    "403": lambda reply: _refusal(403, "PERMISSION_DENIED"),
    "404": lambda reply: _refusal(404, "NOT_FOUND"),
    "413": lambda reply: _refusal(413, "TOO_LARGE"),
    "429": lambda reply: _refusal(429, "RESOURCE_EXHAUSTED"),
    "429 with Retry-After": lambda reply: replace(
        _refusal(429, "RESOURCE_EXHAUSTED"), headers={"Retry-After": "1"}
    ),
    "500": lambda reply: _refusal(500, "INTERNAL"),
    "HTML 502": lambda reply: Reply(502, b"<html>bad gateway</html>", {"Content-Type": "text/html"}),
    "reset before the answer": lambda reply: Drop(),
    "cut body": lambda reply: replace(reply, cut=len(reply.body) // 2),
    "truncated JSON": lambda reply: replace(reply, body=reply.body[: len(reply.body) // 2]),
    "empty body": lambda reply: replace(reply, body=b""),
    "error inside HTTP 200": lambda reply: replace(_refusal(500, "INTERNAL"), status=200),
    "white space before JSON": lambda reply: replace(reply, body=b"\n  \n" + reply.body),
    "time-out": lambda reply: replace(reply, delay=3.0),
}


def _refusal(status: int, word: str) -> Reply:
    error = {"code": status, "message": f"the service says {status}", "status": word}
    return Reply(status, json.dumps({"error": error}).encode())


def once(fault: Fault, script: Script) -> Script:
    """``script``, with the fault in place of the first reply to each body."""

    def faulty(body: dict[str, Any], nth: int) -> Reply | Drop:
        reply = script(body, nth)
        return fault(reply) if nth == 1 and isinstance(reply, Reply) else reply

    return faulty


def serve(service: type[FakeOpenAI], script: Script) -> None:
    """Run a fake service until Ctrl-C, as its command line says."""
    options = argparse.ArgumentParser(description="A judge service without a judge, on 127.0.0.1.")
    options.add_argument("--port", type=int, default=8091)
    options.add_argument("--fault", choices=FAULTS, help="befalls the first try of each request")
    given = options.parse_args()
    chosen = once(FAULTS[given.fault], script) if given.fault else script
    with service(chosen, given.port) as running, contextlib.suppress(KeyboardInterrupt):
        print(f"listening on {running.base_url}; Ctrl-C ends it", flush=True)
        while True:
            time.sleep(3600)
