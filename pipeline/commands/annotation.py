"""Commands that read judge answers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click


@click.group()
def annotation() -> None:
    """Read judge answers."""


@annotation.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(["strict", "lenient"]), default="strict", show_default=True)
@click.option("--form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def read(file: Path, mode: Literal["strict", "lenient"], form: Literal["text", "json"]) -> None:
    """Print what each judge answer in FILE says, one JSON line for each.

    FILE holds JSON lines with a string field "text" and, where known, the service's "finish_reason". Nothing
    is printed unless all of FILE can be read.
    """
    import sys
    import tempfile

    from pipeline.annotation.files import read_file

    with tempfile.SpooledTemporaryFile(max_size=64 << 20) as buffer:
        for line in read_file(file, form=form, mode=mode):
            buffer.write(line)
        buffer.seek(0)
        sys.stdout.buffer.writelines(buffer)
