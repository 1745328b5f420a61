"""The strict reading of the text form, one table for each sentence of its rule.

Expected values follow from the annotation-format page; where it is silent on a character, from ECMAScript
(``String.prototype.trim``, ``\\s``, the ``i`` flag), in which the benchmark's validator is written.
"""

from __future__ import annotations

import pytest
from annotation_answers import answer

from pipeline.annotation.lines import COMMON_LINES, read_line
from pipeline.annotation.model import Annotation, AnnotationError
from pipeline.annotation.text_form import read_text
from pipeline.vocabulary import CONTEXT_BEHAVIORS, ERROR_CLASSES, SEVERITIES

OMISSION = 'accuracy/omission - "x"'
X = AnnotationError("major", "accuracy/omission", "x")
# ECMA-262, White Space and Line Terminators; a line feed ends a line instead.
JAVASCRIPT_SPACES = "\t\v\f\r \u00a0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
# Python's str.strip takes the first four, a zero-width space is none, U+180E was one until Unicode 6.3.
NOT_JAVASCRIPT_SPACES = "\x85\x1c\x1d\x1f\u200b\u180e\0"


def strict(text: str) -> Annotation:
    return read_text(text, "strict")


def test_a_clean_answer() -> None:
    assert strict(answer()) == Annotation("ok", None, (), "unclear", (), False)


def test_errors_stand_in_the_answers_order() -> None:
    text = answer('other - "a"', f'fluency/register - "b"\n{OMISSION}', 'style/awkward - "c"')
    assert strict(text).errors == (
        AnnotationError("critical", "other", "a"),
        AnnotationError("major", "fluency/register", "b"),
        X,
        AnnotationError("minor", "style/awkward", "c"),
    )


@pytest.mark.parametrize("error_class", ERROR_CLASSES)
@pytest.mark.parametrize("written", [str, str.upper, str.title, lambda c: c.replace("/", "-")])
def test_every_class_in_any_case_and_with_a_hyphen(error_class: str, written) -> None:
    (error,) = strict(answer(minor=f'{written(error_class)} - "x"')).errors
    assert error == AnnotationError("minor", error_class, "x")


@pytest.mark.parametrize("label", CONTEXT_BEHAVIORS)
@pytest.mark.parametrize("form", ["contextBehavior: {}", "CONTEXTBEHAVIOR={}", "contextBehavior \t=\u3000{}"])
def test_every_label_in_any_case(label: str, form: str) -> None:
    for written in (label, label.upper()):
        assert strict(answer(label=form.format(written))).context_behavior == label


ACCEPTED = {
    "a preamble": ("Let me see.\n- two remarks\n" + answer(), ()),
    "a preamble that looks like content": (f"no-error\n{OMISSION}\n{answer()}", ()),
    "a preamble with an unfinished label line": (f"contextBehavior:\n{answer()}", ()),
    "a label line broken by a carriage return is prose": (f"contextBehavior: a\rb\n{answer()}", ()),
    "fences anywhere": (f"```text\n{answer(major=f'```{chr(10)}{OMISSION}')}\n```", (X,)),
    "a fence line with text after the backticks": (answer(label="contextBehavior: unclear\n```Done."), ()),
    "CRLF": (answer(major=OMISSION).replace("\n", "\r\n"), (X,)),
    "blank lines and indents": (answer(major=OMISSION).replace("\n", " \n\n \t"), (X,)),
    "a space before the colon": (answer().replace(":", " :", 3), ()),
    "any order of sections": (
        f"MINOR:\nno-error\ncritical:\nno-error\nMajor:\n{OMISSION}\ncontextbehavior=UNCLEAR",
        (X,),
    ),
    "a heading again continues its severity": (
        answer(major=OMISSION, minor=f"no-error\nMajor:\n{OMISSION}"),
        (X, X),
    ),
    "spaces before the dash": (answer(major='accuracy/omission \t - "x"'), (X,)),
    "a span of one space": (
        answer(major='accuracy/omission - " "'),
        (AnnotationError("major", "accuracy/omission", " "),),
    ),
    "a span is not trimmed": (
        answer(major='other - "\u3000a\r"'),
        (AnnotationError("major", "other", "\u3000a\r"),),
    ),
    "a span that looks like a heading": (
        answer(major='other - "Minor:"'),
        (AnnotationError("major", "other", "Minor:"),),
    ),
    "a span with a separator": (
        answer(major='other - "a - b"'),
        (AnnotationError("major", "other", "a - b"),),
    ),
    "a byte-order mark": ("\ufeff" + answer(), ()),
}


