"""A stored response read again says what it said: for each backend, from the bytes that are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.answers import Attempt, read_answers
from pipeline.judges import openai_wire, openrouter_batch_wire, vertex_wire
from pipeline.judges.child import Ended
from pipeline.judges.cli_wire import read_run
from pipeline.judges.rereading import read_again
from pipeline.judges.wire_json import parse_object

ROOT = Path(__file__).parents[3]


def chat(**usage: Any) -> bytes:
    choice = {
        "message": {"content": "빵 \ud800".encode("utf-8", "replace").decode()},
        "finish_reason": "stop",
    }
    body = {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2, **usage}}
    return json.dumps(body).encode()


def batch_line(cost: int | None) -> Attempt:
    row = json.dumps({"custom_id": "one", "response": {"status_code": 200, "body": json.loads(chat())}})
    harvest = openrouter_batch_wire.read_results([row], {"one"})
    (result,) = openrouter_batch_wire.share_cost(harvest.results.values(), cost)
    assert result.attempt is not None
    return result.attempt


def vertex() -> bytes:
    said = {"content": {"parts": [{"text": "Critical:"}]}, "finishReason": "STOP"}
    return json.dumps({"candidates": [said], "usageMetadata": {"promptTokenCount": 3}}).encode()


def command(code: int, out: bytes, err: bytes = b"") -> Attempt:
    return read_run("gemini-cli", "gemini-x", Ended(code, out, err), "1.2")[0]


PRINTED = json.dumps(
    {"response": "Critical:", "stats": {"models": {"gemini-x-001": {"tokens": {"prompt": 3}}}}}
).encode()
ATTEMPTS = {
    "chat": openai_wire.read_response("openai-compatible", 200, chat(cost=0.5))[0],
    "chat that failed": openai_wire.read_response("openai-compatible", 503, b"<html>\xff")[0],
    "chat with an error beside it": openai_wire.read_response("openai-compatible", 200, b'{"error": "x"}')[0],
    "batch": batch_line(None),
    "batch whose cost is a share": batch_line(700),
    "vertex": vertex_wire.read_response("vertex", 200, vertex())[0],
    "vertex, blocked": vertex_wire.read_response("vertex", 200, b'{"promptFeedback": {"blockReason": "X"}}')[
        0
    ],
    "command": command(0, PRINTED),
    "command that failed": command(41, b"", b"no login"),
    "command that printed much that is not UTF-8": command(1, b"", b"\xff" * 9000),
    "command that answered by another model": command(0, PRINTED.replace(b"gemini-x-001", b"gemini-y")),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_the_same_again(name: str) -> None:
    assert read_again(ATTEMPTS[name], "gemini-x") == ATTEMPTS[name]


def test_the_samples_are_what_they_say() -> None:
    assert ATTEMPTS["chat"].cost_nano_usd == 500_000_000
    assert ATTEMPTS["batch"].cost_nano_usd is None
    assert ATTEMPTS["batch whose cost is a share"].cost_nano_usd == 700
    assert ATTEMPTS["command"].text == "Critical:"
    assert ATTEMPTS["command that answered by another model"].text is None
    assert ATTEMPTS["vertex, blocked"].finish_reason == "content_filter"


@pytest.mark.parametrize("name", [name for name, attempt in ATTEMPTS.items() if attempt.text])
def test_a_changed_text_is_not_what_the_bytes_say(name: str) -> None:
    changed = ATTEMPTS[name].model_copy(update={"text": "Minor:"})
    assert read_again(changed, "gemini-x").text == ATTEMPTS[name].text != "Minor:"


def test_every_answer_that_ships() -> None:
    for path in sorted((ROOT / "data/recorded").glob("*.jsonl")):
        for _, answer in read_answers(path):
            body = parse_object(answer.attempt.raw_bytes())
            assert body is not None
            assert answer.attempt.text == body["choices"][0]["message"]["content"]
            assert read_again(answer.attempt, "") == answer.attempt


@pytest.mark.parametrize(
    ("backend", "raw"), [("fax", "{}"), ("gemini-cli", "{"), ("gemini-cli", "[]"), ("gemini-cli", "{}")]
)
def test_what_no_backend_kept(backend: str, raw: str) -> None:
    changed = ATTEMPTS["command"].model_copy(update={"backend": backend, "raw": raw})
    with pytest.raises(ValueError, match=r"is known|Expecting|raw is not"):
        read_again(changed, "gemini-x")
