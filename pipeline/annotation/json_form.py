"""The JSON form: ``has_no_error``, ``errors`` and ``contextBehavior``, and not a key more.

Which failure an answer gets: a text that is no JSON is ``empty``, ``refusal`` or ``malformed`` as in the text
form. In an object the first offence counts, in the order keys, ``has_no_error``, ``errors`` one by one, their
agreement, ``contextBehavior``. A class that is none of the fifteen in any case of letters is
``unknown_class``, a required label that is not there ``missing_context_behavior``; everything else, a missing
``errors`` too, is ``malformed``. The reason names the place by line or by JSON pointer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from pipeline.annotation.exact_json import loads_exact
from pipeline.annotation.failures import failure, failure_at, no_annotation, shorten
from pipeline.annotation.lines import WHITE_SPACE, lower_ascii
from pipeline.annotation.model import OK, Annotation, AnnotationError
from pipeline.vocabulary import CONTEXT_BEHAVIORS, ERROR_CLASSES, SEVERITIES

_KEYS: Final = ("has_no_error", "errors", "contextBehavior")
_ERROR_KEYS: Final = ("severity", "class", "target_span_text", "source_span_text")
_OPTIONAL_ERROR_KEYS: Final = ("explanation",)
_FENCE: Final = "```"


class _Offence(Exception):
    """Ends the reading at the first fault; it never leaves this module."""

    def __init__(self, problem: str, status: str = "malformed") -> None:
        super().__init__(problem)
        self.status = status


def read_json(text: str, mode: str, *, context_required: bool = True) -> Annotation:
    """Read an answer of the JSON form; ``mode`` is ``strict`` or ``lenient``.

    ``context_required`` is False for items without a context expectation: the label may then be left out.
    JavaScript's white space around the object is allowed. What the strict reading accepts is accepted as it
    is in both modes; the lenient one also drops a Markdown fence and takes closed words in any case. Never
    raises on any text.
    """
    annotation = _read(text, context_required, lenient=False)
    if mode == "lenient" and annotation.status != OK:
        return _read(text, context_required, lenient=True)
    return annotation


def _read(text: str, context_required: bool, *, lenient: bool) -> Annotation:
    repairs: list[str] = []
    body = text.strip(WHITE_SPACE)
    if lenient and (fenced := _inside_fence(body)) is not None:
        body = fenced
        repairs.append("json_fence")
    try:
        value = loads_exact(body)
    except json.JSONDecodeError as error:
        if not body.startswith("{"):
            return no_annotation(text, "begins a text that is no JSON object")
        lines_before = text[: text.index(body)].count("\n")
        return failure_at("malformed", text, lines_before + error.lineno, f"breaks JSON: {error.msg}")
    except ValueError as error:
        return failure("malformed", f"line 1 {shorten(body)} begins JSON that is refused: {error}")
    try:
        return _annotation(value, context_required, repairs if lenient else None)
    except _Offence as offence:
        return failure(offence.status, str(offence))


def _inside_fence(body: str) -> str | None:
    opening, _, rest = body.partition("\n")
    if opening.strip(WHITE_SPACE).lower() in (_FENCE, f"{_FENCE}json") and rest.endswith(_FENCE):
        return rest.removesuffix(_FENCE).strip(WHITE_SPACE)
    return None


def _annotation(value: Any, context_required: bool, repairs: list[str] | None) -> Annotation:
    _check_keys(value, "", required=_KEYS[:2], optional=_KEYS[2:])
    has_no_error, listed = value["has_no_error"], value["errors"]
    if not isinstance(has_no_error, bool):
        raise _Offence("/has_no_error is neither true nor false")
    if not isinstance(listed, list):
        raise _Offence("/errors is not an array")
    errors = tuple(_error(item, f"/errors/{index}", repairs) for index, item in enumerate(listed))
    if has_no_error == bool(errors):
        raise _Offence(f"/has_no_error is {str(has_no_error).lower()} and /errors has {len(errors)} of them")
    label = None
    if "contextBehavior" in value:
        label = _word(value["contextBehavior"], "/contextBehavior", CONTEXT_BEHAVIORS, repairs)
    elif context_required:
        raise _Offence("/contextBehavior is not there", "missing_context_behavior")
    return Annotation(OK, None, errors, label, tuple(dict.fromkeys(repairs or ())), False)


def _error(value: Any, at: str, repairs: list[str] | None) -> AnnotationError:
    _check_keys(value, at, required=_ERROR_KEYS, optional=_OPTIONAL_ERROR_KEYS)
    severity = _word(value["severity"], f"{at}/severity", SEVERITIES, repairs)
    error_class = _word(value["class"], f"{at}/class", ERROR_CLASSES, repairs, unknown="unknown_class")
    for key in ("target_span_text", "source_span_text"):
        if not isinstance(value[key], str | None):
            raise _Offence(f"{at}/{key} is neither a string nor null")
    explanation = value.get("explanation")
    if "explanation" in value and not isinstance(explanation, str):
        raise _Offence(f"{at}/explanation is not a string")
    return AnnotationError(
        severity, error_class, value["target_span_text"], value["source_span_text"], explanation
    )


def _check_keys(value: Any, at: str, *, required: Sequence[str], optional: Sequence[str]) -> None:
    if not isinstance(value, dict):
        raise _Offence(f"{at or 'the answer'} is not an object")
    for key in value:
        if key not in required and key not in optional:
            raise _Offence(f"{at}/ has the unknown key {shorten(key)}")
    for key in required:
        if key not in value:
            raise _Offence(f"{at}/{key} is not there")


def _word(
    value: Any, at: str, allowed: Sequence[str], repairs: list[str] | None, unknown: str = "malformed"
) -> str:
    """A word of a closed list; in any case of letters where ``repairs`` is a list to note that in."""
    if not isinstance(value, str):
        raise _Offence(f"{at} is not a string")
    if value in allowed:
        return value
    lowered = lower_ascii(value)
    if lowered not in allowed:
        raise _Offence(f"{at} {shorten(value)} is none of {', '.join(allowed)}", unknown)
    if repairs is None:
        raise _Offence(f"{at} {shorten(value)} must be written {lowered!r}")
    repairs.append("json_letter_case")
    return lowered
