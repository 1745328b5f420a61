"""The JSON form. Expected values follow from the annotation-format page."""

from __future__ import annotations

import json

import pytest
from annotation_answers import answer, json_answer, json_error

from pipeline.annotation.json_form import read_json
from pipeline.annotation.model import Annotation, AnnotationError


def test_a_clean_answer() -> None:
    assert read_json(json_answer(), "strict") == Annotation("ok", None, (), "unclear", (), False)


def test_errors_with_both_spans_and_an_explanation() -> None:
    text = json_answer(
        json_error(),
        json_error(severity="minor", target_span_text=None, source_span_text="밥", explanation="lost"),
    )
    assert read_json(text, "strict").errors == (
        AnnotationError("major", "accuracy/omission", "coat", None, None),
        AnnotationError("minor", "accuracy/omission", None, "밥", "lost"),
    )


@pytest.mark.parametrize("around", [" ", "\n", "\r\n\t", "\ufeff", "\u3000"])
def test_javascript_white_space_around_the_object(around: str) -> None:
    assert read_json(around + json_answer() + around, "strict").status == "ok"


def test_the_label_may_be_left_out_where_it_is_not_required() -> None:
    text = json_answer(contextBehavior=...)
    assert read_json(text, "strict").status == "missing_context_behavior"
    annotation = read_json(text, "strict", context_required=False)
    assert (annotation.status, annotation.context_behavior) == ("ok", None)
    assert read_json(json_answer(contextBehavior="x"), "strict", context_required=False).status == "malformed"


# text, status, and the place that the reason must name
REFUSED = {
    "empty": ("", "empty", "line 1"),
    "white space": (" \n\ufeff", "empty", "line 1"),
    "refusal": ("I'm sorry, I can't do that.", "refusal", "line 1"),
    "the text form": ("\n" + answer(), "malformed", "line 2 'Critical:'"),
    "cut": ('{"has_no_error": true,\n "errors": [', "malformed", "line 2"),
    "cut after blank lines": ('\n\n{"has_no_error": true,\n "errors": [', "malformed", "line 4"),
    "fenced": (f"```json\n{json_answer()}\n```", "malformed", "line 1 '```json'"),
    "prose before": (f"Here it is: {json_answer()}", "malformed", "line 1"),
    "prose after": (f"{json_answer()} Done.", "malformed", "line 1"),
    "two objects": (json_answer() * 2, "malformed", "line 1"),
    "single quotes": (json_answer().replace('"', "'"), "malformed", "line 1"),
    "trailing comma": ('{"has_no_error": true, "errors": [],}', "malformed", "line 1"),
    "an array": (f"[{json_answer()}]", "malformed", "the answer is not an object"),
    "a string": (json.dumps(json_answer()), "malformed", "the answer is not an object"),
    "null": ("null", "malformed", "the answer is not an object"),
    "unknown key": (json_answer(note=1), "malformed", "/ has the unknown key 'note'"),
    "key in another case": (json_answer(Errors=[]), "malformed", "/ has the unknown key 'Errors'"),
    "no errors key": (json_answer(errors=...), "malformed", "/errors is not there"),
    "no has_no_error": (json_answer(has_no_error=...), "malformed", "/has_no_error is not there"),
    "has_no_error as a string": (json_answer(has_no_error="true"), "malformed", "/has_no_error"),
    "has_no_error as a number": (json_answer(has_no_error=1), "malformed", "/has_no_error"),
    "errors null": (json_answer(errors=None), "malformed", "/errors is not an array"),
    "errors as an object": (json_answer(errors={}), "malformed", "/errors is not an array"),
    "true with errors": (json_answer(json_error(), has_no_error=True), "malformed", "/has_no_error is true"),
    "false without errors": (json_answer(has_no_error=False), "malformed", "/has_no_error is false"),
    "label null": (json_answer(contextBehavior=None), "malformed", "/contextBehavior is not a string"),
    "unknown label": (json_answer(contextBehavior="used"), "malformed", "/contextBehavior 'used'"),
    "label in another case": (
        json_answer(contextBehavior="Unclear"),
        "malformed",
        "/contextBehavior 'Unclear'",
    ),
    "an error as a string": (json_answer("x"), "malformed", "/errors/0 is not an object"),
    "unknown key of an error": (
        json_answer(json_error(), json_error(a=1)),
        "malformed",
        "/errors/1/ has the",
    ),
    "no severity": (json_answer(json_error(severity=...)), "malformed", "/errors/0/severity is not there"),
    "no source span": (
        json_answer(json_error(source_span_text=...)),
        "malformed",
        "/errors/0/source_span_text",
    ),
    "unknown severity": (
        json_answer(json_error(severity="fatal")),
        "malformed",
        "/errors/0/severity 'fatal'",
    ),
    "severity in another case": (
        json_answer(json_error(severity="Major")),
        "malformed",
        "/errors/0/severity",
    ),
    "unknown class": (
        json_answer(json_error(**{"class": "accuracy"})),
        "unknown_class",
        "/errors/0/class 'accuracy'",
    ),
    "class in another case": (
        json_answer(json_error(**{"class": "Other"})),
        "malformed",
        "/errors/0/class 'Other'",
    ),
    "class with a Kelvin sign": (
        json_answer(json_error(**{"class": "style/aw\u212aard"})),
        "unknown_class",
        "/errors/0/class",
    ),
    "class null": (
        json_answer(json_error(**{"class": None})),
        "malformed",
        "/errors/0/class is not a string",
    ),
    "span as a number": (
        json_answer(json_error(target_span_text=1)),
        "malformed",
        "/errors/0/target_span_text",
    ),
    "explanation null": (json_answer(json_error(explanation=None)), "malformed", "/errors/0/explanation"),
    "a key twice": ('{"errors": [], "errors": []}', "malformed", "line 1"),
    "a key twice in an error": ('{"errors": [{"a": 1, "a": 2}]}', "malformed", "line 1"),
    "NaN": ('{"has_no_error": NaN}', "malformed", "line 1"),
    "infinity": ('{"has_no_error": -Infinity}', "malformed", "line 1"),
    "a huge number": ('{"has_no_error": ' + "9" * 100_000 + "}", "malformed", "/errors is not there"),
    "a huge exponent": ('{"has_no_error": 1e999999, "errors": []}', "malformed", "/has_no_error"),
    "a raw control character": ('{"has\n": 1}', "malformed", "line 1"),
    "deep arrays": ("[" * 1_000_000, "malformed", "line 1"),
    "deep objects": ('{"a":' * 200_000, "malformed", "line 1"),
    "deep and closed": ('{"errors":' + "[" * 100_000 + "]" * 100_000 + "}", "malformed", "line 1"),
    "a null character": ("\0", "malformed", r"line 1 '\x00'"),
    "a lone surrogate": ('{"\ud800": 1}', "malformed", r"/ has the unknown key '\ud800'"),
}


