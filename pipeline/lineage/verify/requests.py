"""The requests of a project: rendered again, hash by hash, against what stage ``render`` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.jsonl import read_json_lines
from pipeline.layout import CELLS, REQUESTS
from pipeline.lineage.verify.checks import Check, Findings, compare_json, counted
from pipeline.lineage.verify.parquet import compare_rows
from pipeline.lineage.verify.rendered import Rendered, Sources
from pipeline.tables.database import connect

_COLUMNS = ("item_id", "language", "participant_id", "translation", "translation_failure", "request_hash")


def check_requests(root: Path, sources: Sources, rendered: Rendered) -> Check:
    """Compare ``cells.parquet`` and every line of ``requests.jsonl`` with what is rendered now.

    Raises:
        InputError: one of them is missing or cannot be read.
    """
    findings = Findings()
    rows: list[tuple[Any, ...]] = [
        (*cell.key, cell.translation, cell.failure, cell.request_hash) for cell in rendered.cells
    ]
    with connect() as connection:
        compare_rows(findings, connection, root, CELLS, _COLUMNS, rows)
    found = dict(read_json_lines(root / REQUESTS, InputError))
    wanted = sorted(rendered.variables)
    for index in range(max(len(found), len(wanted))):
        address = f"{REQUESTS.as_posix()}:{index + 1}"
        if index >= len(wanted):
            findings.note(address, "there", "not there: no cell of this run asks it")
        elif index >= len(found):
            findings.note(address, "missing", f"request {wanted[index]}")
        else:
            line = {
                "request_hash": wanted[index],
                "prompt_set_sha256": sources.prompt_set.sha256,
                "variables": rendered.variables[wanted[index]],
            }
            compare_json(findings, address, found[index + 1], line)
    figures = f"{counted(len(rows), 'cell')}, {counted(len(wanted), 'request')} rendered again"
    return findings.check("requests", figures)
