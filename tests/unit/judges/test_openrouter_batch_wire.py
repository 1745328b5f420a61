"""The Batch API on the wire: uploads, batch objects, pages and result lines, against JSON written by hand."""

from __future__ import annotations

import base64
import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.judges.json_slices import elements, members
from pipeline.judges.openrouter_batch_wire import (
    Line,
    custom_id,
    line_bytes,
    read_batch,
    read_page,
    read_results,
    share_cost,
    split,
    upload,
)
from pipeline.requests import JudgeRequest

HASH = "00ff" * 16
COMPLETION = {
    "id": "gen-1",
    "model": "served",
    "choices": [{"message": {"content": "안녕"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 30,
        "completion_tokens": 12,
        "completion_tokens_details": {"reasoning_tokens": 5},
        "cost": 0.00001250,
    },
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def line(number: int = 0, text: str = "Judge.", **body: Any) -> Line:
    whole = {"model": "m:batch", "messages": [{"role": "user", "content": text}], **body}
    return Line(f"id-{number}", JudgeRequest("openrouter", None, whole))


def row(name: str = "a", body: Any = COMPLETION, status: Any = 200, error: Any = None) -> dict[str, Any]:
    return {"custom_id": name, "response": {"status_code": status, "body": body}, "error": error}


def read(*rows: Any) -> Any:
    return read_results([json.dumps(value, ensure_ascii=False) for value in rows], {"a", "b", "c"})


# Custom ids.


def test_a_custom_id_names_request_repeat_and_round_in_64_safe_characters() -> None:
    name = custom_id((HASH, 99), 20, "0a1b2c")
    digest, repeat, round_number, tag = name[:43], *name[44:].split("-")
    assert base64.urlsafe_b64decode(digest + "=").hex() == HASH
    assert (repeat, round_number, tag) == ("99", "20", "0a1b2c")
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)


@given(
    st.lists(
        st.tuples(st.binary(min_size=32, max_size=32), st.integers(0, 99), st.integers(1, 99)), unique=True
    )
)
def test_custom_ids_differ_where_anything_differs(parts: list[tuple[bytes, int, int]]) -> None:
    names = {custom_id((digest.hex(), repeat), number, "000000") for digest, repeat, number in parts}
    assert len(names) == len(parts)


# Uploads.


def test_an_upload_names_endpoint_and_model_before_the_requests() -> None:
    one = line(1, reasoning={"effort": "high"}, max_tokens=5)
    assert upload([one, line(2)]) == (
        b'{"endpoint":"/v1/chat/completions","model":"m:batch","requests":['
        b'{"body":{"max_tokens":5,"messages":[{"content":"Judge.","role":"user"}],"model":"m:batch",'
        b'"reasoning":{"effort":"high"}},"custom_id":"id-1"},'
        b'{"body":{"messages":[{"content":"Judge.","role":"user"}],"model":"m:batch"},"custom_id":"id-2"}]}'
    )


def test_a_provider_stands_once_above_the_requests() -> None:
    pinned = line(1, provider={"only": ["google-vertex"]})
    body = json.loads(upload([pinned]))
    assert list(body) == ["endpoint", "model", "provider", "requests"]
    assert body["provider"] == {"only": ["google-vertex"]}
    assert "provider" not in body["requests"][0]["body"]


@pytest.mark.parametrize(
    "lines", [[], [line(1), line(2, provider={"only": ["x"]})], [line(1), line(2, model="n")]]
)
def test_lines_of_different_jobs_are_no_upload(lines: list[Line]) -> None:
    with pytest.raises(ValueError, match="share one model and one provider"):
        upload(lines)


@settings(deadline=None)
@given(st.lists(st.text(max_size=300), max_size=20), st.integers(1, 6), st.integers(250, 1500))
def test_split_jobs_hold_all_lines_in_order_below_both_limits(
    texts: list[str], most_lines: int, most_bytes: int
) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    lines = [line(number, text) for number, text in enumerate(texts)]
    jobs = list(split(lines, most_lines, most_bytes))
    assert [entry for job in jobs for entry in job] == lines
    for job in jobs:
        assert 1 <= len(job) <= most_lines
        assert len(upload(job)) <= most_bytes or len(job) == 1
    for job, after in itertools.pairwise(jobs):
        assert len(job) == most_lines or len(upload([*job, after[0]])) > most_bytes, "could have held more"


# Batch objects and pages.


@pytest.mark.parametrize("before", ["", " ", "\n \r\n\t" * 50, "\ufeff"], ids=["", "space", "lines", "mark"])
def test_a_batch_is_read_whatever_kept_the_connection_alive(before: str) -> None:
    batch = read_batch(
        (
            before + '{"id":"b-1","object":"batch","model":"m","status":"completed","created_at":1782097200,'
            '"expires_at":null,"request_counts":{"total":2,"completed":1,"failed":1},'
            '"usage":{"prompt_tokens":1,"cost":0.000225},"results":[ {"custom_id":"a"} ,null],"error":null}'
        ).encode()
    )
    assert batch is not None
    assert (batch.provider_id, batch.status, batch.terminal) == ("b-1", "completed", True)
    assert (batch.model, batch.created_at, batch.total) == ("m", 1782097200, 2)
    assert batch.cost_nano_usd == 225_000
    assert batch.results == ('{"custom_id":"a"}', "null")
    assert batch.problem is None


@pytest.mark.parametrize(
    ("status", "terminal"),
    [(word, True) for word in ("completed", "failed", "expired", "cancelled")]
    + [(word, False) for word in ("validating", "in_progress", "finalizing", "cancelling", "paused")],
)
def test_a_status_nobody_knows_is_one_to_wait_through(status: str, terminal: bool) -> None:
    batch = read_batch(json.dumps({"id": "b", "status": status}).encode())
    assert batch is not None
    assert batch.terminal == terminal
    assert batch.results is None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"  ",
        b"<html>",
        b"[]",
        b"null",
        b'{"id":"b"}',
        b'{"status":"completed"}',
        b'{"id":1,"status":"completed"}',
        b'{"id":"","status":"completed"}',
        b'{"id":"b\\nerror: forged","status":"completed"}',
        b'{"id":"b","status":"completed"',
        b'{"id":"b","status":"completed"}}',
        b'{"id":"b","status":"completed","results":[{]}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"id":' + b"[" * 100_000,
    ],
)
def test_what_is_no_batch_is_none(raw: bytes) -> None:
    assert read_batch(raw) is None


