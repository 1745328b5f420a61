"""What the run's judge attempts cost, in whole nano-dollars."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

_COSTS = """
SELECT
    coalesce(served_model, 'unknown') AS model,
    count(*) AS attempts,
    count(*) FILTER (cost_nano_usd IS NULL) AS unknown_cost,
    count(*) FILTER (round_number > 1) AS reasked,
    coalesce(sum(cost_nano_usd) FILTER (round_number > 1), 0)::BIGINT AS reasked_nano_usd,
    coalesce(sum(cost_nano_usd), 0)::BIGINT AS nano_usd,
    coalesce(sum(prompt_tokens), 0)::BIGINT AS prompt_tokens,
    coalesce(sum(completion_tokens), 0)::BIGINT AS completion_tokens,
    coalesce(sum(reasoning_tokens), 0)::BIGINT AS reasoning_tokens
FROM attempts
GROUP BY ALL
ORDER BY ALL
"""


@dataclass(frozen=True)
class ModelCost:
    """Attempts, tokens and cost of one served judge model; ``reasked`` are those after a refused answer."""

    model: str
    attempts: int
    unknown_cost: int
    reasked: int
    reasked_nano_usd: int
    nano_usd: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int


def judge_costs(connection: duckdb.DuckDBPyConnection) -> tuple[ModelCost, ...]:
    """Costs by served model, from the projection's attempts; empty where none were recorded."""
    return tuple(ModelCost(*row) for row in connection.execute(_COSTS).fetchall())
