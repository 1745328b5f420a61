"""One line of the text form: what it is on its own, by the published rule.

The rule is a JavaScript one, so it is spelt out here instead of left to Python's own ideas: white space is
ECMAScript's (``str.strip`` would also take U+0085 and U+001C to U+001F, and leave U+FEFF), and only ASCII
letters have two cases (no dotless i, long s or Kelvin sign).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pipeline.vocabulary import CONTEXT_BEHAVIORS, ERROR_CLASSES, SEVERITIES

# ECMAScript WhiteSpace (with every Unicode space separator, Zs) and LineTerminator.
WHITE_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

BLANK: Final = 0  # nothing, or a Markdown fence
HEADING: Final = 1
NO_ERROR: Final = 2
ERROR: Final = 3
LABEL: Final = 4
BAD_LABEL: Final = 5  # a contextBehavior line without one of the five labels
OTHER: Final = 6  # prose before the first heading, an offence after it


class Token(NamedTuple):
    """A line's kind; ``value`` is its severity, class or label, ``repairs`` what it took to read it."""

    kind: int
    value: str = ""
    span: str = ""
    repairs: tuple[str, ...] = ()


_SEPARATOR: Final = ' - "'
_CLASSES: Final = {
    form: error_class
    for error_class in ERROR_CLASSES
    for form in (error_class, error_class.replace("/", "-"))
}
_LABEL_KEY: Final = re.compile(
    f"contextbehavior[{WHITE_SPACE}]*[=:][{WHITE_SPACE}]*", re.IGNORECASE | re.ASCII
)
_LINE_TERMINATOR: Final = re.compile("[\r\u2028\u2029]")
_OTHER: Final = Token(OTHER)


def lower_ascii(text: str) -> str:
    """``text`` in lower case if it is ASCII; else as it is, so that it equals no ASCII word."""
    return text.lower() if text.isascii() else text


def known_class(text: str) -> str | None:
    """The MQM class ``text`` names: any case, ``/`` or ``-`` between its parts, white space around it."""
    return _CLASSES.get(text) or _CLASSES.get(lower_ascii(text.strip(WHITE_SPACE)))


def label_value(line: str) -> str | None:
    """What a trimmed ``contextBehavior`` line says, or None if the line is none."""
    key = _LABEL_KEY.match(line)
    if key is None or key.end() == len(line) or _LINE_TERMINATOR.search(line, key.end()):
        return None
    return line[key.end() :]


def claimed_class(line: str) -> str | None:
    """The part before the quotation in a line of the shape ``<something> - "<span>"``, else None."""
    claimed, separator, rest = line.partition(_SEPARATOR)
    if separator and claimed and '"' not in claimed and len(rest) > 1 and rest[-1] == '"':
        return claimed
    return None


def read_line(raw: str) -> Token:
    """Read one line, trimmed first. A line that is nothing else is ``OTHER``; never an exception."""
    line = raw.strip(WHITE_SPACE)
    at = line.find(_SEPARATOR)
    if at > 0 and line[-1] == '"':
        span = line[at + len(_SEPARATOR) : -1]
        if span and '"' not in span and (error_class := known_class(line[:at])):
            return Token(ERROR, error_class, span)
    if not line or line.startswith("```"):
        return Token(BLANK)
    value = label_value(line)
    if value is not None:
        label = lower_ascii(value)
        return Token(LABEL, label) if label in CONTEXT_BEHAVIORS else Token(BAD_LABEL)
    if line[-1] == ":":
        severity = lower_ascii(line[:-1].rstrip(WHITE_SPACE))
        return Token(HEADING, severity) if severity in SEVERITIES else _OTHER
    return Token(NO_ERROR) if lower_ascii(line) == "no-error" else _OTHER


# The lines nearly every answer is made of, read once.
COMMON_LINES: Final = {
    f"{line}{line_end}": read_line(line)
    for line in (
        "",
        "no-error",
        *(f"{severity.capitalize()}:" for severity in SEVERITIES),
        *(f"contextBehavior: {label}" for label in CONTEXT_BEHAVIORS),
    )
    for line_end in ("", "\r")
}
