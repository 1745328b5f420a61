"""On which line of a JSON file a value stands."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def line_of(text: str, keys: Sequence[str]) -> int | None:
    """The line, from 1, where the value under ``keys`` begins; None if there is no such value."""
    position = _skip(text, 0)
    try:
        for key in keys:
            found = _member(text, position, key)
            if found is None:
                return None
            position = found
    except (ValueError, IndexError, RecursionError):
        return None
    return text.count("\n", 0, position) + 1


def element_lines(text: str) -> list[int]:
    """The line, from 1, where each element of a JSON array begins; none if the text is no array."""
    lines: list[int] = []
    position, line, counted = _skip(text, 0), 1, 0
    if text[position : position + 1] != "[":
        return lines
    position = _skip(text, position + 1)
    while position < len(text) and text[position] != "]":
        line += text.count("\n", counted, position)
        counted = position
        lines.append(line)
        _, position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
    return lines


def _member(text: str, position: int, key: str) -> int | None:
    """Where the value of a key, or the element of an index, of the container at ``position`` begins."""
    kind, index = text[position], 0
    if kind not in "{[":
        return None
    position = _skip(text, position + 1)
    while text[position] not in "}]":
        name = str(index)
        if kind == "{":
            name, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)  # over the colon
        if name == key:
            return position
        _, position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
        index += 1
    return None


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position