def test_the_reason_of_a_failed_batch_is_told_on_one_line() -> None:
    batch = read_batch(b'{"id":"b","status":"failed","error":{"message":"line\\n7 is\\tbad"}}')
    assert batch is not None
    assert batch.problem == "line 7 is bad"


@pytest.mark.parametrize(
    ("document", "rows", "cursor"),
    [
        ('{"object":"list","data":[1,{"a":2}],"has_more":true,"next_cursor":"c2"}', ("1", '{"a":2}'), "c2"),
        ('{"data":[],"has_more":false,"next_cursor":null}', (), None),
        ('{"data":[3],"has_more":false,"next_cursor":"stale"}', ("3",), None),
        ('{"results":[3],"next_cursor":"c2"}', ("3",), "c2"),
        ('{"data":[3]}', ("3",), None),
    ],
)
def test_a_page_of_results(document: str, rows: tuple[str, ...], cursor: str | None) -> None:
    page = read_page(document.encode(), "next_cursor")
    assert page is not None
    assert (page.rows, page.cursor) == (rows, cursor)


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"data":null}', b'{"error":{}}', b'{"data":[1}'])
def test_what_is_no_page_is_none(raw: bytes) -> None:
    assert read_page(raw, "next_cursor") is None


# Result lines.


def test_an_answer_keeps_the_very_bytes_of_its_body() -> None:
    body = '{ "choices":[{"message":{"content":"안녕"},"finish_reason":"stop"}], "usage":{"cost":1.250e-05} }'
    found = read_results(
        [f'{{"custom_id":"a","response":{{"status_code":200,"body":{body}}},"error":null}}'], {"a"}
    )
    result = found.results["a"]
    assert result.problem is None
    assert result.attempt is not None
    assert result.attempt.raw == body
    assert (result.attempt.backend, result.attempt.http_status) == ("openrouter-batch", 200)
    assert (result.attempt.text, result.attempt.finish_reason) == ("안녕", "stop")
    assert result.attempt.cost_nano_usd == 12_500


def test_usage_and_names_are_read() -> None:
    attempt = read(row()).results["a"].attempt
    assert attempt.usage.model_dump() == {"prompt_tokens": 30, "completion_tokens": 12, "reasoning_tokens": 5}
    assert (attempt.served_model, attempt.response_id, attempt.cost_nano_usd) == ("served", "gen-1", 12_500)


@pytest.mark.parametrize(
    ("content", "finish"), [(None, "stop"), ("", "stop"), ("cut", "length"), (None, "content_filter")]
)
def test_what_the_judge_said_is_an_attempt_whatever_it_is(content: str | None, finish: str) -> None:
    body = {"choices": [{"message": {"content": content}, "finish_reason": finish}]}
    result = read(row(body=body)).results["a"]
    assert result.problem is None
    assert (result.attempt.text, result.attempt.finish_reason) == (content, finish)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (row(error={"code": "x", "message": "bad"}), "the service says of the line: bad (beside a response)"),
        (
            {"custom_id": "a", "response": None, "error": {"message": "bad"}},
            "the service says of the line: bad",
        ),
        ({"custom_id": "a", "error": "bad"}, "the service says of the line: bad"),
        ({"custom_id": "a", "response": None, "error": None}, "a result line without a readable response"),
        ({"custom_id": "a"}, "a result line without a readable response"),
        ({"custom_id": "a", "response": "yes"}, "a result line without a readable response"),
        (row(status="ok"), "a result line without a readable response"),
        (row(status=True), "a result line without a readable response"),
        (row(status=7), "a result line without a readable response"),
        (row(body=None), "a result line without a readable response"),
        (row(body=[1]), "a result line without a readable response"),
        (row(body={}), "a result line says HTTP 200 without a choice that holds a message"),
        (row(body={"error": {"message": "no"}}), "a result line says HTTP 200 with an error: no"),
        (row(body={"error": {"message": "no"}}, status=429), "a result line says HTTP 429: no"),
    ],
)
def test_a_line_that_is_no_answer_says_why_and_keeps_its_bytes(value: Any, problem: str) -> None:
    result = read(value).results["a"]
    assert result.problem == problem
    assert result.attempt.text is None
    assert result.attempt.raw in json.dumps(value, ensure_ascii=False)


