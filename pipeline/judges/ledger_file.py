"""Where the ledger is, and how its file is opened and brought to the current schema."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import LedgerError, StorageError
from pipeline.judges.migrations import APPLICATION_ID, MIGRATIONS

VARIABLE = "CTXEVAL_LEDGER"
_BUSY_SECONDS = 30.0

_COUNT_TABLES = "SELECT count(*) FROM sqlite_master"

_FULL_OR_CLOSED = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
    }
)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def ledger_path() -> Path:
    """The ledger's place: ``CTXEVAL_LEDGER``, or the platform's user state directory. Opens nothing.

    Raises:
        LedgerError: the path is not absolute. DVC runs stages in other folders, where a relative path
            would be another ledger and every answer would be paid for again.
    """
    named = os.environ.get(VARIABLE, "")
    if named:
        path = Path(named)
        if not path.is_absolute():
            raise LedgerError(
                f"{VARIABLE} is {named!r}; it must be an absolute path, such as {Path.cwd() / named}"
            )
        return path
    import platformdirs

    path = platformdirs.user_state_path("ctxeval") / "ledger.sqlite"
    if not path.is_absolute():  # by a relative XDG_STATE_HOME or HOME
        raise LedgerError(f"the user state directory is {path.parent}; set {VARIABLE} to an absolute path")
    return path


def ledger_is_there(path: Path) -> bool:
    """Whether there is a ledger file, as far as this user may know."""
    try:
        return path.exists()
    except OSError:  # a folder that may not be entered
        return False


def open_database(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Open a ledger file at the current schema; unless ``read_only``, make or upgrade it first.

    The connection may be used by any thread, by one at a time.

    Raises:
        LedgerError: the file is damaged, no ledger, of a newer version, or held by another process.
        StorageError: it cannot be opened, made or written.
    """
    with explained(path):
        if read_only:
            connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        else:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StorageError(
                    f"cannot make the ledger's folder {path.parent}: {error.strerror}; "
                    f"set {VARIABLE} to an absolute path that can be written"
                ) from None
            connection = sqlite3.connect(path, check_same_thread=False)
    try:
        with explained(path):
            connection.isolation_level = None  # transactions are written out
            connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
            _check_identity(connection, path)
            if not read_only:
                _prepare(connection, path)
            elif _version(connection) < len(MIGRATIONS):
                raise LedgerError(
                    f"{path} is a ledger of an older version; "
                    "run `python -m pipeline ledger compact` to upgrade it"
                )
            connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A write transaction that is committed whole or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite ends the transaction by itself on a full disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line with the cure."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGED:
            raise LedgerError(
                f"{path} is damaged or no ledger ({error}); it was left as it is: move it away "
                f"or restore a copy, or set {VARIABLE} to another absolute path"
            ) from None
        if code in _FULL_OR_CLOSED:
            raise StorageError(
                f"cannot write or open the ledger {path} ({error}); make room, make it writable, "
                f"or set {VARIABLE} to another absolute path; answers stored so far are safe"
            ) from None
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerError(
                f"the ledger {path} was held by another process for {_BUSY_SECONDS:g} s; "
                "run again when it is done"
            ) from None
        raise LedgerError(
            f"the ledger {path} cannot be used ({error}); set {VARIABLE} to another absolute path"
        ) from None


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_identity(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN")  # one view of the file, while another process may be making it
    identity = connection.execute("PRAGMA application_id").fetchone()[0]
    version = _version(connection)
    tables = connection.execute(_COUNT_TABLES).fetchone()[0]
    connection.execute("COMMIT")
    if tables and identity != APPLICATION_ID:
        raise LedgerError(
            f"{path} is a database of another program; set {VARIABLE} to an absolute path of its own"
        )
    if version > len(MIGRATIONS):
        raise LedgerError(
            f"{path} was written by a newer version of this project (ledger schema {version}, "
            f"known here {len(MIGRATIONS)}); update the project"
        )


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    _use_wal(connection)
    # An answer is paid for: it has to survive a power cut, not only a killed process.
    connection.execute("PRAGMA synchronous = FULL")
    if _version(connection) == len(MIGRATIONS):
        return
    with transaction(connection):
        # Another process may have been first: then there is nothing left to do.
        for number in range(_version(connection), len(MIGRATIONS)):
            for statement in _statements(MIGRATIONS[number]):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number + 1}")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; SQLite does not wait by itself while another process does so."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: ``executescript`` would commit before each migration."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
