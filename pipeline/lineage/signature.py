"""The judge signature that stands beside every leaderboard, in sacreBLEU's manner: written and read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from pipeline import __version__
from pipeline.errors import SignatureError

UNRECORDED = "unrecorded"
METRIC = "GEMBA-MQM-context"
_DIGITS = 8

# Short key, long key, what the value is. In the order of the text; the version comes last.
PARTS: Final = (
    ("id", "run", "run id: a hash over the run's inputs and answers, first 8 digits"),
    ("d", "dataset", "dataset fingerprint, first 8 digits"),
    ("p", "prompts", "hash of the judge-prompt set, first 8 digits"),
    ("j", "judge", "judge backend and model"),
    ("e", "effort", "reasoning effort the judge was asked with"),
    ("r", "repeats", "verdicts per cell"),
    ("a", "reading", "how answers were read"),
    ("w", "weights", "scoring scheme: what an error weighs"),
    ("c", "cells", "validly judged of expected cells"),
    ("v", "version", "version of the pipeline that computed the scores"),
)
_SHORT = tuple(short for short, _, _ in PARTS)
_LONG = tuple(long for _, long, _ in PARTS)


@dataclass(frozen=True)
class Signature:
    """What has to be equal for two scores to be comparable. Hashes are full; the text shows eight digits."""

    run_id: str
    dataset_fingerprint: str
    prompt_set_sha256: str | None
    judge_backend: str
    judge_model: str
    reasoning_effort: str
    repeats: int
    parser_mode: str
    scheme: str
    ok_cells: int
    expected_cells: int
    version: str = __version__

    def short(self) -> str:
        """One-letter keys: ``GEMBA-MQM-context|id:...|d:...|...|v:...``."""
        return self._joined(_SHORT)

    def long(self) -> str:
        """The same values under whole words."""
        return self._joined(_LONG)

    def values(self) -> tuple[str, ...]:
        """The value of each of ``PARTS`` as it stands in the text, percent-encoded."""
        return (
            self.run_id[:_DIGITS],
            self.dataset_fingerprint[:_DIGITS],
            self.prompt_set_sha256[:_DIGITS] if self.prompt_set_sha256 else UNRECORDED,
            f"{_encoded(self.judge_backend)}:{_encoded(self.judge_model)}",
            _encoded(self.reasoning_effort),
            str(self.repeats),
            _encoded(self.parser_mode),
            _encoded(self.scheme),
            f"{self.ok_cells}/{self.expected_cells}",
            _encoded(self.version),
        )

    def _joined(self, keys: tuple[str, ...]) -> str:
        return "|".join((METRIC, *(f"{key}:{value}" for key, value in zip(keys, self.values(), strict=True))))


def parse_signature(text: str) -> Signature:
    """Read a signature line, short or long; its hashes are the eight digits that stand in it.

    White space and backticks around it, as Markdown has them, are passed over. What is read gives the
    same line again.

    Raises:
        SignatureError: it is none; the message names the part that is wrong.
    """
    line = text.strip().strip("`").strip()
    if not line.isprintable():
        raise SignatureError(
            "not a judge signature: it holds a character that does not print; quote one line"
        )
    metric, *fields = line.split("|")
    if metric != METRIC:
        raise SignatureError(f"not a judge signature: it begins with {metric[:40]!r}, not with {METRIC!r}")
    keys = _LONG if fields and fields[0].startswith("run:") else _SHORT
    if len(fields) != len(keys):
        raise SignatureError(
            f"not a whole judge signature: {len(fields)} parts after {METRIC}, not {len(keys)} "
            f"({', '.join(keys)}); quote the whole line"
        )
    values = []
    for key, field in zip(keys, fields, strict=True):
        name, colon, value = field.partition(":")
        if name != key or not colon or not value:
            raise SignatureError(
                f"part {field[:60]!r} of the signature must be {key}:VALUE; quote the whole line"
            )
        values.append(value)
    run_id, dataset, prompts, judge, effort, repeats, reading, weights, cells, version = values
    backend, colon, model = judge.partition(":")
    if not colon or not backend or ":" in model:
        raise SignatureError(f"part {judge[:60]!r} of the signature must be BACKEND:MODEL")
    ok, slash, expected = cells.partition("/")
    return Signature(
        run_id=_hex(keys[0], run_id),
        dataset_fingerprint=_hex(keys[1], dataset),
        prompt_set_sha256=None if prompts == UNRECORDED else _hex(keys[2], prompts),
        judge_backend=_decoded(keys[3], backend),
        judge_model=_decoded(keys[3], model),
        reasoning_effort=_decoded(keys[4], effort),
        repeats=_number(keys[5], repeats),
        parser_mode=_decoded(keys[6], reading),
        scheme=_decoded(keys[7], weights),
        ok_cells=_number(keys[8], ok),
        expected_cells=_number(keys[8], expected if slash else ""),
        version=_decoded(keys[9], version),
    )


def _hex(key: str, value: str) -> str:
    if not re.fullmatch(rf"[0-9a-f]{{{_DIGITS}}}", value):
        raise SignatureError(f"part {key}:{value[:60]!r} of the signature must hold {_DIGITS} hex digits")
    return value


def _number(key: str, value: str) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]{0,14}", value):
        raise SignatureError(f"part {key} of the signature holds {value[:60]!r} where a whole number belongs")
    return int(value)


def _encoded(value: str) -> str:
    """Percent-encode what would be read as structure: ``|``, ``:``, ``%`` itself, and what ends a line."""
    return "".join(
        quote(character, safe="") if character in "|:%" or not character.isprintable() else character
        for character in value
    )


def _decoded(key: str, value: str) -> str:
    """The text that ``_encoded`` made ``value`` of."""
    try:
        if re.search(r"%(?![0-9A-Fa-f]{2})", value):
            raise ValueError
        return unquote_to_bytes(value).decode("utf-8")
    except ValueError:
        raise SignatureError(
            f"part {key} of the signature is not percent-encoded UTF-8: {value[:60]!r}"
        ) from None
