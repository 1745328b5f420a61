"""The answer ledger: an append-only SQLite file, outside of DVC, that no paid answer is lost from.

An *intent* is written before a request is sent and its *outcome* as soon as it is known. The first
answer to a (request_hash, repeat) is selected and stays selected. An intent without an outcome was
left by a process that died while it waited: a live call is then simply asked again, so a call can be
paid for twice only if the process died between sending it and storing its answer.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from pipeline.answers import Answer, Attempt, Key, Usage, encode_raw
from pipeline.canonical import canonical_bytes
from pipeline.errors import LedgerError
from pipeline.judges.ledger_file import explained, open_database, transaction
from pipeline.judges.owners import Owner
from pipeline.requests import JudgeRequest

_SETTLED = "SELECT 1 FROM selections WHERE request_hash = ? AND repeat = ?"
_LEASE = "SELECT owner, expires_at FROM leases WHERE request_hash = ? AND repeat = ?"
_TAKE_LEASE = "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)"
_DROP_LEASE = "DELETE FROM leases WHERE request_hash = ? AND repeat = ? AND owner = ?"
_DROP_ALL_LEASES = "DELETE FROM leases WHERE owner = ?"
_ADD_REQUEST = "INSERT INTO requests VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD_INTENT = "INSERT INTO intents (request_hash, repeat, backend, owner, started_at) VALUES (?, ?, ?, ?, ?)"
_ADD_OUTCOME = """
INSERT INTO outcomes (
    intent, ended_at, kind, problem, http_status, text, finish_reason, served_model, system_fingerprint,
    response_id, prompt_tokens, completion_tokens, reasoning_tokens, cost_nano_usd, raw
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (intent) DO NOTHING
"""
_SELECT = "INSERT INTO selections VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
# What came in after the selection is kept, but is no part of the answer: the answer never changes.
_ATTEMPTS = """
SELECT backend, http_status, text, finish_reason, served_model, system_fingerprint, response_id,
       prompt_tokens, completion_tokens, reasoning_tokens, cost_nano_usd, raw
FROM selections
JOIN intents USING (request_hash, repeat)
JOIN outcomes USING (intent)
WHERE request_hash = ? AND repeat = ? AND http_status IS NOT NULL AND outcomes.outcome <= selections.outcome
ORDER BY outcomes.outcome
"""

Kind = Literal["answer", "failed", "uncertain"]
Refusal = Literal["answered", "leased"]
"""Why a key is not to be asked now: there is an answer, or another process is asking."""


@dataclass(frozen=True)
class Intent:
    """A request about to be sent, with the lease to send it."""

    number: int
    key: Key


class Ledger:
    """One open ledger. Its methods may be called from any thread.

    Raises, from every method:
        LedgerError: the file is damaged or held by another process.
        StorageError: the disk is full or the file cannot be written.
    """

    def __init__(
        self, path: Path, *, read_only: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._database = open_database(path, read_only=read_only)
        self._owner = None if read_only else Owner(path)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give all leases back and close the file."""
        with self._lock:
            if self._owner is not None:
                # If it fails they end by themselves, and the error that led here matters more.
                with contextlib.suppress(sqlite3.Error):
                    self._database.execute(_DROP_ALL_LEASES, (self._owner.name,))
                self._owner.close()
            self._database.close()

    def answered(self, keys: Iterable[Key]) -> set[Key]:
        """Those of ``keys`` that have an answer."""
        with self._lock, explained(self.path):
            return {key for key in keys if self._database.execute(_SETTLED, key).fetchone()}

    def answer(self, key: Key) -> Answer | None:
        """The answer to a key with all its attempts, or None."""
        with self._lock, explained(self.path):
            rows = self._database.execute(_ATTEMPTS, key).fetchall()
        if not rows:
            return None
        attempts = [_attempt(self.path, row) for row in rows]
        return Answer(request_hash=key[0], repeat=key[1], selected=len(attempts) - 1, attempts=attempts)

    def refusal(self, key: Key) -> Refusal | None:
        """Why a key is not to be asked now, or None if it can be."""
        with self._lock, explained(self.path):
            return self._refusal(key)

    def begin(self, request: JudgeRequest, key: Key, backend: str, lease_seconds: float) -> Intent | Refusal:
        """Take (or renew) the lease on a key and write down the intent to send its request.

        The lease ends after ``lease_seconds``, or as soon as this process is gone.
        """
        owner = self._writer()
        packed = zlib.compress(_canonical(request))
        with self._lock, explained(self.path), transaction(self._database):
            refusal = self._refusal(key)
            if refusal is not None:
                return refusal
            self._database.execute(_TAKE_LEASE, (*key, owner.name, self._clock() + lease_seconds))
            self._database.execute(_ADD_REQUEST, (key[0], packed))
            cursor = self._database.execute(_ADD_INTENT, (*key, backend, owner.name, self._now()))
            return Intent(int(cursor.lastrowid or 0), key)

    def finish(
        self, intent: Intent, kind: Kind, *, attempt: Attempt | None = None, problem: str | None = None
    ) -> None:
        """Write down what came of an intent. The first ``answer`` to a key is selected; it ends the lease.

        An intent has one outcome: a second one, of a call that was already given up, is not kept.
        """
        owner = self._writer()
        row = (intent.number, self._now(), kind, problem, *_columns(attempt))
        with self._lock, explained(self.path), transaction(self._database):
            cursor = self._database.execute(_ADD_OUTCOME, row)
            if cursor.rowcount == 1 and kind == "answer":
                self._database.execute(_SELECT, (*intent.key, cursor.lastrowid, self._now()))
                self._database.execute(_DROP_LEASE, (*intent.key, owner.name))

    def release(self, key: Key) -> None:
        """Give the lease on a key back, answered or not."""
        with self._lock, explained(self.path):
            self._database.execute(_DROP_LEASE, (*key, self._writer().name))

    def _refusal(self, key: Key) -> Refusal | None:
        if self._database.execute(_SETTLED, key).fetchone():
            return "answered"
        owner = self._writer()
        lease = self._database.execute(_LEASE, key).fetchone()
        if lease is None or lease[0] == owner.name or lease[1] <= self._clock() or owner.is_gone(lease[0]):
            return None
        return "leased"

    def _writer(self) -> Owner:
        if self._owner is None:
            raise LedgerError(f"the ledger {self.path} was opened for reading only")
        return self._owner

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")


def _canonical(request: JudgeRequest) -> bytes:
    return canonical_bytes(
        {"service": request.service, "model_file_sha256": request.model_file_sha256, "body": request.body}
    )


def _columns(attempt: Attempt | None) -> tuple[Any, ...]:
    if attempt is None:
        return (None,) * 11
    usage = attempt.usage or Usage(prompt_tokens=None, completion_tokens=None, reasoning_tokens=None)
    return (
        attempt.http_status,
        attempt.text,
        attempt.finish_reason,
        attempt.served_model,
        attempt.system_fingerprint,
        attempt.response_id,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
        attempt.cost_nano_usd,
        zlib.compress(attempt.raw_bytes()),
    )


def _attempt(path: Path, row: tuple[Any, ...]) -> Attempt:
    backend, status, text, finish_reason, served_model, fingerprint, response_id, *tokens, cost, packed = row
    try:
        raw, encoding = encode_raw(zlib.decompress(packed))
    except zlib.error:
        raise LedgerError(
            f"{path} is damaged (a stored response cannot be unpacked); restore a copy of it"
        ) from None
    usage = None
    if any(count is not None for count in tokens):
        usage = Usage(prompt_tokens=tokens[0], completion_tokens=tokens[1], reasoning_tokens=tokens[2])
    return Attempt(
        backend=backend,
        http_status=status,
        text=text,
        finish_reason=finish_reason,
        served_model=served_model,
        system_fingerprint=fingerprint,
        response_id=response_id,
        usage=usage,
        cost_nano_usd=cost,
        raw=raw,
        raw_encoding=encoding,
    )
