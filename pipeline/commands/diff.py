"""``python -m pipeline diff``: what differs between two runs, and because of what."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("a")
@click.argument("b")
@click.option(
    "--limit", type=click.IntRange(min=0), default=10, show_default=True, help="List so many changed cells."
)
@click.option("--all", "everything", is_flag=True, help="List every changed cell.")
@click.option("--json", "as_json", is_flag=True, help="Print data instead of a page.")
def diff(a: str, b: str, limit: int, everything: bool, as_json: bool) -> None:
    """Compare two runs: inputs, cells, leaderboard, and which cause moved what.

    A and B are folders (`.` is the working tree; outputs of `published build`), git revisions or DVC
    experiments. A path that exists is a folder. Differences are no failure: exit 0.
    """
    from pipeline.canonical import json_document
    from pipeline.lineage.diff.document import diff_document
    from pipeline.lineage.diff.page import diff_text
    from pipeline.lineage.revisions import named_run

    with named_run(Path(), a) as before, named_run(Path(), b) as after:
        document = diff_document(before, after, None if everything else limit)
    click.echo(json_document(document) if as_json else diff_text(document), nl=False)
