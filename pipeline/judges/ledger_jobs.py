"""Batch jobs in the ledger: written before they are sent, and held until each of their lines has an end.

    begun ──► submitted ──► polled ... ──► closed
      └─────► lost ──► reconciled ──┘        ▲
                └─────── (given up) ─────────┘

A job is *open* from ``begin`` to ``closed``. Its row and the intents of its lines are written before the
POST. ``submitted`` brings the provider's id, before the first poll; ``lost`` says that the POST got no
reply, and so that the job may or may not exist there; ``reconciled`` brings the id that was found, or says
in its detail why there is none. A job begun by a process that died before either is lost too: nobody knows
whether its POST went out. As long as a job is open, its lines without an outcome are asked by nobody else;
a line is free again, for another round, as soon as it has its outcome.

One process at a time works on a job, by a lease that ends with the process: the next one adopts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, Literal

from pipeline.answers import Key
from pipeline.errors import LedgerError
from pipeline.judges.ledger_access import Access
from pipeline.judges.ledger_rows import packed_request
from pipeline.requests import JudgeRequest

if TYPE_CHECKING:
    from pipeline.judges.ledger import Intent

# A key whose intent stands in an open job without an outcome.
JOB_HOLDS = """
SELECT 1
FROM intents JOIN job_lines USING (intent)
WHERE request_hash = ? AND repeat = ?
  AND NOT EXISTS (SELECT 1 FROM outcomes WHERE outcomes.intent = intents.intent)
  AND NOT EXISTS (SELECT 1 FROM job_events WHERE job_events.job = job_lines.job AND kind = 'closed')
"""
_SETTLED = "SELECT 1 FROM selections WHERE request_hash = ? AND repeat = ?"
_LEASE = "SELECT owner, expires_at FROM leases WHERE request_hash = ? AND repeat = ?"
_DROP_LEASE = "DELETE FROM leases WHERE request_hash = ? AND repeat = ?"
_ADD_REQUEST = "INSERT INTO requests VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD_INTENT = "INSERT INTO intents (request_hash, repeat, backend, owner, started_at) VALUES (?, ?, ?, ?, ?)"
_ADD_JOB = """
INSERT INTO jobs (backend, endpoint, model, request_count, upload_sha256, owner, started_at)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_ADD_LINE = "INSERT INTO job_lines (intent, job, custom_id) VALUES (?, ?, ?)"
_ADD_EVENT = "INSERT INTO job_events (job, at, kind, provider_id, detail) VALUES (?, ?, ?, ?, ?)"
_JOB_LEASE = "SELECT owner, expires_at FROM job_leases WHERE job = ?"
_TAKE_JOB = "INSERT OR REPLACE INTO job_leases VALUES (?, ?, ?)"
_DROP_JOB = "DELETE FROM job_leases WHERE job = ? AND owner = ?"
_OPEN = """
SELECT job, backend, endpoint, model, request_count, upload_sha256, started_at,
    (SELECT provider_id FROM job_events AS e
     WHERE e.job = jobs.job AND provider_id IS NOT NULL ORDER BY event DESC LIMIT 1)
FROM jobs
WHERE (?1 IS NULL OR backend = ?1)
  AND NOT EXISTS (SELECT 1 FROM job_events AS e WHERE e.job = jobs.job AND e.kind = 'closed')
ORDER BY job
"""
_LINES = """
SELECT custom_id, intent, request_hash, repeat, outcomes.outcome IS NOT NULL
FROM job_lines JOIN intents USING (intent) LEFT JOIN outcomes USING (intent)
WHERE job = ? ORDER BY intent
"""
_EVENTS = "SELECT at, kind, provider_id, detail FROM job_events WHERE job = ? ORDER BY event"
_CLOSED = "SELECT 1 FROM job_events WHERE job = ? AND kind = 'closed'"
_END_LINES = """
INSERT INTO outcomes (intent, ended_at, kind, problem)
SELECT intent, ?, ?, ? FROM job_lines
WHERE job = ? AND intent NOT IN (SELECT intent FROM outcomes) ORDER BY intent
"""

EventKind = Literal["submitted", "polled", "lost", "reconciled", "closed"]


@dataclass(frozen=True)
class NewLine:
    """A line about to be submitted. ``custom_id`` is unique over all jobs, so that a job is known by it."""

    custom_id: str
    key: Key
    request: JudgeRequest


@dataclass(frozen=True)
class JobLine:
    """A line of a job; ``done``: it has its outcome."""

    custom_id: str
    intent: Intent
    done: bool


@dataclass(frozen=True)
class JobEvent:
    """Something that happened to a job."""

    at: str
    kind: EventKind
    provider_id: str | None
    detail: str | None


