"""Read JSON and JSON lines strictly: UTF-8, one object a line, no duplicate keys, NaN or half characters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from pipeline.errors import InputError

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_bytes(path: Path, error: type[InputError]) -> bytes:
    """The bytes of a file, or ``error`` that says the file cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise error.at(path, "no such file; check the path") from None
    except OSError as problem:
        raise error.at(path, f"cannot be read ({problem.strerror}); check the path") from problem


def decode(path: Path, data: bytes, error: type[InputError], line: int | None = None) -> str:
    """UTF-8 text of bytes, or ``error`` naming the file, the line and the cure."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        where = line if line is not None else data[: problem.start].count(b"\n") + 1
        raise error.at(path, "not UTF-8; save the file as UTF-8", line=where) from None
    if text.startswith("\ufeff"):
        raise error.at(path, "starts with a byte-order mark; save it as UTF-8 without one", line=line or 1)
    return text


def parse(path: Path, text: str, error: type[InputError], line: int | None = None) -> Any:
    """One JSON value; duplicate keys, NaN, lone surrogates and too deep nesting are errors."""
    try:
        value = json.loads(text, object_pairs_hook=_unique_pairs, parse_constant=_no_constant)
        if _SURROGATE_ESCAPE.search(text) and _holds_surrogate(value):
            raise ValueError("half of a surrogate pair (\\ud800 to \\udfff); write the whole character")
        return value
    except json.JSONDecodeError as problem:
        where = line if line is not None else problem.lineno
        raise error.at(path, f"not valid JSON: {problem.msg} (column {problem.colno})", line=where) from None
    except RecursionError:
        raise error.at(path, "nested too deeply to be data of this project", line=line) from None
    except ValueError as problem:
        raise error.at(path, f"not valid JSON: {problem}", line=line) from None


def read_json(path: Path, error: type[InputError]) -> Any:
    """The one JSON value of a file."""
    return parse(path, decode(path, read_bytes(path, error), error), error)


def read_json_lines(path: Path, error: type[InputError]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) for every line of a JSON lines file.

    Raises:
        InputError: of the given type, naming file and line.
    """
    data = read_bytes(path, error)
    lines = data.split(b"\n")
    if lines and not lines[-1].strip():
        lines.pop()
    for number, raw in enumerate(lines, start=1):
        text = decode(path, raw, error, number)
        if not text.strip():
            raise error.at(path, "empty line; remove it", line=number)
        value = parse(path, text, error, number)
        if not isinstance(value, dict):
            raise error.at(path, "not a JSON object; each line is one {...}", line=number)
        yield number, value


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {key!r} stands twice in one object")
            seen.add(key)
    return value


def has_surrogate(text: str) -> bool:
    """Whether a text holds a lone surrogate, which no UTF-8 file can hold."""
    return _SURROGATE.search(text) is not None


def _holds_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return has_surrogate(value)
    if isinstance(value, dict):
        return any(has_surrogate(key) or _holds_surrogate(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_holds_surrogate, value))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
