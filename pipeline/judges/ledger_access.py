"""One open ledger file, shared by the parts of the ledger: its lock, its clock and its owner."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from pipeline.errors import LedgerError
from pipeline.judges.group_commit import GroupCommit
from pipeline.judges.ledger_file import explained, open_database
from pipeline.judges.owners import Owner

_DROP_ALL_LEASES = (
    "DELETE FROM leases WHERE owner = ?",
    "DELETE FROM job_leases WHERE owner = ?",
)


class Access:
    """A connection that any thread may use, one at a time."""

    def __init__(
        self, path: Path, *, read_only: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self.clock = clock
        self._database = open_database(path, read_only=read_only)
        self._turns = GroupCommit(self._database)
        self._owner = None if read_only else Owner(path)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection for one or a few queries."""
        with explained(self.path), self._turns.turn() as database:
            yield database

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection inside a transaction that is committed whole or not at all, on leaving."""
        with explained(self.path), self._turns.write() as database:
            yield database

    @property
    def owner(self) -> Owner:
        """This process as a holder of leases.

        Raises:
            LedgerError: the ledger was opened for reading only.
        """
        if self._owner is None:
            raise LedgerError(f"the ledger {self.path} was opened for reading only")
        return self._owner

    def free(self, lease: tuple[str, float] | None) -> bool:
        """Whether a lease (owner, end) may be taken: none, ours, ended, or of a process that is gone."""
        if lease is None:
            return True
        name, end = lease
        return name == self.owner.name or end <= self.clock() or self.owner.is_gone(name)

    def now(self) -> str:
        """The time as the ledger writes it: UTC, ISO 8601, milliseconds."""
        return datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="milliseconds")

    def close(self) -> None:
        """Give all leases back and close the file."""
        with self._turns.turn():
            if self._owner is not None:
                # If it fails they end by themselves, and the error that led here matters more.
                with contextlib.suppress(sqlite3.Error):
                    for statement in _DROP_ALL_LEASES:
                        self._database.execute(statement, (self._owner.name,))
                self._owner.close()
            self._database.close()
