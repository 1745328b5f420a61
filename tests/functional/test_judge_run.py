"""The judge stage as a whole, against a service that counts what it is asked."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import shutil
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from fake_openai import Drop, FakeOpenAI, Reply, Script, answer, as_json, completion, say
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_project import Project, make_project

from pipeline.answers import Answer, Key, read_answers, write_answers
from pipeline.errors import AnswersMissing, BackendError, InputError, RecordedAnswerError
from pipeline.judges import recorded
from pipeline.judges.ledger import Intent, Ledger
from pipeline.judges.pace import Patience
from pipeline.judges.progress import PlainProgress
from pipeline.judges.runner import Sources, Terms, Wanted, collect
from pipeline.judges.tally import Tally
from pipeline.requests import JudgeRequest
from pipeline.stages import judge

QUICK = Patience(tries=3, first_seconds=0.01, longest_seconds=0.02, total_seconds=5)


@pytest.fixture
def service() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def project(service: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = make_project(tmp_path, service.base_url)
    monkeypatch.setenv("CTXEVAL_LEDGER", str(made.ledger))
    return made


def expected_line(request: JudgeRequest, repeat: int = 0) -> str:
    """A projection line written out by hand from what the fake service says to a request."""
    body = completion(request.body)
    row: dict[str, Any] = {
        "attempts": [
            {
                "backend": "openai-compatible",
                "cost_nano_usd": 123_000,
                "finish_reason": "stop",
                "http_status": 200,
                "raw": json.dumps(body),
                "raw_encoding": "utf-8",
                "response_id": body["id"],
                "served_model": "fake-model-served",
                "system_fingerprint": "fp-1",
                "text": body["choices"][0]["message"]["content"],
                "usage": {"completion_tokens": 20, "prompt_tokens": 100, "reasoning_tokens": None},
            }
        ],
        "repeat": repeat,
        "request_hash": request.request_hash,
        "selected": 0,
    }
    row["sha256"] = hashlib.sha256(rfc8785.dumps(row)).hexdigest()
    return rfc8785.dumps(row).decode() + "\n"


def expected(project: Project, repeats: int = 1) -> str:
    requests = sorted(project.requests, key=lambda request: request.request_hash)
    return "".join(expected_line(request, repeat) for request in requests for repeat in range(repeats))


def gather(project: Project, patience: Patience = QUICK, offline: bool = False, repeats: int = 1) -> Tally:
    """The runner as the stage calls it, with short waits."""
    by_hash = {request.request_hash: request for request in project.requests}
    return collect(
        Wanted(tuple(by_hash), repeats, by_hash.__getitem__),
        Sources(project.root / "data/recorded", project.ledger, offline, (project.root,)),
        project.profile,
        project.responses,
        Terms(progress=lambda: PlainProgress(io.StringIO()), patience=patience),
    )


def test_a_run_asks_each_request_once_and_a_second_run_none(service: FakeOpenAI, project: Project) -> None:
    assert judge.run(project.root) == (
        "fake-model-served: 6 calls, $0.0007, estimated unknown\n"
        "judge: 6 answers (0 recorded, 0 from the ledger, 6 asked now), $0.0007 paid now "
        "-> data/responses/responses.jsonl"
    )
    assert project.responses.read_text("utf-8") == expected(project)
    assert service.asked == Counter(project.digests)
    project.responses.unlink()
    assert "(0 recorded, 6 from the ledger, 0 asked now), $0.0000 paid now" in judge.run(project.root)
    assert project.responses.read_text("utf-8") == expected(project)
    assert service.asked == Counter(project.digests)


def test_repeats_ask_the_same_request_again(service: FakeOpenAI, project: Project) -> None:
    judge.run(project.root)
    project.write_params(repeats=3)
    assert "6 from the ledger, 12 asked now" in judge.run(project.root)
    assert project.responses.read_text("utf-8") == expected(project, repeats=3)
    assert set(service.asked.values()) == {3}


def test_recorded_answers_need_neither_ledger_nor_service(
    service: FakeOpenAI, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.run(project.root)
    done = recorded.record(project.responses, project.root / "data/recorded", "fake")
    assert (done.added, done.total) == (6, 6)
    project.write_params(offline=True)
    monkeypatch.setenv("CTXEVAL_LEDGER", "/proc/nowhere/ledger.sqlite")
    assert "(6 recorded, 0 from the ledger, 0 asked now)" in judge.run(project.root)
    assert project.responses.read_text("utf-8") == expected(project)
    monkeypatch.delenv("CTXEVAL_LEDGER")
    monkeypatch.setenv("XDG_STATE_HOME", str(project.root / "home"))
    judge.run(project.root)
    assert not (project.root / "home").exists()


def test_a_relative_ledger_is_refused_even_if_it_is_not_needed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.run(project.root)
    recorded.record(project.responses, project.root / "data/recorded", "fake")
    done = project.run(CTXEVAL_LEDGER="ledger.sqlite")
    assert done.returncode == 1
    assert "must be an absolute path" in done.stderr
    assert "Traceback" not in done.stderr


def test_recorded_answers_come_before_the_ledger(project: Project) -> None:
    judge.run(project.root)
    answers = [answer for _, answer in read_answers(project.responses)]
    other = answers[0].model_copy(
        update={"attempts": [answers[0].attempts[0].model_copy(update={"text": "recorded elsewhere"})]}
    )
    write_answers(project.root / "data/recorded/other.jsonl", [other])
    assert "1 recorded, 5 from the ledger" in judge.run(project.root)
    assert [answer for _, answer in read_answers(project.responses)] == [other, *answers[1:]]


# What is missing.


@pytest.mark.parametrize("known", [0, 4])
def test_offline_with_answers_missing_says_how_many_and_what_to_do(
    service: FakeOpenAI, project: Project, known: int
) -> None:
    if known:
        everything = project.requests
        project.requests = everything[:known]
        gather(project)
        project.responses.unlink()
    project.write_params(offline=True)
    with pytest.raises(AnswersMissing) as caught:
        judge.run(project.root)
    message = str(caught.value)
    assert caught.value.exit_code == 3
    assert message.startswith(
        f"{6 - known} of 6 judge answers are missing (0 recorded, {known} in the ledger)"
    )
    for word in (
        "prompt set",
        "profile",
        "translations",
        "params.yaml",
        "data/recorded/",
        "judge.offline: false",
    ):
        assert word in message
    assert "\n" not in message
    assert not project.responses.exists()
    assert project.ledger.exists() == bool(known)
    assert service.asked.total() == known


def test_a_request_that_fails_leaves_the_others_alone(service: FakeOpenAI, project: Project) -> None:
    unlucky = project.requests[2].body

    def script(body: dict[str, Any], nth: int) -> Reply | Drop:
        return Reply(503, b"busy") if body == unlucky else answer(body, nth)

    service.script = script
    with pytest.raises(AnswersMissing) as caught:
        gather(project)
    assert str(caught.value) == (
        "1 requests brought no answer (1 x HTTP 503): 5 of 6 judge answers are there, 1 are missing; "
        "nothing answered is lost: run `dvc repro` to ask for the missing ones only"
    )
    assert not project.responses.exists()
    assert service.asked[project.digests[2]] == QUICK.tries
    service.script = answer
    gather(project)
    assert service.asked.total() == 5 + QUICK.tries + 1
    # The failed tries had responses, so they stay part of the answer.
    lines = {answer.request_hash: answer for _, answer in read_answers(project.responses)}
    mended = lines.pop(project.requests[2].request_hash)
    assert [attempt.http_status for attempt in mended.attempts] == [503, 503, 503, 200]
    assert mended.selected == 3
    assert {len(answer.attempts) for answer in lines.values()} == {1}


FAULTS: list[tuple[str, Callable[[dict[str, Any]], Reply | Drop], int]] = [
    ("429", lambda body: as_json({"error": "slow"}, 429), 1),
    ("500 page", lambda body: Reply(500, b"<html>", {"Content-Type": "text/html"}), 1),
    ("error in a 200", lambda body: as_json({"error": {"message": "down"}}), 1),
    ("cut JSON", lambda body: Reply(body=b'{"choices":'), 1),
    ("not UTF-8", lambda body: Reply(body=b"\xff\xfe"), 1),
    ("dropped", lambda body: Drop(), 0),
    ("cut body", lambda body: Reply(body=b'{"choices":[]}', cut=3), 0),
]


@pytest.mark.parametrize(("fault", "kept"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_one_fault_is_tried_again(
    service: FakeOpenAI, project: Project, fault: Callable[[Any], Reply | Drop], kept: int
) -> None:
    service.script = lambda body, nth: fault(body) if nth == 1 else answer(body, nth)
    tally = gather(project)
    assert tally.tries_without_answer == 6
    assert set(service.asked.values()) == {2}
    for _, line in read_answers(project.responses):
        assert (len(line.attempts), line.selected) == (kept + 1, kept)
        assert line.attempt.text is not None


@pytest.mark.parametrize(
    ("content", "finish"),
    [
        ("", "stop"),
        (None, "stop"),
        ("I'm sorry, I can't.", "stop"),
        ("Critic", "length"),
        (None, "content_filter"),
    ],
)
def test_whatever_a_judge_says_is_kept_and_not_asked_again(
    service: FakeOpenAI, project: Project, content: str | None, finish: str
) -> None:
    service.script = lambda body, nth: say(body, content, finish)
    gather(project)
    assert set(service.asked.values()) == {1}
    for _, line in read_answers(project.responses):
        assert (line.attempt.text, line.attempt.finish_reason) == (content, finish)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
def test_a_refusal_stops_the_run_at_once(service: FakeOpenAI, project: Project, status: int) -> None:
    project.write_profile(service.base_url, concurrency=1)
    service.script = lambda body, nth: as_json({"error": {"message": "no\nsuch luck"}}, status)
    with pytest.raises(BackendError) as caught:
        gather(project)
    assert f"HTTP {status}: no such luck; " in str(caught.value)
    assert service.asked.total() == 1
    assert not project.responses.exists()


def test_a_service_that_is_gone_ends_the_run_early(service: FakeOpenAI, tmp_path: Path) -> None:
    project = make_project(tmp_path, service.base_url, cells=60, concurrency=2)
    service.script = lambda body, nth: Reply(500)
    with pytest.raises(AnswersMissing, match=r"stopped after [89] failures in a row"):
        gather(project, Patience(tries=1))
    assert service.asked.total() < 12


def test_retry_after_is_honoured_by_all_calls(service: FakeOpenAI, project: Project) -> None:
    project.write_profile(service.base_url, concurrency=1)
    service.script = lambda body, nth: (
        Reply(429, b"{}", {"Retry-After": "1"}) if service.asked.total() == 1 else answer(body, nth)
    )
    gather(project)
    assert service.started[1] - service.started[0] >= 1.0
    assert service.started[-1] - service.started[1] < 3.0  # one pause, not one a call


def test_a_service_that_asks_for_too_long_a_wait_is_not_asked_again(
    service: FakeOpenAI, project: Project
) -> None:
    service.script = lambda body, nth: Reply(429, b"{}", {"Retry-After": "3600"})
    with pytest.raises(AnswersMissing, match="6 requests brought no answer"):
        gather(project)
    assert set(service.asked.values()) == {1}


def test_concurrency_and_rate_are_bounded(service: FakeOpenAI, project: Project) -> None:
    at_once, most = 0, 0

    def script(body: dict[str, Any], nth: int) -> Reply | Drop:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        time.sleep(0.05)
        at_once -= 1
        return answer(body, nth)

    service.script = script
    project.write_profile(service.base_url, concurrency=2)
    gather(project)
    assert most == 2
    project.write_profile(service.base_url, concurrency=8, requests_per_minute=600)
    service.started.clear()
    gather(project, repeats=2)
    assert service.started[-1] - service.started[0] >= 0.4  # six calls, one every 0.1 s


def test_requests_are_asked_in_the_order_of_their_prompts(service: FakeOpenAI, project: Project) -> None:
    project.write_profile(service.base_url, concurrency=1)
    seen: list[str] = []

    def script(body: dict[str, Any], nth: int) -> Reply | Drop:
        seen.append(body["messages"][-1]["content"])
        return answer(body, nth)

    service.script = script
    judge.run(project.root)
    assert len(seen) == len(project.requests)
    # A thread may overtake the one before it.
    assert all(abs(seen.index(prompt) - place) <= 1 for place, prompt in enumerate(sorted(seen)))


# Inputs that do not fit.


def test_stale_requests_are_refused(service: FakeOpenAI, project: Project) -> None:
    project.write_profile(service.base_url, {"temperature": 1})
    with pytest.raises(InputError, match=r"requests\.jsonl:1: .* run `dvc repro render`"):
        judge.run(project.root)
    project.write_profile(service.base_url)
    system = project.root / "data/judge-prompts/tiny/system.txt"
    system.write_text("Judge it well.\n", encoding="utf-8")
    with pytest.raises(InputError, match="run `dvc repro render`"):
        judge.run(project.root)
    assert service.asked.total() == 0


def test_missing_requests_are_named(project: Project) -> None:
    (project.root / "data/requests/requests.jsonl").unlink()
    with pytest.raises(InputError, match=r"requests\.jsonl: missing; run `dvc repro render`"):
        judge.run(project.root)


def test_a_damaged_recorded_answer_stops_the_run(service: FakeOpenAI, project: Project) -> None:
    path = project.root / "data/recorded/fake.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(expected(project).replace("no-error", "no-errors", 1), encoding="utf-8")
    with pytest.raises(RecordedAnswerError, match=rf"{path}:1: sha256: does not match"):
        judge.run(project.root)
    assert service.asked.total() == 0


def test_a_corrupt_ledger_is_one_line_and_stays_as_it_is(service: FakeOpenAI, project: Project) -> None:
    project.ledger.parent.mkdir()
    project.ledger.write_bytes(b"garbage" * 1000)
    done = project.run()
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "is damaged or no ledger" in done.stderr
    assert project.ledger.read_bytes() == b"garbage" * 1000
    assert service.asked.total() == 0


def test_a_full_disk_is_one_line_and_nothing_is_half_written(project: Project) -> None:
    judge.run(project.root)
    project.responses.unlink()
    done = project.run(CTXEVAL_TEST_FSIZE="1000")
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot write ")
    assert done.stderr.count("\n") == 1
    assert list(project.responses.parent.iterdir()) == []


def test_a_disk_that_fills_up_while_asking_keeps_what_is_stored(service: FakeOpenAI, tmp_path: Path) -> None:
    project = make_project(tmp_path, service.base_url, cells=200)
    with Ledger(project.ledger):
        pass
    done = project.run(CTXEVAL_TEST_FSIZE="300000")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: cannot write or open the ledger ")
    assert "Traceback" not in done.stderr
    assert not project.responses.exists()
    asked, kept = service.asked.total(), len(stored(project))
    assert 0 < kept < 200
    assert asked - kept <= 4 + 1  # what was under way, at most one a thread
    assert project.run().returncode == 0
    assert service.asked.total() == asked + 200 - kept
    assert project.responses.read_text("utf-8") == expected(project)


# Recording.


def test_record_merges_and_a_second_time_changes_nothing(project: Project) -> None:
    folder = project.root / "data/recorded"
    everything = project.requests
    project.requests = everything[:2]
    gather(project)
    assert recorded.record(project.responses, folder, "fake").added == 2
    project.requests = everything[1:]
    gather(project)
    done = recorded.record(project.responses, folder, "fake")
    assert (done.added, done.total, done.path) == (4, 6, folder / "fake.jsonl")
    project.requests = everything
    assert done.path.read_text("utf-8") == expected(project)
    before = done.path.stat()
    assert recorded.record(project.responses, folder, "fake").added == 0
    assert done.path.stat() == before


def test_record_refuses_another_answer_to_a_recorded_request(project: Project) -> None:
    folder = project.root / "data/recorded"
    gather(project)
    [first, *_] = [answer for _, answer in read_answers(project.responses)]
    other = first.model_copy(update={"attempts": [first.attempts[0].model_copy(update={"text": "other"})]})
    write_answers(folder / "elsewhere.jsonl", [other])
    with pytest.raises(RecordedAnswerError, match=r"responses\.jsonl:1: another answer .* are final"):
        recorded.record(project.responses, folder, "fake")
    assert not (folder / "fake.jsonl").exists()


def test_the_record_command(project: Project) -> None:
    judge.run(project.root)
    done = project.run("record")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "record: 6 answers added, 6 in data/recorded/fake.jsonl; commit it with git\n"
    project.responses.unlink()
    done = project.run("record")
    assert done.returncode == 1
    assert "run `dvc repro judge` first" in done.stderr


# The same bytes, wherever the answers come from and however they arrive.


@settings(max_examples=15, deadline=None)
@given(
    sources=st.lists(st.sampled_from(["recorded", "ledger", "live"]), min_size=12, max_size=12),
    threads=st.integers(1, 8),
    seed=st.integers(0, 2**16),
)
def test_the_projection_depends_on_the_answers_only(sources: list[str], threads: int, seed: int) -> None:
    chance = random.Random(seed)

    def script(body: dict[str, Any], nth: int) -> Reply | Drop:
        reply = answer(body, nth)
        assert isinstance(reply, Reply)
        return replace(reply, delay=chance.random() * 0.02)

    with FakeOpenAI(script) as service, tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), service.base_url, concurrency=threads)
        keys = [(request, repeat) for request in project.requests for repeat in range(2)]
        lines: dict[str, list[tuple[JudgeRequest, Answer]]] = {"recorded": [], "ledger": [], "live": []}
        for source, (request, repeat) in zip(sources, keys, strict=True):
            line = expected_line(request, repeat)
            lines[source].append((request, Answer.model_validate(_without_seal(line))))
        chance.shuffle(lines["recorded"])
        for name in ("b", "a"):  # in two files, some in both, in no order
            path = project.root / f"data/recorded/{name}.jsonl"
            path.parent.mkdir(exist_ok=True)
            some = [a for _, a in lines["recorded"] if name == "b" or chance.random() < 0.5]
            path.write_text("".join(a.line() for a in some), encoding="utf-8")
        if lines["ledger"]:
            with Ledger(project.ledger) as ledger:
                for request, stored in lines["ledger"]:
                    begun = ledger.begin(request, stored.key, "openai-compatible", 60)
                    assert isinstance(begun, Intent)
                    ledger.finish(begun, "answer", attempt=stored.attempt)
        tally = gather(project, repeats=2)
        counts = Counter(sources)
        assert (tally.recorded, tally.ledger, tally.live) == tuple(
            counts[source] for source in ("recorded", "ledger", "live")
        )
        assert service.asked.total() == counts["live"]
        assert project.responses.read_text("utf-8") == expected(project, repeats=2)


def _without_seal(line: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(line)
    del row["sha256"]
    return row


# Interrupted anywhere.


def stored(project: Project) -> set[Key]:
    """The keys that have an answer in the ledger."""
    if not project.ledger.exists():
        return set()
    with contextlib.closing(sqlite3.connect(project.ledger)) as database:
        try:
            return set(database.execute("SELECT request_hash, repeat FROM selections"))
        except sqlite3.OperationalError:  # killed before the tables were made
            return set()


def slow_answers(low: float, high: float) -> Script:
    chance = random.Random(7)

    def script(body: dict[str, Any], nth: int) -> Reply | Drop:
        reply = answer(body, nth)
        assert isinstance(reply, Reply)
        return replace(reply, delay=chance.uniform(low, high))

    return script


@pytest.mark.parametrize("rounds", [5, pytest.param(60, marks=pytest.mark.long)])
def test_a_run_killed_anywhere_asks_only_for_what_is_missing(
    service: FakeOpenAI, tmp_path: Path, rounds: int
) -> None:
    project = make_project(tmp_path, service.base_url, cells=12 * rounds, concurrency=4, timeout_seconds=600)
    service.script = slow_answers(0.02, 0.1)
    digest_of = {r.request_hash: d for r, d in zip(project.requests, project.digests, strict=True)}
    chance = random.Random(11)
    under_way = Counter[str]()
    for number in range(rounds):
        before, seen = service.asked.copy(), service.asked.total()
        known = stored(project)
        process = project.start()
        if number % 2 == 0:  # while it asks, else anywhere from its start on
            _wait_until(lambda: service.asked.total() > seen)  # noqa: B023
        time.sleep(chance.uniform(0.0, 0.6))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        time.sleep(0.15)  # the service ends what it was at
        new = service.asked - before
        for request_hash, _ in known:
            assert new[digest_of[request_hash]] == 0, "an answered request was asked again"
        # What was asked and not stored was under way when the process died: at most one a thread, of
        # which there is one more than calls at once.
        lost = new - Counter(digest_of[request_hash] for request_hash, _ in stored(project) - known)
        assert lost.total() <= 4 + 1
        under_way += lost
    assert stored(project), "the kills came before anything was answered; this test shows nothing"
    began = time.monotonic()
    done = project.run()
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 60, "the leases of killed processes are not waited for"
    assert project.responses.read_text("utf-8") == expected(project)
    assert service.asked == Counter(project.digests) + under_way


def test_two_processes_on_one_ledger_ask_each_request_once(service: FakeOpenAI, tmp_path: Path) -> None:
    project = make_project(tmp_path, service.base_url, cells=40, concurrency=4)
    service.script = slow_answers(0.02, 0.08)
    shutil.copytree(project.root, tmp_path / "copy")
    copy = Project(tmp_path / "copy", project.requests)
    processes = [project.start(), copy.start(), project.start()]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outputs
    assert service.asked == Counter(project.digests)
    assert project.responses.read_text("utf-8") == copy.responses.read_text("utf-8") == expected(project)
    asked_now = [int(out.split(" asked now")[0].rsplit(" ", 1)[1]) for out, _ in outputs]
    assert sum(asked_now) == 40


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_after_what_is_under_way(
    service: FakeOpenAI, tmp_path: Path, number: signal.Signals
) -> None:
    project = make_project(tmp_path, service.base_url, cells=40, concurrency=2)
    service.script = slow_answers(0.2, 0.2)
    process = project.start()
    _wait_until(lambda: service.asked.total() >= 4)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    asked = service.asked.total()
    assert process.returncode == 3
    assert asked < 10
    assert err.splitlines()[-1] == (
        f"error: interrupted: {asked} of 40 judge answers are there, {40 - asked} are missing; "
        "nothing answered is lost: run `dvc repro` to ask for the missing ones only"
    )
    assert len(stored(project)) == asked
    assert not project.responses.exists()
    service.script = answer
    assert project.run().returncode == 0
    assert service.asked == Counter(project.digests)


def test_a_second_signal_does_not_wait(service: FakeOpenAI, tmp_path: Path) -> None:
    project = make_project(tmp_path, service.base_url, cells=4, concurrency=2, timeout_seconds=60)
    service.script = slow_answers(8, 8)
    process = project.start()
    _wait_until(lambda: service.asked.total() >= 2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 5
    assert process.returncode == 3
    assert "interrupted: 0 of 4" in err
    assert "Traceback" not in err
    with contextlib.closing(sqlite3.connect(project.ledger)) as database:
        assert database.execute("SELECT kind, count(*) FROM outcomes GROUP BY kind").fetchall() == [
            ("uncertain", 2)
        ]


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# Keys.


def test_a_key_is_sent_and_shows_nowhere_else(service: FakeOpenAI, project: Project) -> None:
    key = 'sk-4f1e/never"shown'
    project.write_profile(service.base_url, api_key_env="CTXEVAL_TEST_KEY")

    def script(body: dict[str, Any], nth: int) -> Reply | Drop:
        if nth == 1:
            return as_json({"error": {"message": f"overloaded, {key}"}}, 500)
        return say(body, f"your key is {key}")

    service.script = script
    done = project.run(CTXEVAL_TEST_KEY=key)
    assert done.returncode == 0, done.stderr
    assert set(service.authorizations) == {f"Bearer {key}"}
    service.script = lambda body, nth: as_json({"error": {"message": f"bad key {key}"}}, 401)
    project.write_params(repeats=2)
    refused = project.run(CTXEVAL_TEST_KEY=key)
    assert refused.returncode == 1
    assert "check the key in CTXEVAL_TEST_KEY" in refused.stderr
    shown = (done.stdout + done.stderr + refused.stdout + refused.stderr).encode()
    for path in [*project.root.rglob("*"), *project.ledger.parent.rglob("*")]:
        shown += path.read_bytes() if path.is_file() else b""
    with contextlib.closing(sqlite3.connect(project.ledger)) as database:
        import zlib

        for (raw,) in database.execute("SELECT raw FROM outcomes WHERE raw IS NOT NULL"):
            shown += zlib.decompress(raw)
        shown += "\n".join(database.iterdump()).encode()
    assert b"sk-4f1e" not in shown
    assert b"[redacted]" in shown


@pytest.mark.parametrize("beside", ["project", "ledger"])
def test_a_key_may_stand_in_a_env_file(service: FakeOpenAI, project: Project, beside: str) -> None:
    project.write_profile(service.base_url, api_key_env="CTXEVAL_TEST_KEY")
    done = project.run()
    assert done.returncode == 1
    assert "CTXEVAL_TEST_KEY is not set" in done.stderr
    folder = project.root if beside == "project" else project.ledger.parent
    folder.mkdir(exist_ok=True)
    (folder / ".env").write_text("CTXEVAL_TEST_KEY=abc\n", encoding="utf-8")
    assert project.run().returncode == 0
    assert set(service.authorizations) == {"Bearer abc"}
    # When there is nothing to ask, no key is needed.
    (folder / ".env").unlink()
    assert project.run().returncode == 0


def test_the_command_line_starts_without_heavy_libraries(project: Project) -> None:
    done = project.run("--help", PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "pipeline.cli" in imported
    assert not imported & {"requests", "rich", "sqlite3", "duckdb", "pydantic", "pipeline.judges"}
