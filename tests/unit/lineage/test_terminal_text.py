"""Text on a terminal: nothing hides, nothing is cut, widths are those of a terminal."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pipeline.lineage.terminal_text import visible, width, wrapped

# Text, and what has to be seen of it.
SHOWN = [
    ("plain text", "plain text"),
    ("한국어 日本語 中文", "한국어 日本語 中文"),
    ("full　width", "full　width"),  # an ideographic space is a visible gap
    ("safe\u202eevil\u202c", "safe\\u202eevil\\u202c"),  # right-to-left override
    ("a\u2066b\u2069", "a\\u2066b\\u2069"),  # isolates
    ("zero\u200bwidth\u200d\ufeff", "zero\\u200bwidth\\u200d\\ufeff"),
    ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),  # a terminal's colour and bell
    ("two\nlines\r\tand a tab", "two\\nlines\\r\\tand a tab"),
    ("\x85\u2028\u2029", "\\x85\\u2028\\u2029"),  # other line ends
    ("\\u202e", "\\\\u202e"),  # what only looks like an escape
    ("\u3164\u115f", "\\u3164\\u115f"),  # Hangul fillers
    ("A\ufe0f\U000e0041", "A\\ufe0f\\U000e0041"),  # variation selector, tag character
    ("\ud800", "\\ud800"),  # half a character
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_visible_is_one_line_and_tells_texts_apart(text: str) -> None:
    shown = visible(text)
    assert len((shown + "x").splitlines()) == 1
    # Read as Python reads escapes, it is the text again.
    assert ast.literal_eval("'" + shown.replace("'", "\\'") + "'") == text


@pytest.mark.parametrize("text", ["abc", "한국어", "日本語 text", "ﾊﾝｶｸ", "全角", "e\u0301"])
def test_width_is_that_of_rich(text: str) -> None:
    assert width(text) == cell_len(text)


@given(st.text(alphabet="ab 한日é\u0301", max_size=80), st.integers(10, 30))
def test_wrapped_loses_nothing_but_spaces(text: str, columns: int) -> None:
    lines = list(wrapped(text, columns))
    assert all(width(line) <= columns for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
