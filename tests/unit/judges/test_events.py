"""The log of a run: JSON lines, no key in them, and no run that ends because of it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from pipeline.errors import StorageError
from pipeline.judges.events import Events, default_log
from pipeline.judges.secrets import Secret

KEY = 'sk-test-"quoted"/slash'


def test_an_event_is_a_line_of_json(tmp_path: Path) -> None:
    people = io.BytesIO()
    text = io.TextIOWrapper(people, encoding="utf-8", write_through=True)
    events = Events(tmp_path / "logs" / "run.jsonl", text, clock=lambda: 0.0)
    events.emit("asked", request="ab", repeat=0, problem=None)
    events.emit("gave up", problem="한국어\nline")
    events.close()
    lines = (tmp_path / "logs" / "run.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "at": "1970-01-01T00:00:00.000+00:00",
            "event": "asked",
            "problem": None,
            "repeat": 0,
            "request": "ab",
        },
        {"at": "1970-01-01T00:00:00.000+00:00", "event": "gave up", "problem": "한국어\nline"},
    ]
    assert people.getvalue().decode() == (
        "00:00:00 asked request=ab repeat=0\n00:00:00 gave up problem=한국어 line\n"
    )


def test_a_key_is_struck_out_of_the_log_and_of_what_people_see(tmp_path: Path) -> None:
    text = io.StringIO()
    events = Events(tmp_path / "log", text)
    events.keep_out(Secret(KEY))
    events.emit("refused", problem=f"the key {KEY} is wrong")
    for shown in ((tmp_path / "log").read_text("utf-8"), text.getvalue()):
        assert KEY not in shown
        assert json.dumps(KEY)[1:-1] not in shown
        assert "[redacted]" in shown


def test_no_event_no_file(tmp_path: Path) -> None:
    Events(tmp_path / "log").close()
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_cannot_be_written_is_counted_or_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    events = Events(tmp_path / "file" / "log")
    events.emit("asked")
    assert events.lost == 1
    with pytest.raises(StorageError, match="cannot write the log"):
        events.open()


def test_the_default_is_beside_the_ledger(tmp_path: Path) -> None:
    assert default_log(tmp_path / "ledger.sqlite").parent == tmp_path / "logs"
