"""Answers and requests for the tests of judges."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pipeline.answers import Answer, Attempt, Usage
from pipeline.profiles import GeminiCliProfile, JudgeProfile, OpenAICompatibleProfile, VertexProfile
from pipeline.requests import JudgeRequest


def an_attempt(**changes: Any) -> Attempt:
    values: dict[str, Any] = {
        "backend": "openai-compatible",
        "http_status": 200,
        "text": "Critical:\nno-error",
        "finish_reason": "stop",
        "served_model": "m-1",
        "system_fingerprint": None,
        "response_id": "gen-1",
        "usage": Usage(prompt_tokens=10, completion_tokens=5, reasoning_tokens=None),
        "cost_nano_usd": 1500,
        "raw": '{"한": 1}',
        "raw_encoding": "utf-8",
    }
    return Attempt(**{**values, **changes})


def an_answer(name: str = "a", repeat: int = 0, **changes: Any) -> Answer:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return Answer(request_hash=digest, repeat=repeat, selected=0, attempts=[an_attempt(**changes)])


def a_request(name: str = "a") -> JudgeRequest:
    return JudgeRequest("fake", None, {"model": "m", "messages": [{"role": "user", "content": name}]})


def a_profile(base_url: str = "http://127.0.0.1:9", request: Any = None, **transport: Any) -> JudgeProfile:
    return OpenAICompatibleProfile.model_validate(
        {
            "backend": "openai-compatible",
            "prompt_set": "data/judge-prompts/x",
            "request": {"service": "fake", "model": "m", "max_tokens": 64, **(request or {})},
            "transport": {"base_url": base_url, "timeout_seconds": 5, "max_tries": 2, **transport},
        }
    )


def a_vertex_profile(request: Any = None, **transport: Any) -> VertexProfile:
    return VertexProfile.model_validate(
        {
            "backend": "vertex",
            "prompt_set": "data/judge-prompts/x",
            "request": {"service": "vertex-ai", "model": "gemini-x", "max_tokens": 64, **(request or {})},
            "transport": {"timeout_seconds": 5, "max_tries": 2, "credentials": "token", **transport},
        }
    )


def a_cli_profile(model: str = "gemini-x", **transport: Any) -> GeminiCliProfile:
    return GeminiCliProfile.model_validate(
        {
            "backend": "gemini-cli",
            "prompt_set": "data/judge-prompts/x",
            "request": {"service": "gemini-cli", "model": model},
            "transport": {"timeout_seconds": 20, "max_tries": 2, **transport},
        }
    )


def write(path: Path, *answers: Answer) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(answer.line() for answer in answers), encoding="utf-8")
    return path
