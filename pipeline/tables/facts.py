"""What is known of a run as a whole: the one row of table ``run``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RunFacts:
    """The one row of table ``run``; ``None`` where an imported run recorded nothing."""

    run_id: str
    run_name: str
    dataset_fingerprint: str
    dataset_sha256: str
    prompt_set_id: str
    prompt_set_sha256: str | None
    judge_profile: str | None
    judge_description: str
    judge_backend: str
    judge_model: str
    reasoning_effort: str
    repeats: int
    parser_mode: Literal["strict", "lenient"]
    annotation_form: Literal["text", "json"]
