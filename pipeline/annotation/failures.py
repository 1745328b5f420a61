"""Typed failures: how an answer that cannot be read is named, and where it went wrong."""

from __future__ import annotations

import re
from typing import Final

from pipeline.annotation.lines import WHITE_SPACE
from pipeline.annotation.model import Annotation

_SHOWN: Final = 60
_REFUSAL_WINDOW: Final = 500

# Finish reasons, lower case, of OpenAI-compatible services, Vertex AI and their relatives.
_FINISHED_EARLY: Final = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "truncated"),
    **dict.fromkeys(
        ("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "model_armor"),
        "filtered",
    ),
}

_REFUSAL: Final = re.compile(
    r"^sorry\b|\bi(?:'m| am) (?:very |so |really )?sorry\b|\bi apologi[sz]e\b|\bmy apologies\b|\bas an ai\b"
    r"|\bi(?:'m| am) (?:unable|not able)\b|\bi (?:can ?not|can't|won't|will not|decline|must decline)\b"
    r"|죄송|미안하지만|[가-힣]\s?수(?:가|는)?\s?없(?:습니다|어요|음)|불가능합니다|거부합니다|거절합니다",
    re.IGNORECASE | re.ASCII,
)


def shorten(text: str) -> str:
    """Python's ``repr`` of a text's first 60 code points: printable, on one line, and marked if cut."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def failure(status: str, problem: str) -> Annotation:
    """An annotation that failed; ``problem`` is one line that names the place."""
    return Annotation(status, f"{status}: {problem}", (), None, (), False)


def failure_at(status: str, text: str, line: int, problem: str) -> Annotation:
    """A failure caused by a line of ``text``; ``line`` counts from 1, lines end at ``\\n``."""
    raw = text.split("\n")[line - 1]
    return failure(status, f"line {line} {shorten(raw.strip(WHITE_SPACE))} {problem}")


def failure_at_end(status: str, text: str, problem: str) -> Annotation:
    """A failure that shows only at the end of ``text``: its last line that is not blank is named."""
    written = text.rstrip(WHITE_SPACE)
    return failure_at(status, text, written.count("\n") + 1, problem)


def finish_failure(text: str, finish_reason: str | None) -> Annotation | None:
    """The failure a service itself reports by its finish reason (any case), whatever the text is.

    Token limits give ``truncated``, content filters ``filtered``, every other reason None.
    """
    if finish_reason is None:
        return None
    status = _FINISHED_EARLY.get(finish_reason.lower())
    if status is None:
        return None
    return failure_at_end(
        status, text, f"is where the service stopped, finish reason {shorten(finish_reason)}"
    )


def no_annotation(text: str, problem: str) -> Annotation:
    """The failure of a text that holds no trace of the form it was asked in.

    - ``empty``: nothing but white space.
    - ``refusal``: prose (it begins neither with a brace nor with a code fence) that apologises or says it is
      unable or unwilling, in English or Korean, within its first 500 characters.
    - ``malformed``: everything else; ``problem`` says of the first written line what is wrong with it.
    """
    body = text.strip(WHITE_SPACE)
    if not body:
        return failure("empty", "line 1 '' and all others hold nothing but white space")
    number = text[: text.index(body[0])].count("\n") + 1
    opening = body[:_REFUSAL_WINDOW].replace("’", "'")
    if not opening.startswith(("{", "```")) and _REFUSAL.search(opening):
        return failure_at("refusal", text, number, "begins prose that declines to annotate")
    return failure_at("malformed", text, number, problem)
