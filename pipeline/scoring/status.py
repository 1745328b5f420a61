"""Is the run complete? What is missing, and where."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

_STATUS_COUNTS = """
SELECT participant_index, language, status, judge_failure, count(*) AS cells
FROM cells
JOIN languages USING (language_index)
GROUP BY participant_index, language_index, language, status, judge_failure
ORDER BY participant_index, language_index, status, judge_failure
"""

_NOT_OK = """
SELECT item_id, language, participant_index, status, judge_failure, translation_failure
FROM cells
JOIN items USING (item_index)
JOIN languages USING (language_index)
WHERE status <> 'ok'
ORDER BY language_index, participant_index, item_index
"""

_SHARED = """
SELECT count(*) AS cells, count(DISTINCT request_hash) AS requests
FROM cells
WHERE request_hash IN (
    SELECT request_hash FROM cells WHERE request_hash IS NOT NULL GROUP BY request_hash HAVING count(*) > 1)
"""

# A cell's rounds are those of the repeat that took most.
_ROUNDS = """
WITH answers AS (
    SELECT request_hash, max(round_number) AS rounds FROM attempts GROUP BY request_hash
)
SELECT rounds, count(*) AS cells
FROM cells JOIN answers USING (request_hash)
GROUP BY rounds
ORDER BY rounds
"""


@dataclass(frozen=True)
class StatusCount:
    """How many cells of a participant and language have a status (and a judge failure type)."""

    participant_index: int
    language: str
    status: str
    judge_failure: str | None
    cells: int


@dataclass(frozen=True)
class NotOkCell:
    """A cell without a valid verdict."""

    item_id: str
    language: str
    participant_index: int
    status: str
    judge_failure: str | None
    translation_failure: str | None


@dataclass(frozen=True)
class RunStatus:
    """Coverage of a run. ``benchmark_valid`` only if every expected cell is ok.

    ``rounds`` holds (rounds, cells that took so many): how often their request was asked until an answer
    settled it. Empty where attempts were not recorded.
    """

    counts: tuple[StatusCount, ...]
    not_ok: tuple[NotOkCell, ...]
    common_cells: int
    historical_translation_failures: int
    cells_sharing_a_request: int
    requests_shared: int
    rounds: tuple[tuple[int, int], ...]

    def total(self, *statuses: str) -> int:
        """Cells with one of the given statuses; all expected cells if none is given."""
        return sum(count.cells for count in self.counts if not statuses or count.status in statuses)

    @property
    def benchmark_valid(self) -> bool:
        """Whether every expected cell is ok."""
        return self.total() == self.total("ok")


def run_status(connection: duckdb.DuckDBPyConnection) -> RunStatus:
    """Read the run's coverage; needs the temporary tables of ``compute_penalties``."""
    shared = connection.execute(_SHARED).fetchone() or (0, 0)
    return RunStatus(
        counts=tuple(StatusCount(*row) for row in connection.execute(_STATUS_COUNTS).fetchall()),
        not_ok=tuple(NotOkCell(*row) for row in connection.execute(_NOT_OK).fetchall()),
        common_cells=_count(connection, "SELECT count(*) FROM common_cells"),
        historical_translation_failures=_count(connection, "SELECT count(*) FROM translation_failures"),
        cells_sharing_a_request=shared[0],
        requests_shared=shared[1],
        rounds=tuple((rounds, cells) for rounds, cells in connection.execute(_ROUNDS).fetchall()),
    )


def _count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0
