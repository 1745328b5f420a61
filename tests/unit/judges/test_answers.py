"""Answer lines: what is written is read back, and nothing damaged is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from judge_samples import an_answer, an_attempt, write

from pipeline.answers import Answer, Attempt, encode_raw, read_answer_folder, read_answers, write_answers
from pipeline.errors import RecordedAnswerError

_TEXT = st.text(st.characters(codec="utf-8"))
_ATTEMPTS = st.builds(
    lambda text, body, cost: an_attempt(
        text=text,
        cost_nano_usd=cost,
        raw=encode_raw(body)[0],
        raw_encoding=encode_raw(body)[1],
    ),
    st.none() | _TEXT,
    st.binary() | _TEXT.map(str.encode),
    st.none() | st.integers(0, 2**53 - 1),
)


@given(st.lists(_ATTEMPTS, min_size=1, max_size=3))
def test_the_seal_is_the_sha256_of_the_rfc_8785_form(attempts: list[Attempt]) -> None:
    line = an_answer().model_copy(update={"attempts": attempts}).line()
    row = json.loads(line)
    stated = row.pop("sha256")
    assert stated == hashlib.sha256(rfc8785.dumps(row)).hexdigest()
    assert line.endswith("\n")
    assert line.count("\n") == 1


@given(st.binary())
def test_every_body_comes_back_byte_for_byte(body: bytes) -> None:
    raw, encoding = encode_raw(body)
    assert an_attempt(raw=raw, raw_encoding=encoding).raw_bytes() == body


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    answers = sorted((an_answer("a", 1), an_answer("a", 0), an_answer("b")), key=lambda answer: answer.key)
    write_answers(tmp_path / "x.jsonl", answers)
    assert [answer for _, answer in read_answers(tmp_path / "x.jsonl")] == answers


def test_key_order_and_spaces_do_not_matter(tmp_path: Path) -> None:
    row = json.loads(an_answer().line())
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(dict(reversed(row.items())), indent=None) + "\n", encoding="utf-8")
    assert [answer for _, answer in read_answers(path)] == [an_answer()]


def test_cost_of_an_answer_is_that_of_all_attempts() -> None:
    attempts = [an_attempt(cost_nano_usd=1), an_attempt(cost_nano_usd=None), an_attempt(cost_nano_usd=5)]
    answer = an_answer().model_copy(update={"attempts": attempts, "selected": 2})
    assert answer.cost_nano_usd == 6
    assert answer.attempt is attempts[2]


def _set(*path: Any, value: Any) -> Callable[[Any], None]:
    def change(row: Any) -> None:
        for part in path[:-1]:
            row = row[part]
        row[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_set("attempts", 0, "text", value="another text"), "sha256: does not match"),
        (_set("repeat", value=1), "sha256: does not match"),
        (_set("sha256", value=None), "sha256: does not match"),
        (_set("attempts", 0, "text", value="\ud800"), "x.jsonl:1"),
        (_set("selected", value=1), "selected is 1, but attempts holds 1"),
        (_set("attempts", value=[]), "attempts: "),
        (_set("request_hash", value="ABC"), "request_hash: "),
        (_set("attempts", 0, "http_status", value=99), "http_status: "),
        (_set("attempts", 0, "usage", value={"prompt_tokens": 1.5}), "usage.prompt_tokens: "),
        (_set("attempts", 0, "cost_nano_usd", value=-1), "cost_nano_usd: "),
        (_set("attempts", 0, "raw_encoding", value="latin-1"), "raw_encoding: "),
        (_set("attempts", 0, "elapsed", value=3), "unknown key"),
        (_set("source", value="ledger"), "unknown key"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, change: Callable[[Any], None], said: str) -> None:
    row = json.loads(an_answer().line())
    change(row)
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(RecordedAnswerError) as caught:
        list(read_answers(path))
    assert str(caught.value).startswith(f"{path}:1: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_broken_base64_is_named(tmp_path: Path) -> None:
    row = json.loads(an_answer(raw="/w==", raw_encoding="base64").line())
    row["attempts"][0]["raw"] = "/w="
    (tmp_path / "x.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(RecordedAnswerError, match="raw is not base64"):
        list(read_answers(tmp_path / "x.jsonl"))


def test_lines_that_are_not_wanted_are_checked_too(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", an_answer("a"), an_answer("b"))
    assert [answer for _, answer in read_answers(path, {an_answer("b").key})] == [an_answer("b")]
    path.write_text(path.read_text("utf-8").replace("gen-1", "gen-2", 1), encoding="utf-8")
    with pytest.raises(RecordedAnswerError, match=":1:"):
        list(read_answers(path, {an_answer("b").key}))


def test_a_folder_holds_all_files_and_a_missing_folder_nothing(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl", an_answer("a"))
    write(tmp_path / "two.jsonl", an_answer("a"), an_answer("b"))
    (tmp_path / "README.md").write_text("not read", encoding="utf-8")
    expected = {answer.key: answer for answer in (an_answer("a"), an_answer("b"))}
    assert read_answer_folder(tmp_path) == expected
    assert read_answer_folder(tmp_path / "none") == {}


def test_two_answers_to_one_request_are_an_error_that_names_both_places(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", an_answer("b"), an_answer("a"))
    two = write(tmp_path / "two.jsonl", an_answer("a", text="something else"))
    with pytest.raises(RecordedAnswerError) as caught:
        read_answer_folder(tmp_path)
    assert str(caught.value).startswith(f"{two}:1: another answer to the request at {one}:2 ")
    assert "remove one of the two lines" in str(caught.value)


def test_nothing_in_a_line_says_when_or_where(tmp_path: Path) -> None:
    row = json.loads(an_answer().line())
    assert set(row) == {"request_hash", "repeat", "selected", "attempts", "sha256"}
    assert set(row["attempts"][0]) == {
        "backend",
        "http_status",
        "text",
        "finish_reason",
        "served_model",
        "system_fingerprint",
        "response_id",
        "usage",
        "cost_nano_usd",
        "raw",
        "raw_encoding",
    }
    assert isinstance(an_answer(), Answer)
