"""The lenient repairs: a closed list of harmless deviations. None of them guesses.

A line is repaired only if it cannot be read as it stands, only into a line of the strict form, and its
quotation is never changed: zero-width characters inside of a span may be the translation's own.
"""

from __future__ import annotations

import re
from typing import Final

from pipeline.annotation.lines import (
    BAD_LABEL,
    ERROR,
    LABEL,
    OTHER,
    WHITE_SPACE,
    Token,
    known_class,
    label_value,
    read_line,
)
from pipeline.vocabulary import CONTEXT_BEHAVIORS

REPAIRS: Final = {
    "zero_width": "zero-width characters (U+200B-U+200F, U+2060, U+FEFF) outside of the span are dropped",
    "bullet": "one bullet and the white space after it is dropped from the start of a line",
    "bold": "the Markdown bold marks ** and __ outside of the span are dropped",
    "full_width_colon": "a full-width colon after a heading or contextBehavior is read as a colon",
    "typographic_quotes": "a span between typographic double quotes is read as one between straight quotes",
    "inner_quotes": "a span with double quotes inside reaches from the line's first quote to its last",
    "text_after_label": "text after the label on its line is dropped, if it names no other label",
    "json_fence": "the Markdown fence around a JSON answer is dropped",
    "json_letter_case": "a severity, class or label of a JSON answer is read in any case",
}

_ZERO_WIDTH: Final = re.compile("[\u200b-\u200f\u2060\ufeff]")
_BULLET: Final = re.compile(f"[-*+•‣◦▪·][{WHITE_SPACE}]+")
_BOLD: Final = re.compile(r"\*\*|__")
_FULL_WIDTH_COLON: Final = "："
_SEPARATOR: Final = " - "
_TYPOGRAPHIC: Final = "“”„‟＂"
_QUOTE: Final = re.compile(f'["{_TYPOGRAPHIC}]')
_LABEL_THEN_TEXT: Final = re.compile(rf"((?ai:{'|'.join(CONTEXT_BEHAVIORS)}))(?![\w-])")


def repair_line(raw: str) -> Token:
    """Read a line by the strict form, and if that fails by the lenient one; ``repairs`` says what it took.

    A line beyond repair keeps the strict reading's kind.
    """
    strict = read_line(raw)
    if strict.kind not in (BAD_LABEL, OTHER):
        return strict
    line = raw.strip(WHITE_SPACE)
    return _repaired_error(line) or _repaired_structure(line) or strict


def _repaired_error(line: str) -> Token | None:
    opening = _QUOTE.search(line)
    if opening is None:
        return None
    closing_kinds = '"' if opening.group() == '"' else _TYPOGRAPHIC
    start, end = opening.end(), max(line.rfind(quote) for quote in closing_kinds)
    span = line[start:end]
    if not span:
        return None
    repairs: list[str] = []
    head = _without_marks(line[: opening.start()], repairs, bullet=True)
    tail = _without_marks(line[end + 1 :], repairs, bullet=False)
    error_class = known_class(head.removesuffix(_SEPARATOR)) if head.endswith(_SEPARATOR) else None
    if error_class is None or tail.strip(WHITE_SPACE):
        return None
    if opening.group() != '"':
        repairs.append("typographic_quotes")
    if any(quote in span for quote in f'"{closing_kinds}'):
        repairs.append("inner_quotes")
    return Token(ERROR, error_class, span, tuple(dict.fromkeys(repairs)))


def _repaired_structure(line: str) -> Token | None:
    repairs: list[str] = []
    line = _without_marks(line, repairs, bullet=True).strip(WHITE_SPACE)
    token = read_line(line)
    if token.kind == OTHER and _FULL_WIDTH_COLON in line:
        line = line.replace(_FULL_WIDTH_COLON, ":", 1)
        token = read_line(line)
        repairs.append("full_width_colon")
    value = label_value(line)
    if value is not None and token.kind == BAD_LABEL:
        found = _LABEL_THEN_TEXT.match(value)
        if found is None or _names_label(value[found.end() :]):
            return None
        token = Token(LABEL, found.group(1).lower())
        repairs.append("text_after_label")
    if token.kind in (ERROR, BAD_LABEL, OTHER):
        return None
    return token._replace(repairs=tuple(repairs))


def _names_label(text: str) -> bool:
    lowered = text.lower()
    return any(label in lowered for label in CONTEXT_BEHAVIORS)


def _without_marks(text: str, repairs: list[str], *, bullet: bool) -> str:
    """Drop zero-width characters, a bullet and bold marks; append the names of what was found."""
    plain = _ZERO_WIDTH.sub("", text)
    if plain != text:
        repairs.append("zero_width")
        plain = plain.lstrip(WHITE_SPACE)
    if bullet and (mark := _BULLET.match(plain)):
        plain = plain[mark.end() :]
        repairs.append("bullet")
    bare = _BOLD.sub("", plain)
    if bare != plain:
        repairs.append("bold")
    return bare
