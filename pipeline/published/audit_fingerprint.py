"""Does the dataset fingerprint that a run's manifest records belong to the dataset file?"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.canonical import sha256_hex
from pipeline.errors import DatasetError
from pipeline.jsonl import decode, parse, read_bytes
from pipeline.published.audit_model import Check, Outcome

ID = "dataset-fingerprint"
ABOUT = "the recorded dataset fingerprint is that of the dataset file"

# What a published item may leave out without changing what is asked.
_OPTIONAL_KEYS = ("relativeTimeLabel",)
_INDENTS: dict[str, str | int | None] = {
    "indented by two spaces": 2,
    "on one line without spaces": None,
    "indented by four spaces": 4,
    "indented by tabs": "\t",
}
_ENDS = {"with a final newline": "\n", "without a final newline": ""}
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


def check_fingerprint(recorded: str | None, note: str | None, dataset: Path) -> Check:
    """Compare the recorded SHA-256 with that of the file, then with those of its other serialisations.

    A manifest's note is tested, not believed: the recorded SHA-256 has to come out of the dataset file
    when the keys that the format lets one leave out are left out, in one of the usual JSON forms; and
    every SHA-256 and every removed-key count that the note names has to be right.

    Raises:
        DatasetError: the dataset file is missing or no JSON.
    """
    data = read_bytes(dataset, DatasetError)
    actual = sha256_hex(data)
    if recorded is None:
        return Check(ID, ABOUT, Outcome.NOT_APPLICABLE, ("the run records no dataset fingerprint",))
    if recorded == actual:
        return Check(ID, ABOUT, Outcome.PASSED, (f"recorded and file: {actual}",))
    document = parse(dataset, decode(dataset, data, DatasetError), DatasetError)
    tried = 0
    for words, text, removed in _serialisations(document):
        tried += 1
        if sha256_hex(text.encode("utf-8")) == recorded:
            return _explained(recorded, actual, note, words, removed)
    return Check(
        ID,
        ABOUT,
        Outcome.FAILED,
        (
            f"recorded {recorded}, the file is {actual}; none of {tried} serialisations of the file gives "
            f"the recorded one (tried: all keys or without {', '.join(_OPTIONAL_KEYS)}; "
            f"{', '.join(_INDENTS)}; {', '.join(_ENDS)})",
        ),
        1,
    )


def _serialisations(document: Any) -> Iterator[tuple[str, str, int]]:
    """(in words, text, number of keys removed) of every form that is tried, in a fixed order."""
    stripped, removed = _without(document)
    variants = (("all keys", document, 0), (f"without {' and '.join(_OPTIONAL_KEYS)}", stripped, removed))
    for (keys, value, count), (spacing, indent), (end, newline) in itertools.product(
        variants, _INDENTS.items(), _ENDS.items()
    ):
        separators = (",", ":") if indent is None else (",", ": ")
        text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators) + newline
        yield f"{keys}, {spacing}, {end}", text, count


def _without(value: Any) -> tuple[Any, int]:
    """A JSON value without the optional keys, and how many there were."""
    if isinstance(value, dict):
        parts = {key: _without(inner) for key, inner in value.items() if key not in _OPTIONAL_KEYS}
        own = sum(key in value for key in _OPTIONAL_KEYS)
        return {key: part for key, (part, _) in parts.items()}, own + sum(n for _, n in parts.values())
    if isinstance(value, list):
        items = [_without(inner) for inner in value]
        return [part for part, _ in items], sum(n for _, n in items)
    return value, 0


def _explained(recorded: str, actual: str, note: str | None, words: str, removed: int) -> Check:
    details = [
        f"recorded {recorded}, the file is {actual}",
        f"the recorded one is the file's JSON serialised {words} ({removed} keys removed)",
    ]
    if note is None:
        details.append("the manifest gives no reason")
        return Check(ID, ABOUT, Outcome.EXPLAINED, tuple(details))
    wrong = [digest for digest in _DIGEST.findall(note) if digest not in (recorded, actual)]
    wrong += [key for key in _OPTIONAL_KEYS if removed and key not in note]
    wrong += [count for count in re.findall(r"\((\d+) occurrences\)", note) if int(count) != removed]
    if wrong:
        details.append(f"the manifest's note is wrong about: {', '.join(wrong)}")
        return Check(ID, ABOUT, Outcome.FAILED, tuple(details), len(wrong))
    details.append("the manifest's note was tested and holds")
    return Check(ID, ABOUT, Outcome.EXPLAINED, tuple(details))
