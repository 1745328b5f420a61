"""Every judge profile that ships is valid, says what it needs, and renders a request."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.judges.rendering import build_request
from pipeline.profiles import VertexRequest, read_profile
from pipeline.prompts import read_prompt_set

ROOT = Path(__file__).parents[2]
PROFILES = sorted(path.stem for path in (ROOT / "experiments/judges").glob("*.yaml"))
VARIABLES = {
    "source_language": "Korean",
    "target_language": "English",
    "context": "[1] other: 뭐 해?",
    "source": "밥 먹어.",
    "translation": "I am eating.",
}


def test_the_ready_profiles_are_there() -> None:
    assert {
        "gemini-3.7-flash-batch",
        "gemini-3.7-flash-batch-high",
        "gemini-3.1-pro-vertex",
        "gemini-cli",
        "openrouter-live",
        "local-server",
    } <= set(PROFILES)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_renders_a_request(name: str) -> None:
    profile = read_profile(ROOT, name)
    prompt_set = read_prompt_set(ROOT / profile.prompt_set)
    request = build_request(profile, prompt_set, VARIABLES, 0)
    assert b"I am eating." in request.body_bytes
    assert request.body.get("model", profile.request.model) == profile.request.model
    if isinstance(profile.request, VertexRequest):
        assert profile.request.response_schema == (prompt_set.manifest.form == "json")
    other = profile.model_copy(
        update={"request": profile.request.model_copy(update={"model": "another-model"})}
    )
    assert build_request(other, prompt_set, VARIABLES, 0).request_hash != request.request_hash


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_says_which_variables_it_needs(name: str) -> None:
    text = (ROOT / f"experiments/judges/{name}.yaml").read_text(encoding="utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    named = set(re.findall(r"^ +(?:api_key_env|project_env): ([A-Z_]+)$", text, re.MULTILINE))
    assert {name for name in named if name not in head} == set()
    assert named or "no environment variable" in head or "no key" in head
