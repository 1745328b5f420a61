"""Where spans are found. Offsets are counted by hand, in code points, half-open."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from pipeline.annotation import SpanLocation, locate
from pipeline.annotation.spans import _continues
from pipeline.vocabulary import SPAN_LOCATIONS

E_ACUTE = "e\u0301"  # decomposed; NFC is U+00E9

CASES = {
    "exact": ("coat", "the coat", None, "exact", ((4, 8),)),
    "the whole translation": ("밥", "밥", None, "exact", ((0, 1),)),
    "offsets are code points, not UTF-16 units": ("x", "🙂🙂x", None, "exact", ((2, 3),)),
    "white space only": (" ", "a b", None, "exact", ((1, 2),)),
    "a lone surrogate": ("\ud800", "a\ud800", None, "exact", ((1, 2),)),
    "ambiguous": ("a", "banana", None, "ambiguous", ((1, 2), (3, 4), (5, 6))),
    "overlapping places count each": ("はは", "ははは", None, "ambiguous", ((0, 2), (1, 3))),
    "overlapping by a part": ("ana", "banana", None, "ambiguous", ((1, 4), (3, 6))),
    "ambiguous without overlap": ("abcab", "abcabcab abcab", None, "ambiguous", ((0, 5), (3, 8), (9, 14))),
    "case counts": ("Coat", "the coat", None, "missing", ()),
    "exact before the source": ("밥", "밥", "밥밥", "exact", ((0, 1),)),
    "exact before normalised": ("a b", "a  b a b", None, "exact", ((5, 8),)),
    "composed span": ("caf\u00e9", f"un caf{E_ACUTE}!", None, "normalised", ((3, 8),)),
    "decomposed span": (f"caf{E_ACUTE}", "un caf\u00e9!", None, "normalised", ((3, 7),)),
    "decomposed Hangul": ("한글", "a" + unicodedata.normalize("NFD", "한글"), None, "normalised", ((1, 7),)),
    "composed Hangul": (unicodedata.normalize("NFD", "한글"), "a한글", None, "normalised", ((1, 3),)),
    "singleton": ("\u212b", "\u00c5", None, "normalised", ((0, 1),)),
    "marks in another order": ("a\u0301\u0323", "xa\u0323\u0301y", None, "normalised", ((1, 4),)),
    "a place is widened to its combining sequence": (
        "\u00e9",
        f"x{E_ACUTE}\u0304",
        None,
        "normalised",
        ((1, 4),),
    ),
    "white space folded": ("red coat", "a red \n\u3000coat", None, "normalised", ((2, 12),)),
    "white space around the span": (" coat\n", "the coat.", None, "normalised", ((4, 8),)),
    "normalised at several places": ("a  b", "a b a\tb", None, "normalised", ((0, 3), (4, 7))),
    "normalised before the source": ("a  b", "a b", "a  b", "normalised", ((0, 3),)),
    "compatibility forms are not folded": ("1", "①", None, "missing", ()),
    "in the source": ("밥", "rice", "나는 밥", "in_source", ((3, 4),)),
    "in the source twice": ("밥", "rice", "밥 밥", "in_source", ((0, 1), (2, 3))),
    "in the source verbatim only": ("caf\u00e9", "rice", f"caf{E_ACUTE}", "missing", ()),
    "missing": ("coat", "the hat", "모자", "missing", ()),
    "missing without a source": ("coat", "the hat", None, "missing", ()),
    "in an empty translation": ("coat", "", "coat", "in_source", ((0, 4),)),
    "white space that is nowhere": ("\u3000", "a b", None, "missing", ()),
    "longer than the text": ("aaaa", "aa", "a", "missing", ()),
    "no translation": ("coat", None, "coat", "not_locatable", ()),
    "no span": (None, "the coat", "x", "not_locatable", ()),
    "an empty span": ("", "the coat", "x", "not_locatable", ()),
}


@pytest.mark.parametrize(("span", "translation", "source", "status", "places"), CASES.values(), ids=CASES)
def test_locate(
    span: str | None,
    translation: str | None,
    source: str | None,
    status: str,
    places: tuple[tuple[int, int], ...],
) -> None:
    assert locate(span, translation, source) == SpanLocation(status, places)


def test_every_status_is_met() -> None:
    assert {case[3] for case in CASES.values()} == set(SPAN_LOCATIONS)


def test_every_character_that_composes_with_what_precedes_it_is_known() -> None:
    """From Unicode's own data: canonical decompositions, and the algorithm's Hangul syllables."""
    followers = {
        int(code, 16)
        for number in range(sys.maxunicode + 1)
        if (parts := unicodedata.decomposition(chr(number)).split()) and not parts[0].startswith("<")
        for code in parts[1:]
    }
    for syllable in ("가", "각", "힣"):
        followers.update(map(ord, unicodedata.normalize("NFD", syllable)[1:]))
    assert [hex(code) for code in followers if not _continues(chr(code))] == []


# Linear work each; a search anew from each place, or a quadratic normalisation, would not come back.
LARGE = {
    "one character": ("a", "a" * 100_000, 100_000),
    "repetitive": ("a" * 50_000, "a" * 100_000, 50_001),
    "repetitive and missing": ("a" * 50_000 + "b", "a" * 100_000, 0),
    "periodic": ("ab" * 25_000, "ab" * 50_000, 25_001),
    "combining marks": ("\u00e9", "e" + "\u0301\u0323" * 50_000, 0),
    "combining marks in the span": ("e" + "\u0301\u0323" * 50_000, "\u00e9", 0),
    "white space": ("a b", "a" + " " * 100_000 + "b", 1),
}


@pytest.mark.parametrize(("span", "translation", "count"), LARGE.values(), ids=LARGE)
def test_large_texts(span: str, translation: str, count: int) -> None:
    assert len(locate(span, translation, translation[::-1]).places) == count


@pytest.mark.parametrize(
    ("span", "source_span", "expected"),
    [
        (None, "늦게", SpanLocation("in_source", ((3, 5),))),  # an omission quotes the source alone
        (None, "late", SpanLocation("missing")),  # the translation holds it, but the source does not
        (None, None, SpanLocation("not_locatable")),
        ("late", "늦게", SpanLocation("exact", ((10, 14),))),  # a quotation of the translation comes first
    ],
)
def test_source_span_stands_in_for_a_span_that_is_not_there(
    span: str | None, source_span: str | None, expected: SpanLocation
) -> None:
    assert locate(span, "I came in late.", "오늘 늦게 왔어", source_span) == expected
