"""Stage ``report``: tables into the leaderboard for people."""

from __future__ import annotations

from pathlib import Path

from pipeline.canonical import write_text
from pipeline.config import read_params
from pipeline.layout import LEADERBOARD, PARAMS, TABLES
from pipeline.reporting.markdown import leaderboard_markdown
from pipeline.scoring.schemes import scheme_named
from pipeline.scoring.scores import score_run
from pipeline.tables.database import connect, load_tables


def run(root: Path) -> str:
    """Write ``reports/leaderboard.md`` below ``root``; returns the line to print.

    Raises:
        TablesError: the tables are missing or damaged.
    """
    params = read_params(root / PARAMS)
    with connect() as connection:
        load_tables(connection, root / TABLES, views=False)
        scores = score_run(connection, scheme_named(params.scoring.scheme))
    write_text(root / LEADERBOARD, leaderboard_markdown(scores))
    return f"report: {len(scores.participants)} participants -> {LEADERBOARD}"