@pytest.mark.parametrize(("text", "errors"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(text: str, errors: tuple[AnnotationError, ...]) -> None:
    assert strict(text) == Annotation("ok", None, errors, "unclear", (), False)


# text, status, the line that the reason must name, and what it shows of that line
REFUSED = {
    "bold heading": (answer().replace("Major:", "**Major:**"), "malformed", 3, "'**Major:**'"),
    "bold first heading": (
        answer().replace("Critical:", "**Critical:**"),
        "missing_section",
        1,
        "'**Critical:**'",
    ),
    "bulleted heading": (answer().replace("Minor:", "- Minor:"), "malformed", 5, "'- Minor:'"),
    "bulleted error": (answer(major=f"- {OMISSION}"), "malformed", 4, f"'- {OMISSION}'"),
    "heading with a full-width colon": (answer().replace("Major:", "Major："), "malformed", 3, "'Major：'"),
    "heading with text": (answer().replace("Major:\n", "Major: "), "malformed", 3, "'Major: no-error'"),
    "zero-width character in a heading": (
        answer().replace("Major", "Ma\u200bjor"),
        "malformed",
        3,
        r"'Ma\u200bjor:'",
    ),
    "class with a colon": (answer(major='accuracy/omission: "x"'), "malformed", 4, "'accuracy/omission: "),
    "class without a span": (answer(major="accuracy/omission"), "malformed", 4, "'accuracy/omission'"),
    "empty span": (answer(major='accuracy/omission - ""'), "malformed", 4, "'accuracy/omission - "),
    "double quote in the span": (answer(major='accuracy/omission - "a "b" c"'), "malformed", 4, "'accuracy/"),
    "only one quote": (answer(major='accuracy/omission - "'), "malformed", 4, "'accuracy/omission - "),
    "single quotes": (answer(major="accuracy/omission - 'x'"), "malformed", 4, '"accuracy/omission - '),
    "typographic quotes": (
        answer(major="accuracy/omission - “x”"),
        "malformed",
        4,
        "'accuracy/omission - “x”'",
    ),
    "text after the span": (answer(major=f"{OMISSION} (lost)"), "malformed", 4, f"'{OMISSION} (lost)'"),
    "en dash": (answer(major='accuracy/omission – "x"'), "malformed", 4, "'accuracy/omission – "),
    "two spaces after the dash": (
        answer(major='accuracy/omission -  "x"'),
        "malformed",
        4,
        "'accuracy/omission -  ",
    ),
    "no space after the dash": (
        answer(major='accuracy/omission -"x"'),
        "malformed",
        4,
        "'accuracy/omission -",
    ),
    "span over two lines": (
        answer(major='accuracy/omission - "a\nb"'),
        "malformed",
        4,
        "'accuracy/omission - ",
    ),
    "prose in a section": (answer(major=f"{OMISSION}\nIt is lost."), "malformed", 5, "'It is lost.'"),
    "another word for no-error": (answer(critical="No errors."), "malformed", 2, "'No errors.'"),
    "two classes": (
        answer(major='accuracy/omission, other - "x"'),
        "unknown_class",
        4,
        "'accuracy/omission, other - ",
    ),
    "unknown class": (answer(minor='style/clumsy - "x"'), "unknown_class", 6, "'style/clumsy - "),
    "parent class": (answer(minor='fluency - "x"'), "unknown_class", 6, "'fluency - "),
    "class with a slash for its hyphen": (
        answer(minor='non/translation - "x"'),
        "unknown_class",
        6,
        "'non/translation",
    ),
    "class with two spaces": (
        answer(minor='fluency/character  encoding - "x"'),
        "unknown_class",
        6,
        "'fluency/char",
    ),
    "section with nothing under it": (answer(major="Minor:"), "missing_section", 3, "'Major:'"),
    "section before the label": ("Critical:\ncontextBehavior: unclear", "missing_section", 1, "'Critical:'"),
    "section at the end": ("Critical:\nno-error\nMajor:\n", "missing_section", 3, "'Major:'"),
    "first of a repeated heading is bare": ("Major:\nMajor:\nno-error", "missing_section", 1, "'Major:'"),
    "heading not there": (
        "Critical:\nno-error\nMajor:\nno-error\ncontextBehavior: unclear\n",
        "missing_section",
        5,
        "'contextBehavior: unclear'",
    ),
    "label alone": ("contextBehavior: unclear", "missing_section", 1, "'contextBehavior: unclear'"),
    "neither heading nor label at the end": ("Critical:\nno-error", "missing_section", 2, "'no-error'"),
    "no label": (answer(label=""), "missing_context_behavior", 6, "'no-error'"),
    "unknown label": (answer(label="contextBehavior: used"), "malformed", 7, "'contextBehavior: used'"),
    "label in another spelling": (
        answer(label="contextBehavior: used correctly"),
        "malformed",
        7,
        "'contextB",
    ),
    "key in another spelling": (
        answer(label="context_behavior: unclear"),
        "malformed",
        7,
        "'context_behavior: ",
    ),
    "full-width colon after the key": (
        answer(label="contextBehavior： unclear"),
        "malformed",
        7,
        "'contextBehavior：",
    ),
    "text after the label on its line": (
        answer(label="contextBehavior: unclear."),
        "malformed",
        7,
        "'contextB",
    ),
    "text after the label's line": (f"{answer()}\n\nGood.", "malformed", 9, "'Good.'"),
    "label twice": (f"{answer()}\ncontextBehavior: unclear", "malformed", 8, "'contextBehavior: unclear'"),
    "label first": ("contextBehavior: unclear\n" + answer(label=""), "malformed", 2, "'Critical:'"),
    "label between sections": (
        answer(critical="no-error\ncontextBehavior: unclear", label=""),
        "malformed",
        4,
        "'Major:'",
    ),
    "JSON": ('{"has_no_error": true}', "malformed", 1, """'{"has_no_error": true}'"""),
    "fenced JSON": ('```json\n{"errors": "I cannot"}\n```', "malformed", 1, "'```json'"),
    "prose without a refusal": ("\nThe translation is good.", "malformed", 2, "'The translation is good.'"),
    "all on one line": (answer().replace("\n", " "), "malformed", 1, "'Critical: no-error Major: "),
    "the first of two offences counts": (
        answer(critical="none", minor='bad - "x"'),
        "malformed",
        2,
        "'none'",
    ),
    "an offence counts before a missing section": ('Minor:\nbad - "x"', "unknown_class", 2, "'bad - "),
    "dotless i": (
        answer().replace("Critical", "Crıtical"),
        "missing_section",
        7,
        "'contextBehavior: unclear'",
    ),
    "long s": (answer(minor='ſtyle/awkward - "x"'), "unknown_class", 6, "'ſtyle/awkward"),
    "Kelvin sign": (answer(minor='style/aw\u212aard - "x"'), "unknown_class", 6, "'style/aw\u212aard"),
    "dotted capital I": (
        answer(critical="no-error", label="contextBehavİor: unclear"),
        "malformed",
        7,
        "'contextBehavİor",
    ),
}


@pytest.mark.parametrize(("text", "status", "line", "shown"), REFUSED.values(), ids=REFUSED)
def test_refused_with_type_and_line(text: str, status: str, line: int, shown: str) -> None:
    annotation = strict(text)
    reason = annotation.reason
    assert annotation == Annotation(status, reason, (), None, (), False)
    assert reason is not None
    assert reason.startswith(f"{status}: line {line} {shown}")


@pytest.mark.parametrize("text", ["", " ", " \n\r\n\t\u3000\ufeff\n"])
def test_nothing_but_white_space_is_empty(text: str) -> None:
    assert strict(text).status == "empty"


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "Sorry. This text is unsafe.",
        "\n I’m unable to judge this.",
        "As an AI, I do not rate such content.",
        "I cannot annotate this translation.",
        "죄송합니다. 이 요청은 처리하기 어렵습니다.",
        "이 번역은 평가할 수 없습니다.",
    ],
)
def test_prose_that_declines_is_a_refusal(text: str) -> None:
    assert strict(text).status == "refusal"


