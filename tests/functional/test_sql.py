"""``python -m pipeline sql`` and ``db build``: what they answer, and everything they refuse."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from published_run import Outcome, build, key, pipeline, refusal, tree, write_run

REPOSITORY = Path(__file__).parents[2]
HOSTILE = '=1+1\r\n\x1b[31m\u202e<b>|`,"'
WIDE = "넓다 " * 50_000


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of the small published-style run, with two odd translations."""
    folder = tmp_path_factory.mktemp("sql")
    run = write_run(folder)
    for cell, text in ((("needs-context", "en", "alpha"), HOSTILE), (("no-context", "en", "beta"), WIDE)):
        run.add("translations.jsonl", {"stable_key": key(cell), "translation": text})
    assert build(run, folder / "out").code == 0
    return folder / "out" / "tables"


def _sql(tables: Path, query: str, form: str = "csv") -> Outcome:
    return pipeline("sql", "--tables", tables, "--format", form, query)


def _json(tables: Path, query: str) -> Any:
    done = _sql(tables, query, "json")
    assert done.code == 0, done
    assert done.out.count("\n") == 1 and done.out.endswith("\n")
    return json.loads(done.out)


QUERY = "SELECT status, count(*) AS cells FROM cells GROUP BY ALL ORDER BY status"


def test_csv(tables: Path) -> None:
    # Six answers, one failed translation; no-context ja alpha has no translation (published_run.py).
    assert _sql(tables, QUERY).out == "status,cells\nok,6\ntranslation_failed,1\ntranslation_missing,1\n"


def test_json(tables: Path) -> None:
    assert _json(tables, QUERY) == [
        {"status": "ok", "cells": 6},
        {"status": "translation_failed", "cells": 1},
        {"status": "translation_missing", "cells": 1},
    ]


def test_table(tables: Path) -> None:
    lines = _sql(tables, QUERY, "table").out.splitlines()
    words = [[word for word in line.replace("┃", "│").split("│") if word.strip()] for line in lines]
    assert [[word.strip() for word in row] for row in words if len(row) == 2] == [
        ["status", "cells"],
        ["ok", "6"],
        ["translation_failed", "1"],
        ["translation_missing", "1"],
    ]


@pytest.mark.parametrize(
    ("query", "code", "out", "lines"), [("SELECT 1 AS a", 0, "a\n1\n", 0), ("DROP TABLE cells", 1, "", 1)]
)
def test_the_command_itself(tables: Path, query: str, code: int, out: str, lines: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "sql", "--tables", str(tables), "--format", "csv", query],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, out, lines)


# query -> CSV
VALUES = [
    ("SELECT 1 AS a WHERE false", "a\n"),
    ("SELECT NULL AS a, 2 AS b", "a,b\n,2\n"),
    ("SELECT NULL AS a", 'a\n""\n'),
    ("SELECT [1, NULL, 2] AS a", 'a\n"[1,null,2]"\n'),
    ("SELECT ['x', 'y'] AS a", 'a\n"[""x"",""y""]"\n'),
    ("SELECT {'x': 1, 'y': 'z'} AS a", 'a\n"{""x"":1,""y"":""z""}"\n'),
    ("SELECT true AS a, false AS b", "a,b\ntrue,false\n"),
    ("SELECT 1.50::DECIMAL(4, 2) AS a", "a\n1.50\n"),
    ("SELECT 0.1::DOUBLE AS a", "a\n0.1\n"),
    ("SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b", "a,b\nnan,inf\n"),
    ("SELECT DATE '2026-08-22' AS a", "a\n2026-08-22\n"),
    ("SELECT '=1+1' AS a", "a\n'=1+1\n"),
    ('SELECT 1 AS "=A"', "'=A\n1\n"),
    ("SELECT 1 AS a, 2 AS a", "a,a\n1,2\n"),
    ("VALUES (1)", "col0\n1\n"),
    ("SELECT 1 AS a; -- and that was all", "a\n1\n"),
    ("/* first */ SELECT 1 AS a;", "a\n1\n"),
    ("FROM languages", "language_index,language\n0,en\n1,ja\n"),
]


@pytest.mark.parametrize(("query", "expected"), VALUES)
def test_values_in_csv(tables: Path, query: str, expected: str) -> None:
    done = _sql(tables, query)
    assert (done.code, done.out) == (0, expected), done.err


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 1 AS a WHERE false", []),
        ("SELECT NULL AS a, 'x' AS b, true AS c", [{"a": None, "b": "x", "c": True}]),
        ("SELECT [1, NULL, 2] AS a, {'x': [0.5]} AS b", [{"a": [1, None, 2], "b": {"x": [0.5]}}]),
        ("SELECT 1.5 AS a, 2::HUGEINT AS b", [{"a": 1.5, "b": 2}]),
        ("SELECT 'nan'::DOUBLE AS a, '-inf'::DOUBLE AS b", [{"a": "nan", "b": "-inf"}]),
        ("SELECT DATE '2026-08-22' AS a", [{"a": "2026-08-22"}]),
    ],
)
def test_values_in_json(tables: Path, query: str, expected: Any) -> None:
    assert _json(tables, query) == expected


