"""When a request is settled: by a valid answer or by the last one that may be asked for."""

from __future__ import annotations

import pytest
from judge_samples import an_answer, an_attempt
from tiny_answers import CUT, VALID

from pipeline.answers import Answer
from pipeline.judges.settling import Settling

# (what the judge said in each round, max_rounds, temperature) -> index to select, None: ask again
CASES: dict[str, tuple[list[str | None], int, float | None, int | None]] = {
    "nothing yet": ([], 3, 0, None),
    "valid at once": ([VALID], 3, 0, 0),
    "refused": (["?"], 3, 0, None),
    "refused, one round allowed": (["?"], 1, 0, 0),
    "then valid": (["?", VALID], 3, 0, 1),
    "twice the same at temperature 0": (["?", "?"], 3, 0, 1),
    "twice the same, sampled": (["?", "?"], 3, 0.7, None),
    "twice the same, no such setting": (["?", "?"], 3, None, None),
    "the same again later": (["?", "!", "?"], 9, 0, 2),
    "two others": (["?", "!"], 3, 0, None),
    "the last allowed": (["?", "!", "."], 3, 0, 2),
    "no text is not the same text": ([None, None], 3, 0, None),
    "empty twice": (["", ""], 3, 0, 1),
    "more rounds than allowed by now": (["?", "!", VALID], 2, 0, 1),
    "valid among them": (["?", VALID, VALID], 3, 0, 1),
    "cut, though it reads well": ([CUT], 3, 0, None),
    "cut in the last round": (["?", "!", CUT], 3, 0, 2),
}


@pytest.mark.parametrize(("said", "rounds", "temperature", "selected"), CASES.values(), ids=CASES.keys())
def test_decide(said: list[str | None], rounds: int, temperature: float | None, selected: int | None) -> None:
    attempts = [
        an_attempt(text=VALID if text is CUT else text, finish_reason="length" if text is CUT else "stop")
        for text in said
    ]
    assert Settling("text", rounds, temperature).decide(attempts) == selected


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "content_filter", "SAFETY"])
def test_what_was_cut_or_filtered_is_never_valid(reason: str) -> None:
    assert Settling("text", 3, 0).valid(an_attempt(text=VALID, finish_reason="stop"))
    assert not Settling("text", 3, 0).valid(an_attempt(text=VALID, finish_reason=reason))


def test_the_form_decides_what_is_valid() -> None:
    assert not Settling("json", 3, 0).valid(an_attempt(text=VALID))


def test_rounds_of_an_answer_count_what_the_judge_said() -> None:
    error = an_attempt(http_status=503, text=None, finish_reason=None)
    in_200 = an_attempt(text=None, finish_reason=None)
    said = an_attempt(text="?")
    answer = Answer(
        request_hash=an_answer().request_hash, repeat=0, selected=3, attempts=[error, said, in_200, said]
    )
    assert answer.rounds == [None, 1, None, 2]
    # What is selected is an answer, however little it says.
    assert Answer(request_hash=answer.request_hash, repeat=0, selected=0, attempts=[in_200]).rounds == [1]