def test_an_apology_in_an_annotation_is_none() -> None:
    assert strict("I'm sorry for the delay.\n" + answer()).status == "ok"
    assert strict("I'm sorry.\nCritical:\nno-error").status == "missing_section"


@pytest.mark.parametrize("space", JAVASCRIPT_SPACES)
def test_javascript_white_space_is_trimmed_and_stands_before_colon_and_dash(space: str) -> None:
    lines = answer(major=f'accuracy/omission{space} - "x"').replace(":", f"{space}:").split("\n")
    annotation = strict("\n".join(f"{space}{line}{space}" for line in lines))
    assert annotation == Annotation("ok", None, (X,), "unclear", (), False)


@pytest.mark.parametrize("character", NOT_JAVASCRIPT_SPACES)
def test_no_other_character_is_trimmed(character: str) -> None:
    for line in ("Major:", "no-error", "contextBehavior: unclear"):
        assert strict(answer().replace(line, line + character)).status != "ok"
        assert strict(answer().replace(line, character + line)).status != "ok"
    assert strict(character).status == "malformed"


@pytest.mark.parametrize("terminator", "\r\u2028\u2029\x85\v\f")
def test_only_a_line_feed_ends_a_line(terminator: str) -> None:
    assert strict(answer().replace("\n", terminator)).status == "malformed"
    (error,) = strict(answer(minor=f'other - "a{terminator}b"')).errors
    assert error.span == f"a{terminator}b"