def test_two_columns_of_one_name_would_lose_one_in_json(tables: Path) -> None:
    message = refusal(_sql(tables, "SELECT 1 AS a, 2 AS a", "json"))
    assert message == "two columns are named 'a'; name them apart with AS for JSON"


def test_descriptions(tables: Path) -> None:
    assert "cell_list" in _sql(tables, "SHOW TABLES").out
    assert "request_hash,VARCHAR" in _sql(tables, "DESCRIBE cells").out
    assert _sql(tables, "SUMMARIZE cells").code == 0
    assert _sql(tables, "EXPLAIN SELECT 1").code == 0


def test_hostile_texts_cannot_break_the_output(tables: Path) -> None:
    query = "SELECT translation FROM cells WHERE starts_with(translation, '=1')"
    (row,) = list(csv.reader(io.StringIO(_sql(tables, query).out, newline="")))[1:]
    assert row == ["'" + HOSTILE]
    assert _json(tables, query) == [{"translation": HOSTILE}]
    table = _sql(tables, query, "table").out
    assert "\x1b" not in table and "\u202e" not in table
    assert len(table.splitlines()) == 5


def test_a_very_wide_text_is_not_cut(tables: Path) -> None:
    query = "SELECT translation FROM cells WHERE starts_with(translation, '넓다')"
    assert _json(tables, query) == [{"translation": WIDE}]
    assert _sql(tables, query, "table").out.count("넓다") == 50_000


def test_views(tables: Path) -> None:
    assert _json(
        tables,
        "SELECT item_id, language, participant_id, display_name, status, context_expectation, "
        "context_turn_count, speaker_mode, primary_phenomenon, source_text, translation_failure "
        "FROM cell_list WHERE status = 'translation_failed'",
    ) == [
        {
            "item_id": "needs-context",
            "language": "ja",
            "participant_id": "beta",
            "display_name": "System Beta",
            "status": "translation_failed",
            "context_expectation": "use",
            "context_turn_count": 2,
            "speaker_mode": "dyadic",
            "primary_phenomenon": "referent_resolution",
            "source_text": "내일 돌려줄게.",
            "translation_failure": "network: timeout",
        }
    ]
    assert _json(
        tables,
        "SELECT repeat, participant_id, status, context_behavior, repairs, contradictory_section "
        "FROM judgment_list WHERE item_id = 'no-context' AND language = 'en' ORDER BY ALL",
    ) == [
        {
            "repeat": 0,
            "participant_id": participant,
            "status": "ok",
            "context_behavior": behavior,
            "repairs": [],
            "contradictory_section": False,
        }
        for participant, behavior in (("alpha", "ignored_irrelevant_context"), ("beta", "misused_context"))
    ]
    rows = _json(tables, "SELECT severity, error_class, span, location FROM error_list ORDER BY ALL")
    assert rows[:2] == [
        {"severity": "critical", "error_class": "accuracy/omission", "span": "now", "location": "missing"},
        {"severity": "major", "error_class": "accuracy/mistranslation", "span": "it", "location": "missing"},
    ]
    for view, count in (("cell_list", 8), ("judgment_list", 6), ("error_list", 5)):
        assert len(_json(tables, f"FROM {view}")) == count


