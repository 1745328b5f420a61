"""A signature in words, part by part, and whether a run has the same."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from pipeline.errors import one_line
from pipeline.lineage.places import RunPlace
from pipeline.lineage.signature import PARTS, UNRECORDED, Signature, parse_signature
from pipeline.lineage.verify.manifest import read_manifest

_REMARKS = {
    ("prompts", UNRECORDED): "; the run did not record it",
    ("effort", UNRECORDED): "; the run did not record it",
    ("effort", "default"): "; none was asked for, so the service's own",
}


@dataclass(frozen=True)
class Part:
    """A part of a signature: its two keys, its value, what that means, and what a run has (None: no run).

    Values are decoded, and on one line.
    """

    short: str
    long: str
    value: str
    meaning: str
    here: str | None
    differs: bool


def explain(signature: Signature, place: RunPlace | None) -> list[Part]:
    """Each part with its meaning, and beside it what the manifest of ``place`` has.

    Raises:
        ManifestError, SignatureError: the run has no manifest that can be read.
    """
    other = None if place is None else parse_signature(read_manifest(place.root).signature.short)
    parts = []
    for index, (short, long, meaning) in enumerate(PARTS):
        value = signature.values()[index]
        here = None if other is None else other.values()[index]
        parts.append(
            Part(
                short,
                long,
                _plain(value),
                meaning + _REMARKS.get((long, value), ""),
                None if here is None else _plain(here),
                here is not None and here != value,
            )
        )
    return parts


def _plain(value: str) -> str:
    return one_line(unquote(value))