def test_lines_are_joined_by_custom_id_whatever_their_order_and_number() -> None:
    failed = {"custom_id": "b", "response": None, "error": {"message": "busy"}}
    found = read(
        row("c"), failed, row("other"), None, [1], {"custom_id": 7}, row("b"), row("a"), row("a", body={})
    )
    assert {name: result.problem for name, result in found.results.items()} == {
        "a": None,
        "b": None,
        "c": None,
    }
    assert (found.strange, found.repeated) == (4, 2)


def test_a_missing_line_is_missing() -> None:
    assert set(read(row("c")).results) == {"c"}


@settings(deadline=None)
@given(st.lists(JSON, max_size=6))
def test_no_line_breaks_the_reading_of_the_others(strange: list[Any]) -> None:
    found = read(*strange, row("a"), *({"custom_id": "b", "response": value} for value in strange))
    assert found.results["a"].problem is None
    assert found.results["a"].attempt.text == "안녕"


@settings(deadline=None)
@given(JSON, st.sampled_from([None, 0, 2]))
def test_slices_are_the_parts_of_a_json_text(value: Any, indent: int | None) -> None:
    inner = json.dumps(value, indent=indent)
    text = json.dumps({"x": [1, 2], "y": value}, indent=indent)
    parts = members(text)
    assert parts is not None
    assert json.loads(parts["y"]) == value
    assert [json.loads(part) for part in elements(f" [ {inner} ,{inner}\n] ")] == [value, value]


# Costs.


def test_a_cost_of_the_whole_job_is_shared_by_tokens_to_the_last_digit() -> None:
    def body(prompt: int, completion: int) -> dict[str, Any]:
        return {**COMPLETION, "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}

    found = read(row("a", body(10, 0)), row("b", body(10, 10)), row("c", body(0, 0)))
    shared = share_cost(found.results.values(), 100)
    assert [result.attempt.cost_nano_usd for result in shared if result.attempt] == [33, 67, None]


@pytest.mark.parametrize("total", [None, 5_000_000])
def test_costs_that_lines_say_themselves_stand(total: int | None) -> None:
    shared = share_cost(read(row("a"), row("b")).results.values(), total)
    assert [result.attempt.cost_nano_usd for result in shared if result.attempt] == [12_500, 12_500]


def test_a_line_in_the_upload_is_its_canonical_body() -> None:
    assert line_bytes(line(3, "é")) == (
        '{"body":{"messages":[{"content":"é","role":"user"}],"model":"m:batch"},"custom_id":"id-3"}'.encode()
    )
