"""``python -m pipeline published``: rebuild and check published runs."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.errors import CheckFailed, one_line

_SHOWN = 10
_WIDTH = 200


@click.group()
def published() -> None:
    """Rebuild and check runs published elsewhere."""


@published.command("build")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--dataset", required=True, type=click.Path(path_type=Path), help="The run's dataset file.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write into.")
@click.option("--scheme", default="context-v1", show_default=True, help="Named scoring scheme.")
def build_command(source: Path, dataset: Path, out: Path, scheme: str) -> None:
    """Rebuild the run folder SOURCE: tables, score reports, leaderboard, manifest."""
    from pipeline.lineage.run_signature import signature_of
    from pipeline.published.build import build_published

    scores = build_published(source, dataset, out, scheme)
    status = scores.status
    click.echo(f"{scores.run.run_name}: {status.total('ok')} of {status.total()} expected cells ok")
    click.echo(signature_of(scores).short())
    click.echo(signature_of(scores).long())
    click.echo(f"wrote {out}: source, tables, reports")


@published.command("check")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("rebuilt", type=click.Path(path_type=Path))
def check_command(source: Path, rebuilt: Path) -> None:
    """Compare every published value of SOURCE with the one rebuilt in REBUILT."""
    from pipeline.published.check import check_published

    checks = check_published(source, rebuilt)
    width = max(len(check.name) for check in checks)
    for check in checks:
        lost = check.not_recomputable.total()
        click.echo(
            f"{check.name:{width}}  {check.agree:6} agree  {len(check.differences):4} differ  "
            f"{lost:4} not recomputable"
        )
        for reason, count in sorted(check.not_recomputable.items()):
            click.echo(f"    {count} not recomputable: {reason.value}")
        for difference in check.differences[:_SHOWN]:
            pair = f"published {_short(difference.published)}, rebuilt {_short(difference.regenerated)}"
            click.echo(one_line(f"{difference.pointer}: {pair}"))
        if len(check.differences) > _SHOWN:
            click.echo(f"    and {len(check.differences) - _SHOWN} more")
    agree = sum(check.agree for check in checks)
    differ = sum(len(check.differences) for check in checks)
    lost = sum(check.not_recomputable.total() for check in checks)
    total = agree + differ + lost
    click.echo(f"{agree} of {total} values agree, {differ} differ, {lost} not recomputable")
    if differ:
        raise CheckFailed(f"{differ} published values differ from the rebuilt ones; see the lines above")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
