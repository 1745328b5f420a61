"""What became of a job whose submission got no reply: found, not yet to be told, or not there.

The service has no key that makes a submission safe to repeat. So its list is looked through for batches of
the job's time, model and size. Which of them is the job is decided by the custom ids in its results, which
no other job has; while a candidate has none yet, nothing is decided and nothing is sent again.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, cast

from pipeline.judges.base import Backend, CallFailed
from pipeline.judges.events import Events
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_jobs import Job
from pipeline.judges.openrouter_batch import Listing, NoList
from pipeline.judges.openrouter_batch_wire import NAME, Batch, read_results
from pipeline.profiles import JudgeProfile

# How far apart the two clocks may be beyond what the service's Date header tells.
_MARGIN_SECONDS = 300.0
_LEASE_SECONDS = 600.0
TWO_WAYS = (
    "either wait and run again, or, if it is sure that the service never took them, send them again "
    "with `python -m pipeline ledger reconcile --resend`"
)


class Service(Protocol):
    """The calls of a batch service; see ``OpenRouterBatch``."""

    def submit(self, upload: bytes) -> Batch:
        """Hand in a job."""

    def poll(self, provider_id: str) -> Batch:
        """A job as it is now."""

    def results(self, batch: Batch) -> tuple[str, ...] | None:
        """The result lines of a batch that has ended."""

    def listing(self, since: float) -> Listing:
        """The batches created at that time or later."""


@dataclass(frozen=True)
class Search:
    """What a look at the service's list told: the job's id, or the candidates that may still be it."""

    provider_id: str | None
    undecided: tuple[str, ...]


def search(service: Service, job: Job, others: Collection[str], lost_at: float) -> Search:
    """Look for a job in the service's list.

    ``others`` are provider ids of other jobs; ``lost_at`` is when its loss was noticed (seconds since the
    epoch, this machine's clock): it cannot have been accepted much later.

    Raises:
        NoList: the service has no list to look at.
        RetryLater, GiveUp: a call failed; see ``OpenRouterBatch``.
    """
    started = datetime.fromisoformat(job.started_at).timestamp()
    known = {line.custom_id for line in job.lines}
    listing = service.listing(started - _MARGIN_SECONDS)
    earliest = started + listing.clock_ahead - _MARGIN_SECONDS
    latest = lost_at + listing.clock_ahead + _MARGIN_SECONDS
    undecided = []
    for listed in listing.batches:
        if listed.provider_id in others or not _alike(listed, job, earliest, latest):
            continue
        batch = service.poll(listed.provider_id)
        if not batch.terminal:
            undecided.append(listed.provider_id)
            continue
        # A candidate that ended without results did no work: if it was the job, it is one to send again.
        rows = service.results(batch)
        if rows and read_results(rows, known).results:
            return Search(listed.provider_id, ())
    return Search(None, tuple(undecided))


def reconcile(ledger: Ledger, profile: JudgeProfile, backend: Backend, events: Events) -> list[str]:
    """Look once for every open job whose submission got no reply; one line for people about each.

    Nothing is sent again here: lines that are not found stay held until ``--resend``, or until a run
    has waited long enough to be sure.
    """
    told = []
    jobs = ledger.jobs.open(NAME)
    for job in jobs:
        name = f"job {job.number} ({len(job.waiting)} of {job.request_count} lines open)"
        if job.provider_id is not None:
            told.append(f"{name}: submitted as {job.provider_id}; the next run collects it")
        elif job.model != profile.request.model:
            told.append(f"{name}: of model {job.model!r}; use a profile of that model")
        elif not ledger.jobs.adopt(job, _LEASE_SECONDS):
            told.append(f"{name}: another process is working on it")
        else:
            others = {other.provider_id for other in jobs if other.provider_id is not None}
            try:
                told.append(f"{name}: {_looked_for(ledger, job, cast(Service, backend), others, events)}")
            finally:
                ledger.jobs.leave(job)
    return told


def _looked_for(ledger: Ledger, job: Job, service: Service, others: Collection[str], events: Events) -> str:
    try:
        found = search(service, job, others, time.time())
    except NoList as problem:
        return f"cannot be looked for: {problem.problem}; {TWO_WAYS}"
    except CallFailed as problem:
        return f"could not be looked for now: {problem.problem}"
    events.emit("job looked for", job=job.number, provider_id=found.provider_id)
    if found.provider_id is not None:
        ledger.jobs.event(job, "reconciled", provider_id=found.provider_id, detail="by its custom ids")
        return f"found as {found.provider_id}; the next run collects it"
    if found.undecided:
        return f"may be {' or '.join(found.undecided)}, which is decided when that has ended"
    return f"not in the service's list; {TWO_WAYS}"


def _alike(batch: Batch, job: Job, earliest: float, latest: float) -> bool:
    """Whether a listed batch may be the job. What it does not say yet speaks for nothing."""
    return (
        (batch.created_at is None or earliest <= batch.created_at <= latest)
        and (batch.model is None or _base(batch.model) == _base(job.model))
        and (not batch.total or batch.total == job.request_count)
    )


def _base(model: str) -> str:
    return model.removesuffix(":batch")
