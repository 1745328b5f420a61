"""The text form: severity headings, error lines and a contextBehavior line.

Which failure an answer gets, in this order:

1. The first line that offends: ``missing_section`` for a heading with no line under it, ``unknown_class`` for
   ``<something> - "<span>"`` whose something is none of the fifteen even without the marks that the lenient
   reading drops, ``malformed`` for everything else, a line after the label included.
2. At the end of a text with neither heading nor label: ``empty``, ``refusal`` or ``malformed``
   (``failures.no_annotation`` has the rule).
3. At the end of any other text: ``missing_section`` for a heading that is not there, then
   ``missing_context_behavior`` for a label that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline.annotation.failures import failure_at, failure_at_end, no_annotation
from pipeline.annotation.lines import (
    BAD_LABEL,
    BLANK,
    COMMON_LINES,
    ERROR,
    HEADING,
    LABEL,
    NO_ERROR,
    WHITE_SPACE,
    Token,
    claimed_class,
    read_line,
)
from pipeline.annotation.model import OK, Annotation, AnnotationError
from pipeline.annotation.repairs import repair_line
from pipeline.vocabulary import CONTEXT_BEHAVIORS, SEVERITIES


def read_text(text: str, mode: str) -> Annotation:
    """Read an answer of the text form; ``mode`` is ``strict`` or ``lenient``.

    What the strict reading accepts is accepted as it is in both modes. Never raises on any text: a failure
    is a status with a reason. Lines end at ``\\n`` and are trimmed of JavaScript's white space, ``\\r``
    included. Time is linear in the text's length.
    """
    annotation = _read(text, read_line)
    if mode == "lenient" and annotation.status != OK:
        return _read(text, repair_line)
    return annotation


def _read(text: str, read: Callable[[str], Token]) -> Annotation:
    common = COMMON_LINES.get
    errors: list[AnnotationError] = []
    repairs: list[str] = []
    found: set[str] = set()
    clean: set[str] = set()
    faulty: set[str] = set()
    severity = label = None
    bare_heading = label_line = 0
    for number, raw in enumerate(text.split("\n"), 1):
        kind, value, span, used = common(raw) or read(raw)
        if kind == BLANK:
            if used and severity is not None:
                repairs += used
            continue
        if label_line:
            again = "is a second contextBehavior line after" if kind == LABEL else "stands after the label of"
            return failure_at("malformed", text, number, f"{again} line {label_line}, which must be the last")
        if bare_heading and kind in (HEADING, LABEL, BAD_LABEL):
            break
        if kind == HEADING:
            severity = value
            found.add(value)
            bare_heading = number
        elif kind == LABEL:
            label = value
            label_line = number
        elif kind == BAD_LABEL:
            return failure_at(
                "malformed", text, number, f"has none of the labels {', '.join(CONTEXT_BEHAVIORS)}"
            )
        elif severity is None:
            continue
        elif kind == ERROR:
            errors.append(AnnotationError(severity, value, span))
            faulty.add(severity)
            bare_heading = 0
        elif kind == NO_ERROR:
            clean.add(severity)
            bare_heading = 0
        else:
            return _offence(text, number, raw)
        if used:
            repairs += used
    if bare_heading:
        return failure_at("missing_section", text, bare_heading, "has no line under it")
    if label is None or len(found) < len(SEVERITIES):
        return _incomplete(text, found, label)
    return Annotation(
        OK, None, tuple(errors), label, tuple(dict.fromkeys(repairs)), not clean.isdisjoint(faulty)
    )


def _offence(text: str, number: int, raw: str) -> Annotation:
    """The failure of a line inside of a section that is none of the form's lines."""
    repaired = repair_line(raw)
    if repaired.repairs:
        cure = f"can be read only after the repairs {', '.join(repaired.repairs)}"
        return failure_at("malformed", text, number, cure)
    if claimed_class(raw.strip(WHITE_SPACE)) is not None:
        return failure_at("unknown_class", text, number, "names none of the fifteen MQM classes")
    return failure_at("malformed", text, number, 'is neither no-error nor <class> - "<span>"')


def _incomplete(text: str, found: set[str], label: str | None) -> Annotation:
    """The failure of a text whose lines are good but do not make a whole annotation."""
    if not found and label is None:
        is_json = text.strip(WHITE_SPACE + "`").removeprefix("json").lstrip(WHITE_SPACE).startswith("{")
        problem = (
            "begins JSON where the text form was asked" if is_json else "begins a text without any heading"
        )
        return no_annotation(text, problem)
    for severity in SEVERITIES:
        if severity not in found:
            return _missing_heading(text, severity)
    return failure_at_end(
        "missing_context_behavior", text, "is the last, and none is contextBehavior: <label>"
    )


def _missing_heading(text: str, severity: str) -> Annotation:
    heading = f"{severity.capitalize()}:"
    for number, line in enumerate(text.split("\n"), 1):
        if re.sub("[^a-z]", "", line.lower()) == severity and read_line(line).kind != HEADING:
            return failure_at("missing_section", text, number, f"is not the heading {heading}")
    return failure_at_end("missing_section", text, f"is the last, and none is the heading {heading}")
