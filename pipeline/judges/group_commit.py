"""Many threads write to one SQLite file, and share the wait for the disk.

A commit is a wait for the disk, some milliseconds in which no other thread can write. Threads that came
meanwhile put their writes into one transaction, each behind a savepoint of its own; the last of them
commits for all. None goes on before its own writes are on the disk, so nothing is promised sooner than
with a transaction each.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator

_MOST = 64


class _Batch:
    """Writes that are committed together: whether that is done, and what went wrong."""

    def __init__(self) -> None:
        self.size = 0
        self.done = threading.Event()
        self.error: BaseException | None = None


class GroupCommit:
    """Turns of threads at one connection, whose transactions are written out (``isolation_level`` None)."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._coming_lock = threading.Lock()
        self._coming = 0
        self._batch: _Batch | None = None

    @contextlib.contextmanager
    def turn(self) -> Iterator[sqlite3.Connection]:
        """The connection for this thread alone, to read; what others have under way shows already."""
        with self._alone():
            yield self._database

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """The connection to write; on leaving, all is on the disk, or an exception says why it is not.

        An exception inside takes this thread's writes back and no other's.
        """
        with self._alone():
            batch = self._batch or self._begin()
            self._database.execute("SAVEPOINT turn")
            try:
                yield self._database
                self._database.execute("RELEASE turn")
            except BaseException as error:
                self._take_back(batch, error)
                raise
            batch.size += 1
        batch.done.wait()
        if batch.error is not None:
            raise batch.error

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with self._coming_lock:
            self._coming += 1
        with self._lock:
            with self._coming_lock:
                self._coming -= 1
            try:
                yield
            finally:
                # Whoever is the last in a row commits; one who comes later begins anew.
                with self._coming_lock:
                    last = self._coming == 0
                if self._batch is not None and (last or self._batch.size >= _MOST):
                    self._commit(self._batch)

    def _begin(self) -> _Batch:
        self._database.execute("BEGIN IMMEDIATE")
        self._batch = _Batch()
        return self._batch

    def _commit(self, batch: _Batch) -> None:
        self._batch = None
        try:
            self._database.execute("COMMIT")
        except BaseException as error:
            batch.error = error
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
        finally:
            batch.done.set()

    def _take_back(self, batch: _Batch, error: BaseException) -> None:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK TO turn")
            self._database.execute("RELEASE turn")
            return
        # SQLite ends the whole transaction by itself on a full disk: nothing of the batch is kept.
        batch.error = error
        self._batch = None
        batch.done.set()
