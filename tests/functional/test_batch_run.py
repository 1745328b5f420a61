"""Batch jobs against a service that misbehaves: every answer once, or named as missing, none paid twice."""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_openai import completion
from fake_openrouter_batch import (
    FAULTS,
    JOB_FAULTS,
    LINE_FAULTS,
    POLL_FAULTS,
    SUBMIT_FAULTS,
    FakeOpenRouterBatch,
)
from judge_project import PROMPT_SET, Project, make_project

from pipeline.errors import BackendError
from pipeline.judges.batch import BatchAsker, Waits
from pipeline.judges.ledger import Ledger, first_answer
from pipeline.judges.openrouter_batch import OpenRouterBatch
from pipeline.judges.pace import Patience
from pipeline.judges.progress import PlainProgress
from pipeline.judges.secrets import Secret
from pipeline.judges.tally import Tally
from pipeline.requests import JudgeRequest

KEY = "sk-or-test-0123456789abcdef"
WAITS = Waits(settle=0.3, trouble=1.0, look=0.05, lease=60)
QUICK = Patience(tries=3, first_seconds=0.01, longest_seconds=0.02, total_seconds=5)
CELLS = 7
# What the service never answered may be asked again; all else that it stored was answered once.
STOPS_THE_RUN = {name for name in SUBMIT_FAULTS if name[:3] in ("400", "401", "402", "403", "404")}
NOT_ANSWERED = {
    "job failed",
    "job expired with results",
    "job expired without results",
    "job cancelled",
    "lines missing",
    "line with an error",
    "line with a null response",
    "line that is malformed",
    "line with status 429",
    "error in a line's body",
    "line with response and error",
}


class First:
    """Selects the first answer."""

    def decide(self, rounds: Any) -> int | None:
        return first_answer(rounds)


@dataclass
class Log:
    """Keeps what is emitted."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def emit(self, name: str, **facts: Any) -> None:
        self.events.append((name, facts))


@dataclass
class Setting:
    """The part of the runner's context that an asker uses."""

    ledger: Ledger
    render: Callable[[str], JudgeRequest]
    tally: Tally
    settling: Any = field(default_factory=First)
    budget: Any = None
    events: Any = field(default_factory=Log)
    patience: Patience = QUICK
    deadline: float | None = None
    detach: bool = False


@dataclass
class Run:
    """What one run came to."""

    asker: BatchAsker
    tally: Tally
    log: Log


def batch_profile(base_url: str, **transport: Any) -> dict[str, Any]:
    return {
        "backend": "openrouter-batch",
        "prompt_set": PROMPT_SET,
        "request": {
            "service": "openrouter",
            "model": "google/gemini-3.7-flash:batch",
            "max_tokens": 64,
            "reasoning_effort": "low",
        },
        "transport": {
            "base_url": base_url,
            "path": "/v1/batches",
            "api_key_env": "OPENROUTER_API_KEY",
            "timeout_seconds": 1,
            "poll_seconds": 0.02,
            "max_requests_per_job": 4,
            "jobs_in_flight": 2,
            **transport,
        },
    }


def project_for(service: FakeOpenRouterBatch, folder: Path, cells: int = CELLS, **transport: Any) -> Project:
    return make_project(folder, service.base_url, cells, profile=batch_profile(service.base_url, **transport))


def run(project: Project, waits: Waits = WAITS, only: int | None = None, **setting: Any) -> Run:
    """One run as the stage does it, with short waits."""
    requests = {request.request_hash: request for request in project.requests[:only]}
    keys = [(digest, 0) for digest in sorted(requests)]
    backend = OpenRouterBatch(project.profile, lambda name: Secret(KEY))
    with Ledger(project.ledger) as ledger:
        there = ledger.answered(keys)
        tally = Tally(wanted=len(keys), ledger=len(there))
        log = Log()
        context = Setting(ledger, requests.__getitem__, tally, events=log, **setting)
        asker = BatchAsker(project.profile, backend, context, waits)
        try:
            asker.ask([key for key in keys if key not in there], PlainProgress(io.StringIO()))
        finally:
            backend.close()
    return Run(asker, tally, log)


def answers(project: Project) -> dict[str, str | None]:
    """What is selected for each request, as text."""
    with Ledger(project.ledger) as ledger:
        found = [ledger.answer((request.request_hash, 0)) for request in project.requests]
    return {answer.request_hash: answer.attempt.text for answer in found if answer is not None}


def expected(project: Project) -> dict[str, str]:
    """What the service says to each request, by the fake's own rule."""
    return {
        request.request_hash: completion(request.body)["choices"][0]["message"]["content"]
        for request in project.requests
    }


def test_a_run_asks_each_request_once_in_jobs_below_the_limit(tmp_path: Path) -> None:
    with FakeOpenRouterBatch() as service:
        project = project_for(service, tmp_path, cells=10)
        done = run(project)
        assert answers(project) == expected(project)
        assert service.charged == Counter(project.digests)
        assert [len(job.lines) for job in service.jobs.values()] == [4, 4, 2]
        assert service.submitted_keys == [["endpoint", "model", "requests"]] * 3
        assert (done.tally.live, done.tally.missing, done.asker.note()) == (10, 0, "")
        assert done.tally.cost_nano_usd == 10 * 123_000
        assert set(service.authorizations) == {f"Bearer {KEY}"}
        again = run(project)
        assert (again.tally.ledger, again.tally.live) == (10, 0)
        assert service.submissions == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_ends_with_every_answer_once(fault: str, tmp_path: Path) -> None:
    with FakeOpenRouterBatch(fault, times=2 if fault in POLL_FAULTS else 1) as service:
        deadline = {"deadline": time.monotonic() + 1.0} if fault == "job stuck" else {}
        project = project_for(service, tmp_path)
        if fault in STOPS_THE_RUN or fault == "401 on poll":
            with pytest.raises(BackendError, match=fault[:3]) as caught:
                run(project)
            assert KEY not in str(caught.value)
            assert "\n" not in str(caught.value)
            service.left = 0
        elif fault == "job stuck":
            stuck = run(project, **deadline)
            assert stuck.asker.interrupted
            assert stuck.tally.missing == CELLS
            assert (
                "2 jobs with 7 lines are still at the service: batch-0001, batch-0002" in stuck.asker.note()
            )
            service.left = 0
        done = run(project)
        assert done.tally.missing == 0, (done.tally, done.asker.note(), done.log.events)
        said = expected(project)
        if fault in ("null content", "length stop", "safety stop"):
            # Kept as what the judge said; whether it is asked again is not decided here.
            said = {
                digest: text if text == said[digest] else {"length stop": "Critic"}.get(fault)
                for digest, text in answers(project).items()
            }
        assert answers(project) == said
        assert set(service.charged) == set(project.digests)
        assert set(service.charged.values()) == {1}
        assert set(service.custom_ids.values()) == {1}
        if fault not in NOT_ANSWERED:
            assert set(service.accepted.values()) == {1}
        with Ledger(project.ledger) as ledger:
            assert ledger.jobs.open() == []


def test_every_kind_of_fault_is_in_the_matrix() -> None:
    assert len(FAULTS) == len({*SUBMIT_FAULTS, *POLL_FAULTS, *JOB_FAULTS, *LINE_FAULTS})
