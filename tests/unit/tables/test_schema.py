"""The schema's constraints really refuse what they are there for."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from tiny_run import TinyRun, answer

HASH = "a" * 64


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables of one cell with one answer of one error, and one cell without anything."""
    run = TinyRun(
        participants=["p1", "p2"],
        answers={("i1", "en", "p1"): [answer(minor=("other",))]},
        history=[(("i1", "en", "p1"), "timeout")],
        attempts=[(HASH, 0, 0, True, 1, "b", 200, "stop", "m", 1, 2, 0, 3)],
    )
    with run.tables() as opened:
        yield opened


REFUSED = {
    # keys
    "a second run": "INSERT INTO run SELECT * REPLACE (2 AS only_row) FROM run",
    "the run twice": "INSERT INTO run SELECT * FROM run",
    "a language twice": "INSERT INTO languages VALUES (9, 'en')",
    "a language's index twice": "INSERT INTO languages VALUES (0, 'ja')",
    "a participant twice": "INSERT INTO participants VALUES (9, 'p1', 'x', 'x', 'x')",
    "an item twice": "INSERT INTO items SELECT * REPLACE (9 AS item_index) FROM items",
    "a turn twice": "INSERT INTO turns SELECT * FROM turns",
    "an annotation's number twice": "INSERT INTO annotations SELECT * FROM annotations",
    "an error twice": "INSERT INTO annotation_errors SELECT * FROM annotation_errors",
    "a cell twice": "INSERT INTO cells SELECT * REPLACE (9 AS cell_id) FROM cells",
    "a judgment twice": "INSERT INTO judgments SELECT * FROM judgments",
    "a span twice": "INSERT INTO spans SELECT * FROM spans",
    "an attempt twice": "INSERT INTO attempts SELECT * FROM attempts",
    "a failure twice": "INSERT INTO translation_failures SELECT * FROM translation_failures",
    # references
    "a turn of no item": "INSERT INTO turns VALUES (9, 0, 'self', NULL, 'x')",
    "an error of no annotation": (
        "INSERT INTO annotation_errors VALUES (9, 0, 'minor', 'other', 'x', NULL, NULL)"
    ),
    "a cell of no item": "INSERT INTO cells SELECT * REPLACE (9 AS cell_id, 9 AS item_index) FROM cells",
    "a cell of no language": (
        "INSERT INTO cells SELECT * REPLACE (9 AS cell_id, 9 AS language_index) FROM cells"
    ),
    "a cell of no participant": (
        "INSERT INTO cells SELECT * REPLACE (9 AS cell_id, 9 AS participant_index) FROM cells LIMIT 1"
    ),
    "a judgment of no cell": "INSERT INTO judgments VALUES (9, 0, 0)",
    "a judgment of no annotation": "INSERT INTO judgments VALUES (1, 0, 9)",
    "a span of no judgment": "INSERT INTO spans VALUES (1, 0, 0, 'missing', [], [])",
    "a failure of no item": "INSERT INTO translation_failures VALUES (9, 9, 0, 0, 'x')",
    # closed lists and ranges
    "no repeats": "UPDATE run SET repeats = 0",
    "another parser mode": "UPDATE run SET parser_mode = 'loose'",
    "another form": "UPDATE run SET annotation_form = 'xml'",
    "four turns": "INSERT INTO items VALUES (9, 'x', 4, 'single', 'use', 'x', [], 'x')",
    "another speaker mode": "INSERT INTO items VALUES (9, 'x', 1, 'solo', 'use', 'x', [], 'x')",
    "another expectation": "INSERT INTO items VALUES (9, 'x', 1, 'single', 'maybe', 'x', [], 'x')",
    "another role": "INSERT INTO turns VALUES (0, 9, 'narrator', NULL, 'x')",
    "another severity": "INSERT INTO annotation_errors VALUES (0, 9, 'fatal', 'other', 'x', NULL, NULL)",
    "another class": "INSERT INTO annotation_errors VALUES (0, 9, 'minor', 'humour', 'x', NULL, NULL)",
    "an error before the first": (
        "INSERT INTO annotation_errors VALUES (0, -1, 'minor', 'other', 'x', NULL, NULL)"
    ),
    "a repeat before the first": "INSERT INTO judgments VALUES (1, -1, 0)",
    "another location": "UPDATE spans SET location = 'elsewhere'",
    "a place that does not end": "UPDATE spans SET starts = [1]",
    "another label": ("INSERT INTO annotations VALUES (9, 'x', NULL, 'ok', NULL, 'ignored', [], false)"),
    # what contradicts itself
    "a failure without a reason": (
        "INSERT INTO annotations VALUES (9, 'x', NULL, 'malformed', NULL, NULL, [], false)"
    ),
    "a success with a reason": "INSERT INTO annotations VALUES (9, 'x', NULL, 'ok', 'why', NULL, [], false)",
    "a failure with a label": (
        "INSERT INTO annotations VALUES (9, 'x', NULL, 'empty', 'why', 'unclear', [], false)"
    ),
    "an annotation of unrecorded": (
        "INSERT INTO annotations VALUES (9, 'x', NULL, 'unrecorded', 'why', NULL, [], false)"
    ),
    "another cell status": "UPDATE cells SET status = 'fine' WHERE cell_id = 1",
    "another judge failure": (
        "UPDATE cells SET status = 'judge_failed', judge_failure = 'tired' WHERE cell_id = 1"
    ),
    "a judge failure without its type": "UPDATE cells SET status = 'judge_failed' WHERE cell_id = 1",
    "a type without a judge failure": "UPDATE cells SET judge_failure = 'empty' WHERE cell_id = 1",
    "a failed translation without a reason": (
        "UPDATE cells SET status = 'translation_failed' WHERE cell_id = 1"
    ),
    "a reason without a failed translation": "UPDATE cells SET translation_failure = 'x' WHERE cell_id = 1",
    "a missing translation that is there": "UPDATE cells SET translation = 'x' WHERE cell_id = 1",
    # what has to be known
    "a cell without a status": "UPDATE cells SET status = NULL WHERE cell_id = 1",
    "an item without a source": "INSERT INTO items VALUES (9, 'x', 1, 'single', 'use', 'x', [], NULL)",
}


@pytest.mark.parametrize("statement", REFUSED.values(), ids=REFUSED.keys())
def test_refused(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    with pytest.raises(duckdb.ConstraintException):
        connection.execute(statement)


def test_what_the_cases_change_can_be_changed(connection: duckdb.DuckDBPyConnection) -> None:
    # Otherwise a case above might be refused for another reason than the one it names.
    connection.execute("BEGIN")
    for statement in (
        "INSERT INTO items VALUES (9, 'x', 3, 'dyadic', 'ignore', 'x', [], 'x')",
        "INSERT INTO annotations VALUES (9, 'x', NULL, 'ok', NULL, 'unclear', [], false)",
        "INSERT INTO annotation_errors VALUES (9, 0, 'minor', 'other', 'x', NULL, NULL)",
        "INSERT INTO judgments VALUES (1, 0, 9)",
        "INSERT INTO spans VALUES (1, 0, 0, 'exact', [1], [2])",
        "INSERT INTO turns VALUES (9, 0, 'other', NULL, 'x')",
        "INSERT INTO translation_failures VALUES (9, 9, 0, 0, 'x')",
    ):
        connection.execute(statement)
    connection.execute("ROLLBACK")
