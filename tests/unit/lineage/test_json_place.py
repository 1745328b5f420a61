"""Lines of JSON values, against the line on which a marker was put."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from pipeline.lineage.trace.json_place import element_lines, line_of

MARKER = "here it is"
DOCUMENT: Any = {
    "a": [1, {"b": None, 'odd "key"/~': [True, [2.5]]}],
    "text": 'a { [ " \\ text',
    "empty": {},
    "z": {"deep": {"deeper": [[], [7]]}},
}
PLACES = [
    ["a"],
    ["a", "0"],
    ["a", "1", "b"],
    ["a", "1", 'odd "key"/~', "1", "0"],
    ["text"],
    ["empty"],
    ["z", "deep", "deeper", "1", "0"],
]


def marked(keys: list[str]) -> Any:
    """The document with the marker in place of a value."""
    document = copy.deepcopy(DOCUMENT)
    value = document
    for key in keys[:-1]:
        value = value[int(key) if isinstance(value, list) else key]
    value[int(keys[-1]) if isinstance(value, list) else keys[-1]] = MARKER
    return document


@pytest.mark.parametrize("keys", PLACES, ids="/".join)
@pytest.mark.parametrize("indent", [None, 2])
def test_line_of(keys: list[str], indent: int | None) -> None:
    text = json.dumps(marked(keys), indent=indent)
    expected = next(n for n, line in enumerate(text.split("\n"), start=1) if MARKER in line)
    assert line_of(text, keys) == expected


@pytest.mark.parametrize("keys", [["b"], ["a", "2"], ["a", "x"], ["text", "0"], ["a", "0", "0"]])
def test_no_such_place(keys: list[str]) -> None:
    assert line_of(json.dumps(DOCUMENT), keys) is None


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('[\n  {"a": [1,\n 2]},\n  {"b": 1}\n]', [2, 4]),
        ('[{"a": 1}, {"b": 2},\n{"c": "]"}]', [1, 1, 2]),
        ("[]", []),
        ('{"a": []}', []),
        ("", []),
    ],
)
def test_element_lines(text: str, lines: list[int]) -> None:
    assert element_lines(text) == lines
