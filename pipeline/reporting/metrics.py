"""``metrics.json``: four values a participant, for ``dvc metrics show`` and ``dvc exp show``."""

from __future__ import annotations

from typing import Any

from pipeline.scoring.scores import Scores


def metrics_document(scores: Scores) -> dict[str, Any]:
    """Mean penalty, common-cell mean, coverage and missed-context rate by participant id.

    Means are in penalty points, coverage and rate are shares from 0 to 1; ``None`` where there is no
    ok cell to take them over.
    """
    common = {row.participant_index: row.mean_penalty for row in scores.means(common=True)}
    return {
        scores.participants[row.participant_index].participant_id: {
            "mean_penalty": row.mean_penalty,
            "mean_penalty_common_cell": common[row.participant_index],
            "coverage": row.samples / row.expected if row.expected else None,
            "missed_required_context_rate": scores.behavior_rate(
                row.participant_index, "use", "missed_required_context"
            ),
        }
        for row in scores.means()
    }
