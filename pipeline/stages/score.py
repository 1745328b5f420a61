"""Stage ``score``: tables into score reports and metrics."""

from __future__ import annotations

from pathlib import Path

from pipeline.canonical import write_json
from pipeline.config import read_params
from pipeline.layout import METRICS, PARAMS, SCORES, TABLES
from pipeline.reporting.metrics import metrics_document
from pipeline.reporting.reports import score_reports
from pipeline.reporting.table import write_reports
from pipeline.scoring.schemes import scheme_named
from pipeline.scoring.scores import score_run
from pipeline.tables.database import connect, load_tables
from pipeline.tables.folders import whole_folder


def run(root: Path) -> str:
    """Write ``reports/scores`` and ``reports/metrics.json`` below ``root``; returns the line to print.

    Raises:
        ConfigError: the scoring scheme does not exist.
        TablesError: the tables are missing or damaged.
        StorageError: the disk is full or the folder cannot be replaced; it is as it was.
    """
    params = read_params(root / PARAMS)
    scheme = scheme_named(params.scoring.scheme)
    with connect() as connection:
        load_tables(connection, root / TABLES, views=False)
        scores = score_run(connection, scheme)
    reports = score_reports(scores)
    with whole_folder(root / SCORES) as staging:
        write_reports(staging, reports)
        write_json(root / METRICS, metrics_document(scores))
    valid = "valid" if scores.status.benchmark_valid else "not valid: see run-status.json"
    return f"score: {len(reports)} reports under {params.scoring.scheme}; the run is {valid} -> {SCORES}"
