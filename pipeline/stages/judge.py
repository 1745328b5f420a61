"""Stage ``judge``: an answer for every request of ``data/requests/requests.jsonl``."""

from __future__ import annotations

from pathlib import Path

from pipeline.config import read_params
from pipeline.errors import InputError
from pipeline.judges.ledger_file import ledger_path
from pipeline.judges.rendering import build_request
from pipeline.judges.runner import Sources, Wanted, collect
from pipeline.layout import PARAMS, RECORDED, REQUESTS, RESPONSES
from pipeline.profiles import read_profile
from pipeline.prompts import read_prompt_set
from pipeline.requests import JudgeRequest, read_request_lines


def run(root: Path) -> str:
    """Write ``data/responses/responses.jsonl`` below ``root``; returns the last line to print.

    Raises:
        AnswersMissing: not every answer could be had; nothing is written.
        PipelineError: an input, the ledger, the service or the disk does not allow it.
    """
    params = read_params(root / PARAMS)
    profile = read_profile(root, params.judge.profile)
    prompt_set = read_prompt_set(root / profile.prompt_set)
    ledger = ledger_path()
    variables: dict[str, dict[str, str]] = {}

    def render(request_hash: str) -> JudgeRequest:
        return build_request(profile, prompt_set, variables[request_hash], params.seed)

    for number, line in enumerate(read_request_lines(_requests_file(root)), start=1):
        variables[line.request_hash] = line.variables
        stale = line.prompt_set_sha256 != prompt_set.sha256
        if stale or render(line.request_hash).request_hash != line.request_hash:
            raise InputError.at(
                REQUESTS,
                "was rendered from another prompt set, judge profile or params.yaml; run `dvc repro render`",
                line=number,
            )
    tally = collect(
        Wanted(tuple(variables), params.judge.repeats, render),
        Sources(root / RECORDED, ledger, params.judge.offline, (root, ledger.parent)),
        profile,
        root / RESPONSES,
    )
    return f"judge: {tally.wanted} answers ({tally.sources()}), {tally.paid()} -> {RESPONSES}"


def _requests_file(root: Path) -> Path:
    path = root / REQUESTS
    if not path.is_file():
        raise InputError.at(REQUESTS, "missing; run `dvc repro render`")
    return path
