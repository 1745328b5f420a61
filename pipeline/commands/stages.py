"""``python -m pipeline render|parse|score|report|seal``: run one stage in the current folder."""

from __future__ import annotations

import importlib
from pathlib import Path

import click


def _stage(name: str, help_text: str) -> click.Command:
    def run_stage() -> None:
        module = importlib.import_module(f"pipeline.stages.{name}")
        click.echo(module.run(Path()))

    return click.Command(name, callback=run_stage, help=help_text)


render = _stage("render", "Write data/requests: every expected cell and the distinct judge requests.")
parse = _stage("parse", "Write data/tables from cells and answers.")
score = _stage("score", "Write reports/scores and reports/metrics.json from the tables.")
report = _stage("report", "Write reports/leaderboard.md.")
seal = _stage("seal", "Write reports/manifest.json over every input and output.")
