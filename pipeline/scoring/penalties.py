"""Cell penalties under a scheme, and their sums in the finest slices."""

from __future__ import annotations

from importlib import resources

import duckdb
import polars as pl

from pipeline.scoring.schemes import Scheme

SLICE_COLUMNS = (
    "language",
    "context_expectation",
    "context_turn_count",
    "speaker_mode",
    "primary_phenomenon",
)
_UNLIMITED = 2**62

_SLICE_SUMS = """
SELECT
    language, context_expectation, context_turn_count, speaker_mode, primary_phenomenon,
    participant_index, expected, samples, failed_samples, tenths, common_samples, common_tenths
FROM slice_sums
JOIN languages USING (language_index)
ORDER BY ALL
"""


def compute_penalties(connection: duckdb.DuckDBPyConnection, scheme: Scheme) -> pl.DataFrame:
    """Create the temporary tables of ``penalties.sql`` and return the slice sums.

    Returns:
        One row per (slice, participant_index) with integer columns: ``expected``, ``samples`` (ok
        cells), ``failed_samples`` (judge failures), ``tenths`` (penalty sum over ok cells and
        repeats, in tenths), ``common_samples``, ``common_tenths`` (the same over common cells).
    """
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE scheme_weights "
        "(severity VARCHAR, error_class VARCHAR, tenths INTEGER, PRIMARY KEY (severity, error_class))"
    )
    connection.executemany(
        "INSERT INTO scheme_weights VALUES (?, ?, ?)",
        [(severity, name, tenths) for (severity, name), tenths in scheme.weights.items()],
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE scheme_limits AS "
        "SELECT ?::BIGINT AS max_errors, ?::BIGINT AS cap_tenths",
        [_UNLIMITED if limit is None else limit for limit in (scheme.max_errors, scheme.cap_tenths)],
    )
    connection.execute((resources.files("pipeline.scoring") / "penalties.sql").read_text(encoding="utf-8"))
    rows = connection.execute(_SLICE_SUMS).fetchall()
    return pl.DataFrame(
        rows,
        schema={
            "language": pl.String,
            "context_expectation": pl.String,
            "context_turn_count": pl.Int64,
            "speaker_mode": pl.String,
            "primary_phenomenon": pl.String,
            "participant_index": pl.Int64,
            "expected": pl.Int64,
            "samples": pl.Int64,
            "failed_samples": pl.Int64,
            "tenths": pl.Int64,
            "common_samples": pl.Int64,
            "common_tenths": pl.Int64,
        },
        orient="row",
    )
