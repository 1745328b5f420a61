"""Batch jobs against a service that misbehaves: every answer once, or named as missing, none paid twice."""

from __future__ import annotations

import contextlib
import io
import itertools
import multiprocessing
import os
import random
import signal
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
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

from pipeline.canonical import sha256_hex
from pipeline.errors import BackendError
from pipeline.judges.batch import BatchAsker
from pipeline.judges.batch_desk import Waits
from pipeline.judges.batch_reconcile import reconcile
from pipeline.judges.books import Books
from pipeline.judges.budget import Budget
from pipeline.judges.estimating import estimator
from pipeline.judges.events import Events
from pipeline.judges.http_client import HttpClient
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_access import Access
from pipeline.judges.openrouter_batch import OpenRouterBatch
from pipeline.judges.pace import Patience
from pipeline.judges.prices import Price
from pipeline.judges.progress import PlainProgress
from pipeline.judges.secrets import Secret
from pipeline.judges.settling import Settling
from pipeline.judges.tally import Tally

KEY = "sk-or-test-0123456789abcdef"
ANY_ANSWER = Settling("text", 1, 0)
WAITS = Waits(settle=0.3, trouble=1.0, look=0.05, lease=60)
QUICK = Patience(tries=3, first_seconds=0.01, longest_seconds=0.02, total_seconds=5)
CELLS = 7
MODEL = "google/gemini-3.7-flash:batch"
_RAWS = "SELECT raw FROM outcomes WHERE raw IS NOT NULL"
# 64 tokens of answer and a prompt of some 30 cost up to about 0.0002 dollars.
PRICE = Price(Decimal(2000), Decimal(2000), "2026-12-01")
FORK = multiprocessing.get_context("fork")
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


@dataclass
class Run:
    """What one run came to."""

    asker: BatchAsker
    tally: Tally


