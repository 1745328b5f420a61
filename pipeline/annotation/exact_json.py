"""JSON as RFC 8259 has it, from untrusted text: every fault is a ``ValueError``."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def loads_exact(text: str) -> Any:
    """The value of a JSON text. All numbers are floats: none is wanted, and a huge one must not fail.

    Raises:
        ValueError: no JSON, a key twice in one object, ``NaN`` or ``Infinity``, or nesting too deep to read.
            It is a ``json.JSONDecodeError``, with a line number, where the syntax is at fault.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_int=float)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, inner in pairs:
        if key in value:
            raise ValueError(f"key {key[:60]!r} stands twice in one object")
        value[key] = inner
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
