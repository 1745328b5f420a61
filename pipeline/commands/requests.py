"""``python -m pipeline requests``: look at judge requests."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def requests() -> None:
    """Look at the judge requests of data/requests."""


@requests.command("list")
def list_command() -> None:
    """Print the hash of every distinct request, one a line."""
    from pipeline.layout import REQUESTS
    from pipeline.requests import read_request_lines

    for line in read_request_lines(REQUESTS):
        click.echo(line.request_hash)


@requests.command("show")
@click.argument("request_hash", metavar="HASH")
def show_command(request_hash: str) -> None:
    """Print the exact bytes of the body that is sent for HASH (or a unique beginning of it)."""
    from pipeline.judges.lookup import find_request

    click.echo(find_request(Path(), request_hash).body_bytes, nl=False)
