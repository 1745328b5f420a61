"""Untrusted text on a terminal: what would hide or reorder characters is shown, and widths are counted."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

# Marks and letters that show nothing, besides the categories of control and format characters.
_INVISIBLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0000, 0xE0FFF),
)
_ESCAPED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def visible(text: str) -> str:
    """One line in which control, zero-width and bidirectional characters stand as escapes like ``\\u202e``.

    A backslash is doubled, so that nothing can be mistaken for an escape.
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    code = ord(character)
    hidden = unicodedata.category(character) in _HIDDEN_CATEGORIES
    if hidden or any(low <= code <= high for low, high in _INVISIBLE):
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character


def width(text: str) -> int:
    """Columns that a text takes on a terminal: wide East Asian characters two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, columns: int) -> Iterator[str]:
    """Lines of at most ``columns`` columns (at least ten), broken at spaces where there are any."""
    columns = max(columns, 10)
    while width(text) > columns:
        taken, room = 0, columns
        while room >= _width(text[taken]):
            room -= _width(text[taken])
            taken += 1
        space = text.rfind(" ", 0, taken + 1)
        cut = space if space > 0 else taken
        yield text[:cut].rstrip(" ")
        text = text[cut:].lstrip(" ")
    yield text
