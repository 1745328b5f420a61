"""The lenient reading: what it repairs, under which name, and what it leaves alone."""

from __future__ import annotations

import pytest
from annotation_answers import answer

from pipeline.annotation.model import AnnotationError
from pipeline.annotation.repairs import REPAIRS
from pipeline.annotation.text_form import read_text

GOOD = 'accuracy/omission - "x"'

# Each is a line under Major that must be read as GOOD.
ERROR_LINES = [
    (f"- {GOOD}", ("bullet",)),
    (f"•\t{GOOD}", ("bullet",)),
    (f"**{GOOD}**", ("bold",)),
    ('**accuracy/omission** - "x"', ("bold",)),
    ('* __Accuracy-Omission__ - **"x"**', ("bullet", "bold")),
    ("accuracy/omission - “x”", ("typographic_quotes",)),
    ("accuracy/omission - „x“", ("typographic_quotes",)),
    ('accu\u200bracy/omission - \ufeff"x"\u200d', ("zero_width",)),
    ("\u200b- **accuracy/omission** - “x”", ("zero_width", "bullet", "bold", "typographic_quotes")),
]


@pytest.mark.parametrize(("line", "repairs"), ERROR_LINES)
def test_repaired_error_lines(line: str, repairs: tuple[str, ...]) -> None:
    text = answer(major=line)
    assert read_text(text, "strict").status != "ok"
    annotation = read_text(text, "lenient")
    assert annotation.status == "ok", annotation.reason
    assert annotation.errors == (AnnotationError("major", "accuracy/omission", "x"),)
    assert annotation.repairs == repairs


@pytest.mark.parametrize(
    ("quoted", "span", "repairs"),
    [
        ('"say "hi" now"', 'say "hi" now', ("inner_quotes",)),
        ('""hi" she said"', '"hi" she said', ("inner_quotes",)),
        ('"a", "b"', 'a", "b', ("inner_quotes",)),
        ("“say “hi” now”", "say “hi” now", ("typographic_quotes", "inner_quotes")),
        ('“say "hi" now”', 'say "hi" now', ("typographic_quotes", "inner_quotes")),
    ],
)
def test_a_span_with_quotes_reaches_from_the_first_to_the_last(
    quoted: str, span: str, repairs: tuple[str, ...]
) -> None:
    annotation = read_text(answer(minor=f"other - {quoted}"), "lenient")
    assert annotation.errors == (AnnotationError("minor", "other", span),)
    assert annotation.repairs == repairs


@pytest.mark.parametrize("span", ["**x**", "- x", "a\u200db", "x：", "“x”", " x "])
def test_a_span_is_never_changed(span: str) -> None:
    annotation = read_text(answer(major=f'- other - "{span}"'), "lenient")
    assert annotation.errors == (AnnotationError("major", "other", span),)
    assert annotation.repairs == ("bullet",)


@pytest.mark.parametrize(
    ("heading", "repairs"),
    [
        ("**Major:**", ("bold",)),
        ("**Major**:", ("bold",)),
        ("- Major:", ("bullet",)),
        ("Major：", ("full_width_colon",)),
        ("\u200bMajor:", ("zero_width",)),
        ("* **MAJOR：**", ("bullet", "bold", "full_width_colon")),
    ],
)
def test_repaired_headings(heading: str, repairs: tuple[str, ...]) -> None:
    annotation = read_text(answer(major=GOOD).replace("Major:", heading), "lenient")
    assert (annotation.status, len(annotation.errors), annotation.repairs) == ("ok", 1, repairs)


@pytest.mark.parametrize(
    ("label", "repairs"),
    [
        ("contextBehavior: used_correctly.", ("text_after_label",)),
        ("contextBehavior: USED_CORRECTLY (the referent is kept)", ("text_after_label",)),
        ("contextBehavior= used_correctly - fine", ("text_after_label",)),
        ("contextBehavior： used_correctly", ("full_width_colon",)),
        ("**contextBehavior:** used_correctly", ("bold",)),
        ("- contextBehavior: **used_correctly**\u200b", ("zero_width", "bullet", "bold")),
        ("contextBehavior：used_correctly, all well", ("full_width_colon", "text_after_label")),
    ],
)
def test_repaired_label_lines(label: str, repairs: tuple[str, ...]) -> None:
    annotation = read_text(answer(label=label), "lenient")
    assert (annotation.status, annotation.context_behavior) == ("ok", "used_correctly")
    assert annotation.repairs == repairs


@pytest.mark.parametrize("line", ["**no-error**", "- no-error", "no\u2060-error", "+ **No-Error**"])
def test_repaired_no_error(line: str) -> None:
    annotation = read_text(answer(critical=line), "lenient")
    assert (annotation.status, annotation.errors) == ("ok", ())
    assert annotation.repairs


@pytest.mark.parametrize(
    "text",
    [
        answer(major="accuracy/omission - 'x'"),  # a single quote may be an apostrophe
        answer(major='accuracy/omission – "x"'),
        answer(major='accuracy/omission: "x"'),
        answer(major="accuracy/omission - x"),
        answer(major="accuracy/omission"),
        answer(major='accuracy/omission - ""'),
        answer(major="accuracy/omission - “”"),
        answer(major='accuracy/omission - "x" (lost)'),
        answer(major='accuracy/omission - "x”'),
        answer(major='1. accuracy/omission - "x"'),
        answer(major='accuracy/omission - "a\nb"'),
        answer(major='accuracy - "x"'),
        answer(major='**accuracy/omission, other** - "x"'),
        answer(major="none"),
        answer(major="no error"),
        answer(label="contextBehavior: used"),
        answer(label="contextBehavior: used_correctlyish"),
        answer(label="contextBehavior: probably unclear"),
        answer(label="contextBehavior: used_correctly or misused_context"),
        answer(label="contextBehavior: used_correctly | missed_required_context | unclear"),
        answer(label="context behavior: unclear"),
        answer(label="unclear"),
        answer() + "\nGood.",
        answer().replace("Major:", "## Major"),
        answer().replace("Major:", "Majors:"),
        answer().replace("Major:\n", "Major: "),
        answer().replace("Minor:\nno-error\n", ""),
        "",
        "I'm sorry, but I can't help with that.",
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    lenient = read_text(text, "lenient")
    assert lenient.status != "ok"
    assert lenient == read_text(text, "strict")


def test_repairs_are_listed_once_and_in_the_order_of_first_use() -> None:
    text = answer(critical="- no-error", major=f"**{GOOD}**\n- {GOOD}", label="contextBehavior: unclear!")
    assert read_text(text, "lenient").repairs == ("bullet", "bold", "text_after_label")


def test_what_changes_nothing_is_not_listed() -> None:
    text = f"- no-error\n**Remarks**\n\u200b\n{answer(critical='- no-error')}"
    assert read_text(text, "lenient").repairs == ("bullet",)


def test_lines_of_nothing_but_marks_are_dropped_as_a_repair() -> None:
    assert read_text(answer() + "\n\u200b", "lenient").repairs == ("zero_width",)
    assert read_text(answer() + "\n**", "lenient").repairs == ("bold",)


def test_a_class_that_needs_a_repair_is_not_unknown() -> None:
    # The strict reading calls a class unknown only where the judge named none of the fifteen.
    for line, status in ((f"- {GOOD}", "malformed"), ('- bad - "x"', "unknown_class")):
        assert read_text(answer(major=line), "strict").status == status


def test_every_repair_has_a_line_of_explanation() -> None:
    for name, explanation in REPAIRS.items():
        assert name.isidentifier() and name.islower()
        assert explanation and "\n" not in explanation
