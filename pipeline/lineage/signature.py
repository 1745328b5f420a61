"""The judge signature that stands beside every leaderboard, in sacreBLEU's manner."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from pipeline import __version__

UNRECORDED = "unrecorded"
METRIC = "GEMBA-MQM-context"


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

    def short(self) -> str:
        """One-letter keys: ``GEMBA-MQM-context|id:...|d:...|...|v:...``."""
        return self._joined(("id", "d", "p", "j", "e", "r", "a", "w", "c", "v"))

    def long(self) -> str:
        """The same values under whole words."""
        return self._joined(
            (
                "run",
                "dataset",
                "prompts",
                "judge",
                "effort",
                "repeats",
                "reading",
                "weights",
                "cells",
                "version",
            )
        )

    def _joined(self, keys: tuple[str, ...]) -> str:
        values = (
            self.run_id[:8],
            self.dataset_fingerprint[:8],
            self.prompt_set_sha256[:8] if self.prompt_set_sha256 else UNRECORDED,
            f"{_encoded(self.judge_backend)}:{_encoded(self.judge_model)}",
            _encoded(self.reasoning_effort),
            str(self.repeats),
            self.parser_mode,
            _encoded(self.scheme),
            f"{self.ok_cells}/{self.expected_cells}",
            __version__,
        )
        return "|".join((METRIC, *(f"{key}:{value}" for key, value in zip(keys, values, strict=True))))


def _encoded(value: str) -> str:
    """Percent-encode what would be read as structure: ``|``, ``:``, ``%`` itself, and what ends a line."""
    return "".join(
        quote(character, safe="") if character in "|:%" or not character.isprintable() else character
        for character in value
    )
