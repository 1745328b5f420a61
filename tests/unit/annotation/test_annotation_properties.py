"""What holds for every text."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from annotation_answers import answer
from hypothesis import given
from hypothesis import strategies as st

from pipeline.annotation import Annotation, AnnotationError, locate, read_answer
from pipeline.annotation.lines import WHITE_SPACE
from pipeline.annotation.model import ANNOTATION_STATUSES
from pipeline.annotation.repairs import REPAIRS
from pipeline.vocabulary import CONTEXT_BEHAVIORS, ERROR_CLASSES, SEVERITIES, SPAN_LOCATIONS

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates and null characters included
SPANS = st.text(st.characters(exclude_categories=(), exclude_characters='"\n'), min_size=1)
ERRORS = st.lists(
    st.builds(AnnotationError, st.sampled_from(SEVERITIES), st.sampled_from(ERROR_CLASSES), SPANS), max_size=6
)
LABELS = st.sampled_from(CONTEXT_BEHAVIORS)

PIECES = st.one_of(
    st.sampled_from(
        [
            *(
                "Critical:",
                "MAJOR :",
                "minor:",
                "**Major:**",
                "- Minor:",
                "Major：",
                "no-error",
                "- no-error",
                "```",
            ),
            *(
                'accuracy/omission - "x"',
                'STYLE-AWKWARD - "a - b"',
                'bad - "x"',
                '- other - "x"',
                "other - “x”",
            ),
            *('other - "a "b" c"', "**", "\u200b", "prose", "", " ", "contextBehavior:", "{}", "I'm sorry"),
            *("contextBehavior: unclear", "contextbehavior=UNCLEAR", "contextBehavior： unclear"),
            *("contextBehavior: unclear.", "contextBehavior: used", "**contextBehavior:** unclear"),
        ]
    ),
    ANY_TEXT,
)
ANSWER_LIKE = st.one_of(
    st.lists(PIECES, max_size=14).map("\n".join),
    st.builds(
        lambda *parts: "\n".join(parts),
        *(PIECES, st.just("Critical:"), PIECES, st.just("Major:"), PIECES, st.just("Minor:"), PIECES),
        st.just("contextBehavior: unclear"),
    ),
)


def strict(text: str) -> Annotation:
    return read_answer(text, form="text", mode="strict")


def write_text(errors: list[AnnotationError], label: str) -> str:
    sections = {
        severity: "\n".join(f'{e.error_class} - "{e.span}"' for e in errors if e.severity == severity)
        or "no-error"
        for severity in SEVERITIES
    }
    return answer(**sections, label=f"contextBehavior: {label}")


@given(ERRORS, LABELS)
def test_a_written_text_annotation_is_read_back(errors: list[AnnotationError], label: str) -> None:
    in_sections = tuple(sorted(errors, key=lambda error: SEVERITIES.index(error.severity)))
    assert strict(write_text(errors, label)) == Annotation("ok", None, in_sections, label, (), False)


@given(ERRORS, LABELS, st.sampled_from(["\n", "\r\n"]), st.text(WHITE_SPACE), st.text(WHITE_SPACE))
def test_white_space_around_lines_changes_nothing(
    errors: list[AnnotationError], label: str, line_end: str, before: str, after: str
) -> None:
    text = write_text(errors, label)
    padded = line_end.join(f"{before}{line}{after}" for line in text.split("\n"))
    assert strict(padded) == strict(text)


OPTIONAL_TEXT = st.none() | ANY_TEXT
JSON_ERRORS = st.lists(
    st.builds(
        AnnotationError,
        st.sampled_from(SEVERITIES),
        st.sampled_from(ERROR_CLASSES),
        OPTIONAL_TEXT,
        OPTIONAL_TEXT,
        OPTIONAL_TEXT,
    )
)


@given(JSON_ERRORS, LABELS, st.booleans())
def test_a_written_json_annotation_is_read_back(
    errors: list[AnnotationError], label: str, ensure_ascii: bool
) -> None:
    written = [
        {
            "severity": e.severity,
            "class": e.error_class,
            "target_span_text": e.span,
            "source_span_text": e.source_span,
            **({} if e.explanation is None else {"explanation": e.explanation}),
        }
        for e in errors
    ]
    value = {"has_no_error": not errors, "errors": written, "contextBehavior": label}
    expected = Annotation("ok", None, tuple(errors), label, (), False)
    for mode in ("strict", "lenient"):
        text = json.dumps(value, ensure_ascii=ensure_ascii)
        assert read_answer(text, form="json", mode=mode) == expected


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=True)
    | st.sampled_from(["unclear", "Major", "other", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["has_no_error", "errors", "contextBehavior", "severity", "class", "target_span_text", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
JSON_LIKE = JSON_VALUES.map(json.dumps) | JSON_VALUES.map(lambda value: f"```json\n{json.dumps(value)}\n```")


@pytest.mark.parametrize("form", ["text", "json"])
@given(text=st.one_of(ANY_TEXT, ANSWER_LIKE, JSON_LIKE), finish_reason=st.none() | ANY_TEXT)
def test_every_text_gives_a_typed_result(form: str, text: str, finish_reason: str | None) -> None:
    for mode in ("strict", "lenient"):
        result = read_answer(text, form=form, mode=mode, finish_reason=finish_reason)
        assert result.status in ANNOTATION_STATUSES
        if result.status == "ok":
            assert result.reason is None
            assert result.context_behavior in CONTEXT_BEHAVIORS
            assert set(result.repairs) <= set(REPAIRS)
            assert len(set(result.repairs)) == len(result.repairs)
        else:
            reason = result.reason
            assert reason is not None
            assert reason.startswith(f"{result.status}: ")
            assert reason.isprintable()
            assert result == Annotation(result.status, reason, (), None, (), False)


@pytest.mark.parametrize("form", ["text", "json"])
@given(text=st.one_of(ANSWER_LIKE, JSON_LIKE, st.builds(write_text, ERRORS, LABELS)))
def test_the_lenient_reading_keeps_what_the_strict_one_accepts(form: str, text: str) -> None:
    strictly = read_answer(text, form=form, mode="strict")
    leniently = read_answer(text, form=form, mode="lenient")
    if strictly.status == "ok":
        assert leniently == strictly
        assert strictly.repairs == ()
    elif leniently.status == "ok":
        assert leniently.repairs


# Some spans are pieces of the translation, some of its normalised form, some neither.
ALPHABET = st.sampled_from("ab \t\u3000e\u0301\u0323\u00e9한\u1112\u1161\u11ab밥\ud800🙂")
SHORT = st.text(ALPHABET, max_size=12)


@given(SHORT | st.none(), SHORT | st.none(), SHORT | st.none())
def test_places_hold_what_their_status_says(
    span: str | None, translation: str | None, source: str | None
) -> None:
    location = locate(span, translation, source)
    assert location.status in SPAN_LOCATIONS
    assert list(location.places) == sorted(set(location.places))
    if location.status in ("exact", "ambiguous", "in_source"):
        text = source if location.status == "in_source" else translation
        assert span and text is not None
        everywhere = [at for at in range(len(text)) if text.startswith(span, at)]
        assert [start for start, _ in location.places] == everywhere
        assert all(text[start:end] == span for start, end in location.places)
        assert location.status == "in_source" or (location.status == "exact") is (len(everywhere) == 1)
    elif location.status == "normalised":
        assert span and translation is not None
        assert location.places and span not in translation
        for start, end in location.places:
            assert 0 <= start < end <= len(translation)
            assert locate(span, translation[start:end], None).status == "normalised"
    else:
        assert location.places == ()


@given(SHORT, SHORT, SHORT)
def test_a_piece_of_the_translation_is_found(before: str, span: str, after: str) -> None:
    location = locate(span, before + span + after, None)
    if span:
        assert (len(before), len(before) + len(span)) in location.places


def _swap(text: str) -> str:
    return text.translate({ord(" "): "\t\n", ord("\u00e9"): "e\u0301", ord("한"): "\u1112\u1161\u11ab"})


@given(st.text("ab \u00e9한밥", max_size=8), st.text("ab \u00e9한밥", min_size=1).filter(str.strip))
def test_another_writing_of_the_same_text_is_found(before: str, span: str) -> None:
    rewrite: Callable[[str], str] = _swap
    location = locate(rewrite(span), f"{before}|{span}|", None)
    assert location.status in ("exact", "ambiguous", "normalised")
