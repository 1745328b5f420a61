"""Chat completions: the body sent, and what each response means."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from judge_samples import a_profile

from pipeline.answers import Usage
from pipeline.canonical import canonical_bytes
from pipeline.judges.openai_wire import nano_usd, read_response, request_body
from pipeline.judges.rendering import build_request
from pipeline.prompts import read_prompt_set

MESSAGES = [{"role": "user", "content": "x"}]
ALWAYS: dict[str, Any] = {"model": "m", "messages": MESSAGES, "temperature": 0.0, "max_tokens": 64}


@pytest.mark.parametrize(
    ("profile", "more"),
    [
        ({}, {}),
        ({"temperature": 0.7}, {"temperature": 0.7}),
        ({"reasoning_effort": "high"}, {"reasoning": {"effort": "high"}}),
        ({"provider": {"only": ["x"]}}, {"provider": {"only": ["x"]}}),
        ({"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_object"}}),
        ({"send_seed": True}, {"seed": 17}),
        ({"model_file_sha256": "0" * 64}, {}),
    ],
)
def test_the_body_holds_what_the_profile_sets_and_nothing_else(
    profile: dict[str, Any], more: dict[str, Any]
) -> None:
    assert request_body(a_profile(request=profile), MESSAGES, 17) == {**ALWAYS, **more}


def test_a_whole_temperature_is_sent_as_an_integer() -> None:
    body = canonical_bytes(request_body(a_profile(), MESSAGES, 0))
    assert body == b'{"max_tokens":64,"messages":[{"content":"x","role":"user"}],"model":"m","temperature":0}'


def test_a_request_names_service_and_model_file(repository_prompt_set: Any) -> None:
    variables = {
        "source_language": "Korean",
        "target_language": "English",
        "context": "",
        "source": "가",
        "translation": "go",
    }
    profile = a_profile(request={"model_file_sha256": "a" * 64})
    request = build_request(profile, repository_prompt_set, variables, 0)
    assert (request.service, request.model_file_sha256) == ("fake", "a" * 64)
    assert request.body["messages"][-1]["role"] == "user"
    assert "go" in request.body["messages"][-1]["content"]
    # Where the request goes does not change what is asked.
    elsewhere = a_profile("http://elsewhere:1", {"model_file_sha256": "a" * 64}, concurrency=9)
    assert build_request(elsewhere, repository_prompt_set, variables, 0).request_hash == request.request_hash


@pytest.fixture
def repository_prompt_set() -> Any:
    from judge_project import REPOSITORY

    return read_prompt_set(REPOSITORY / "data/judge-prompts/gemba-mqm-context-v1")


def _choice(message: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop", **more}]}


ANSWERS = [
    ("plain", _choice({"content": "hi"}), "hi", "stop"),
    ("empty text", _choice({"content": ""}), "", "stop"),
    ("null content", _choice({"content": None}), None, "stop"),
    ("no content", _choice({}), None, "stop"),
    ("refusal", _choice({"content": None, "refusal": "I will not."}), "I will not.", "stop"),
    ("cut", _choice({"content": "Crit"}, finish_reason="length"), "Crit", "length"),
    ("filtered", _choice({"content": None}, finish_reason="content_filter"), None, "content_filter"),
    ("no finish reason", {"choices": [{"message": {"content": "hi"}}]}, "hi", None),
    (
        "parts",
        _choice({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
        "ab",
        "stop",
    ),
    (
        "parts with thoughts",
        _choice({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "b"}]}),
        "b",
        "stop",
    ),
    ("odd content", _choice({"content": 5}), None, "stop"),
    ("lone surrogate", _choice({"content": "a\ud800"}), "a���", "stop"),
    ("null error beside the answer", {**_choice({"content": "hi"}), "error": None}, "hi", "stop"),
    ("second choice is not looked at", {"choices": [{"message": {"content": "1"}}, 7]}, "1", None),
]


@pytest.mark.parametrize(
    ("document", "text", "finish"), [row[1:] for row in ANSWERS], ids=[r[0] for r in ANSWERS]
)
def test_what_the_judge_said_is_an_answer(document: Any, text: str | None, finish: str | None) -> None:
    raw = json.dumps(document).encode()
    attempt, problem = read_response("b", 200, raw)
    assert (attempt.text, attempt.finish_reason, problem) == (text, finish, None)
    assert attempt.raw_bytes() == raw


NO_ANSWERS = [
    ("error in a 200", 200, b'{"error":{"code":502,"message":"provider\\nis down"}}', "provider is down"),
    ("error text", 200, b'{"error":"overloaded"}', "HTTP 200 with an error: overloaded"),
    ("error in the choice", 200, b'{"choices":[{"error":{"message":"gone"}}]}', "with an error: gone"),
    (
        "finish reason error",
        200,
        b'{"choices":[{"finish_reason":"error","message":{"content":"ha"}}]}',
        "finish reason 'error'",
    ),
    ("no choices", 200, b"{}", "without a choice"),
    ("empty choices", 200, b'{"choices":[]}', "without a choice"),
    ("odd choices", 200, b'{"choices":[5]}', "without a choice"),
    ("no message", 200, b'{"choices":[{"text":"old style"}]}', "without a choice"),
    ("empty body", 200, b"", "not JSON"),
    ("page", 200, b"<html>hello</html>", "not JSON"),
    ("cut JSON", 200, b'{"choices":[{"mess', "not JSON"),
    ("list", 200, b"[1]", "not JSON"),
    ("not UTF-8", 200, b'{"choices":[{"message":{"content":"\xff"}}]}', "not JSON"),
    ("nested without end", 200, b"[" * 100_000, "not JSON"),
    ("number without end", 200, b'{"a":' + b"9" * 5000 + b"}", "not JSON"),
    ("500", 500, b"<html>502</html>", "HTTP 500"),
    ("429", 429, b'{"error":{"message":"slow down"}}', "HTTP 429: slow down"),
    ("detail", 422, b'{"detail":[{"msg":"bad field"}]}', "bad field"),
    ("answer beside a 500", 500, json.dumps(_choice({"content": "hi"})).encode(), "HTTP 500"),
]


@pytest.mark.parametrize(
    ("status", "raw", "said"), [row[1:] for row in NO_ANSWERS], ids=[r[0] for r in NO_ANSWERS]
)
def test_an_error_is_no_answer_but_its_bytes_are_kept(status: int, raw: bytes, said: str) -> None:
    attempt, problem = read_response("b", status, raw)
    assert problem is not None
    assert said in problem
    assert "\n" not in problem
    assert (attempt.text, attempt.http_status, attempt.raw_bytes()) == (None, status, raw)


def test_an_error_of_any_length_is_shown_short() -> None:
    _, problem = read_response("b", 400, json.dumps({"error": {"message": "x" * 10_000}}).encode())
    assert problem is not None
    assert len(problem) < 300


def test_what_the_service_says_about_itself_is_kept() -> None:
    document = {
        **_choice({"content": "hi"}),
        "id": "gen-9",
        "model": "served",
        "system_fingerprint": "fp",
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 34,
            "completion_tokens_details": {"reasoning_tokens": 5},
            "cost": 0.1,
        },
    }
    attempt, _ = read_response("b", 200, b" \n" + json.dumps(document).encode())
    assert (attempt.response_id, attempt.served_model, attempt.system_fingerprint) == (
        "gen-9",
        "served",
        "fp",
    )
    assert attempt.usage == Usage(prompt_tokens=12, completion_tokens=34, reasoning_tokens=5)
    assert attempt.cost_nano_usd == 100_000_000


@pytest.mark.parametrize(
    "usage", [None, 5, [], {}, {"prompt_tokens": -1}, {"prompt_tokens": "12"}, {"prompt_tokens": 2**60}]
)
def test_usage_that_says_nothing_is_null(usage: Any) -> None:
    attempt, problem = read_response(
        "b", 200, json.dumps({**_choice({"content": "x"}), "usage": usage}).encode()
    )
    assert (attempt.usage, attempt.cost_nano_usd, problem) == (None, None, None)


@pytest.mark.parametrize(
    ("cost", "nano"),
    [
        (Decimal("0.000123"), 123_000),
        (Decimal("0.1") + Decimal("0.2"), 300_000_000),
        (Decimal("1E-9"), 1),
        (Decimal("0.0000000005"), 0),  # half a nano: to the even neighbour
        (Decimal("0.0000000015"), 2),
        (3, 3_000_000_000),
        ("0.25", 250_000_000),
        (0, 0),
        (Decimal("-1"), None),
        (Decimal("NaN"), None),
        (Decimal("Infinity"), None),
        (Decimal("1E+30"), None),
        ("much", None),
        (True, None),
        (None, None),
        (float("nan"), None),
    ],
)
def test_cost_in_billionths_of_a_dollar(cost: Any, nano: int | None) -> None:
    assert nano_usd(cost) == nano
