"""``python -m pipeline annotation read`` as a user runs it: streams, exit codes, bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
GOOD = 'Critical:\nno-error\nMajor:\nother - "{}"\nMinor:\nno-error\ncontextBehavior: unclear'


def read(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "pipeline", "annotation", "read", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        env=os.environ | environment,
        check=False,
        timeout=60,
    )


def write(path: Path, *lines: object) -> Path:
    path.write_bytes(
        b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    )
    return path


def test_one_canonical_line_for_each_answer(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", {"text": GOOD.format("밥"), "id": 7}, {"text": ""})
    done = read(file)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [
        '{"context_behavior":"unclear","contradictory_section":false,'
        '"errors":[{"class":"other","severity":"major","span":"밥"}],'
        '"reason":null,"repairs":[],"status":"ok"}',
        '{"context_behavior":null,"contradictory_section":false,"errors":[],'
        '"reason":"empty: line 1 \'\' and all others hold nothing but white space",'
        '"repairs":[],"status":"empty"}',
    ]


def test_lenient_mode_lists_the_repairs(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", {"text": GOOD.format("x").replace("Major:", "**Major:**")})
    assert json.loads(read(file).stdout)["status"] == "malformed"
    lenient = json.loads(read(file, "--mode", "lenient").stdout)
    assert (lenient["status"], lenient["repairs"]) == ("ok", ["bold"])


def test_json_form_has_the_fields_of_its_errors(tmp_path: Path) -> None:
    error = {"severity": "minor", "class": "other", "target_span_text": None, "source_span_text": "밥"}
    text = json.dumps({"has_no_error": False, "errors": [error], "contextBehavior": "unclear"})
    done = read(write(tmp_path / "a.jsonl", {"text": text}), "--form", "json")
    assert json.loads(done.stdout)["errors"] == [
        {"severity": "minor", "class": "other", "span": None, "source_span": "밥", "explanation": None}
    ]


def test_finish_reason_is_heeded(tmp_path: Path) -> None:
    good = GOOD.format("x")
    file = write(
        tmp_path / "a.jsonl",
        *({"text": good, "finish_reason": reason} for reason in ("length", "SAFETY", "stop", None)),
    )
    statuses = [json.loads(line)["status"] for line in read(file).stdout.splitlines()]
    assert statuses == ["truncated", "filtered", "ok", "ok"]


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_output_is_utf_8_whatever_the_text_and_the_locale(tmp_path: Path, locale: str) -> None:
    span = "밥🙂\ud800\0\u202e\u2028"
    file = write(tmp_path / "a.jsonl", {"text": GOOD.format(span)}, {"text": "\udfff"})
    done = read(file, LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.returncode, done.stderr) == (0, b"")
    first, second = done.stdout.decode("utf-8").split("\n")[:2]
    assert json.loads(first)["errors"][0]["span"] == span
    assert "밥🙂\\ud800" in first
    assert json.loads(second)["status"] == "malformed"


@pytest.mark.parametrize("last", [b"", b'{"text": ""}'])
def test_a_last_line_needs_no_line_end(tmp_path: Path, last: bytes) -> None:
    done = read(write(tmp_path / "a.jsonl", {"text": ""}, last))
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1 + bool(last))


def test_an_empty_file_prints_nothing(tmp_path: Path) -> None:
    done = read(write(tmp_path / "a.jsonl"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("line", "field", "problem"),
    [
        (b"[]\n", "text", "no object"),
        (b'"text"\n', "text", "no object"),
        (b"nonsense\n", "text", "not JSON"),
        (b"\n", "text", "not JSON"),
        (b'{"text": NaN}\n', "text", "not JSON"),
        (b'{"text": "a", "text": "b"}\n', "text", "stands twice"),
        (b'\xef\xbb\xbf{"text": ""}\n', "text", "not JSON"),
        (b"[" * 200_000 + b"\n", "text", "nested too deeply"),
        (b"{}\n", "text", "is not there"),
        (b'{"text": null}\n', "text", "is not a string"),
        (b'{"text": 1' + b"0" * 10_000 + b"}\n", "text", "is not a string"),
        (b'{"text": "\xff"}\n', "text", "byte 11 of the line is not UTF-8"),
        (b'{"text": "", "finish_reason": 1}\n', "finish_reason", "neither a string nor null"),
    ],
)
def test_a_bad_line_is_named_with_its_cure_and_nothing_is_printed(
    tmp_path: Path, line: bytes, field: str, problem: str
) -> None:
    file = write(tmp_path / "a.jsonl", {"text": GOOD.format("x")}, line)
    done = read(file)
    message = done.stderr.decode()
    assert (done.returncode, done.stdout) == (1, b"")
    assert message.startswith(f"error: {file}:2: {field}: ")
    assert problem in message
    assert message.count("\n") == 1
    assert "must be a JSON object" in message or "leave it out" in message


def test_a_missing_file_and_a_folder_are_input_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        done = read(path)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.decode().startswith(f"error: {path}: cannot be read")


@pytest.mark.parametrize("arguments", [[], ["a.jsonl", "--mode", "loose"], ["a.jsonl", "--form", "xml"]])
def test_bad_usage_exits_with_2(arguments: list[str]) -> None:
    assert read(*arguments).returncode == 2
