"""Strict reading of JSON and JSON lines, whoever asks; the dataset's tests hold the refusals by file."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError, PromptError, one_line
from pipeline.jsonl import decode, has_surrogate, read_json, read_json_lines


def read(data: bytes) -> list[tuple[int, dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.jsonl"
        path.write_bytes(data)
        return list(read_json_lines(path, InputError))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=3), max_size=4), st.booleans())
def test_what_was_written_is_read_with_its_line_number(rows: list[dict[str, Any]], ascii_only: bool) -> None:
    text = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)
    assert read(text.encode("utf-8")) == list(enumerate(rows, start=1))


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused_in_one_line(data: bytes) -> None:
    try:
        read(data)
    except InputError as error:
        assert str(error).isprintable()


def test_line_separators_inside_of_text_are_no_line_ends() -> None:
    row = {"a": "one\u2028two\u2029three\x85four\x0cfive"}
    assert read(json.dumps(row, ensure_ascii=False).encode()) == [(1, row)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", 1),
        ('{\n"a": 1,\n}', 3),
        ('{\n"a":\n1 "b"}', 3),
        ("", 1),
        ("\ufeff{}", 1),
    ],
)
def test_json_errors_name_the_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PromptError) as caught:
        read_json(path, PromptError)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_not_utf8_names_the_line_of_the_byte() -> None:
    with pytest.raises(InputError, match=r"^f:3: not UTF-8"):
        decode(Path("f"), b"one\ntwo\nthr\xe9e\n", InputError)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("밥", False), ("\ud800", True), ("a\udfffb", True), ("\ud7ff\ue000", False), ("", False)],
)
def test_has_surrogate(text: str, expected: bool) -> None:
    assert has_surrogate(text) is expected


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (r'{"a": "\ud83d\ude00"}', False),  # a pair is one character
        (r'{"a": "\\ud800"}', False),  # an escaped backslash, then letters
        (r'{"a": "\ud800"}', True),
        (r'{"a": ["x", {"\uDC00": 1}]}', True),
        (r'{"a": "\ude00\ud83d"}', True),  # a pair in the wrong order
    ],
)
def test_lone_surrogates(text: str, refused: bool) -> None:
    if not refused:
        assert read(text.encode()) == [(1, json.loads(text))]
        return
    with pytest.raises(InputError, match="half of a surrogate pair"):
        read(text.encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nerror: b", "a error: b"),
        ("a\r\n\tb  c", "a b c"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("right\u202eto left", "right to left"),
        ("half \ud800", "half"),
        ("밥 먹었어?", "밥 먹었어?"),
    ],
)
def test_messages_are_folded_to_one_line(text: str, expected: str) -> None:
    assert one_line(text) == expected
    assert str(InputError.at("f", text, line=2, field="x\ny")) == f"f:2: x y: {expected}"
