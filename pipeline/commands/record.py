"""``python -m pipeline record``."""

from __future__ import annotations

import click


@click.command()
def record() -> None:
    """Keep this run's answers in data/recorded/, for git and for every other machine.

    Merges data/responses/responses.jsonl into data/recorded/<judge profile>.jsonl. Recorded answers are
    final: they are used before all others and never replaced.
    """
    from pipeline.config import read_params
    from pipeline.judges import recorded
    from pipeline.layout import PARAMS, RECORDED, RESPONSES

    done = recorded.record(RESPONSES, RECORDED, read_params(PARAMS).judge.profile)
    click.echo(f"record: {done.added} answers added, {done.total} in {done.path}; commit it with git")