@pytest.mark.parametrize(
    ("text", "contradictory"),
    [
        (answer(major=f"no-error\n{OMISSION}"), True),
        (answer(major=f"{OMISSION}\nNO-ERROR"), True),
        (answer(major=f"no-error\nMajor:\n{OMISSION}"), True),  # a heading again continues its severity
        (answer(major=OMISSION), False),
        (answer(major="no-error\nno-error"), False),
        (f"no-error\n{answer(major=OMISSION)}", False),  # before any heading it says nothing
    ],
)
def test_no_error_beside_an_error_is_flagged_and_the_error_counts(text: str, contradictory: bool) -> None:
    annotation = strict(text)
    assert annotation.status == "ok"
    assert annotation.contradictory is contradictory
    assert bool(annotation.errors) is (OMISSION in text)


def test_a_reason_is_short_and_of_one_line() -> None:
    reason = strict(answer(major="\u202e\r\ud800" + "x" * 1_000_000)).reason
    assert reason is not None
    assert reason.isprintable()
    assert len(reason) < 300


@pytest.mark.parametrize("raw", COMMON_LINES)
def test_lines_read_beforehand_are_read_as_any_other(raw: str) -> None:
    assert COMMON_LINES[raw] == read_line(raw)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_the_missing_heading_is_named(severity: str) -> None:
    text = answer().replace(f"{severity.capitalize()}:\nno-error\n", "")
    assert f"the heading {severity.capitalize()}:" in (strict(text).reason or "")


# Each is linear work; a pattern that backtracks would not come back.
HOSTILE = {
    "spaces": " " * 1_000_000 + "x",
    "spaces in a label line": answer(label="contextBehavior" + " " * 1_000_000 + "x"),
    "line separators in a label line": answer(label="contextBehavior:" + " \u2028" * 500_000 + "\rx"),
    "equals signs": answer(label="contextBehavior=" * 60_000),
    "quotes": answer(major="accuracy/omission - " + '"' * 1_000_000),
    "typographic quotes": answer(major="accuracy/omission - " + "“" * 1_000_000),
    "separators": answer(major=' - "' * 250_000),
    "class characters": answer(major="a/- " * 250_000 + '"x"'),
    "bold marks": answer(major="*" * 1_000_000),
    "bullets": answer(major="- " * 500_000),
    "zero-width characters": answer(major="\u200b" * 1_000_000),
    "line feeds": "\n" * 1_000_000,
    "headings": "Critical:\nno-error\n" * 50_000,
    "fences": "```\n" * 250_000,
    "apologies": "i can " * 160_000,
    "braces": "{" * 1_000_000,
    "null characters": "\0" * 1_000_000,
    "lone surrogates": "\ud800" * 1_000_000,
    "right to left": answer(major="\u202eאב" * 300_000),
    "a long span": answer(major='other - "' + "밥" * 1_000_000 + '"'),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("mode", ["strict", "lenient"])
def test_a_hostile_megabyte_gives_a_typed_result(text: str, mode: str) -> None:
    annotation = read_text(text, mode)
    assert (annotation.reason is None) is (annotation.status == "ok")
