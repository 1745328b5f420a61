"""``python -m pipeline verify``: check everything a run's files say."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.errors import CheckFailed, one_line

_SHOWN = 3


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="A project, or an output folder of `published build`; by default the current folder.",
)
@click.option("--rev", help="A git revision or a DVC experiment of this project.")
@click.option(
    "--expect", metavar="RUN_ID", help="The run that was quoted: its id, the first 8 digits, or a signature."
)
@click.option(
    "--all", "everything", is_flag=True, help="Show every difference and note, not the first three."
)
def verify(folder: Path | None, rev: str | None, expect: str | None, everything: bool) -> None:
    """Re-hash every file of a run, read every answer again, and recompute every number a second way.

    One line a check. Exit code 1 if anything differs, with its address and both values.
    """
    from pipeline.lineage.revisions import run_at
    from pipeline.lineage.verify.audit import verify_place
    from pipeline.lineage.verify.checks import failures, first_failure

    with run_at(Path(), revision=rev, directory=folder) as place:
        checks = verify_place(place, expect=expect)
    width = max(len(check.name) for check in checks)
    for check in checks:
        click.echo(f"{check.status:4}  {check.name:{width}}  {one_line(check.figures)}")
        lines = [*(difference.line() for difference in check.differences), *map(one_line, check.notes)]
        for line in lines if everything else lines[:_SHOWN]:
            click.echo(f"      {line}")
        hidden = len(lines) + check.more - (len(lines) if everything else min(len(lines), _SHOWN))
        if hidden:
            click.echo(f"      and {hidden} more" + ("" if everything else " (--all shows them)"))
    bad = failures(checks)
    skipped = sum(check.status == "skip" for check in checks)
    click.echo(f"{len(checks) - len(bad) - skipped} ok, {len(bad)} failed, {skipped} skipped")
    if bad:
        raise CheckFailed(f"{len(bad)} of {len(checks)} checks failed; {first_failure(checks)}")
