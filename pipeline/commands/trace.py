"""``python -m pipeline trace``: a number, down to the bytes it came from."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from pipeline.errors import CheckFailed

# Option -> the column of a slice or the thing counted that it names.
_VALUES = {
    "participant": "participant_id",
    "language": "language",
    "expectation": "context_expectation",
    "turns": "context_turn_count",
    "mode": "speaker_mode",
    "phenomenon": "primary_phenomenon",
    "severity": "severity",
    "error_class": "error_class",
    "label": "label",
    "model": "model",
}


@click.command()
@click.argument("target", required=False)
@click.option("--metric", help="A metric such as mean_penalty, taken over what the next options say.")
@click.option("--participant", help="Over this participant's cells.")
@click.option("--language", help="Over this target language.")
@click.option("--expectation", help="Over items that expect `use` or `ignore` of their context.")
@click.option("--turns", help="Over items with so many context turns.")
@click.option("--mode", help="Over `single` or `dyadic` items.")
@click.option("--phenomenon", help="Over items of this primary phenomenon.")
@click.option("--common", is_flag=True, help="Over common cells only.")
@click.option("--severity", help="For --metric errors: of this severity.")
@click.option("--class", "error_class", help="For --metric errors: of this class.")
@click.option("--label", help="For --metric labels: which context-behavior label.")
@click.option("--model", help="For costs: which model.")
@click.option("--cell", nargs=3, metavar="ITEM LANGUAGE PARTICIPANT", help="One cell.")
@click.option("--rev", help="Look at a git revision or a DVC experiment.")
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path), help="Look at an output of `published build`."
)
@click.option("--limit", type=click.IntRange(min=1), default=5, show_default=True, help="Show so many cells.")
@click.option("--all", "everything", is_flag=True, help="Show every cell.")
@click.option("--json", "as_json", is_flag=True, help="Print data instead of a tree.")
def trace(
    target: str | None,
    metric: str | None,
    common: bool,
    cell: tuple[str, str, str] | None,
    rev: str | None,
    directory: Path | None,
    limit: int,
    everything: bool,
    as_json: bool,
    **values: str | None,
) -> None:
    """Show where a number comes from: formula, cells, answers, requests, files.

    TARGET is REPORT.json#/json/pointer. Or name a number by --metric, or one cell by --cell. Every value
    is recomputed and every file hashed again; exit 1 if something does not agree.
    """
    from pipeline.canonical import json_document
    from pipeline.lineage.revisions import run_at
    from pipeline.lineage.trace.document import trace_document
    from pipeline.lineage.trace.targets import traced
    from pipeline.lineage.trace.tracer import Tracer
    from pipeline.lineage.trace.tree import tree_text

    with run_at(Path(), revision=rev, directory=directory) as place:
        tracer = Tracer(place)
        named = {_VALUES[option]: value for option, value in values.items()}
        found = traced(tracer, target=target, cell=cell, metric=metric, values=named, common=common)
        document = trace_document(tracer, found, None if everything else limit)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo(json_document(document) if as_json else tree_text(document, columns), nl=False)
    if not document["agrees"]:
        raise CheckFailed(
            f"{len(document['problems'])} things do not agree; first: {document['problems'][0]}"
        )
