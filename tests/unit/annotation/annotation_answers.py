"""Builders of answers for the tests of this folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
SPEC = Path(os.environ.get("CTXEVAL_SPEC") or REPOSITORY / "../shared/spec/strict-cases.jsonl")
PUBLISHED = Path(os.environ.get("CTXEVAL_PUBLISHED") or REPOSITORY / "../shared/published")


def answer(
    critical: str = "no-error",
    major: str = "no-error",
    minor: str = "no-error",
    label: str = "contextBehavior: unclear",
) -> str:
    """A text-form answer; an argument is what stands under the heading, or the last line."""
    return f"Critical:\n{critical}\nMajor:\n{major}\nMinor:\n{minor}\n{label}"


def json_error(**fields: Any) -> dict[str, Any]:
    """A good error object of the JSON form, with fields replaced; ``...`` as a value takes one away."""
    error = {
        "severity": "major",
        "class": "accuracy/omission",
        "target_span_text": "coat",
        "source_span_text": None,
        **fields,
    }
    return {key: value for key, value in error.items() if value is not ...}


def json_answer(*errors: Any, **fields: Any) -> str:
    """A JSON-form answer, with top-level fields replaced, or taken away by ``...``."""
    value = {
        "has_no_error": not errors,
        "errors": list(errors),
        "contextBehavior": "unclear",
        **fields,
    }
    return json.dumps({key: inner for key, inner in value.items() if inner is not ...}, ensure_ascii=False)


def json_lines(path: Path) -> list[dict[str, Any]]:
    """All objects of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
