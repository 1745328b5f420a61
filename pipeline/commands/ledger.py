"""``python -m pipeline ledger``: look at, share and mend the answer ledger."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def ledger() -> None:
    """Look at, share and mend the answer ledger (CTXEVAL_LEDGER).

    Nothing in it is ever changed or removed.
    """


@ledger.command("status")
def status_command() -> None:
    """Print calls by backend and state, settled requests, and open batch jobs."""
    from pipeline.judges.ledger_file import ledger_path
    from pipeline.judges.ledger_views import status_lines

    for line in status_lines(ledger_path()):
        click.echo(line)


@ledger.command("show")
@click.argument("request_hash", metavar="HASH")
@click.option("--raw", is_flag=True, help="Print the whole response of each attempt.")
def show_command(request_hash: str, raw: bool) -> None:
    """Print every attempt at HASH (or a unique beginning of it)."""
    from pipeline.judges.ledger_file import ledger_path
    from pipeline.judges.ledger_views import show_lines

    for line in show_lines(ledger_path(), request_hash, raw=raw):
        click.echo(line)


@ledger.command("export")
@click.argument("file", type=click.Path(path_type=Path))
def export_command(file: Path) -> None:
    """Write all requests, attempts and selections to FILE (JSON lines), for somebody else's import."""
    from pipeline.judges.ledger_file import ledger_path
    from pipeline.judges.ledger_sharing import export_ledger

    click.echo(f"ledger: {export_ledger(ledger_path(), file)} attempts exported to {file}")


@ledger.command("import")
@click.argument("file", type=click.Path(path_type=Path))
def import_command(file: Path) -> None:
    """Add the attempts of an exported FILE. Selections there are stay; a second import adds nothing."""
    from pipeline.judges.ledger_file import ledger_path
    from pipeline.judges.ledger_sharing import import_ledger

    done = import_ledger(ledger_path(), file)
    click.echo(
        f"ledger: {done.added} attempts added, {done.known} known already, "
        f"{done.settled} requests settled by them"
    )


@ledger.command("reconcile")
@click.option(
    "--resend", is_flag=True, help="Then give up the jobs that are not found: the next run asks them again."
)
def reconcile_command(resend: bool) -> None:
    """Find out what became of batch jobs whose submission got no reply."""
    from pipeline.stages.judge import reconcile

    for line in reconcile(Path(), resend=resend):
        click.echo(line)


@ledger.command("compact")
def compact_command() -> None:
    """Bring the file to the current schema and its smallest size. Removes no row."""
    from pipeline.judges.ledger_file import ledger_path
    from pipeline.judges.ledger_views import compact

    before, after = compact(ledger_path())
    click.echo(f"ledger: {before} bytes before, {after} after")
