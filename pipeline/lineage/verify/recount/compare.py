"""Compare report files with what they have to hold, value by value."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from pipeline.errors import ManifestError
from pipeline.jsonl import decode, read_bytes, read_json
from pipeline.lineage.verify.checks import Check, Findings, compare_json, counted, shown
from pipeline.lineage.verify.recount.boards import Expected

# A text that a spreadsheet would run gets a ' before it (OWASP, "CSV Injection"; full-width forms, too).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def check_documents(root: Path, folder: Path, expected: Mapping[str, Expected]) -> Check:
    """Every value of every ``.json`` file of the reports' folder."""
    findings = Findings()
    for name in _names(root / folder, ".json", expected):
        file = f"{folder.as_posix()}/{name}.json"
        if name not in expected:
            findings.note(file, "there", "no report: an unknown file")
        elif not (root / file).is_file():
            findings.note(file, "missing", "a report")
        else:
            document = read_json(root / file, ManifestError)
            compare_json(findings, file, document, expected[name].document)
    figures = f"{counted(findings.values, 'value')} of {counted(len(expected), 'report')} recomputed"
    return findings.check("score reports", figures)


def check_flat_tables(root: Path, folder: Path, expected: Mapping[str, Expected]) -> Check:
    """Every field of every ``.csv`` file of the reports' folder."""
    findings = Findings()
    for name in _names(root / folder, ".csv", expected):
        file = f"{folder.as_posix()}/{name}.csv"
        if name not in expected:
            findings.note(file, "there", "no report: an unknown file")
        elif not (root / file).is_file():
            findings.note(file, "missing", "a report")
        else:
            _compare_lines(findings, root, file, expected[name])
    figures = f"{counted(findings.values, 'field')} of {counted(len(expected), 'file')} recomputed"
    return findings.check("score tables", figures)


def check_metrics(root: Path, file: Path, expected: Any) -> Check:
    """Every value of ``metrics.json``."""
    findings = Findings()
    compare_json(findings, file.as_posix(), read_json(root / file, ManifestError), expected)
    return findings.check("metrics", f"{counted(findings.values, 'value')} recomputed")


def _names(folder: Path, suffix: str, expected: Mapping[str, Expected]) -> list[str]:
    """Reports by name: those that have to be there, then those that are there besides."""
    there = sorted(path.name for path in folder.glob("*")) if folder.is_dir() else []
    stems = [name.removesuffix(suffix) for name in there if name.endswith(suffix)]
    odd = [name for name in there if not name.endswith((".json", ".csv"))] if suffix == ".json" else []
    return [*expected, *(name for name in (*stems, *odd) if name not in expected)]


def _compare_lines(findings: Findings, root: Path, file: str, expected: Expected) -> None:
    text = decode(root / file, read_bytes(root / file, ManifestError), ManifestError)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as problem:
        raise ManifestError.at(root / file, f"not CSV ({problem}); run `dvc repro score`") from problem
    wanted = [list(expected.columns), *([_field(value) for value in row] for row in expected.rows)]
    for number in range(max(len(lines), len(wanted))):
        address = f"{file}:{number + 1}"
        if number >= len(wanted):
            findings.note(address, shown(",".join(lines[number])), "not there: an unknown line")
        elif number >= len(lines):
            findings.note(address, "missing", shown(",".join(wanted[number])))
        elif len(lines[number]) != len(wanted[number]):
            findings.note(
                address, counted(len(lines[number]), "field"), counted(len(wanted[number]), "field")
            )
        else:
            for column, one, other in zip(expected.columns, lines[number], wanted[number], strict=True):
                findings.compare(f"{address}#{column}", one, other)


def _field(value: Any) -> str:
    """A value as it stands in a CSV file once quotes are taken off."""
    if value is None:
        return ""
    if isinstance(value, Fraction):
        value = float(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text
