"""When is a request settled? By a valid answer, or by the last one that may be asked for.

A judge that is asked again is not the same judge, so the rounds are bounded (``judge.max_rounds``), all
of them are kept, and the reports say how many cells needed how many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.annotation.model import OK
from pipeline.annotation.reader import Form, read_answer
from pipeline.answers import Attempt

Valid = Callable[[Attempt], bool]


def decide(rounds: Sequence[Attempt], max_rounds: int, temperature: float | None, valid: Valid) -> int | None:
    """The index of the answer to select among those of all rounds in order, or None: ask again.

    The first valid answer is selected, else the one of round ``max_rounds``. At temperature 0 a judge
    that says the same refused text a second time will go on to say it: that round is the last.
    """
    refused: set[str] = set()
    for index, attempt in enumerate(rounds):
        if valid(attempt) or index + 1 >= max_rounds:
            return index
        if attempt.text is not None:
            if temperature == 0 and attempt.text in refused:
                return index
            refused.add(attempt.text)
    return None


@dataclass(frozen=True)
class Settling:
    """``decide`` for one judge. ``temperature`` is None where the judge has no such setting."""

    form: Form
    max_rounds: int
    temperature: float | None

    def decide(self, rounds: Sequence[Attempt]) -> int | None:
        """See the function ``decide``."""
        return decide(rounds, self.max_rounds, self.temperature, self.valid)

    def valid(self, attempt: Attempt) -> bool:
        """Whether strict reading takes the answer; one that is cut or filtered never is."""
        read = read_answer(
            attempt.text or "", form=self.form, mode="strict", finish_reason=attempt.finish_reason
        )
        return read.status == OK