def batch_profile(base_url: str, **transport: Any) -> dict[str, Any]:
    return {
        "backend": "openrouter-batch",
        "prompt_set": PROMPT_SET,
        "request": {
            "service": "openrouter",
            "model": MODEL,
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


def run(
    project: Project,
    waits: Waits = WAITS,
    settling: Settling = ANY_ANSWER,
    seconds: float | None = None,
    detach: bool = False,
    budget: int | None = None,
) -> Run:
    """One run as the stage does it, with short waits."""
    with asker_for(project, waits, settling, seconds, detach, budget) as asker:
        books = asker._books
        keys = [(digest, 0) for digest in sorted(request.request_hash for request in project.requests)]
        there = books.ledger.answered(keys)
        books.tally.ledger = len(there)
        asker.ask([key for key in keys if key not in there], PlainProgress(io.StringIO()))
    return Run(asker, books.tally)


@contextlib.contextmanager
def asker_for(
    project: Project,
    waits: Waits = WAITS,
    settling: Settling = ANY_ANSWER,
    seconds: float | None = None,
    detach: bool = False,
    budget: int | None = None,
) -> Iterator[BatchAsker]:
    """An asker with its books and backend."""
    requests = {request.request_hash: request for request in project.requests}
    backend = OpenRouterBatch(project.profile, lambda name: Secret(KEY))
    price = estimator(project.profile, None if budget is None else PRICE, iter(()))
    with Ledger(project.ledger) as ledger:
        books = Books(
            ledger,
            requests.__getitem__,
            Tally(wanted=len(requests)),
            settling,
            price,
            Budget(budget, price, "fake"),
            Events(project.root / "log.jsonl"),
            QUICK,
            None if seconds is None else time.monotonic() + seconds,
            detach,
        )
        try:
            yield BatchAsker(project.profile, backend, books, waits)
        finally:
            backend.close()
            books.events.close()


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
        project = project_for(service, tmp_path)
        if fault in STOPS_THE_RUN or fault == "401 on poll":
            with pytest.raises(BackendError, match=fault[:3]) as caught:
                run(project)
            assert KEY not in str(caught.value)
            assert "\n" not in str(caught.value)
            service.left = 0
        elif fault == "job stuck":
            stuck = run(project, seconds=1.0)
            assert stuck.asker.stopped == "the run's time is over (transport.run_timeout_seconds)"
            assert stuck.tally.missing == CELLS
            assert stuck.asker.note() == "7 of them are in jobs at the service: batch-0001, batch-0002"
            service.left = 0
        done = run(project)
        assert done.tally.missing == 0, (done.tally, done.asker.note())
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


# A submission whose reply was lost.


def test_a_lost_submission_is_not_sent_again_while_a_batch_may_be_it(tmp_path: Path) -> None:
    with FakeOpenRouterBatch("reset before the answer") as service:
        project = project_for(service, tmp_path, cells=4)
        theirs = service.add_foreign(MODEL, 4)
        waiting = run(project, seconds=1.0)
        assert waiting.tally.missing == 4
        assert waiting.asker.note().startswith("it is not known whether the service took 4 lines (requests ")
        assert min(request.request_hash for request in project.requests)[:12] in waiting.asker.note()
        assert f"perhaps as {theirs.provider_id} " in waiting.asker.note()
        assert "either wait and run again" in waiting.asker.note()
        assert "`python -m pipeline ledger reconcile --resend`" in waiting.asker.note()
        assert service.accepted.total() == 0
        theirs.status, theirs.results = "completed", [{"custom_id": "theirs-0", "error": {"message": "no"}}]
        assert run(project).tally.missing == 0
        assert service.accepted == service.charged == Counter(project.digests)


@pytest.mark.parametrize(
    ("model", "count", "age"),
    [("openai/other:batch", 4, 0), ("google/gemini-3.7-flash:batch", 5, 0), (None, 4, 3600)],
    ids=["another model", "another size", "another time"],
)
def test_batches_that_cannot_be_the_lost_one_are_passed_over(
    model: str | None, count: int, age: int, tmp_path: Path
) -> None:
    with FakeOpenRouterBatch("reset after accepting") as service:
        project = project_for(service, tmp_path, cells=4)
        service.add_foreign(model or MODEL, count).created_at -= age
        assert run(project).tally.missing == 0
        assert service.accepted == service.charged == Counter(project.digests)


def test_without_a_list_nothing_is_decided_and_nothing_sent_again(tmp_path: Path) -> None:
    with FakeOpenRouterBatch("reset after accepting") as service:
        service.lists = False
        project = project_for(service, tmp_path, cells=4)
        for _ in range(2):
            stopped = run(project)
            assert stopped.tally.missing == 4
            assert "the list of batches was answered with HTTP 404" in stopped.asker.note()
            assert "reconcile --resend" in stopped.asker.note()
        assert service.submissions == 1
        service.lists = True
        assert run(project).tally.missing == 0
        assert service.submissions == 1
        assert service.charged == Counter(project.digests)


def test_reconcile_says_what_became_of_each_job(tmp_path: Path) -> None:
    def told() -> list[str]:
        backend = OpenRouterBatch(project.profile, lambda name: Secret(KEY))
        with Ledger(project.ledger) as ledger:
            return reconcile(ledger, project.profile, backend, Events())

    with FakeOpenRouterBatch("reset after accepting") as service:
        service.lists = False
        project = project_for(service, tmp_path, cells=4)
        run(project)
        (line,) = told()
        assert line.startswith("job 1 (4 of 4 lines open): cannot be looked for: the list of batches was ")
        assert "reconcile --resend" in line
        service.lists = True
        name = "job 1 (4 of 4 lines open): "
        assert told() == [f"{name}may be batch-0001, which is decided when that has ended"]
        assert told() == [f"{name}found as batch-0001; the next run collects it"]
        assert told() == [f"{name}submitted as batch-0001; the next run collects it"]
        assert run(project).tally.missing == 0
        assert service.charged == Counter(project.digests)


def test_a_service_that_never_takes_a_job_is_left_after_some_rounds(tmp_path: Path) -> None:
    with FakeOpenRouterBatch("reset before the answer", times=99) as service:
        project = project_for(service, tmp_path, cells=3, max_rounds=1)
        done = run(project, waits=replace(WAITS, settle=0.05))
        assert done.tally.missing == 3
        (problem,) = done.tally.failures
        assert problem.startswith("the service did not take the job (the connection broke")
        assert service.submissions == 2
        service.left = 0
        assert run(project).tally.missing == 0


# Jobs that fail, or are too large.


@pytest.mark.parametrize("named", [True, False], ids=["the message names it", "it does not"])
def test_one_bad_line_does_not_take_its_job_with_it(named: bool, tmp_path: Path) -> None:
    with FakeOpenRouterBatch() as service:
        service.names_bad_lines = named
        project = project_for(service, tmp_path, cells=8, max_requests_per_job=8, max_rounds=1)
        bad = min(project.requests, key=lambda request: request.request_hash)
        service.bad.add(sha256_hex(bad.body_bytes))
        done = run(project)
        assert (done.tally.live, done.tally.missing) == (7, 1)
        (problem,) = done.tally.failures
        assert problem.startswith("a job that ended as 'failed' without results: ")
        assert ("is invalid" in problem) == named
        assert bad.request_hash not in answers(project)
        assert service.charged == Counter(project.digests) - Counter(service.bad)
        # 8 fails; then the bad line and 7, or 4+4, 2+2, 1+1; then the bad line a second time.
        assert service.submissions == (4 if named else 8)


def test_a_provider_that_fails_every_job_ends_the_run(tmp_path: Path) -> None:
    with FakeOpenRouterBatch("job failed", times=999, polls=1) as service:
        project = project_for(service, tmp_path, cells=40, max_requests_per_job=40)
        done = run(project)
        assert done.asker.stopped == "stopped after 16 failed jobs in a row"
        assert service.submissions <= 18


def test_jobs_are_made_smaller_for_a_service_that_takes_no_larger_ones(tmp_path: Path) -> None:
    with FakeOpenRouterBatch(limit=2) as service:
        project = project_for(service, tmp_path, cells=9, max_requests_per_job=9)
        assert run(project).tally.missing == 0
        assert max(len(job.lines) for job in service.jobs.values()) == 2
        assert service.accepted == service.charged == Counter(project.digests)


def test_a_request_too_large_by_itself_is_named(tmp_path: Path) -> None:
    with FakeOpenRouterBatch(limit=0) as service:
        project = project_for(service, tmp_path, cells=2)
        done = run(project)
        assert done.tally.failures == {
            "a request too large for the service (HTTP 413: the service says 413)": 2
        }


def test_a_job_out_of_sight_is_left_open_and_named(tmp_path: Path) -> None:
    with FakeOpenRouterBatch("402 on poll", times=10**6) as service:
        project = project_for(service, tmp_path, cells=3)
        done = run(project, waits=replace(WAITS, trouble=0.2))
        assert done.tally.missing == 3
        assert done.asker.note() == (
            "3 of them are in jobs at the service: batch-0001 (HTTP 402: the service says 402 "
            "(the account has no credit left: top it up; the job is not lost))"
        )
        service.left = 0
        assert run(project).tally.missing == 0
        assert service.accepted == service.charged == Counter(project.digests)


# Leaving, coming back, sharing.


def test_detached_jobs_are_collected_by_the_next_runs(tmp_path: Path) -> None:
    with FakeOpenRouterBatch(polls=1) as service:
        project = project_for(service, tmp_path, cells=10, poll_seconds=5)
        first = run(project, detach=True)
        assert first.asker.stopped == "2 jobs are in flight (--detach)"
        assert (service.submissions, first.tally.missing) == (2, 10)
        second = run(project, detach=True)  # collects two jobs, hands in the third
        assert (service.submissions, second.tally.live, second.tally.missing) == (3, 8, 2)
        assert run(project).tally.live == 2
        assert service.accepted == service.charged == Counter(project.digests)
        assert answers(project) == expected(project)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_jobs_to_the_next_run(number: int, tmp_path: Path) -> None:
    with FakeOpenRouterBatch("job stuck", times=10**6) as service:
        project = project_for(service, tmp_path)
        threading.Timer(0.5, os.kill, (os.getpid(), number)).start()
        done = run(project)
        assert (done.asker.stopped, done.tally.missing) == ("interrupted", CELLS)
        service.left = 0
        assert run(project).tally.missing == 0
        assert service.accepted == service.charged == Counter(project.digests)


def test_an_answer_that_is_refused_is_asked_again_and_counted(tmp_path: Path) -> None:
    with FakeOpenRouterBatch("null content") as service:
        project = project_for(service, tmp_path, cells=4)
        done = run(project, settling=Settling("text", 3, 0))
        assert answers(project) == expected(project)
        assert sorted(service.charged.values()) == [1, 1, 1, 2]
        assert (done.tally.live, done.tally.reasked) == (4, 1)


def test_two_processes_share_the_work(tmp_path: Path) -> None:
    with FakeOpenRouterBatch(polls=3) as service:
        project = project_for(service, tmp_path, cells=24, max_requests_per_job=3)
        both = [FORK.Process(target=run, args=(project,)) for _ in range(2)]
        for process in both:
            process.start()
        for process in both:
            process.join(60)
            assert process.exitcode == 0
        assert service.accepted == service.charged == Counter(project.digests)
        assert answers(project) == expected(project)


def test_money_bounds_what_is_in_flight(tmp_path: Path) -> None:
    with FakeOpenRouterBatch() as service:
        project = project_for(service, tmp_path, cells=10)
        done = run(project, budget=700_000)
        assert done.tally.cost_nano_usd <= 700_000
        assert done.asker.stopped is not None
        assert "judge.budget_usd of $0.0007 could be passed" in done.asker.stopped
        assert 0 < service.accepted.total() < 10
        assert done.tally.live == service.charged.total() == service.accepted.total()


# Killed.


def _until_killed(project: Project, steps: int | None) -> None:
    """A run that kills itself before or after its n-th write or call."""
    if steps is not None:
        counter = itertools.count()

        def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **named: Any) -> Any:
                if next(counter) == steps:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = function(*args, **named)
                if next(counter) == steps:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            return call

        Access.writing = deadly(Access.writing)  # type: ignore[method-assign]
        HttpClient.call = deadly(HttpClient.call)  # type: ignore[method-assign]
    done = run(project)
    os._exit(0 if done.tally.missing == 0 else 3)


def _kill_until_done(seed: int, folder: Path) -> None:
    dice = random.Random(seed)
    fault = dice.choice([None, None, "job expired with results", "lines missing", "404 on the first polls"])
    with FakeOpenRouterBatch(fault) as service:
        project = project_for(service, folder)
        for _ in range(60):
            steps = dice.randrange(60) if dice.random() < 0.7 else None
            process = FORK.Process(target=_until_killed, args=(project, steps))
            process.start()
            if steps is None:
                process.join(dice.uniform(0, 0.4))
                process.kill()
            process.join(60)
            if process.exitcode == 0:
                break
            assert process.exitcode == -signal.SIGKILL
        else:
            pytest.fail("never done")
        assert answers(project) == expected(project)
        assert service.charged == Counter(project.digests)
        if fault in (None, "404 on the first polls"):
            assert service.accepted == Counter(project.digests)
        with Ledger(project.ledger) as ledger:
            # One that was killed right before closing its last job leaves nothing to do for the next.
            assert [job for job in ledger.jobs.open() if job.waiting] == []


@pytest.mark.parametrize("seed", range(20))
def test_killed_at_random_points_nothing_is_lost_and_nothing_asked_twice(seed: int, tmp_path: Path) -> None:
    _kill_until_done(seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20, 220))
