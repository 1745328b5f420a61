"""What the readers of JSON responses share: parse, take fields of a known type, quote an error."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from pipeline.answers import LARGEST_INTEGER
from pipeline.errors import one_line

_SHOWN = 200


def parse_object(raw: bytes) -> dict[str, Any] | None:
    """The JSON object that a response is, with exact decimals; None if it is none."""
    try:
        document = json.loads(raw.decode("utf-8-sig"), parse_float=Decimal)
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested without end
        return None
    return document if isinstance(document, dict) else None


def count(value: Any) -> int | None:
    """A token count, None if it is none."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_INTEGER:
        return value
    return None


def error_text(error: Any) -> str:
    """The service's own words, short and on one line."""
    words = error
    if isinstance(error, dict):
        words = error.get("message") or error.get("detail") or error.get("code") or "no reason given"
    shown = one_line(str(words))
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def text_or_none(value: Any) -> str | None:
    """A text that can be stored, None if it is none."""
    return writable(value) if isinstance(value, str) else None


def writable(text: str) -> str:
    r"""JSON may hold ``\ud800`` alone, which UTF-8 cannot; ``raw`` keeps what was sent."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if not text.isascii() else text
