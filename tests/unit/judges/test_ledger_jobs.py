"""Batch jobs in the ledger: written before they are sent, held until each line has an end."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from judge_project import REPOSITORY
from judge_samples import a_request, an_attempt
from test_ledger import Clock, rows

from pipeline.answers import Key
from pipeline.errors import LedgerError
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_jobs import Job, NewLine

REQUESTS = {a_request(name).request_hash: a_request(name) for name in "abc"}
KEYS: list[Key] = [(digest, 0) for digest in REQUESTS]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", clock=clock) as opened:
        yield opened


def begin(ledger: Ledger, keys: list[Key] = KEYS, name: str = "job-1") -> Job:
    assert ledger.claim(keys, 60) == keys
    return ledger.jobs.begin(
        [NewLine(f"{name}-{n}", key, REQUESTS[key[0]]) for n, key in enumerate(keys)],
        backend="openrouter-batch",
        endpoint="/v1/chat/completions",
        model="m:batch",
        upload_sha256="0" * 64,
        lease_seconds=60,
    )


def test_a_job_is_there_before_it_is_sent(ledger: Ledger) -> None:
    begin(ledger)
    [job] = ledger.jobs.open("openrouter-batch")
    assert (job.number, job.provider_id, job.request_count) == (1, None, 3)
    assert [(line.custom_id, line.intent.key, line.done) for line in job.lines] == [
        (f"job-1-{n}", key, False) for n, key in enumerate(KEYS)
    ]
    assert ledger.jobs.open("vertex") == []
    assert [found.number for found in ledger.jobs.open()] == [1]


def test_lines_of_an_open_job_are_asked_by_nobody_else(ledger: Ledger, clock: Clock) -> None:
    job = begin(ledger)
    clock.now += 1e6
    with Ledger(ledger.path, clock=clock) as other:
        assert other.claim(KEYS, 60) == []
        assert other.begin(REQUESTS[KEYS[0][0]], KEYS[0], "openai-compatible", 60) == "in_job"
        other.finish(job.lines[0].intent, "answer", attempt=an_attempt())  # by whoever collects it
        other.finish(job.lines[1].intent, "failed", problem="expired")
        assert other.refusal(KEYS[0]) == "answered"
        assert other.claim(KEYS, 60) == [KEYS[1]]
    [left] = ledger.jobs.open()
    assert [line.custom_id for line in left.waiting] == ["job-1-2"]


def test_events_are_kept_in_order_and_the_last_provider_id_counts(ledger: Ledger) -> None:
    job = begin(ledger)
    ledger.jobs.event(job, "lost", detail="no reply")
    ledger.jobs.event(job, "reconciled", provider_id="batch_1", detail="2 of 2 custom ids")
    ledger.jobs.event(job, "polled", detail="in_progress")
    [found] = ledger.jobs.open()
    assert found.provider_id == "batch_1"
    assert [(event.kind, event.provider_id) for event in found.events] == [
        ("lost", None),
        ("reconciled", "batch_1"),
        ("polled", None),
    ]


@pytest.mark.parametrize("kind", ["failed", "uncertain"])
def test_closing_ends_what_is_left_and_frees_it(ledger: Ledger, kind: str) -> None:
    job = begin(ledger)
    ledger.finish(job.lines[0].intent, "answer", attempt=an_attempt())
    assert ledger.jobs.close(job, kind, "the job expired") == 2  # type: ignore[arg-type]
    assert ledger.jobs.close(job, kind, "again") == 0  # type: ignore[arg-type]
    assert ledger.jobs.open() == []
    assert not ledger.jobs.adopt(job, 60)
    assert ledger.claim(KEYS, 60) == KEYS[1:]
    assert rows(ledger.path, "SELECT kind, count(*) FROM outcomes GROUP BY 1 ORDER BY 1") == [
        ("answer", 1),
        (kind, 2),
    ]


def test_one_process_works_on_a_job_until_its_lease_ends(ledger: Ledger, clock: Clock) -> None:
    job = begin(ledger)
    with Ledger(ledger.path, clock=clock) as other:
        assert not other.jobs.adopt(job, 60)
        assert ledger.jobs.adopt(job, 60)
        clock.now += 60
        assert other.jobs.adopt(job, 60)
        assert not ledger.jobs.adopt(job, 60)
    assert ledger.jobs.adopt(job, 60)
    ledger.jobs.leave(job)
    with Ledger(ledger.path, clock=clock) as other:
        assert other.jobs.adopt(job, 60)


def test_what_another_process_claimed_does_not_get_into_a_job(ledger: Ledger, clock: Clock) -> None:
    assert ledger.claim(KEYS, 60) == KEYS
    with Ledger(ledger.path, clock=clock) as other:
        assert other.claim(KEYS, 60) == []
        clock.now += 61
        assert other.claim(KEYS[:1], 60) == KEYS[:1]
        with pytest.raises(LedgerError, match="run again"):
            ledger.jobs.begin(
                [NewLine(key[0], key, REQUESTS[key[0]]) for key in KEYS],
                backend="b",
                endpoint="/e",
                model="m",
                upload_sha256="0" * 64,
                lease_seconds=60,
            )
    assert ledger.jobs.open() == []
    assert rows(ledger.path, "SELECT count(*) FROM intents") == [(0,)]


_BEGIN_AND_WAIT = """
import sys, signal
sys.path[:0] = sys.argv[2:]
from pathlib import Path
import test_ledger_jobs
from pipeline.judges.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
job = test_ledger_jobs.begin(ledger)
ledger.jobs.submitted(job, "batch_1")
print("begun", flush=True)
signal.pause()
"""


def test_the_job_of_a_killed_process_is_adopted_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    folders = [str(REPOSITORY), str(REPOSITORY / "tests/support"), str(Path(__file__).parent)]
    process = subprocess.Popen(
        [sys.executable, "-c", _BEGIN_AND_WAIT, str(path), *folders], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    with Ledger(path) as ledger:
        [job] = ledger.jobs.open()
        assert job.provider_id == "batch_1"
        assert not ledger.jobs.adopt(job, 60)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert ledger.jobs.adopt(job, 60)
        assert ledger.claim(KEYS, 60) == []


@pytest.mark.parametrize("table", ["jobs", "job_lines", "job_events"])
def test_nothing_of_a_job_is_changed_or_removed(ledger: Ledger, table: str) -> None:
    ledger.jobs.submitted(begin(ledger), "batch_1")
    for change in ("DELETE FROM {}", "UPDATE {} SET job = 2"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            rows(ledger.path, change.format(table))


def test_a_ledger_of_the_first_schema_is_brought_up_and_keeps_its_answers(tmp_path: Path) -> None:
    from pipeline.judges.migrations import APPLICATION_ID, MIGRATIONS

    path = tmp_path / "ledger.sqlite"
    old = sqlite3.connect(path)
    old.executescript(MIGRATIONS[0])
    old.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    old.execute("PRAGMA user_version = 1")
    old.execute("INSERT INTO requests VALUES ('h', x'00')")
    old.execute("INSERT INTO intents VALUES (1, 'h', 0, 'b', 'o', 't')")
    old.execute(
        "INSERT INTO outcomes (intent, ended_at, kind, http_status, text, raw, digest) "
        "VALUES (1, 't', 'answer', 200, 'x', ?, 'd')",
        (b"x\x9c\x03\x00\x00\x00\x00\x01",),
    )
    old.execute("INSERT INTO selections VALUES ('h', 0, 1, 't')")
    old.commit()
    old.close()
    with Ledger(path) as ledger:
        assert ledger.answered([("h", 0)]) == {("h", 0)}
        assert begin(ledger).number == 1
