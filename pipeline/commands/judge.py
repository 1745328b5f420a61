"""``python -m pipeline judge``: the judge stage, and what it would cost."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be asked, and its estimated cost.")
@click.option("-v", "--verbose", is_flag=True, help="Print every call and what came of it.")
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    help="File of events, one JSON line each; by default in logs/ beside the ledger.",
)
@click.option("--detach", is_flag=True, help="Submit batch jobs and leave; the next run collects them.")
def judge(dry_run: bool, verbose: bool, log: Path | None, detach: bool) -> None:
    """Write data/responses: an answer for every request, or exit 3."""
    from pipeline.stages import judge as stage

    if dry_run:
        click.echo(stage.dry_run(Path()))
        return
    people = sys.stderr if verbose else None
    click.echo(stage.run(Path(), stage.Options(people, log, detach)))
