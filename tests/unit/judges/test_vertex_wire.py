"""``generateContent`` on the wire: the body sent, and what each kind of response is read as."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_vertex import candidate, generation
from judge_samples import a_vertex_profile

from pipeline.annotation.reader import read_answer
from pipeline.judges.vertex import Vertex
from pipeline.judges.vertex_wire import annotation_schema, read_response, sent_bytes
from pipeline.requests import JudgeRequest

MESSAGES = [
    {"role": "system", "content": "Judge it."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "fine"},
    {"role": "user", "content": "two"},
]


def test_the_body() -> None:
    profile = a_vertex_profile({"reasoning_effort": "high", "response_schema": False})
    assert Vertex.body(profile, MESSAGES, 7) == {
        "model": "gemini-x",
        "systemInstruction": {"parts": [{"text": "Judge it."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "one"}]},
            {"role": "model", "parts": [{"text": "fine"}]},
            {"role": "user", "parts": [{"text": "two"}]},
        ],
        "generationConfig": {
            "temperature": 0,
            "maxOutputTokens": 64,
            "thinkingConfig": {"thinkingLevel": "HIGH"},
        },
    }


def test_what_is_unset_is_not_sent_and_the_schema_goes_with_its_type() -> None:
    body = Vertex.body(a_vertex_profile(), MESSAGES[1:2], 7)
    assert "systemInstruction" not in body
    assert body["generationConfig"] == {
        "temperature": 0,
        "maxOutputTokens": 64,
        "responseMimeType": "application/json",
        "responseSchema": annotation_schema(),
    }


def test_the_model_decides_the_request_and_is_sent_in_the_url_only() -> None:
    requests = [
        JudgeRequest("vertex-ai", None, Vertex.body(a_vertex_profile({"model": model}), MESSAGES, 0))
        for model in ("gemini-x", "gemini-y")
    ]
    assert requests[0].request_hash != requests[1].request_hash
    assert sent_bytes(requests[0]) == sent_bytes(requests[1])
    assert "model" not in json.loads(sent_bytes(requests[0]))


def test_what_fits_the_schema_is_what_the_json_form_reads() -> None:
    """Every key the schema requires is one the strict reading knows, and it lacks none."""
    schema = annotation_schema()
    error = dict.fromkeys(schema["properties"]["errors"]["items"]["required"])
    for key, field in schema["properties"]["errors"]["items"]["properties"].items():
        error[key] = field["enum"][0] if "enum" in field else None if field.get("nullable") else "words"
    said = {
        "has_no_error": False,
        "errors": [error],
        "contextBehavior": schema["properties"]["contextBehavior"]["enum"][0],
    }
    assert list(said) == schema["required"]
    assert read_answer(json.dumps(said), form="json", mode="strict").status == "ok"


def read(document: Any, status: int = 200) -> tuple[Any, str | None]:
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read_response("vertex", status, raw)


def test_an_answer_is_what_was_said_without_the_thoughts() -> None:
    parts = [{"text": "hm", "thought": True}, {"text": "Crit"}, {"inlineData": {}}, {"text": "ical"}]
    attempt, problem = read(generation({}, candidates=[candidate(*parts)]))
    assert problem is None
    assert (attempt.text, attempt.finish_reason) == ("Critical", "STOP")
    assert (attempt.served_model, attempt.response_id[:5]) == ("fake-model-001", "resp-")
    assert attempt.cost_nano_usd is None
    # Thoughts are paid as output; chat completions count them into the completion.
    assert attempt.usage.model_dump() == {
        "prompt_tokens": 100,
        "completion_tokens": 27,
        "reasoning_tokens": 7,
    }


ANSWERS: list[tuple[str, Any, str | None, str | None]] = [
    (
        "cut",
        generation({}, candidates=[candidate({"text": "Cri"}, finish="MAX_TOKENS")]),
        "Cri",
        "MAX_TOKENS",
    ),
    ("cut while it thought", generation({}, candidates=[{"finishReason": "MAX_TOKENS"}]), None, "MAX_TOKENS"),
    ("unsafe", generation({}, candidates=[{"finishReason": "SAFETY"}]), None, "SAFETY"),
    ("recited", generation({}, candidates=[candidate(finish="RECITATION")]), None, "RECITATION"),
    ("thoughts alone", generation({}, candidates=[candidate({"text": "x", "thought": True})]), None, "STOP"),
    ("nothing", generation({}, candidates=[candidate({"text": ""})]), "", "STOP"),
    ("blocked", {"promptFeedback": {"blockReason": "OTHER"}}, None, "content_filter"),
    ("half a character", generation({}, candidates=[candidate({"text": "\ud800"})]), "???", "STOP"),
]


@pytest.mark.parametrize(
    ("document", "text", "finish"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS]
)
def test_an_odd_answer_is_an_answer(document: Any, text: str | None, finish: str) -> None:
    attempt, problem = read(document)
    assert problem is None
    assert (attempt.finish_reason, attempt.text is None) == (finish, text is None)
    if text != "???":
        assert attempt.text == text
    if finish != "STOP":  # the reader knows these words
        status = read_answer(attempt.text or "", form="json", mode="strict", finish_reason=finish).status
        assert status in ("truncated", "filtered")


NO_ANSWERS: list[tuple[Any, int, str]] = [
    (b"<html>", 502, "HTTP 502"),
    (b"", 200, "HTTP 200 with a body that is not JSON"),
    (b'{"candidates": [', 200, "HTTP 200 with a body that is not JSON"),
    ([{"candidates": []}], 200, "HTTP 200 with a body that is not JSON"),
    ({}, 200, "HTTP 200 without a candidate"),
    ({"candidates": []}, 200, "HTTP 200 without a candidate"),
    ({"candidates": [{}]}, 200, "HTTP 200 with a candidate that holds nothing"),
    ({"candidates": "x", "promptFeedback": {}}, 200, "HTTP 200 without a candidate"),
    ({"detail": "no"}, 404, "HTTP 404: no"),
    (
        {"error": {"code": 429, "message": "slow\ndown", "status": "RESOURCE_EXHAUSTED"}},
        429,
        "HTTP 429: RESOURCE_EXHAUSTED: slow down",
    ),
    ({"error": "odd"}, 200, "HTTP 200 with an error: odd"),
]


@pytest.mark.parametrize(("document", "status", "said"), NO_ANSWERS)
def test_no_answer(document: Any, status: int, said: str) -> None:
    attempt, problem = read(document, status)
    assert problem == said
    assert attempt.text is None


@pytest.mark.parametrize("usage", [None, [], {}, {"promptTokenCount": "3"}, {"thoughtsTokenCount": -1}])
def test_usage_that_says_nothing(usage: Any) -> None:
    assert read(generation({}, usageMetadata=usage))[0].usage is None
