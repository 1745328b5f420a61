"""Where a span stands: in the translation, in the source instead, or nowhere.

A location is a figure of the judge's reliability; it never changes a penalty.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from pipeline.annotation.lines import WHITE_SPACE

Place = tuple[int, int]

_WHITE: Final = frozenset(WHITE_SPACE)
# Longer runs of combining characters are compared as they are: normalising takes time quadratic in a run, and
# real text stays below the 30 of Unicode's Stream-Safe Text Format (UAX #15).
_LONGEST_SEQUENCE: Final = 32


@dataclass(frozen=True, slots=True)
class SpanLocation:
    """``status`` is one of ``vocabulary.SPAN_LOCATIONS``.

    ``places`` holds half-open (start, end) code point offsets in ascending order: in the source where the
    status is ``in_source``, else in the translation as it was given.
    """

    status: str
    places: tuple[Place, ...] = ()


def locate(
    span: str | None, translation: str | None, source: str | None, source_span: str | None = None
) -> SpanLocation:
    """Find a judge's quotation.

    ``source_span`` is the JSON form's quotation of the source. It stands in for a ``span`` that is not
    there, as omissions have none, and is looked for in the source alone.

    - ``exact``, ``ambiguous``: verbatim in the translation, at one place or at several. Overlapping places
      count each ("はは" is ambiguous in "ははは"), since any of them can be what the judge meant.
    - ``normalised``: in the translation once both are in NFC, each run of white space is one space, and the
      span has none around it. All places are kept, each widened to whole combining sequences.
    - ``in_source``: not in the translation, but verbatim in the source; all places.
    - ``missing``: in neither.
    - ``not_locatable``: there is no translation at hand, or no span (None or empty) to look for.

    Time is linear in the texts' lengths.
    """
    if translation is None or not (span or source_span):
        return SpanLocation("not_locatable")
    if not span:
        return _in_source(str(source_span), source)
    places = _places(span, translation)
    if places:
        return SpanLocation("exact" if len(places) == 1 else "ambiguous", places)
    places = _normalised_places(span, translation)
    if places:
        return SpanLocation("normalised", places)
    return _in_source(span, source)


def _in_source(span: str, source: str | None) -> SpanLocation:
    places = _places(span, source) if source is not None else ()
    return SpanLocation("in_source", places) if places else SpanLocation("missing")


def _places(span: str, text: str) -> tuple[Place, ...]:
    first = text.find(span)
    if first < 0:
        return ()
    if text.find(span, first + 1) < 0:
        return ((first, first + len(span)),)
    return tuple(_overlapping_places(span, text, first))


def _overlapping_places(span: str, text: str, begin: int) -> list[Place]:
    """All places from ``begin`` on, by Knuth, Morris and Pratt: asking ``find`` again from each place plus
    one is quadratic for a repetitive span."""
    length = len(span)
    borders = [0] * length  # borders[i]: longest proper prefix of span[:i + 1] that is its suffix, too
    matched = 0
    for at in range(1, length):
        while matched and span[at] != span[matched]:
            matched = borders[matched - 1]
        matched += span[at] == span[matched]
        borders[at] = matched
    places = []
    matched = 0
    for at in range(begin, len(text)):
        while matched and text[at] != span[matched]:
            matched = borders[matched - 1]
        matched += text[at] == span[matched]
        if matched == length:
            places.append((at + 1 - length, at + 1))
            matched = borders[-1]
    return places


def _normalised_places(span: str, text: str) -> tuple[Place, ...]:
    wanted = _fold(span)[0].strip(" ")
    if not wanted:
        return ()
    folded, origins = _fold(text)
    found = ((origins[start][0], origins[end - 1][1]) for start, end in _places(wanted, folded))
    return tuple(dict.fromkeys(found))


def _fold(text: str) -> tuple[str, list[Place]]:
    """NFC and single spaces, and for each code point of the result its (start, end) in ``text``."""
    folded: list[str] = []
    origins: list[Place] = []
    at = 0
    while at < len(text):
        start = at
        at += 1
        if text[start] in _WHITE:
            while at < len(text) and text[at] in _WHITE:
                at += 1
            folded.append(" ")
            origins.append((start, at))
            continue
        while at < len(text) and _continues(text[at]):
            at += 1
        sequence = text[start:at]
        composed = unicodedata.normalize("NFC", sequence) if len(sequence) <= _LONGEST_SEQUENCE else sequence
        folded.append(composed)
        if composed == sequence:
            origins.extend((offset, offset + 1) for offset in range(start, at))
        else:
            origins.extend((start, at) for _ in composed)
    return "".join(folded), origins


def _continues(character: str) -> bool:
    """Whether NFC can join a character to what stands before it: marks, and the letters that compose."""
    return (
        unicodedata.category(character)[0] == "M"
        or "\u1161" <= character <= "\u1175"  # Hangul medial vowels
        or "\u11a8" <= character <= "\u11c2"  # Hangul final consonants
        or "\U00016d63" <= character <= "\U00016d6a"  # Kirat Rai vowel signs
    )
