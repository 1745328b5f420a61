"""From a cell's template variables to the judge request, the same way wherever it is needed."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.judges.registry import backend_class
from pipeline.profiles import JudgeProfile
from pipeline.prompts import PromptSet
from pipeline.requests import JudgeRequest


def build_request(
    profile: JudgeProfile, prompt_set: PromptSet, variables: Mapping[str, str], seed: int
) -> JudgeRequest:
    """The request that asks the profile's judge about one cell.

    ``seed`` enters the body only if the profile says ``send_seed``.

    Raises:
        PromptError: a template variable is missing or unknown.
    """
    body = backend_class(profile.backend).body(profile, prompt_set.messages(variables), seed)
    return JudgeRequest(profile.request.service, profile.request.model_file_sha256, body)