@pytest.mark.parametrize(("text", "status", "place"), REFUSED.values(), ids=REFUSED)
def test_refused_with_type_and_place(text: str, status: str, place: str) -> None:
    annotation = read_json(text, "strict")
    reason = annotation.reason
    assert annotation == Annotation(status, reason, (), None, (), False)
    assert reason is not None
    assert reason.startswith(f"{status}: {place}")
    assert reason.isprintable()
    assert len(reason) < 500


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"```json\n{json_answer(json_error())}\n```", ("json_fence",)),
        (f"\n```\n{json_answer(json_error())}```\n", ("json_fence",)),
        (json_answer(json_error(severity="MAJOR")), ("json_letter_case",)),
        (
            json_answer(json_error(**{"class": "Accuracy/Omission"}), contextBehavior="Unclear"),
            ("json_letter_case",),
        ),
        (f"```JSON\n{json_answer(json_error(severity='Major'))}\n```", ("json_fence", "json_letter_case")),
    ],
)
def test_lenient_repairs(text: str, repairs: tuple[str, ...]) -> None:
    assert read_json(text, "strict").status == "malformed"
    error = AnnotationError("major", "accuracy/omission", "coat")
    assert read_json(text, "lenient") == Annotation("ok", None, (error,), "unclear", repairs, False)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in REFUSED
        if (name != "fenced" and "another case" not in name) or name == "key in another case"
    ],
)
def test_lenient_repairs_nothing_else(name: str) -> None:
    assert read_json(REFUSED[name][0], "lenient").status == REFUSED[name][1]


def test_a_fenced_answer_that_is_cut_names_its_line() -> None:
    annotation = read_json('```json\n{"has_no_error": tru\n```', "lenient")
    assert (annotation.reason or "").startswith("malformed: line 2 ")