def test_killed_at_random_points_many_times(seed: int, tmp_path: Path) -> None:
    _kill_until_done(seed, tmp_path)


# Keys.


def test_no_key_reaches_a_file_a_message_or_the_ledger(tmp_path: Path) -> None:
    with FakeOpenRouterBatch("401 on submit") as service:
        service.echoes_keys = True
        project = project_for(service, tmp_path)
        with pytest.raises(BackendError, match="check the key in OPENROUTER_API_KEY") as caught:
            run(project)
        assert KEY not in f"{caught.value!r}"
        run(project)
        written = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert len(written) > 5
        for path in written:
            assert KEY.encode() not in path.read_bytes(), path
        with sqlite3.connect(project.ledger) as database:
            raws = [zlib.decompress(raw) for (raw,) in database.execute(_RAWS)]
        assert len(raws) == CELLS
        assert not any(KEY.encode() in raw for raw in raws)


# The command line.


def test_the_command_leaves_with_3_and_says_what_to_type(tmp_path: Path) -> None:
    with FakeOpenRouterBatch(polls=1) as service:
        project = project_for(service, tmp_path, poll_seconds=5)
        left = project.run("judge", "--detach", OPENROUTER_API_KEY=KEY)
        assert left.returncode == 3, left.stderr
        (line,) = left.stderr.splitlines()
        assert "2 jobs are in flight (--detach): 0 of 7 judge answers are there, 7 are missing" in line
        assert "7 of them are in jobs at the service: batch-0001, batch-0002" in line
        assert "run `dvc repro`" in line
        assert "batch-0002" in project.run("ledger", "status").stdout
        done = project.run("judge", OPENROUTER_API_KEY=KEY)
        assert done.returncode == 0, done.stderr
        assert "7 answers (0 recorded, 0 from the ledger, 7 asked now)" in done.stdout
        assert project.run("judge", OPENROUTER_API_KEY=KEY).returncode == 0
        assert service.accepted == service.charged == Counter(project.digests)