REFUSED = {
    "insert": "INSERT INTO languages VALUES (9, 'ko')",
    "insert behind a WITH": "WITH x AS (SELECT 1) INSERT INTO languages SELECT 9, 'ko'",
    "update": "UPDATE cells SET status = 'ok'",
    "delete": "DELETE FROM cells",
    "drop": "DROP TABLE cells",
    "create": "CREATE TABLE mine AS SELECT 1",
    "create temporary": "CREATE TEMP TABLE mine AS SELECT 1",
    "create macro": "CREATE MACRO mine() AS 1",
    "copy out": "COPY cells TO '{folder}/stolen.csv'",
    "copy out, explained": "EXPLAIN ANALYZE COPY cells TO '{folder}/stolen.csv'",
    "insert, explained": "EXPLAIN ANALYZE INSERT INTO languages VALUES (9, 'ko')",
    "copy in": "COPY cells FROM '/etc/passwd'",
    "export": "EXPORT DATABASE '{folder}/stolen'",
    "import": "IMPORT DATABASE '{folder}'",
    "attach": "ATTACH '{folder}/stolen.duckdb'",
    "read a file": "SELECT * FROM read_csv('/etc/passwd')",
    "read a file by its name": "SELECT * FROM '/etc/passwd'",
    "read a text": "SELECT * FROM read_text('/etc/passwd')",
    "read Parquet": "SELECT * FROM read_parquet('{folder}/out/tables/run.parquet')",
    "list files": "SELECT * FROM glob('/etc/*')",
    "sniff": "SELECT * FROM sniff_csv('/etc/passwd')",
    "network": "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "set": "SET enable_external_access = true",
    "reset": "RESET enable_external_access",
    "pragma": "PRAGMA enable_profiling",
    "call": "CALL enable_logging(storage = 'file')",
    "secret": "CREATE SECRET mine (TYPE s3)",
    "a log by a function": "SELECT * FROM enable_logging(storage = 'file')",
    "transaction": "BEGIN",
    "checkpoint": "CHECKPOINT",
    "use": "USE temp",
    "several": "SELECT 1; SELECT 2",
    "another behind": "SELECT 1; DROP TABLE cells",
    "another in front": "SET threads = 1; SELECT 1",
    "nothing": "",
    "a comment": "/* nothing */ -- at all",
    "no SQL": "how many cells are there?",
    "no such table": "SELECT * FROM cels",
    "a variable of the program": "SELECT * FROM connection",
    "no such column": "SELECT nothing FROM cells",
    "a wrong value": "SELECT 'x'::INTEGER",
    "several lines": "SELECT\n*\nFROM\nnowhere\nWHERE\na = 'b\nc'",
}


@pytest.mark.parametrize("query", REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_one_line(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = tree(tables.parents[1])
    done = _sql(tables, query.format(folder=tables.parents[1]))
    refusal(done)
    assert done.out == ""
    assert tree(tables.parents[1]) == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DROP TABLE cells", "DROP is refused: the tables are read-only; give one SELECT"),
        ("SELECT 1; SELECT 2", "the query holds 2 statements; give one SELECT"),
        ("", "the query holds 0 statements; give one SELECT"),
    ],
)
def test_a_refusal_says_what_to_do(tables: Path, query: str, message: str) -> None:
    assert refusal(_sql(tables, query)) == message


def test_without_tables(tmp_path: Path) -> None:
    message = refusal(_sql(tmp_path, "SELECT 1"))
    assert message == f"{tmp_path / 'schema.sql'}: missing; run `dvc repro parse` to make the tables"


def test_an_unknown_format_is_a_usage_error(tables: Path) -> None:
    assert _sql(tables, "SELECT 1", "xml").code == 2


def _build(tables: Path, out: Path) -> Outcome:
    return pipeline("db", "build", "--tables", tables, "--out", out)


def test_db_build(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "it's new" / "run 1.duckdb"
    done = _build(tables, out)
    assert (done.code, done.out, done.err) == (0, f"wrote {out}\n", "")
    assert [path.name for path in out.parent.iterdir()] == ["run 1.duckdb"]
    assert out.stat().st_mode & 0o777 == 0o644
    with duckdb.connect(str(out)) as connection:
        assert connection.execute("SELECT count(*) FROM cells").fetchone() == (8,)
        assert connection.execute("SELECT count(*) FROM error_list").fetchone() == (5,)
        # It is the reader's own copy, with all constraints.
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("INSERT INTO languages VALUES (9, 'en')")
        connection.execute("INSERT INTO languages VALUES (9, 'ko')")


def test_db_build_replaces_an_old_file(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.duckdb"
    duckdb.connect(str(out)).close()
    Path(f"{out}.wal").write_text("left by a program that was killed")
    assert _build(tables, out).code == 0
    with duckdb.connect(str(out), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM cells").fetchone() == (8,)
    assert [path.name for path in tmp_path.iterdir()] == ["run.duckdb"]


def test_db_build_refuses_a_folder(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "run.duckdb").mkdir()
    message = refusal(_build(tables, tmp_path / "run.duckdb"))
    assert message.startswith(f"{tmp_path / 'run.duckdb'} is a folder; name a file to write, such as ")
    assert list((tmp_path / "run.duckdb").iterdir()) == []


def test_db_build_where_nothing_can_be_written(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    message = refusal(_build(tables, tmp_path / "file" / "run.duckdb"))
    assert message.startswith(f"cannot write {tmp_path / 'file' / 'run.duckdb'}: ")
    assert tree(tmp_path) == {"file": b"x"}


def test_db_build_of_damaged_tables_keeps_the_old_file(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.duckdb"
    duckdb.connect(str(out)).close()
    old = out.read_bytes()
    assert "missing; run `dvc repro parse`" in refusal(_build(tmp_path, out))
    assert tree(tmp_path) == {"run.duckdb": old}
