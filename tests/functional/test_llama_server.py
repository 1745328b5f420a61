"""The OpenAI-compatible backend against a real llama.cpp server with a real model.

Runs only where the variable CTXEVAL_LLAMA_URL holds the server's address, such as
http://127.0.0.1:8080; CTXEVAL_LLAMA_MODEL is the alias it was started with. See docs/try-without-a-key.md.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from judge_project import PROMPT_SET, Project, make_project

from pipeline.annotation.reader import read_answer
from pipeline.answers import read_answers

URL = os.environ.get("CTXEVAL_LLAMA_URL", "")
MODEL = os.environ.get("CTXEVAL_LLAMA_MODEL", "qwen2.5-coder-1.5b-instruct-q4_k_m")

pytestmark = [
    pytest.mark.llama,
    pytest.mark.skipif(not URL, reason="no llama.cpp server; set CTXEVAL_LLAMA_URL to its address"),
]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Three requests to it."""
    return make_project(tmp_path, "", 3, profile(URL))


def profile(base_url: str, model: str = MODEL) -> dict[str, object]:
    return {
        "backend": "openai-compatible",
        "prompt_set": PROMPT_SET,
        "request": {"service": "llama.cpp", "model": model, "temperature": 0, "max_tokens": 200},
        "transport": {"base_url": base_url, "concurrency": 1, "timeout_seconds": 300},
    }


def test_every_request_is_answered_by_the_model_once(project: Project) -> None:
    done = project.run_for(900)
    assert done.returncode == 0, done.stderr
    answers = [answer for _, answer in read_answers(project.responses)]
    assert len(answers) == 3
    for answer in answers:
        attempt = answer.attempt
        assert attempt.http_status == 200
        assert attempt.served_model == MODEL
        assert attempt.usage is not None
        assert attempt.usage.prompt_tokens
        assert attempt.text
        json.loads(attempt.raw)
        read_answer(attempt.text, form="text", mode="lenient")  # of any status: the model is weak
    project.responses.unlink()
    again = project.run_for(900)
    assert "0 asked now" in again.stdout


def test_a_server_that_is_not_there_is_one_line(project: Project) -> None:
    project.write_whole_profile(profile("http://127.0.0.1:9"))
    done = project.run_for(900)
    assert done.returncode == 3
    assert "cannot connect to http://127.0.0.1:9; is the service running" in done.stderr
