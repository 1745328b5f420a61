"""Means, repeats, common cells and the normalised mean, on runs small enough to do by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tiny_run import CLEAN, TinyRun, answer, item

from pipeline.scoring.leaderboards import mean

WORD = "accuracy/mistranslation"
ONE = answer(minor=(WORD,))
FIVE = answer(major=(WORD,))
BROKEN = "I looked at it for a while."


@pytest.mark.parametrize(
    ("tenths", "verdicts", "expected"),
    [
        (10, 3, 1 / 3),
        (3, 3, 0.1),  # (0.1 + 0.1 + 0.1) / 3 in floats is 0.10000000000000002
        (0, 7, 0.0),
        (2**53 + 1, 1, float(Fraction(2**53 + 1, 10))),  # one division, of whole numbers
        (1, 0, None),
        (0, 0, None),
    ],
)
def test_a_mean_is_rounded_once(tenths: int, verdicts: int, expected: float | None) -> None:
    assert mean(tenths, verdicts) == expected


def test_a_mean_is_over_ok_cells_and_a_failure_is_no_zero() -> None:
    run = TinyRun(
        items=[item(name) for name in ("i1", "i2", "i3", "i4")],
        answers={
            ("i1", "en", "p1"): [ONE],
            ("i2", "en", "p1"): [FIVE],
            ("i3", "en", "p1"): [BROKEN],
        },
    )
    (row,) = run.scores().means()
    # (1 + 5) / 2; i3 was judged in vain and i4 never translated.
    assert (row.mean_penalty, row.samples, row.failed_samples, row.expected) == (3.0, 2, 1, 4)


def test_without_any_ok_cell_there_is_no_mean() -> None:
    scores = TinyRun(answers={("i1", "en", "p1"): [BROKEN]}).scores()
    assert [row.mean_penalty for row in scores.means()] == [None]
    assert [row.mean_penalty for row in scores.means("language")] == [None]
    assert [row.mean_penalty for row in scores.means(common=True)] == [None]
    assert scores.normalised() == [None]
    assert scores.behavior_rate(0, "use", "missed_required_context") is None


def test_a_cell_is_the_mean_of_its_repeats() -> None:
    run = TinyRun(
        items=[item("i1"), item("i2"), item("i3")],
        repeats=3,
        answers={
            ("i1", "en", "p1"): [CLEAN, ONE, FIVE],  # (0 + 1 + 5) / 3 = 2
            ("i2", "en", "p1"): [ONE, ONE, ONE],  # 1
            ("i3", "en", "p1"): [FIVE, BROKEN, ("", "length")],  # fewer than three are valid: a failure
        },
    )
    scores = run.scores()
    (row,) = scores.means()
    assert (row.mean_penalty, row.samples, row.failed_samples) == (1.5, 2, 1)
    failed = [(cell.item_id, cell.judge_failure) for cell in scores.status.not_ok]
    assert failed == [("i3", "malformed")]  # the failure of the first repeat that failed


def test_a_penalty_of_repeats_need_not_be_a_tenth() -> None:
    run = TinyRun(repeats=3, answers={("i1", "en", "p1"): [CLEAN, CLEAN, ONE]})
    assert run.scores().means()[0].mean_penalty == 1 / 3


def test_labels_and_errors_are_counted_per_repeat() -> None:
    missed = answer(label="missed_required_context", minor=(WORD,))
    run = TinyRun(
        items=[item("i1"), item("i2")],
        repeats=2,
        answers={("i1", "en", "p1"): [missed, CLEAN], ("i2", "en", "p1"): [missed, BROKEN]},
    )
    scores = run.scores()
    # i2 is a judge failure, so neither its label nor its error counts: one of two verdicts.
    assert scores.breakdowns.behaviors == {
        (0, "use", "missed_required_context"): 1,
        (0, "use", "used_correctly"): 1,
    }
    assert scores.breakdowns.errors == {("en", 0, "minor", WORD): 1}
    assert scores.behavior_rate(0, "use", "missed_required_context") == 0.5


def test_common_cells_are_valid_for_every_participant() -> None:
    run = TinyRun(
        items=[item("i1"), item("i2", "ignore"), item("i3")],
        languages=["en", "ja"],
        participants=["p1", "p2"],
        answers={
            ("i1", "en", "p1"): [FIVE],
            ("i1", "en", "p2"): [ONE],
            ("i1", "ja", "p1"): [ONE],
            ("i1", "ja", "p2"): [BROKEN],
            ("i2", "en", "p1"): [ONE],
            ("i2", "en", "p2"): [CLEAN],
            ("i2", "ja", "p1"): [FIVE],
            ("i3", "ja", "p2"): [FIVE],
        },
    )
    scores = run.scores()
    # Common are (i1, en) and (i2, en).
    assert scores.status.common_cells == 2
    overall = [(row.mean_penalty, row.samples) for row in scores.means(common=True)]
    assert overall == [(3.0, 2), (0.5, 2)]  # (5 + 1) / 2, (1 + 0) / 2
    by_expectation = {
        (row.key[0], row.participant_index): (row.mean_penalty, row.samples)
        for row in scores.means("context_expectation", common=True)
    }
    assert by_expectation == {
        ("use", 0): (5.0, 1),
        ("use", 1): (1.0, 1),
        ("ignore", 0): (1.0, 1),
        ("ignore", 1): (0.0, 1),
    }
    by_language = {
        (row.key[0], row.participant_index): (row.mean_penalty, row.samples)
        for row in scores.means("language", common=True)
    }
    assert by_language[("ja", 0)] == by_language[("ja", 1)] == (None, 0)


def test_normalised_mean_over_languages() -> None:
    # en: means 0, 1, 5 -> 0, 1/5, 1.  ja: all 1 -> 0, 0, 0.  Mean of two languages.
    answers = {("i1", "ja", name): [ONE] for name in ("p1", "p2", "p3")}
    answers |= {("i1", "en", "p1"): [CLEAN], ("i1", "en", "p2"): [ONE], ("i1", "en", "p3"): [FIVE]}
    run = TinyRun(languages=["en", "ja"], participants=["p1", "p2", "p3"], answers=answers)
    assert run.scores().normalised() == [0.0, 0.1, 0.5]


def test_normalised_mean_is_null_without_a_language() -> None:
    run = TinyRun(
        languages=["en", "ja"],
        participants=["p1", "p2", "p3"],
        answers={
            ("i1", "en", "p1"): [CLEAN],
            ("i1", "en", "p2"): [FIVE],
            ("i1", "en", "p3"): [ONE],
            ("i1", "ja", "p1"): [FIVE],
            ("i1", "ja", "p2"): [ONE],
            ("i1", "ja", "p3"): [BROKEN],
        },
    )
    # p3 has no mean in ja, and does not count there: p1 (0 + 1) / 2, p2 (1 + 0) / 2.
    assert run.scores().normalised() == [0.5, 0.5, None]


def test_normalised_mean_of_one_participant_is_zero() -> None:
    assert TinyRun(answers={("i1", "en", "p1"): [FIVE]}).scores().normalised() == [0.0]


def test_every_participant_has_a_row_in_every_slice() -> None:
    run = TinyRun(
        items=[item("i1", turns=2), item("i2", "ignore", turns=3, mode="dyadic")],
        participants=["p2", "p1"],
        answers={("i1", "en", "p1"): [ONE]},
    )
    rows = run.scores().means("context_turn_count", "speaker_mode")
    # Sorted by slice, then participants in the run's order, not by name.
    assert [(row.key, row.participant_index, row.mean_penalty) for row in rows] == [
        ((2, "single"), 0, None),
        ((2, "single"), 1, 1.0),
        ((3, "dyadic"), 0, None),
        ((3, "dyadic"), 1, None),
    ]


@pytest.mark.parametrize(
    ("expectation", "label", "rate"),
    [
        ("use", "missed_required_context", 2 / 3),
        ("use", "used_correctly", 1 / 3),
        ("use", "misused_context", 0.0),
        ("ignore", "misused_context", 0.5),
        ("ignore", "missed_required_context", 0.0),
    ],
)
def test_behavior_rates(expectation: str, label: str, rate: float) -> None:
    labels = {
        "u1": "missed_required_context",
        "u2": "missed_required_context",
        "u3": "used_correctly",
        "g1": "misused_context",
        "g2": "ignored_irrelevant_context",
    }
    run = TinyRun(
        items=[item(name, "use" if name[0] == "u" else "ignore") for name in labels],
        answers={(name, "en", "p1"): [answer(label=given)] for name, given in labels.items()},
    )
    assert run.scores().behavior_rate(0, expectation, label) == rate
