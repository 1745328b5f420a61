"""A run's judgments in the published form of normalised records, from its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb

from pipeline.scoring.penalties import compute_penalties
from pipeline.scoring.schemes import SCHEMES
from pipeline.vocabulary import SEVERITIES

_RECORDS = """
SELECT
    run_name, item_id, language, participant_id, model, judge_model, annotations.status, text,
    context_behavior, context_turn_count, speaker_mode, context_expectation, primary_phenomenon,
    coalesce(tenths, 0) AS tenths,
    coalesce((
        SELECT list((severity, error_class, span, source_span) ORDER BY error_index)
        FROM annotation_errors AS e WHERE e.annotation_id = judgments.annotation_id
    ), []) AS errors
FROM judgments
JOIN cells USING (cell_id)
JOIN items USING (item_index)
JOIN languages USING (language_index)
JOIN participants USING (participant_index)
JOIN annotations USING (annotation_id)
LEFT JOIN annotation_penalties USING (annotation_id)
CROSS JOIN run
WHERE annotations.status = 'ok'
ORDER BY cell_id, repeat
"""


def normalised_records(connection: duckdb.DuckDBPyConnection) -> Iterator[dict[str, Any]]:
    """Yield one record per validly read answer of the loaded run, penalties by ``context-v1``."""
    compute_penalties(connection, SCHEMES["context-v1"])
    for row in connection.execute(_RECORDS).fetchall():
        run, item, language, participant, model, judge, status, text, behavior, turns, mode, use, why = row[
            :13
        ]
        tenths, errors = row[13:]
        yield {
            "run_id": run,
            "source_id": item,
            "target_language": language,
            "participant_id": participant,
            "participant_model_id": model,
            "judge_model_id": judge,
            "status": status,
            "errors": [
                {"severity": s, "class": c, "target_span_text": t, "source_span_text": o}
                for s, c, t, o in errors
            ],
            "summary": {
                "has_no_error": not errors,
                **{f"{name}_count": sum(error[0] == name for error in errors) for name in SEVERITIES},
                "total_penalty": tenths / 10,
            },
            "raw_judge_output": text,
            "stable_key": "::".join((run, item, language, participant)),
            "context_behavior": behavior,
            "context_turn_count": turns,
            "speaker_mode": mode,
            "context_expectation": use,
            "primary_phenomenon": why,
        }
