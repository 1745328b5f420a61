"""``python -m pipeline signature``: what a judge signature says."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pipeline.errors import CheckFailed

_LONGEST = 10_000


@click.group()
def signature() -> None:
    """Read a judge signature."""


@signature.command("explain")
@click.argument("text", metavar="SIGNATURE")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="Compare with the run in this folder; by default with that of the current one, if it holds a run.",
)
def explain_command(text: str, folder: Path | None) -> None:
    """Say what each part of SIGNATURE means, short or long form; ``-`` reads it from standard input.

    Where there is a run to compare with, say of each part whether it has the same. Exit code 1 if not.
    """
    from pipeline.layout import MANIFEST
    from pipeline.lineage.places import place_of
    from pipeline.lineage.signature import parse_signature
    from pipeline.lineage.verify.explained import explain

    if text == "-":
        text = sys.stdin.buffer.read(_LONGEST).decode("utf-8", "replace")
    parsed = parse_signature(text)
    place = None
    if folder is not None or MANIFEST.is_file():
        place = place_of(folder or Path())
    parts = explain(parsed, place)
    keys = max(len(part.long) for part in parts)
    values = max(len(part.value) for part in parts)
    for part in parts:
        line = f"{part.short:2} {part.long:{keys}}  {part.value:{values}}  {part.meaning}"
        if part.here is not None:
            line += f"; this run has {part.here}" if part.differs else "; as in this run"
        click.echo(line)
    if place is None:
        click.echo("there is no run here to compare with; name one by --dir")
        return
    different = [part.long for part in parts if part.differs]
    if different:
        raise CheckFailed(f"the run in {place.name} differs in: {', '.join(different)}")
    click.echo(f"every part is that of the run in {place.name}")
