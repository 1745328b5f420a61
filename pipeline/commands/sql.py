"""``python -m pipeline sql`` and ``db``: look into the tables."""

from __future__ import annotations

from pathlib import Path

import click

_TABLES = click.option(
    "--tables",
    type=click.Path(path_type=Path),
    default=Path("data/tables"),
    show_default=True,
    help="Folder of exported tables.",
)


@click.command()
@click.argument("query")
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)
@_TABLES
def sql(query: str, form: str, tables: Path) -> None:
    """Run a read-only SQL QUERY on the tables and on the views cell_list, judgment_list, error_list."""
    from pipeline.tables.query import run_query

    # color: click would take escape sequences that stand in the data out of a file.
    click.echo(run_query(tables, query, form), nl=False, color=True)


@click.group()
def db() -> None:
    """A local DuckDB file of the tables, for browsing."""


@db.command("build")
@_TABLES
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("run.duckdb"),
    show_default=True,
    help="File to write; ignored by git when in this folder.",
)
def build_command(tables: Path, out: Path) -> None:
    """Write a .duckdb file with all tables and views."""
    from pipeline.tables.query import build_database

    build_database(tables, out)
    click.echo(f"wrote {out}")
