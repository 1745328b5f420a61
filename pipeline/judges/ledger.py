"""The answer ledger: an append-only SQLite file, outside of DVC, that no paid answer is lost from.

An *intent* is written before a request is sent and its *outcome* as soon as it is known:

    intended ──► submitted ──► answered | failed | uncertain
       └──────────────────────────┘

``intended`` and ``submitted`` are intents without an outcome; ``submitted`` are those whose batch job has
a provider's id (``ledger_jobs``). A live call goes from intended to its outcome. ``failed`` brought no
answer for sure, ``uncertain`` may have been answered, and charged, without this ledger getting the answer.
The lines of a job whose submission got no reply count as uncertain until the job is reconciled.

An intent without an outcome and without a job was left by a process that died while it waited: a live
call is then simply asked again, so a call can be paid for twice only if the process died between sending
it and storing its answer. Lines of an open job are asked by nobody else, whoever started the job.

A key, (request_hash, repeat), may be answered in several rounds; which of them is *selected* is decided
by the caller (``settling``), once and for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Literal

from pipeline.answers import Answer, Attempt, Key
from pipeline.judges.ledger_access import Access
from pipeline.judges.ledger_jobs import JOB_HOLDS, Jobs
from pipeline.judges.ledger_rows import ATTEMPT_COLUMNS, attempt_of, attempt_row, packed_request
from pipeline.requests import JudgeRequest

_SETTLED = "SELECT 1 FROM selections WHERE request_hash = ? AND repeat = ?"
_LEASE = "SELECT owner, expires_at FROM leases WHERE request_hash = ? AND repeat = ?"
_TAKE_LEASE = "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)"
_DROP_LEASE = "DELETE FROM leases WHERE request_hash = ? AND repeat = ? AND owner = ?"
_ADD_REQUEST = "INSERT INTO requests VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD_INTENT = "INSERT INTO intents (request_hash, repeat, backend, owner, started_at) VALUES (?, ?, ?, ?, ?)"
_ADD_OUTCOME = f"""
INSERT INTO outcomes (intent, ended_at, kind, problem, {ATTEMPT_COLUMNS})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (intent) DO NOTHING
"""  # noqa: S608
_SELECT = "INSERT INTO selections VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
# What came in after the selection is kept, but is no part of the answer: the answer never changes.
_ATTEMPTS = f"""
SELECT backend, {ATTEMPT_COLUMNS}
FROM selections
JOIN intents USING (request_hash, repeat)
JOIN outcomes USING (intent)
WHERE request_hash = ? AND repeat = ? AND http_status IS NOT NULL AND outcomes.outcome <= selections.outcome
ORDER BY outcomes.outcome
"""  # noqa: S608
_ROUNDS = f"""
SELECT outcome, backend, {ATTEMPT_COLUMNS}
FROM intents JOIN outcomes USING (intent)
WHERE request_hash = ? AND repeat = ? AND kind = 'answer'
ORDER BY outcome
"""  # noqa: S608
_ROUND_COUNT = """
SELECT count(*) FROM intents JOIN outcomes USING (intent)
WHERE request_hash = ? AND repeat = ? AND kind = 'answer'
"""
_CALLS = f"""
SELECT kind, backend, {ATTEMPT_COLUMNS}
FROM intents LEFT JOIN outcomes USING (intent)
WHERE request_hash = ? AND repeat = ?
ORDER BY intent
"""  # noqa: S608

Kind = Literal["answer", "failed", "uncertain"]
Refusal = Literal["answered", "leased", "in_job"]
"""Why a key is not to be asked now: it is settled, another process is asking, an open job holds it."""
Decide = Callable[[Sequence[Attempt]], int | None]
"""Given the answers of all rounds in order: the index of the one to select, or None to ask again."""


def first_answer(rounds: Sequence[Attempt]) -> int | None:
    """Select the first answer, whatever it says."""
    return 0 if rounds else None


@dataclass(frozen=True)
class Intent:
    """A request about to be sent, with the lease to send it."""

    number: int
    key: Key


class Ledger:
    """One open ledger. Its methods, and those of ``jobs``, may be called from any thread.

    Raises, from every method:
        LedgerError: the file is damaged, held by another process, or written to when read only.
        StorageError: the disk is full or the file cannot be written.
    """

    def __init__(
        self, path: Path, *, read_only: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self._access = Access(path, read_only=read_only, clock=clock)
        self.jobs = Jobs(self._access)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give all leases back and close the file."""
        self._access.close()

    def answered(self, keys: Iterable[Key]) -> set[Key]:
        """Those of ``keys`` that are settled."""
        with self._access.reading() as database:
            return {key for key in keys if database.execute(_SETTLED, key).fetchone()}

    def answer(self, key: Key) -> Answer | None:
        """The answer to a key with all its attempts, or None."""
        with self._access.reading() as database:
            rows = database.execute(_ATTEMPTS, key).fetchall()
        if not rows:
            return None
        attempts = [attempt_of(self.path, row) for row in rows]
        return Answer(request_hash=key[0], repeat=key[1], selected=len(attempts) - 1, attempts=attempts)

    def rounds(self, key: Key) -> list[Attempt]:
        """What the judge answered to a key so far, in order, selected or not."""
        with self._access.reading() as database:
            rows = database.execute(_ROUNDS, key).fetchall()
        return [attempt_of(self.path, row[1:]) for row in rows]

    def round_count(self, key: Key) -> int:
        """How many answers there are to a key."""
        with self._access.reading() as database:
            return int(database.execute(_ROUND_COUNT, key).fetchone()[0])

    def calls(self, key: Key) -> list[tuple[Kind | None, Attempt | None]]:
        """Every call made for a key: what came of it (None: nobody knows yet) and its response, if any."""
        with self._access.reading() as database:
            rows = database.execute(_CALLS, key).fetchall()
        return [(row[0], None if row[2] is None else attempt_of(self.path, row[1:])) for row in rows]

    def refusal(self, key: Key) -> Refusal | None:
        """Why a key is not to be asked now, or None if it can be."""
        with self._access.reading() as database:
            return self._refusal(database, key)

    def claim(self, keys: Iterable[Key], lease_seconds: float) -> list[Key]:
        """Take (or renew) the leases on those of ``keys`` that can be asked now, and return them."""
        owner, end = self._access.owner.name, self._access.clock() + lease_seconds
        with self._access.writing() as database:
            taken = [key for key in keys if self._refusal(database, key) is None]
            database.executemany(_TAKE_LEASE, [(*key, owner, end) for key in taken])
        return taken

    def begin(self, request: JudgeRequest, key: Key, backend: str, lease_seconds: float) -> Intent | Refusal:
        """Take (or renew) the lease on a key and write down the intent to send its request.

        The lease ends after ``lease_seconds``, or as soon as this process is gone.
        """
        owner = self._access.owner.name
        packed = packed_request(request)
        with self._access.writing() as database:
            refusal = self._refusal(database, key)
            if refusal is not None:
                return refusal
            database.execute(_TAKE_LEASE, (*key, owner, self._access.clock() + lease_seconds))
            database.execute(_ADD_REQUEST, (key[0], packed))
            cursor = database.execute(_ADD_INTENT, (*key, backend, owner, self._access.now()))
            return Intent(int(cursor.lastrowid or 0), key)

    def finish(
        self,
        intent: Intent,
        kind: Kind,
        *,
        attempt: Attempt | None = None,
        problem: str | None = None,
        decide: Decide = first_answer,
    ) -> bool:
        """Write down what came of an intent; an ``answer`` is put to ``decide`` with those before it.

        Returns whether the key is settled now, which ends its lease. An intent has one outcome: a second
        one, of a call that was already given up, is not kept.
        """
        row = (intent.number, self._access.now(), kind, problem, *attempt_row(attempt))
        with self._access.writing() as database:
            cursor = database.execute(_ADD_OUTCOME, row)
            if cursor.rowcount == 1 and kind == "answer":
                return self._settle(database, intent.key, decide)
            return database.execute(_SETTLED, intent.key).fetchone() is not None

    def settle(self, key: Key, decide: Decide) -> bool:
        """Select by the rounds that are stored already; whether the key is settled now."""
        rounds = self.rounds(key)
        if decide(rounds) is None:
            return False
        with self._access.writing() as database:
            return self._settle(database, key, decide)

    def release(self, key: Key) -> None:
        """Give the lease on a key back, answered or not."""
        owner = self._access.owner.name
        with self._access.reading() as database:
            database.execute(_DROP_LEASE, (*key, owner))

    def _settle(self, database: Connection, key: Key, decide: Decide) -> bool:
        if database.execute(_SETTLED, key).fetchone() is None:
            rows = database.execute(_ROUNDS, key).fetchall()
            index = decide([attempt_of(self.path, row[1:]) for row in rows])
            if index is None:
                return False
            database.execute(_SELECT, (*key, rows[index][0], self._access.now()))
        database.execute(_DROP_LEASE, (*key, self._access.owner.name))
        return True

    def _refusal(self, database: Connection, key: Key) -> Refusal | None:
        if database.execute(_SETTLED, key).fetchone():
            return "answered"
        if database.execute(JOB_HOLDS, key).fetchone():
            return "in_job"
        return None if self._access.free(database.execute(_LEASE, key).fetchone()) else "leased"
