"""The signature and the counts of a scored run."""

from __future__ import annotations

from pipeline.lineage.signature import Signature
from pipeline.scoring.scores import Scores


def signature_of(scores: Scores) -> Signature:
    """The signature that stands beside every leaderboard of these scores."""
    run = scores.run
    return Signature(
        run_id=run.run_id,
        dataset_fingerprint=run.dataset_fingerprint,
        prompt_set_sha256=run.prompt_set_sha256,
        judge_backend=run.judge_backend,
        judge_model=run.judge_model,
        reasoning_effort=run.reasoning_effort,
        repeats=run.repeats,
        parser_mode=run.parser_mode,
        scheme=scores.scheme,
        ok_cells=scores.status.total("ok"),
        expected_cells=scores.status.total(),
    )


def counts_of(scores: Scores) -> dict[str, int]:
    """Cells by status, answers, and answers by how they could be read."""
    status, reading = scores.status, scores.reading
    return {
        "participants": len(scores.participants),
        "languages": len(scores.languages),
        "cells_expected": status.total(),
        "cells_ok": status.total("ok"),
        "cells_judge_failed": status.total("judge_failed"),
        "cells_translation_failed": status.total("translation_failed"),
        "cells_translation_missing": status.total("translation_missing"),
        "common_cells": status.common_cells,
        "cells_sharing_a_request": status.cells_sharing_a_request,
        "answers": reading.answers,
        "answers_valid": reading.valid,
        "answers_repaired": reading.repaired,
    }
