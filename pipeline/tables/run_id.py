"""The run id: one hash over everything that a run's numbers follow from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.canonical import canonical_hash


def own_run_id(
    *,
    dataset_fingerprint: str,
    judge_identity: str,
    prompt_set_sha256: str,
    languages: Sequence[str],
    participants: Sequence[str],
    repeats: int,
    parser_mode: str,
    cells_sha256: str,
    requests_sha256: str,
    responses_sha256: str,
) -> str:
    """Run id of a project's run; the last three are the SHA-256 of the files of those names.

    The scoring scheme is no part of it: one run can be scored under each.
    """
    return canonical_hash(
        {
            "dataset": dataset_fingerprint,
            "judge": judge_identity,
            "prompt_set": prompt_set_sha256,
            "languages": list(languages),
            "participants": list(participants),
            "repeats": repeats,
            "parser_mode": parser_mode,
            "cells": cells_sha256,
            "requests": requests_sha256,
            "responses": responses_sha256,
        }
    )


def imported_run_id(dataset_fingerprint: str, files: Mapping[str, str]) -> str:
    """Run id of a run published elsewhere; ``files`` maps each of its files' names to its SHA-256."""
    return canonical_hash({"dataset": dataset_fingerprint, "files": dict(files)})
