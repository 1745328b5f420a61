"""The parts of a JSON text as they were written: one answer's own bytes out of a response that holds many."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_SCAN = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def members(text: str) -> dict[str, str] | None:
    """The values of a JSON object's members as text, by name; None if it is no JSON object."""
    found: dict[str, str] = {}
    try:
        position = _after(text, 0, "{")
        if text.startswith("}", position):
            return found if not text[position + 1 :].strip() else None
        while True:
            name, position = _SCAN.raw_decode(text, position)
            start = _after(text, position, ":")
            _, end = _SCAN.raw_decode(text, start)
            if not isinstance(name, str):
                return None
            found[name] = text[start:end]
            position = _space(text, end)
            if text.startswith("}", position):
                return found if not text[position + 1 :].strip() else None
            position = _after(text, position, ",")
    except (ValueError, RecursionError):
        return None


def elements(text: str) -> Iterator[str]:
    """The elements of a JSON array as text.

    Raises:
        ValueError: it is no JSON array.
    """
    position = _after(text, 0, "[")
    if text.startswith("]", position):
        return
    while True:
        _, end = _SCAN.raw_decode(text, position)
        yield text[position:end]
        position = _space(text, end)
        if text.startswith("]", position):
            return
        position = _after(text, position, ",")


def _space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _after(text: str, position: int, mark: str) -> int:
    position = _space(text, position)
    if not text.startswith(mark, position):
        raise ValueError(f"no {mark!r} where one has to stand")
    return _space(text, position + 1)
