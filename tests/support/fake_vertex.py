"""Vertex AI's ``generateContent`` on 127.0.0.1: answers by a script and counts what it was asked.

Used like ``fake_openai``, from tests and from a command line:

    python tests/support/fake_vertex.py --port 8092 [--fault 429]
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import rfc8785
from fake_openai import FakeOpenAI, Reply, as_json


def generation(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A well-formed response whose words depend on the body only: JSON if a schema asks for it."""
    digest = hashlib.sha256(rfc8785.dumps(body)).hexdigest()
    if "responseSchema" in body.get("generationConfig", {}):
        error = {
            "severity": "major",
            "class": "accuracy/omission",
            "target_span_text": None,
            "source_span_text": digest[:8],
            "explanation": "said by a fake",
        }
        said = json.dumps({"has_no_error": False, "errors": [error], "contextBehavior": "used_correctly"})
    else:
        said = (
            f'Critical:\nno-error\nMajor:\naccuracy/omission - "{digest[:8]} 한국어"\nMinor:\nno-error\n'
            "contextBehavior: used_correctly"
        )
    return {
        "candidates": [candidate({"text": "thinking about it", "thought": True}, {"text": said})],
        "usageMetadata": {
            "promptTokenCount": 100,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 7,
            "totalTokenCount": 127,
        },
        "modelVersion": "fake-model-001",
        "responseId": f"resp-{digest[:12]}",
        **changes,
    }


def candidate(*parts: dict[str, Any], finish: str | None = "STOP") -> dict[str, Any]:
    """One candidate of a response."""
    return {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}


def answer(body: dict[str, Any], nth: int) -> Reply:
    """The default script."""
    return as_json(generation(body))


class FakeVertex(FakeOpenAI):
    """The running service; leave it as a context manager."""

    def __init__(self, script: Any = answer, port: int = 0) -> None:
        super().__init__(script, port)


if __name__ == "__main__":
    from faults import serve

    serve(FakeVertex, answer)
