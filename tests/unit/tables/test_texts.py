"""Untrusted texts go through the tables unchanged, or are changed in the one stated way."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from tiny_run import CLEAN, TinyRun, answer

from pipeline.tables.database import connect, export_tables, load_tables

CELL = ("i1", "en", "p1")

TEXTS = {
    "NUL": "a\0b",
    "right to left": "\u202eمرحبا بالعالم\u202c",
    "combining marks": "e\u0301 \U0001f469\u200d\U0001f4bb \u1112\u1161\u11ab",
    "quotes": "'; DROP TABLE cells; -- \" \\ ` $1 ?",
    "line ends": "a\r\nb\rc\u2028d\u0085e",
    "one million characters": "가나다 " * 250_000,
    "empty": "",
    "byte-order mark": "\ufeffa",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_text_comes_out_as_it_went_in(text: str, tmp_path: Path) -> None:
    run = TinyRun(
        answers={CELL: [f"{text}\n{CLEAN}"]},
        translations={CELL: text},
        display_names={"p1": text},
        history=[(CELL, text)],
    )
    with run.tables() as connection:
        assert _texts(connection) == {text, f"{text}\n{CLEAN}"}
        export_tables(connection, tmp_path / "tables")
    with connect() as connection:
        load_tables(connection, tmp_path / "tables")
        assert _texts(connection) == {text, f"{text}\n{CLEAN}"}


def _texts(connection: duckdb.DuckDBPyConnection) -> set[str]:
    query = """
        SELECT translation FROM cells UNION SELECT text FROM annotations
        UNION SELECT display_name FROM participants UNION SELECT reason FROM translation_failures
    """
    return {row[0] for row in connection.execute(query).fetchall()}


def test_spans_are_offsets_in_code_points() -> None:
    # U+1F469 is one code point here, two units in UTF-16 and four bytes in UTF-8.
    run = TinyRun(
        answers={CELL: [answer(minor=("other",), span="빵")]}, translations={CELL: "\U0001f469 빵, 빵"}
    )
    with run.tables() as connection:
        rows = connection.execute("SELECT location, starts, ends FROM spans").fetchall()
    assert rows == [("ambiguous", [2, 5], [3, 6])]


@pytest.mark.parametrize(
    ("translation", "span", "expected"),
    [
        ("Good bread.", "bread", ("exact", [5], [10])),
        ("bread, bread", "bread", ("ambiguous", [0, 7], [5, 12])),
        ("fresh  bread", "fresh bread", ("normalised", [0], [12])),
        ("Good.", "먹었어", ("in_source", [2], [5])),  # "밥 먹었어?"
        ("Good.", "cake", ("missing", [], [])),
        (None, "cake", ("not_locatable", [], [])),
    ],
)
def test_locations(translation: str | None, span: str, expected: tuple[str, list[int], list[int]]) -> None:
    other = ("i1", "en", "p2")  # whose translation makes the run one that has translations
    run = TinyRun(
        participants=["p1", "p2"],
        answers={CELL: [answer(minor=("other",), span=span)], other: [CLEAN]},
        translations={other: "x"} | ({CELL: translation} if translation else {}),
    )
    with run.tables() as connection:
        assert connection.execute("SELECT location, starts, ends FROM spans").fetchall() == [expected]


def test_half_a_surrogate_pair_spelt_in_json_becomes_a_replacement_character() -> None:
    # The answer itself is plain ASCII; what it spells can be held by no UTF-8 file.
    error = {"severity": "minor", "class": "other", "target_span_text": "\ud800x", "source_span_text": None}
    text = json.dumps({"has_no_error": False, "errors": [error], "contextBehavior": "unclear"})
    with TinyRun(form="json", answers={CELL: [text]}).tables() as connection:
        status = connection.execute("SELECT status FROM annotations").fetchone()
        spans = connection.execute("SELECT span FROM annotation_errors").fetchall()
    # A reader that refuses such an answer is right, too: what must not happen is a traceback.
    assert spans == ([("\ufffdx",)] if status == ("ok",) else [])


def test_equal_texts_are_read_once_and_numbered_by_their_first_cell() -> None:
    odd = answer(minor=("other",))
    cells = [("i1", "en", name) for name in ("p1", "p2", "p3", "p4")]
    run = TinyRun(
        participants=["p1", "p2", "p3", "p4"],
        # Staged backwards: the number goes by the cell, not by the order of the input.
        answers=dict(reversed(list(zip(cells, ([odd], [CLEAN], [odd], [(CLEAN, "length")]), strict=True)))),
    )
    with run.tables() as connection:
        annotations = connection.execute("SELECT annotation_id, status FROM annotations").fetchall()
        judgments = connection.execute("SELECT cell_id, annotation_id FROM judgments").fetchall()
    # The same text with another finish reason is another annotation.
    assert annotations == [(0, "ok"), (1, "ok"), (2, "truncated")]
    assert judgments == [(0, 0), (1, 1), (2, 0), (3, 2)]
