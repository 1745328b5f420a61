"""How a report is written: CSV, JSON, and what happens to files of reports that are no more."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.csv_text import csv_text
from pipeline.reporting.table import Report, write_reports

# value, the field as it stands in the file
FIELDS = [
    (None, ""),
    (0, "0"),
    (-3, "-3"),  # a number is no formula
    (1.0, "1"),
    (-0.5, "-0.5"),
    (1 / 3, "0.3333333333333333"),
    (1e-7, "1e-07"),
    ("plain", "plain"),
    ("two words", "two words"),
    ("a,b", '"a,b"'),
    ('say "hi"', '"say ""hi"""'),
    ("a\nb", '"a\nb"'),
    ("a\rb", '"a\rb"'),
    ("빵", "빵"),
    ("=1+1", "'=1+1"),
    ("+1", "'+1"),
    ("-1", "'-1"),
    ("@SUM(A1)", "'@SUM(A1)"),
    ("\t=1", "'\t=1"),
    ("\r=1", '"\'\r=1"'),
    ("\n=1", '"\'\n=1"'),
    ("＝1", "'＝1"),
    ("＋1", "'＋1"),
    ("－1", "'－1"),
    ("＠A", "'＠A"),
    ('=HYPERLINK("http://x","y")', '"\'=HYPERLINK(""http://x"",""y"")"'),
    ("a=1", "a=1"),  # only the first character counts
]


@pytest.mark.parametrize(("value", "field"), FIELDS)
def test_fields(value: Any, field: str) -> None:
    assert csv_text(("a", "b"), [(1, value)]) == f"a,b\n1,{field}\n"


def test_a_header_is_guarded_too() -> None:
    assert csv_text(("=A", "b,c"), []) == '\'=A,"b,c"\n'


def test_a_line_of_one_empty_field_is_no_blank_line() -> None:
    assert csv_text(("a",), [(None,), ("",), (1,)]) == 'a\n""\n""\n1\n'


def test_python_reads_back_what_was_written() -> None:
    rows = [(text, number) for number, (text, _) in enumerate(FIELDS) if isinstance(text, str)]
    lines = list(csv.reader(io.StringIO(csv_text(("text", "number"), rows), newline="")))
    assert [line[0].removeprefix("'") for line in lines[1:]] == [text for text, _ in rows]


def test_files(tmp_path: Path) -> None:
    document = {"b": 2.0, "a": [{"z": None, "é": 0.1}], "c": True}
    write_reports(tmp_path, [Report("board", document, ("b",), [(2.0,)])])
    # Keys sorted, whole floats as integers, two spaces, UTF-8, one line end at the end.
    assert (tmp_path / "board.json").read_bytes().decode("utf-8") == (
        '{\n  "a": [\n    {\n      "z": null,\n      "é": 0.1\n    }\n  ],\n  "b": 2,\n  "c": true\n}\n'
    )
    assert (tmp_path / "board.csv").read_text() == "b\n2\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board.csv", "board.json"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_written(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_reports(tmp_path, [Report("board", {"a": value}, (), [])])
    assert list(tmp_path.iterdir()) == []


def test_reports_that_are_no_more_are_removed_and_other_files_stay(tmp_path: Path) -> None:
    for name in ("old.json", "old.csv", "notes.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "pages").mkdir()
    write_reports(tmp_path, [Report("new", {}, ("a",), [])])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "new.json", "notes.txt", "pages"]


def test_json_floats_come_back_to_the_last_bit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, 1.5771604938271604]
    write_reports(tmp_path, [Report("floats", values, ("v",), [(value,) for value in values])])
    assert json.loads((tmp_path / "floats.json").read_text()) == values
    read = [float(line) for line in (tmp_path / "floats.csv").read_text().splitlines()[1:]]
    assert read == values
