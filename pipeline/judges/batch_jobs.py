"""One batch job: how its lines are named, written down, cut apart, and read from the results."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.answers import Key
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_jobs import Job, JobLine, NewLine
from pipeline.judges.openrouter_batch_wire import (
    ENDPOINT,
    NAME,
    Line,
    LineResult,
    custom_id,
    read_results,
    share_cost,
    upload,
)
from pipeline.requests import JudgeRequest

MISSING = "a line missing from the job's results"


@dataclass
class Flight:
    """A job this process works on. ``upload`` is there as long as it was surely not accepted yet.

    Times are of ``time.monotonic`` but for ``lost_at``, which is in seconds since the epoch.
    """

    job: Job
    due: float
    upload: bytes | None = None
    status: str = ""
    tried: int = 0
    waited: float = 0.0
    trouble: str = ""
    trouble_since: float | None = None
    lost_since: float | None = None
    lost_at: float = 0.0
    undecided: tuple[str, ...] = ()

    @property
    def keys(self) -> list[Key]:
        """The keys of the lines without an outcome, as the job was read."""
        return [line.intent.key for line in self.job.waiting]


def name_lines(requests: Sequence[tuple[Key, JudgeRequest]], rounds: Callable[[Key], int]) -> list[Line]:
    """Lines with custom ids that no other job has; ``rounds`` counts a key's lines so far."""
    tag = secrets.token_hex(3)
    return [Line(custom_id(key, rounds(key), tag), request) for key, request in requests]


def begin(ledger: Ledger, lines: Sequence[Line], keys: Sequence[Key], lease_seconds: float) -> Flight:
    """Write a job down, before it is sent. The keys are claimed."""
    body = upload(lines)
    job = ledger.jobs.begin(
        [NewLine(line.custom_id, key, line.request) for line, key in zip(lines, keys, strict=True)],
        backend=NAME,
        endpoint=ENDPOINT,
        model=str(lines[0].request.body["model"]),
        upload_sha256=hashlib.sha256(body).hexdigest(),
        lease_seconds=lease_seconds,
    )
    return Flight(job, 0.0, body)


def read_job_results(
    job: Job, rows: Sequence[str], cost_nano_usd: int | None
) -> tuple[list[LineResult], int]:
    """What the results say of a job's lines, and how many result lines belong to none or say it again.

    Lines that were stored before a crash are read again, so that they are not taken for strangers and
    the job's cost is shared out as the first time.
    """
    found = read_results(rows, {line.custom_id for line in job.lines})
    return share_cost(found.results.values(), cost_nano_usd), found.strange + found.repeated


def parts(lines: Sequence[JobLine], problem: str) -> list[list[Key]]:
    """Cut a job that failed as a whole: the lines its message names by themselves, else in halves."""
    named = [line.intent.key for line in lines if line.custom_id in problem]
    rest = [line.intent.key for line in lines if line.custom_id not in problem]
    if named and rest:
        return [*([key] for key in named), rest]
    keys = [*named, *rest]
    half = (len(keys) + 1) // 2
    return [part for part in (keys[:half], keys[half:]) if part]