@dataclass(frozen=True)
class Job:
    """A job as it stood when it was read. Without a ``provider_id`` nobody knows whether it was accepted."""

    number: int
    backend: str
    endpoint: str
    model: str
    request_count: int
    upload_sha256: str
    started_at: str
    provider_id: str | None
    lines: tuple[JobLine, ...]
    events: tuple[JobEvent, ...]

    @property
    def waiting(self) -> tuple[JobLine, ...]:
        """The lines without an outcome."""
        return tuple(line for line in self.lines if not line.done)


class Jobs:
    """The jobs of an open ledger; for the errors raised see ``Ledger``."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def begin(
        self,
        lines: Sequence[NewLine],
        *,
        backend: str,
        endpoint: str,
        model: str,
        upload_sha256: str,
        lease_seconds: float,
    ) -> Job:
        """Write down a job and the intents of its lines, before anything is sent, with the job's lease.

        The keys are claimed (``Ledger.claim``) before; their leases become the job's.

        Raises:
            LedgerError: a key is no longer claimed by this process, so its lease was too short.
        """
        owner, now = self._access.owner.name, self._access.now()
        packed = [packed_request(line.request) for line in lines]
        with self._access.writing() as database:
            for line in lines:
                lease = database.execute(_LEASE, line.key).fetchone()
                taken = lease is None or lease[0] != owner
                if taken or database.execute(_SETTLED, line.key).fetchone():
                    raise LedgerError(
                        f"request {line.key[0][:12]} was given to another process while the job was "
                        "made ready; nothing was sent: run again"
                    )
            facts = (backend, endpoint, model, len(lines), upload_sha256, owner, now)
            job = int(database.execute(_ADD_JOB, facts).lastrowid or 0)
            for line, request in zip(lines, packed, strict=True):
                database.execute(_ADD_REQUEST, (line.key[0], request))
                cursor = database.execute(_ADD_INTENT, (*line.key, backend, owner, now))
                database.execute(_ADD_LINE, (cursor.lastrowid, job, line.custom_id))
                database.execute(_DROP_LEASE, line.key)
            database.execute(_TAKE_JOB, (job, owner, self._access.clock() + lease_seconds))
            return next(found for found in self._open(database, backend) if found.number == job)

    def submitted(self, job: Job, provider_id: str) -> None:
        """The service took the job; written before the first poll."""
        self.event(job, "submitted", provider_id=provider_id)

    def event(
        self, job: Job, kind: EventKind, *, provider_id: str | None = None, detail: str | None = None
    ) -> None:
        """Append what happened to a job; ``closed`` has a method of its own."""
        if kind == "closed":
            raise ValueError("use Jobs.close")
        with self._access.writing() as database:
            database.execute(_ADD_EVENT, (job.number, self._access.now(), kind, provider_id, detail))

    def close(self, job: Job, kind: Literal["failed", "uncertain"], problem: str) -> int:
        """Close a job; its lines still without an outcome end as ``kind``. Returns how many did."""
        now = self._access.now()
        with self._access.writing() as database:
            if database.execute(_CLOSED, (job.number,)).fetchone():
                return 0
            ended = database.execute(_END_LINES, (now, kind, problem, job.number)).rowcount
            database.execute(_ADD_EVENT, (job.number, now, "closed", None, problem))
            database.execute(_DROP_JOB, (job.number, self._access.owner.name))
            return ended

    def open(self, backend: str | None = None) -> list[Job]:
        """The open jobs (of a backend), whoever began them, oldest first."""
        with self._access.reading() as database:
            return self._open(database, backend)

    def adopt(self, job: Job, lease_seconds: float) -> bool:
        """Take or renew the lease to work on a job; False if a living process has it or it is closed."""
        with self._access.writing() as database:
            if database.execute(_CLOSED, (job.number,)).fetchone():
                return False
            if not self._access.free(database.execute(_JOB_LEASE, (job.number,)).fetchone()):
                return False
            end = self._access.clock() + lease_seconds
            database.execute(_TAKE_JOB, (job.number, self._access.owner.name, end))
            return True

    def leave(self, job: Job) -> None:
        """Give the lease on a job back; it stays open for whoever comes next."""
        owner = self._access.owner.name
        with self._access.reading() as database:
            database.execute(_DROP_JOB, (job.number, owner))

    def _open(self, database: Connection, backend: str | None) -> list[Job]:
        from pipeline.judges.ledger import Intent

        jobs: list[Job] = []
        for row in database.execute(_OPEN, (backend,)).fetchall():
            lines = tuple(
                JobLine(custom_id, Intent(intent, (digest, repeat)), bool(done))
                for custom_id, intent, digest, repeat, done in database.execute(_LINES, row[:1])
            )
            events = tuple(JobEvent(*event) for event in database.execute(_EVENTS, row[:1]))
            facts: tuple[Any, ...] = (*row, lines, events)
            jobs.append(Job(*facts))
        return jobs
