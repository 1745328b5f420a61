"""A claim's functions over a run's tables: integers added set-wise, divided once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import duckdb
import polars as pl

from pipeline.published.claims.expressions import (
    SLICE_FIELDS,
    CellCount,
    CommonCellCount,
    DistinctCount,
    ErrorCount,
    JudgeCost,
    LabelCount,
    LabelRate,
    Leaf,
    MeanPenalty,
    PairedCount,
    PenaltySum,
    Reported,
    Slice,
    Unreported,
)
from pipeline.published.claims.facts import Absent, Value
from pipeline.scoring.penalties import compute_penalties
from pipeline.scoring.schemes import Scheme

# Only ok cells have tenths: their penalty in tenths, summed over the repeats.
_CELLS = """
SELECT
    cell_id, participant_id AS participant, language, context_expectation AS expectation,
    context_turn_count AS turns, speaker_mode, primary_phenomenon AS phenomenon,
    item_id AS item, status, tenths, common_cells.item_index IS NOT NULL AS common
FROM cells
JOIN items USING (item_index)
JOIN languages USING (language_index)
JOIN participants USING (participant_index)
LEFT JOIN cell_penalties USING (cell_id)
LEFT JOIN common_cells
    ON common_cells.item_index = cells.item_index AND common_cells.language_index = cells.language_index
ORDER BY cell_id
"""
_LABELS = """
SELECT cell_id, context_behavior AS label
FROM judgments
JOIN cells USING (cell_id)
JOIN annotations USING (annotation_id)
WHERE cells.status = 'ok'
ORDER BY cell_id, repeat
"""
_ERRORS = """
SELECT cell_id, severity, error_class
FROM judgments
JOIN cells USING (cell_id)
JOIN annotation_errors USING (annotation_id)
WHERE cells.status = 'ok'
ORDER BY cell_id, repeat, error_index
"""
_NAMES = {
    "participant": "SELECT participant_id FROM participants ORDER BY participant_index",
    "language": "SELECT language FROM languages ORDER BY language_index",
    "expectation": "SELECT DISTINCT context_expectation FROM items ORDER BY ALL DESC",
    "turns": "SELECT DISTINCT context_turn_count FROM items ORDER BY ALL",
    "speaker_mode": "SELECT DISTINCT speaker_mode FROM items ORDER BY ALL DESC",
    "phenomenon": "SELECT primary_phenomenon FROM items GROUP BY ALL ORDER BY min(item_index)",
}
_COST = "SELECT sum(cost_nano_usd)::BIGINT, count(*) FILTER (cost_nano_usd IS NULL), count(*) FROM attempts"
_CELL_SCHEMA = {
    "cell_id": pl.Int64,
    "participant": pl.String,
    "language": pl.String,
    "expectation": pl.String,
    "turns": pl.Int64,
    "speaker_mode": pl.String,
    "phenomenon": pl.String,
    "item": pl.String,
    "status": pl.String,
    "tenths": pl.Int64,
    "common": pl.Boolean,
}
_STATUSES = {
    "expected": ("ok", "judge_failed", "translation_failed", "translation_missing"),
    "judged": ("ok", "judge_failed"),
}
_COLUMNS = {"items": "item", "languages": "language", "participants": "participant"}


@dataclass(frozen=True)
class TableFacts:
    """A run's cells, verdicts and errors. ``cells`` has a row per expected cell, ``tenths`` where ok;
    ``labels`` and ``errors`` have a row per verdict and per error of ok cells, with the cell's columns."""

    cells: pl.DataFrame
    labels: pl.DataFrame
    errors: pl.DataFrame
    repeats: int
    names_by_field: dict[str, tuple[str | int, ...]]
    cost: Value

    def names(self, field: str) -> tuple[str | int, ...]:
        """All values of a slice field, in the run's order."""
        return self.names_by_field[field]

    def leaf(self, leaf: Leaf) -> Value:
        """The exact value of one function, or what is missing for it."""
        return _FUNCTIONS[type(leaf)](self, leaf)


def load_table_facts(connection: duckdb.DuckDBPyConnection, scheme: Scheme) -> TableFacts:
    """Read the facts of the run whose tables are loaded in ``connection``."""
    compute_penalties(connection, scheme)
    cells = pl.DataFrame(connection.execute(_CELLS).fetchall(), schema=_CELL_SCHEMA, orient="row")
    repeats = connection.execute("SELECT repeats FROM run").fetchone()
    if repeats is None:
        raise ValueError("table run is empty")
    return TableFacts(
        cells,
        _with_cells(connection, _LABELS, ("label",), cells),
        _with_cells(connection, _ERRORS, ("severity", "error_class"), cells),
        repeats[0],
        {
            field: tuple(row[0] for row in connection.execute(query).fetchall())
            for field, query in _NAMES.items()
        },
        _cost(connection),
    )


