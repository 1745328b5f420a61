"""What the errors of ok cells are, and how the judge says context was used. Counts only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import duckdb

_BEHAVIORS = """
SELECT participant_index, context_expectation, context_behavior, count(*) AS labels
FROM judgments
JOIN cells USING (cell_id)
JOIN items USING (item_index)
JOIN annotations USING (annotation_id)
WHERE cells.status = 'ok'
GROUP BY ALL
ORDER BY ALL
"""

_ERRORS = """
SELECT language, participant_index, severity, error_class, count(*) AS errors
FROM judgments
JOIN cells USING (cell_id)
JOIN languages USING (language_index)
JOIN annotation_errors USING (annotation_id)
WHERE status = 'ok'
GROUP BY ALL
ORDER BY ALL
"""

_READING = """
SELECT
    count(*) AS answers,
    count(*) FILTER (status = 'ok') AS valid,
    count(*) FILTER (len(repairs) > 0) AS repaired,
    count(*) FILTER (contradictory_section) AS contradictory
FROM judgments
JOIN annotations USING (annotation_id)
"""

_REPAIRS = """
SELECT repair, count(*) AS answers
FROM (SELECT unnest(repairs) AS repair FROM judgments JOIN annotations USING (annotation_id))
GROUP BY repair
ORDER BY repair
"""

_SPANS = "SELECT location, count(*) AS spans FROM spans GROUP BY location ORDER BY location"


@dataclass(frozen=True)
class Breakdowns:
    """Counters over the verdicts of ok cells (each repeat counts)."""

    behaviors: Counter[tuple[int, str, str]]  # participant_index, context_expectation, label
    errors: Counter[tuple[str, int, str, str]]  # language, participant_index, severity, class


@dataclass(frozen=True)
class ReadingQuality:
    """How the answers of all judged cells could be read, and where their spans stand."""

    answers: int
    valid: int
    repaired: int
    contradictory: int
    repairs: dict[str, int]
    spans: dict[str, int]


def count_breakdowns(connection: duckdb.DuckDBPyConnection) -> Breakdowns:
    """Count labels and errors of ok cells."""
    behaviors: Counter[tuple[int, str, str]] = Counter()
    for index, expectation, behavior, labels in connection.execute(_BEHAVIORS).fetchall():
        behaviors[index, expectation, behavior] = labels
    errors: Counter[tuple[str, int, str, str]] = Counter()
    for language, index, severity, name, count in connection.execute(_ERRORS).fetchall():
        errors[language, index, severity, name] = count
    return Breakdowns(behaviors, errors)


def count_reading(connection: duckdb.DuckDBPyConnection) -> ReadingQuality:
    """Count how answers were read and located."""
    row = connection.execute(_READING).fetchone() or (0, 0, 0, 0)
    answers, valid, repaired, contradictory = row
    return ReadingQuality(
        answers,
        valid,
        repaired,
        contradictory,
        repairs=dict(connection.execute(_REPAIRS).fetchall()),
        spans=dict(connection.execute(_SPANS).fetchall()),
    )
