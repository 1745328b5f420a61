"""One batch job on its way: from the rows in the ledger to an outcome for each of its lines."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipeline.answers import Attempt, Key
from pipeline.judges.ledger import Decide, Kind, Ledger
from pipeline.judges.ledger_jobs import Job, JobLine, NewLine
from pipeline.judges.openrouter_batch_wire import (
    ENDPOINT,
    NAME,
    Line,
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
    reserved: dict[Key, int] = field(default_factory=dict)

    @property
    def keys(self) -> list[Key]:
        """The keys of the lines without an outcome, as the job was read."""
        return [line.intent.key for line in self.job.waiting]


@dataclass(frozen=True)
class Ended:
    """What a line came to: settled, or answered but to be asked again, or failed with a problem."""

    key: Key
    settled: bool
    problem: str | None
    attempt: Attempt | None


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


def harvest(
    ledger: Ledger, job: Job, rows: Sequence[str], cost_nano_usd: int | None, decide: Decide
) -> tuple[list[Ended], int]:
    """Store the outcome of every line that the results name, then close the job.

    Returns how the lines ended, and how many result lines belong to none of them. A process that dies
    on the way leaves the job open, and the next one stores the rest.
    """
    waiting = {line.custom_id: line for line in job.waiting}
    # All lines of the job are known, so that those stored before a crash are not taken for strangers.
    found = read_results(rows, {line.custom_id for line in job.lines})
    ended = []
    for result in share_cost(found.results.values(), cost_nano_usd):
        line = waiting.pop(result.custom_id, None)
        if line is None:
            continue
        kind: Kind = "answer" if result.problem is None else "failed"
        settled = ledger.finish(
            line.intent, kind, attempt=result.attempt, problem=result.problem, decide=decide
        )
        ended.append(Ended(line.intent.key, settled, result.problem, result.attempt))
    ledger.jobs.close(job, "failed", MISSING)
    ended += [Ended(line.intent.key, False, MISSING, None) for line in waiting.values()]
    return ended, found.strange


def parts(lines: Sequence[JobLine], problem: str) -> list[list[Key]]:
    """Cut a job that failed as a whole: the lines its message names by themselves, else in halves."""
    named = [line.intent.key for line in lines if line.custom_id in problem]
    rest = [line.intent.key for line in lines if line.custom_id not in problem]
    if named and rest:
        return [*([key] for key in named), rest]
    keys = [*named, *rest]
    half = (len(keys) + 1) // 2
    return [part for part in (keys[:half], keys[half:]) if part]
