"""``python -m pipeline dataset``: check a dataset."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def dataset() -> None:
    """Check and fingerprint a dataset."""


@dataset.command("validate")
@click.argument("file", type=click.Path(path_type=Path))
def validate_command(file: Path) -> None:
    """Check every line of FILE (.jsonl, or the published .json form) and print its two hashes."""
    from pipeline.dataset import read_dataset

    found = read_dataset(file)
    click.echo(f"items        {len(found.items)}")
    click.echo(f"fingerprint  {found.fingerprint}")
    click.echo(f"file SHA-256 {found.file_sha256}")