def _with_cells(
    connection: duckdb.DuckDBPyConnection, query: str, columns: tuple[str, ...], cells: pl.DataFrame
) -> pl.DataFrame:
    schema = {"cell_id": pl.Int64} | dict.fromkeys(columns, pl.String)
    rows = pl.DataFrame(connection.execute(query).fetchall(), schema=schema, orient="row")
    return rows.join(cells, on="cell_id", how="left", maintain_order="left")


def _cost(connection: duckdb.DuckDBPyConnection) -> Value:
    nano, unknown, attempts = connection.execute(_COST).fetchone() or (None, 0, 0)
    if not attempts:
        return Absent("costs, which the raw answers do not hold")
    return Absent(f"the costs of {unknown} attempts") if unknown else Fraction(nano, 10**9)


def _sliced(frame: pl.DataFrame, leaf: Slice) -> pl.DataFrame:
    given = {name: value for name in SLICE_FIELDS if (value := getattr(leaf, name)) is not None}
    return frame.filter(*(pl.col(name) == value for name, value in given.items())) if given else frame


def _with_status(facts: TableFacts, leaf: CellCount | DistinctCount) -> pl.DataFrame:
    statuses = _STATUSES.get(leaf.status, (leaf.status,))
    return _sliced(facts.cells, leaf).filter(pl.col("status").is_in(statuses))


def _penalties(facts: TableFacts, leaf: MeanPenalty | PenaltySum) -> tuple[Fraction, int]:
    """Sum in points and the number of ok cells it is over."""
    cells = _sliced(facts.cells, leaf).filter(pl.col("tenths").is_not_null())
    if leaf.cells == "common":
        cells = cells.filter(pl.col("common"))
    return Fraction(int(cells["tenths"].sum()), 10 * facts.repeats), cells.height


def _mean_penalty(facts: TableFacts, leaf: MeanPenalty) -> Value:
    total, cells = _penalties(facts, leaf)
    return total / cells if cells else Absent("an ok cell")


def _common_cells(facts: TableFacts, leaf: CommonCellCount) -> Value:
    common = _sliced(facts.cells, leaf).filter(pl.col("common"))
    return Fraction(common.select("item", "language").unique().height)


def _label_count(facts: TableFacts, leaf: LabelCount | LabelRate) -> tuple[int, int]:
    """Verdicts with the label, and all verdicts."""
    labels = _sliced(facts.labels, leaf)
    return labels.filter(pl.col("label") == leaf.label).height, labels.height


def _label_rate(facts: TableFacts, leaf: LabelRate) -> Value:
    count, total = _label_count(facts, leaf)
    return Fraction(count, total) if total else Absent("an ok cell")


def _error_count(facts: TableFacts, leaf: ErrorCount) -> Value:
    errors = _sliced(facts.errors, leaf)
    for column in ("severity", "error_class"):
        if (value := getattr(leaf, column)) is not None:
            errors = errors.filter(pl.col(column) == value)
    return Fraction(errors.height)


def _paired_count(facts: TableFacts, leaf: PairedCount) -> Value:
    ok = _sliced(facts.cells, leaf).filter(pl.col("tenths").is_not_null())
    a, b = (
        ok.filter(pl.col("participant") == name).select("item", "language", "tenths")
        for name in (leaf.a, leaf.b)
    )
    pairs = a.join(b, on=("item", "language"), suffix="_b")
    outcomes = {
        "pairs": pl.lit(True),
        "a_lower": pl.col("tenths") < pl.col("tenths_b"),
        "b_lower": pl.col("tenths") > pl.col("tenths_b"),
        "equal": pl.col("tenths") == pl.col("tenths_b"),
    }
    return Fraction(pairs.filter(outcomes[leaf.outcome]).height)


# The closed set, by the type that carries a function's arguments.
_FUNCTIONS: dict[type, Callable[[TableFacts, Any], Value]] = {
    MeanPenalty: _mean_penalty,
    PenaltySum: lambda facts, leaf: _penalties(facts, leaf)[0],
    CellCount: lambda facts, leaf: Fraction(_with_status(facts, leaf).height),
    DistinctCount: lambda facts, leaf: Fraction(_with_status(facts, leaf)[_COLUMNS[leaf.of]].n_unique()),
    CommonCellCount: _common_cells,
    LabelCount: lambda facts, leaf: Fraction(_label_count(facts, leaf)[0]),
    LabelRate: _label_rate,
    ErrorCount: _error_count,
    PairedCount: _paired_count,
    JudgeCost: lambda facts, leaf: facts.cost,
    Reported: lambda facts, leaf: Absent(leaf.needs),
    Unreported: lambda facts, leaf: Absent(leaf.needs),
}