def test_a_killed_command_is_taken_over_by_the_next(tmp_path: Path) -> None:
    with FakeOpenRouterBatch("job stuck", times=10**6) as service:
        project = project_for(service, tmp_path)
        process = project.start("judge", OPENROUTER_API_KEY=KEY)
        deadline = time.monotonic() + 60
        while service.accepted.total() < CELLS and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        service.left = 0
        done = project.run("judge", OPENROUTER_API_KEY=KEY)
        # A job whose reply was not stored yet is looked for first.
        assert done.returncode == 0, done.stderr
        assert service.accepted == service.charged == Counter(project.digests)
        assert answers(project) == expected(project)


def test_a_line_given_up_on_the_users_word_is_sent_again(tmp_path: Path) -> None:
    with FakeOpenRouterBatch("reset before the answer") as service:
        service.lists = False
        project = project_for(service, tmp_path, cells=3)
        stopped = project.run("judge", OPENROUTER_API_KEY=KEY)
        assert stopped.returncode == 3
        assert "`python -m pipeline ledger reconcile --resend`" in stopped.stderr
        given_up = project.run("ledger", "reconcile", "--resend", OPENROUTER_API_KEY=KEY)
        assert "job 1: given up; the next run asks its 3 lines again" in given_up.stdout
        assert project.run("judge", OPENROUTER_API_KEY=KEY).returncode == 0
        assert service.accepted == service.charged == Counter(project.digests)


@pytest.mark.parametrize(
    ("fault", "cure"),
    [
        ("401 on submit", "check the key in OPENROUTER_API_KEY"),
        ("402 on submit", "the account has no credit left: top it up, then run again"),
        ("404 on submit", "check transport.base_url, transport.path and the model name"),
        ("400 on submit", "check the model name 'google/gemini-3.7-flash:batch'"),
    ],
)
def test_a_refusal_is_one_line_with_its_cure(fault: str, cure: str, tmp_path: Path) -> None:
    with FakeOpenRouterBatch(fault) as service:
        project = project_for(service, tmp_path)
        done = project.run("judge", OPENROUTER_API_KEY=KEY)
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert f"HTTP {fault[:3]}: the service says {fault[:3]}" in line
        assert cure in line
        assert KEY not in line
        assert service.submissions == 1
