"""The table of addresses: which metric and slice a place of a report is."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import TraceError
from pipeline.lineage.trace.addresses import Question, numbers, pointer_of, question_at, tokens
from pipeline.lineage.trace.points import points

ENTRY = {"participant_id": "p"}
CASES: list[tuple[str, str, list[Any], Question | None]] = [
    (
        "summary-overall.penalty.common-cell",
        "/3/mean_penalty",
        [ENTRY, 1],
        Question("mean_penalty", (("participant_id", "p"),), (), True),
    ),
    (
        "leaderboard.by-context-turn-count-and-speaker-mode",
        "/2::dyadic/0/samples",
        [[], ENTRY, 1],
        Question(
            "samples", (("context_turn_count", "2"), ("participant_id", "p"), ("speaker_mode", "dyadic"))
        ),
    ),
    (
        "slices",
        "/7/mean_penalty",
        [{"participant_id": "p", "slice": "language", "value": "ja"}, 1],
        Question("mean_penalty", (("language", "ja"), ("participant_id", "p"))),
    ),
    (
        "leaderboard.by-language",
        "/en/errorClassBreakdown/p/accuracy~1omission",
        [{}, {}, {}, 1],
        Question(
            "errors", (("language", "en"), ("participant_id", "p")), (("error_class", "accuracy/omission"),)
        ),
    ),
    (
        "run-status",
        "/judgeFailureRatesByParticipantLanguage/a::b::zh-Hans/failed",
        [{}, {}, 1],
        Question("failed_samples", (("language", "zh-Hans"), ("participant_id", "a::b"))),
    ),
    ("cost-by-model", "/m/totalCostUsd", [{}, 1], Question("judge_cost_usd", (), (("model", "m"),))),
    ("summary-overall.penalty", "/0/no_such_metric", [ENTRY, 1], None),
    ("summary-overall.penalty", "/0", [ENTRY], None),
    ("no-such-report", "/0/mean_penalty", [ENTRY, 1], None),
]


@pytest.mark.parametrize(("report", "pointer", "entries", "expected"), CASES)
def test_question_at(report: str, pointer: str, entries: list[Any], expected: Question | None) -> None:
    assert question_at(report, tokens(pointer), entries) == expected


def test_pointers() -> None:
    """The examples of RFC 6901, section 5."""
    for pointer, keys in {
        "": [],
        "/foo/0": ["foo", "0"],
        "/": [""],
        "/a~1b": ["a/b"],
        "/m~0n": ["m~n"],
        "/ ": [" "],
    }.items():
        assert tokens(pointer) == keys
        assert pointer_of(keys) == pointer
    with pytest.raises(TraceError, match="no JSON pointer"):
        tokens("foo")


def test_numbers_are_all_that_is_no_text() -> None:
    document = {"a": [1, "text", None, {"b/c": True, "d": 0.5}], "e": {}}
    assert list(numbers(document)) == ["/a/0", "/a/2", "/a/3/b~1c", "/a/3/d"]


@pytest.mark.parametrize(
    ("tenths", "repeats", "text"),
    [
        (50, 1, "5"),
        (1, 1, "0.1"),
        (0, 1, "0"),
        (155, 1, "15.5"),
        (100, 2, "5"),
        (10, 3, "1/3"),
        (160, 3, "16/3"),
    ],
)
def test_points(tenths: int, repeats: int, text: str) -> None:
    assert points(tenths, repeats) == text
