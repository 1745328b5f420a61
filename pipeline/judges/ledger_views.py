"""The ledger for people: what is in it, what happened to one request, and its upkeep."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Connection

from pipeline.errors import InputError, LedgerError, one_line
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_file import VARIABLE, explained, ledger_is_there, open_database
from pipeline.judges.ledger_jobs import Job
from pipeline.judges.ledger_rows import ATTEMPT_COLUMNS, attempt_of
from pipeline.judges.tally import usd

# The states of an intent, as ledger.py defines them. The job's last word decides for a line without an end.
_STATES = """
SELECT backend, state, count(*), coalesce(sum(cost_nano_usd), 0)
FROM (
    SELECT intents.backend, cost_nano_usd, CASE
        WHEN kind = 'answer' THEN 'answered'
        WHEN kind IS NOT NULL THEN kind
        WHEN (SELECT provider_id FROM job_events AS e
              WHERE e.job = job_lines.job AND provider_id IS NOT NULL LIMIT 1) IS NOT NULL THEN 'submitted'
        WHEN EXISTS (SELECT 1 FROM job_events AS e WHERE e.job = job_lines.job AND e.kind = 'lost')
            THEN 'uncertain'
        ELSE 'intended'
    END AS state
    FROM intents LEFT JOIN outcomes USING (intent) LEFT JOIN job_lines USING (intent)
)
GROUP BY backend, state ORDER BY backend, state
"""
_TOTALS = """
SELECT (SELECT count(*) FROM requests),
       (SELECT count(*) FROM selections),
       (SELECT count(*) FROM (SELECT 1 FROM intents LEFT JOIN selections USING (request_hash, repeat)
                              WHERE selections.outcome IS NULL GROUP BY request_hash, repeat))
"""
_HASHES = """
SELECT request_hash FROM requests WHERE substr(request_hash, 1, length(?1)) = ?1
ORDER BY request_hash LIMIT 2
"""
_CALLS = f"""
SELECT intent, repeat, started_at, ended_at, kind, problem,
       outcomes.outcome IS NOT NULL AND outcomes.outcome = selections.outcome, backend, {ATTEMPT_COLUMNS}
FROM intents LEFT JOIN outcomes USING (intent) LEFT JOIN selections USING (request_hash, repeat)
WHERE request_hash = ? ORDER BY repeat, intent
"""  # noqa: S608


def status_lines(path: Path) -> Iterator[str]:
    """Calls by backend and state, what is settled, and the open jobs.

    Raises:
        InputError: there is no ledger.
        LedgerError: it is unusable.
    """
    with _reading(path) as database:
        states = database.execute(_STATES).fetchall()
        requests, settled, unsettled = database.execute(_TOTALS).fetchone()
    yield f"ledger {path}"
    yield f"{requests} requests; {settled} settled, {unsettled} asked and not settled (counted by repeat)"
    for backend, state, count, cost in states:
        yield f"{backend}: {count} {state}, {usd(cost)}"
    with Ledger(path, read_only=True) as ledger:
        jobs = ledger.jobs.open()
    for job in jobs:
        yield _job_line(job)
    if not jobs:
        yield "no open batch jobs"


def _job_line(job: Job) -> str:
    last = job.events[-1] if job.events else None
    state = "begun" if last is None else f"{last.kind} {last.at}{f' {last.detail}' if last.detail else ''}"
    where = job.provider_id or "no provider id"
    cure = "" if job.provider_id else "; run `python -m pipeline ledger reconcile`"
    return one_line(
        f"job {job.number} of {job.backend} ({where}): {len(job.waiting)} of {job.request_count} lines "
        f"open, since {job.started_at}, {state}{cure}"
    )


def show_lines(path: Path, prefix: str, *, raw: bool = False) -> Iterator[str]:
    """Every attempt at the one request whose hash begins with ``prefix``.

    Raises:
        InputError: there is no ledger, or not one request that begins so.
        LedgerError: it is unusable.
    """
    with _reading(path) as database:
        found = [row[0] for row in database.execute(_HASHES, (prefix,))]
        if len(found) != 1:
            raise InputError(
                f"{'several' if found else 'no'} requests of {path} begin with {prefix!r}; "
                "give more of a hash that `python -m pipeline requests list` prints"
            )
        rows = database.execute(_CALLS, found).fetchall()
    yield f"request {found[0]}"
    for intent, repeat, started, ended, kind, problem, selected, *row in rows:
        state = "without an end" if kind is None else "answered" if kind == "answer" else kind
        chosen = ", selected" if selected else ""
        yield f"repeat {repeat}, attempt {intent}: {state}{chosen}; {started} to {ended or 'unknown'}"
        if problem:
            yield f"  problem: {one_line(problem)}"
        if row[1] is None:
            continue
        attempt = attempt_of(path, tuple(row))
        usage = attempt.usage
        tokens = "unknown" if usage is None else f"{usage.prompt_tokens} in, {usage.completion_tokens} out"
        cost = "unknown" if attempt.cost_nano_usd is None else usd(attempt.cost_nano_usd)
        yield one_line(
            f"  {attempt.backend}: HTTP {attempt.http_status}, model {attempt.served_model}, finish reason "
            f"{attempt.finish_reason}, tokens {tokens}, cost {cost}, response {attempt.response_id}"
        )
        yield from (f"  | {one_line(line)}" for line in (attempt.text or "").split("\n"))
        if raw:
            yield f"  raw ({attempt.raw_encoding}):"
            yield from (f"  > {one_line(line)}" for line in attempt.raw.split("\n"))


def compact(path: Path) -> tuple[int, int]:
    """Bring a ledger to the current schema and its smallest size; (bytes before, bytes after).

    Raises:
        InputError: there is no ledger.
        LedgerError: it is unusable, or another process is using it.
    """
    _must_be_there(path)
    before = _size(path)
    database = open_database(path, read_only=False)
    try:
        with explained(path):
            database.execute("VACUUM")
            busy = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        database.close()
    if busy:
        raise LedgerError(f"{path} is in use by another process; run this again when it is done")
    return before, _size(path)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[Connection]:
    _must_be_there(path)
    database = open_database(path, read_only=True)
    try:
        with explained(path):
            yield database
    finally:
        database.close()


def _must_be_there(path: Path) -> None:
    if not ledger_is_there(path):
        raise InputError(
            f"there is no ledger {path} yet; ask a judge with judge.offline: false, or set {VARIABLE} to one"
        )


def _size(path: Path) -> int:
    wal = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (wal.stat().st_size if wal.exists() else 0)
