"""Files of judge answers: JSON lines with a ``text`` in, one canonical line for each out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pipeline.annotation.exact_json import loads_exact
from pipeline.annotation.model import Annotation
from pipeline.annotation.reader import Form, Mode, read_answer
from pipeline.canonical import json_line
from pipeline.errors import AnnotationFileError

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CURE: Final = 'each line must be a JSON object with a string field "text" that holds the judge\'s answer'


def read_file(path: Path, *, form: Form, mode: Mode) -> Iterator[bytes]:
    """Read each answer of a file; yield one UTF-8 line for each, in the file's order.

    Raises:
        AnnotationFileError: the file cannot be read, or a line is not UTF-8, not a JSON object, or has no
            string ``text`` (or a ``finish_reason`` that is neither a string nor null).
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                text, finish_reason = _answer(path, number, line)
                annotation = read_answer(text, form=form, mode=mode, finish_reason=finish_reason)
                yield _written(annotation, form)
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error}); give a file of JSON lines"
        raise AnnotationFileError.at(path, problem) from error


def _answer(path: Path, number: int, line: bytes) -> tuple[str, str | None]:
    try:
        value = loads_exact(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line is not UTF-8; save the file as UTF-8: {_CURE}"
        raise AnnotationFileError.at(path, problem, line=number, field="text") from error
    except ValueError as error:
        problem = f"the line is not JSON ({error}); {_CURE}"
        raise AnnotationFileError.at(path, problem, line=number, field="text") from error
    if not isinstance(value, dict):
        raise AnnotationFileError.at(path, f"the line is no object; {_CURE}", line=number, field="text")
    text, finish_reason = value.get("text"), value.get("finish_reason")
    if not isinstance(text, str):
        problem = "is not a string" if "text" in value else "is not there"
        raise AnnotationFileError.at(path, f"{problem}; {_CURE}", line=number, field="text")
    if not isinstance(finish_reason, str | None):
        problem = "is neither a string nor null; leave it out where the service gave none"
        raise AnnotationFileError.at(path, problem, line=number, field="finish_reason")
    return text, finish_reason


def _written(annotation: Annotation, form: Form) -> bytes:
    errors: list[dict[str, Any]] = []
    for error in annotation.errors:
        shown = {"severity": error.severity, "class": error.error_class, "span": error.span}
        if form == "json":
            shown |= {"source_span": error.source_span, "explanation": error.explanation}
        errors.append(shown)
    line = json_line(
        {
            "status": annotation.status,
            "reason": annotation.reason,
            "errors": errors,
            "context_behavior": annotation.context_behavior,
            "repairs": list(annotation.repairs),
            "contradictory_section": annotation.contradictory,
        }
    )
    # UTF-8 has no lone surrogates, JSON has: they are written as the escapes they came as.
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", line).encode("utf-8")
