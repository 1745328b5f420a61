"""Writes of many threads in one transaction: all are on the disk when their threads go on, or none is."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.judges.group_commit import GroupCommit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.sqlite"


@pytest.fixture
def database(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path, check_same_thread=False, isolation_level=None)) as opened:
        opened.execute("PRAGMA journal_mode = WAL")
        opened.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
        yield opened


def there(path: Path) -> set[int]:
    """What another process would see."""
    with contextlib.closing(sqlite3.connect(path)) as other:
        return {n for (n,) in other.execute("SELECT n FROM t")}


def together(number: int, work: object) -> None:
    threads = [threading.Thread(target=work, args=(n,)) for n in range(number)]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_a_write_is_committed_when_its_thread_goes_on(path: Path, database: sqlite3.Connection) -> None:
    turns = GroupCommit(database)
    seen: list[bool] = []

    def work(n: int) -> None:
        for step in range(20):
            with turns.write() as connection:
                connection.execute("INSERT INTO t VALUES (?)", (n * 100 + step,))
            seen.append(n * 100 + step in there(path))

    together(16, work)
    assert seen == [True] * 320
    assert len(there(path)) == 320
    assert not database.in_transaction


def test_threads_that_wait_share_a_commit(path: Path, database: sqlite3.Connection) -> None:
    turns = GroupCommit(database)
    commits: list[str] = []
    database.set_trace_callback(lambda said: commits.append(said) if said == "COMMIT" else None)
    inside = threading.Event()

    def work(n: int) -> None:
        if n == 0:
            with turns.turn():
                inside.set()
                time.sleep(0.3)  # the others come meanwhile
        inside.wait()
        with turns.write() as connection:
            connection.execute("INSERT INTO t VALUES (?)", (n,))

    together(10, work)
    assert len(there(path)) == 10
    assert len(commits) <= 3


def test_one_that_fails_takes_back_its_own(path: Path, database: sqlite3.Connection) -> None:
    turns = GroupCommit(database)
    failed: list[int] = []

    def work(n: int) -> None:
        try:
            with turns.write() as connection:
                connection.execute("INSERT INTO t VALUES (?)", (n,))
                if n % 3 == 0:
                    raise ValueError
        except ValueError:
            failed.append(n)

    together(30, work)
    assert sorted(failed) == list(range(0, 30, 3))
    assert there(path) == set(range(30)) - set(failed)


def test_a_commit_that_fails_is_told_to_all_it_was_for(path: Path, database: sqlite3.Connection) -> None:
    database.execute("PRAGMA foreign_keys = ON")
    database.execute(
        "CREATE TABLE child (n INTEGER REFERENCES t (n) DEFERRABLE INITIALLY DEFERRED)"  # fails on COMMIT
    )
    turns = GroupCommit(database)
    with pytest.raises(sqlite3.IntegrityError), turns.write() as connection:
        connection.execute("INSERT INTO child VALUES (9)")
    assert not database.in_transaction
    with turns.write() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
    assert there(path) == {1}


def test_a_transaction_that_sqlite_ends_is_told_to_all(path: Path, database: sqlite3.Connection) -> None:
    """As on a full disk."""
    turns = GroupCommit(database)
    with pytest.raises(sqlite3.OperationalError), turns.write() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("ROLLBACK")
        connection.execute("SELECT * FROM nowhere")
    with turns.write() as connection:
        connection.execute("INSERT INTO t VALUES (2)")
    assert there(path) == {2}
