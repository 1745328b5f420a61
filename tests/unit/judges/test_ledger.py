"""The ledger: nothing paid for is lost, nothing is asked twice, nothing is ever changed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from judge_project import REPOSITORY
from judge_samples import a_request, an_attempt

from pipeline.answers import Answer
from pipeline.canonical import sha256_hex
from pipeline.errors import LedgerError, PipelineError, StorageError
from pipeline.judges.ledger import Intent, Ledger
from pipeline.judges.ledger_file import VARIABLE, ledger_path
from pipeline.judges.migrations import MIGRATIONS

REQUEST = a_request()
KEY = (REQUEST.request_hash, 0)


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger(path, clock=clock) as opened:
        yield opened


def begin(ledger: Ledger, repeat: int = 0, seconds: float = 60) -> Intent:
    begun = ledger.begin(REQUEST, (KEY[0], repeat), "openai-compatible", seconds)
    assert isinstance(begun, Intent)
    return begun


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_an_answer_holds_all_attempts_that_had_a_response(ledger: Ledger) -> None:
    limited = an_attempt(http_status=429, text=None, raw="slow down", usage=None, cost_nano_usd=None)
    odd = an_attempt(text=None, raw="/w==", raw_encoding="base64")
    good = an_attempt(text="한국어\x00\n")
    ledger.finish(begin(ledger), "failed", attempt=limited, problem="HTTP 429")
    ledger.finish(begin(ledger), "uncertain", problem="no answer within 5 s")
    ledger.finish(begin(ledger), "failed", attempt=odd, problem="not JSON")
    assert ledger.answer(KEY) is None
    assert ledger.answered([KEY]) == set()
    ledger.finish(begin(ledger), "answer", attempt=good)
    assert ledger.answer(KEY) == Answer(
        request_hash=KEY[0], repeat=0, selected=2, attempts=[limited, odd, good]
    )
    assert ledger.answered([KEY, (KEY[0], 1)]) == {KEY}


def test_the_first_selection_stays_for_ever(ledger: Ledger, clock: Clock) -> None:
    slow = begin(ledger, seconds=60)
    clock.now += 61
    quick = begin(ledger)
    ledger.finish(quick, "answer", attempt=an_attempt(text="first"))
    answer = ledger.answer(KEY)
    ledger.finish(slow, "answer", attempt=an_attempt(text="late"))
    assert ledger.answer(KEY) == answer
    assert answer is not None
    assert [attempt.text for attempt in answer.attempts] == ["first"]
    # ... but the late one was paid for, so it is kept.
    assert rows(ledger.path, "SELECT text FROM outcomes ORDER BY outcome") == [("first",), ("late",)]


def test_an_intent_has_one_outcome(ledger: Ledger) -> None:
    intent = begin(ledger)
    ledger.finish(intent, "uncertain", problem="told to stop")
    ledger.finish(intent, "answer", attempt=an_attempt())
    assert ledger.answer(KEY) is None


def test_repeats_are_apart(ledger: Ledger) -> None:
    ledger.finish(begin(ledger, 0), "answer", attempt=an_attempt(text="0"))
    ledger.finish(begin(ledger, 1), "answer", attempt=an_attempt(text="1"))
    assert [ledger.answer((KEY[0], n)).attempt.text for n in (0, 1)] == ["0", "1"]  # type: ignore[union-attr]


def test_what_was_asked_can_be_seen(ledger: Ledger) -> None:
    begin(ledger)
    begin(ledger)
    [(digest, packed)] = rows(ledger.path, "SELECT request_hash, canonical FROM requests")
    assert isinstance(packed, bytes)
    assert sha256_hex(zlib.decompress(packed)) == digest == KEY[0]


def test_the_intent_is_there_before_the_answer(ledger: Ledger, path: Path) -> None:
    begin(ledger)
    assert rows(path, "SELECT count(*) FROM intents") == [(1,)]
    assert rows(path, "SELECT started_at FROM intents") == [("1970-01-12T13:46:40.000+00:00",)]


def test_an_answered_key_is_not_asked_again(ledger: Ledger) -> None:
    assert ledger.refusal(KEY) is None
    ledger.finish(begin(ledger), "answer", attempt=an_attempt())
    assert ledger.refusal(KEY) == "answered"
    assert ledger.begin(REQUEST, KEY, "b", 60) == "answered"


def test_a_lease_keeps_others_off_until_it_ends(ledger: Ledger, path: Path, clock: Clock) -> None:
    with Ledger(path, clock=clock) as other:
        begin(ledger, seconds=60)
        assert other.refusal(KEY) == "leased"
        assert other.begin(REQUEST, KEY, "b", 60) == "leased"
        assert isinstance(ledger.begin(REQUEST, KEY, "b", 60), Intent)  # the holder tries again
        clock.now += 60
        assert other.refusal(KEY) is None
        begin(other)
        assert ledger.refusal(KEY) == "leased"


def test_a_lease_is_given_back(ledger: Ledger, path: Path, clock: Clock) -> None:
    other = Ledger(path, clock=clock)
    begin(other)
    other.release(KEY)
    assert ledger.refusal(KEY) is None
    begin(other, 0)
    begin(other, 1)
    other.close()
    assert ledger.refusal(KEY) is None
    assert ledger.refusal((KEY[0], 1)) is None


_LEASE_AND_DIE = """
import sys, os, signal
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from judge_samples import a_request
from pipeline.judges.ledger import Ledger
request = a_request()
ledger = Ledger(Path(sys.argv[1]))
ledger.begin(request, (request.request_hash, 0), "b", 1e6)
print("leased", flush=True)
signal.pause()
"""


def test_the_lease_of_a_killed_process_is_free_at_once(ledger: Ledger, path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _LEASE_AND_DIE, str(path), str(REPOSITORY), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "leased\n"
    assert ledger.refusal(KEY) == "leased"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert ledger.refusal(KEY) is None
    begin(ledger)


def test_many_threads_and_two_ledgers_take_each_key_once(path: Path) -> None:
    ledgers = [Ledger(path), Ledger(path)]
    keys = [(KEY[0], repeat) for repeat in range(40)]
    taken: list[int] = []

    def work(ledger: Ledger) -> None:
        for key in keys:
            begun = ledger.begin(REQUEST, key, "b", 60)
            if isinstance(begun, Intent) and not ledger.answered([key]):
                taken.append(key[1])
                ledger.finish(begun, "answer", attempt=an_attempt(text=str(key[1])))

    # One thread a ledger: within one process the runner's queue hands every key out once.
    threads = [threading.Thread(target=work, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ledger in ledgers:
        ledger.close()
    assert sorted(taken) == list(range(40))


@pytest.mark.parametrize("table", ["requests", "intents", "outcomes", "selections"])
@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {} SET request_hash = 'x'"])
def test_nothing_is_changed_or_removed(ledger: Ledger, path: Path, table: str, change: str) -> None:
    ledger.finish(begin(ledger), "answer", attempt=an_attempt())
    column = "request_hash" if table != "outcomes" else "text"
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        rows(path, change.format(table).replace("request_hash", column))


# Where the ledger is.


def test_the_variable_names_the_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "l.sqlite"))
    assert ledger_path() == tmp_path / "l.sqlite"


@pytest.mark.parametrize("named", ["ledger.sqlite", "./l", "~/l", " /l"])
def test_a_relative_path_is_refused_with_the_cure(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, named)
    with pytest.raises(LedgerError, match="must be an absolute path, such as /") as caught:
        ledger_path()
    assert caught.value.exit_code == 1


def test_without_it_the_ledger_is_in_the_users_state_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert ledger_path() == tmp_path / "ctxeval" / "ledger.sqlite"
    assert not any(tmp_path.iterdir())


# Files that are no ledger.


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is not a database, whatever its name says\n" * 100)


def _torn(path: Path) -> None:
    Ledger(path).close()
    data = bytearray(path.read_bytes())
    data[100:4096] = os.urandom(3996)
    path.write_bytes(data)


def _foreign(path: Path) -> None:
    rows(path, "CREATE TABLE bookmarks (url TEXT)")


def _newer(path: Path) -> None:
    Ledger(path).close()
    rows(path, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_garbage, "is damaged or no ledger"),
        (_torn, "is damaged or no ledger"),
        (_foreign, "is a database of another program"),
        (_newer, "was written by a newer version of this project"),
    ],
)
def test_what_is_no_ledger_is_refused_and_left_alone(
    path: Path, make: Callable[[Path], None], said: str, read_only: bool
) -> None:
    path.parent.mkdir()
    make(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError) as caught:
        Ledger(path, read_only=read_only)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_damaged_page_is_found_when_it_is_read(path: Path) -> None:
    with Ledger(path) as ledger:
        for repeat in range(200):
            ledger.finish(begin(ledger, repeat), "answer", attempt=an_attempt(text="x" * 2000))
    rows(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    for page in range(40, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(data)
    with Ledger(path) as ledger, pytest.raises(LedgerError, match="is damaged"):
        for repeat in range(200):
            ledger.answer((KEY[0], repeat))


def test_a_stored_response_that_cannot_be_unpacked_is_an_error(ledger: Ledger, path: Path) -> None:
    ledger.finish(begin(ledger), "answer", attempt=an_attempt())
    rows(path, "DROP TRIGGER outcomes_keep_update")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE outcomes SET raw = x'00'")
    connection.close()
    with pytest.raises(LedgerError, match="cannot be unpacked"):
        ledger.answer(KEY)


@pytest.mark.parametrize(
    "change",
    ["text = 'Critical:'", "finish_reason = 'other'", "prompt_tokens = 1", "cost_nano_usd = 1"],
)
def test_a_stored_answer_that_was_changed_is_an_error(ledger: Ledger, path: Path, change: str) -> None:
    ledger.finish(begin(ledger), "answer", attempt=an_attempt())
    assert ledger.answer(KEY) is not None
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DROP TRIGGER outcomes_keep_update")
        connection.execute(f"UPDATE outcomes SET {change}")  # noqa: S608
    connection.close()
    with pytest.raises(LedgerError, match="was changed"):
        ledger.answer(KEY)


@pytest.mark.parametrize("place", ["/proc/nowhere/ledger.sqlite", "/dev/null/ledger.sqlite"])
def test_a_folder_that_cannot_be_made_is_named(place: str) -> None:
    with pytest.raises(StorageError, match=f"{Path(place).parent}.*set CTXEVAL_LEDGER"):
        Ledger(Path(place))


def test_a_folder_in_the_ledgers_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot write or open the ledger"):
        Ledger(tmp_path)


def test_reading_makes_no_file(path: Path) -> None:
    with pytest.raises(StorageError):
        Ledger(path, read_only=True)
    assert not path.parent.exists()


def test_a_reader_sees_answers_and_writes_none(ledger: Ledger, path: Path) -> None:
    ledger.finish(begin(ledger), "answer", attempt=an_attempt())
    with Ledger(path, read_only=True) as reader:
        assert reader.answer(KEY) == ledger.answer(KEY)
        with pytest.raises(LedgerError, match="reading only"):
            reader.begin(REQUEST, KEY, "b", 1)


_FILL = """
import sys, resource
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from judge_samples import a_request, an_attempt
from pipeline.errors import PipelineError
from pipeline.judges.ledger import Ledger
request, kept = a_request(), 0
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
try:
    with Ledger(Path(sys.argv[1])) as ledger:
        for repeat in range(1000):
            intent = ledger.begin(request, (request.request_hash, repeat), "b", 60)
            ledger.finish(intent, "answer", attempt=an_attempt(text="x" * 20_000))
            kept = repeat + 1
except PipelineError as error:
    print(f"{type(error).__name__}: {error}")
print(kept)
"""


def test_a_full_disk_stops_with_one_line_and_keeps_what_is_stored(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FILL, str(path), str(REPOSITORY), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=True,
    )
    line, kept = done.stdout.splitlines()
    assert line.startswith(f"StorageError: cannot write or open the ledger {path} (")
    assert "make room" in line
    assert int(kept) >= 5
    with Ledger(path) as ledger:
        assert len(ledger.answered((KEY[0], repeat) for repeat in range(1000))) >= int(kept)


def test_two_processes_may_make_the_ledger_at_once(path: Path) -> None:
    errors: list[PipelineError] = []

    def make() -> None:
        try:
            Ledger(path).close()
        except PipelineError as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
