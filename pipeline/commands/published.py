"""``python -m pipeline published``: rebuild, check and audit published runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.errors import CheckFailed, one_line

if TYPE_CHECKING:
    from pipeline.published.audit_model import Audit

_SHOWN = 10
_WIDTH = 200


@click.group()
def published() -> None:
    """Rebuild, check and audit runs published elsewhere."""


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


@published.command("audit")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--experiment", metavar="ID", help="Folder of experiments/; found by the run if not given.")
@click.option(
    "--dataset",
    type=click.Path(path_type=Path),
    help="The run's dataset file; by default dataset/ in SOURCE or beside it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the audit as JSON, not as Markdown.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Also write audit.json and audit.md into a folder."
)
def audit_command(
    source: Path, experiment: str | None, dataset: Path | None, as_json: bool, out: Path | None
) -> None:
    """A verdict for every claim about the run folder SOURCE, and checks of the run itself."""
    from pipeline.canonical import json_document
    from pipeline.published.adding import write_audit
    from pipeline.published.audit import audit_run
    from pipeline.published.audit_text import audit_document, audit_markdown

    audit = audit_run(Path(), source, experiment=experiment, dataset=dataset)
    if out:
        write_audit(out, audit)
    click.echo(json_document(audit_document(audit)) if as_json else audit_markdown(audit), nl=False)
    _end(audit)


@published.command("add")
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--experiment", metavar="ID", required=True, help="Folder of experiments/ with the SHA-256 list."
)
@click.option(
    "--dataset",
    type=click.Path(path_type=Path),
    help="The run's dataset file; by default dataset/ in SOURCE or beside it.",
)
def add_command(source: Path, experiment: str, dataset: Path | None) -> None:
    """Check the run folder SOURCE, byte for byte, and put it under data/published/ID."""
    from pipeline.published.adding import PUBLISHED, add_published

    left_out = add_published(Path(), source, experiment, dataset)
    click.echo(f"{PUBLISHED / experiment}: every file as published")
    for name in left_out:
        click.echo(one_line(f"left out, not a published file: {name}"))


@published.command("regenerate")
@click.argument("experiment", metavar="ID")
def regenerate_command(experiment: str) -> None:
    """Make experiments/ID/reports again from data/published/ID, with the audit."""
    from pipeline.published.adding import regenerate
    from pipeline.published.audit_text import summary_lines

    audit = regenerate(Path(), experiment)
    for line in summary_lines(audit):
        click.echo(line)
    _end(audit)


def _end(audit: Audit) -> None:
    if found := audit.unexplained():
        raise CheckFailed(one_line(f"without explanation: {', '.join(found)}; see the audit"))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
