"""``read_answer``: the form, the mode, and what the service says of how the answer ended."""

from __future__ import annotations

import pytest
from annotation_answers import answer, json_answer

from pipeline import annotation as package
from pipeline.annotation import read_answer
from pipeline.annotation.model import ANNOTATION_STATUSES
from pipeline.vocabulary import JUDGE_FAILURES


def test_exported_names() -> None:
    assert sorted(package.__all__) == sorted(set(package.__all__))
    assert {"Annotation", "AnnotationError", "SpanLocation", "locate", "read_answer"} <= set(package.__all__)


def test_statuses_are_ok_and_the_failures_of_the_vocabulary() -> None:
    assert set(ANNOTATION_STATUSES) == {"ok", *JUDGE_FAILURES} - {"unrecorded"}


@pytest.mark.parametrize(
    ("finish_reason", "status"),
    [
        # OpenAI-compatible: stop, length, content_filter. Vertex AI: STOP, MAX_TOKENS, SAFETY and its kin.
        (None, "ok"),
        ("stop", "ok"),
        ("STOP", "ok"),
        ("something new", "ok"),
        ("length", "truncated"),
        ("MAX_TOKENS", "truncated"),
        ("max_tokens", "truncated"),
        ("content_filter", "filtered"),
        ("SAFETY", "filtered"),
        ("RECITATION", "filtered"),
        ("BLOCKLIST", "filtered"),
        ("PROHIBITED_CONTENT", "filtered"),
        ("SPII", "filtered"),
    ],
)
def test_the_finish_reason_outweighs_the_text(finish_reason: str | None, status: str) -> None:
    for form, text in (("text", answer()), ("json", json_answer())):
        for mode in ("strict", "lenient"):
            result = read_answer(text, form=form, mode=mode, finish_reason=finish_reason)
            assert result.status == status
            assert result.errors == ()
    if status != "ok":
        for text in ("", "Critical:\nno-err", "I'm sorry."):
            result = read_answer(text, form="text", mode="strict", finish_reason=finish_reason)
            assert result.status == status
            assert repr(finish_reason) in (result.reason or "")


def test_the_reason_of_a_cut_answer_names_its_last_line() -> None:
    result = read_answer("Critical:\nno-err\n\n", form="text", mode="strict", finish_reason="length")
    assert (result.reason or "").startswith("truncated: line 2 'no-err'")


def test_the_mode_and_the_form_decide() -> None:
    bold = answer().replace("Major:", "**Major:**")
    assert read_answer(bold, form="text", mode="strict").status == "malformed"
    assert read_answer(bold, form="text", mode="lenient").repairs == ("bold",)
    assert read_answer(json_answer(), form="text", mode="lenient").status == "malformed"
    assert read_answer(answer(), form="json", mode="lenient").status == "malformed"


def test_unknown_words_are_refused() -> None:
    with pytest.raises(ValueError, match="strict or lenient"):
        read_answer("", form="text", mode="loose")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="text or json"):
        read_answer("", form="xml", mode="strict")  # type: ignore[arg-type]
