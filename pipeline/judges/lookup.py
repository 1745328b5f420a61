"""Find one request of the run and render it again."""

from __future__ import annotations

from pathlib import Path

from pipeline.config import read_params
from pipeline.errors import InputError
from pipeline.judges.rendering import build_request
from pipeline.layout import PARAMS, REQUESTS
from pipeline.profiles import read_profile
from pipeline.prompts import read_prompt_set
from pipeline.requests import JudgeRequest, read_request_lines


def find_request(root: Path, prefix: str) -> JudgeRequest:
    """The one request whose hash begins with ``prefix``, rendered from today's prompts and profile.

    Raises:
        InputError: none or several begin so, or what is rendered now has another hash.
    """
    found = [line for line in read_request_lines(root / REQUESTS) if line.request_hash.startswith(prefix)]
    if len(found) != 1:
        raise InputError(
            f"{len(found)} requests of {REQUESTS} begin with {prefix!r}; "
            "give more of a hash that `python -m pipeline requests list` prints"
        )
    params = read_params(root / PARAMS)
    profile = read_profile(root, params.judge.profile)
    request = build_request(
        profile, read_prompt_set(root / profile.prompt_set), found[0].variables, params.seed
    )
    if request.request_hash != found[0].request_hash:
        raise InputError(f"{REQUESTS} is older than prompts, profile or params; run `dvc repro render`")
    return request
