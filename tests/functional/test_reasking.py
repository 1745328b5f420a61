"""Answers that strict reading refuses are asked for again: bounded, in the books, and across any death."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fake_openai import Drop, FakeOpenAI, Reply, answer, as_json, completion, say
from judge_project import Project, make_project

from pipeline.answers import Answer, read_answers
from pipeline.canonical import sha256_hex
from pipeline.errors import AnswersMissing, ConfigError
from pipeline.stages import judge

PRICES = (
    "prices:\n- {model: fake-model, input_usd: '1.00', output_usd: '2.00', checked: provider, "
    "source: test, date: '2026-11-30'}\n"
)


@pytest.fixture
def service() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def project(service: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = make_project(tmp_path, service.base_url, concurrency=2)
    monkeypatch.setenv("CTXEVAL_LEDGER", str(made.ledger))
    return made


def answers(project: Project) -> list[Answer]:
    return [found for _, found in read_answers(project.responses)]


def test_a_refused_answer_is_asked_for_again_and_kept(service: FakeOpenAI, project: Project) -> None:
    service.script = lambda body, nth: say(body, f"refused {nth}") if nth < 3 else answer(body, nth)
    *account, last = judge.run(project.root).splitlines()
    assert account == [
        "fake-model-served: 18 calls, $0.0022, estimated unknown",
        "asked again 12 times for $0.0014; 0 answers stayed refused",
    ]
    assert "6 asked now" in last
    for found in answers(project):
        assert found.selected == 2
        assert [attempt.text for attempt in found.attempts[:2]] == ["refused 1", "refused 2"]
        assert found.rounds == [1, 2, 3]
    project.responses.unlink()
    judge.run(project.root)
    assert service.asked.total() == 18


# What the judge says, how often it is asked.
REFUSED: dict[str, tuple[Any, int]] = {
    "something else each time": (lambda body, nth: say(body, f"refused {nth}"), 3),
    "the same each time": (lambda body, nth: say(body, "refused"), 2),
    "nothing": (lambda body, nth: say(body, None), 3),
    "cut": (lambda body, nth: say(body, f"Critical:\nno-error {nth}", finish_reason="length"), 3),
    "filtered": (lambda body, nth: say(body, None, finish_reason="content_filter"), 3),
}


@pytest.mark.parametrize(("script", "asked"), REFUSED.values(), ids=REFUSED.keys())
def test_the_last_refused_answer_settles(
    service: FakeOpenAI, project: Project, script: Any, asked: int
) -> None:
    service.script = script
    assert "6 answers stayed refused" in judge.run(project.root)
    assert set(service.asked.values()) == {asked}
    assert {(found.selected, len(found.attempts)) for found in answers(project)} == {(asked - 1, asked)}


def test_an_error_in_http_200_is_no_round(service: FakeOpenAI, project: Project) -> None:
    project.write_profile(service.base_url, max_tries=2)
    service.script = lambda body, nth: (
        as_json({"error": {"message": "busy"}}) if nth == 2 else say(body, f"refused {nth}")
    )
    project.write_params(max_rounds=2)
    judge.run(project.root)
    assert set(service.asked.values()) == {3}
    assert {tuple(found.rounds) for found in answers(project)} == {(1, None, 2)}


def test_fewer_rounds_allowed_later_settle_without_a_call(service: FakeOpenAI, project: Project) -> None:
    def script(body: dict[str, Any], nth: int) -> Reply | Drop:
        return say(body, f"refused {nth}") if nth < 3 else as_json({"error": {"message": "x"}}, 401)

    service.script = script
    with pytest.raises(Exception, match="401"):
        judge.run(project.root)
    asked = service.asked.copy()
    twice = [digest for digest, count in asked.items() if count >= 2]
    assert twice
    project.write_params(max_rounds=2)
    service.script = lambda body, nth: say(body, f"refused {nth}")
    judge.run(project.root)
    assert all(service.asked[digest] == asked[digest] for digest in twice)


def test_the_budget_stops_before_it_is_passed(service: FakeOpenAI, project: Project) -> None:
    prices = project.root / "data/judge-prices.yaml"
    project.write_params(budget_usd=0.001)
    with pytest.raises(ConfigError, match="price of 'fake-model' is not known"):
        judge.run(project.root)
    assert not service.asked
    prices.write_text(PRICES, encoding="utf-8")
    # The service charges 0.000123 a call; a call may cost up to about 0.00017 by the table.
    with pytest.raises(AnswersMissing, match=r"judge.budget_usd of \$0.0004 could be passed"):
        project.write_params(budget_usd=0.0004)
        judge.run(project.root)
    assert 1 <= service.asked.total() <= 3
    asked = service.asked.total()
    with pytest.raises(AnswersMissing):  # what was spent before counts
        judge.run(project.root)
    assert service.asked.total() == asked
    project.write_params(budget_usd=1.0)
    assert "fake-model-served: " in judge.run(project.root)
    assert set(service.asked.values()) == {1}


def test_the_time_of_a_run_ends(service: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(tmp_path, service.base_url, cells=50, concurrency=1, run_timeout_seconds=1.0)
    monkeypatch.setenv("CTXEVAL_LEDGER", str(project.ledger))

    def script(body: dict[str, Any], nth: int) -> Reply:
        time.sleep(0.1)
        return as_json(completion(body))

    service.script = script
    began = time.monotonic()
    with pytest.raises(AnswersMissing, match="the run's time is over"):
        judge.run(project.root)
    assert time.monotonic() - began < 5
    assert 0 < service.asked.total() < 50


def test_every_call_is_logged(service: FakeOpenAI, project: Project, tmp_path: Path) -> None:
    service.script = lambda body, nth: say(body, "refused 1") if nth == 1 else answer(body, nth)
    log = tmp_path / "events.jsonl"
    done = project.run("judge", "-v", "--log", str(log))
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert Counter(event["event"] for event in events) == {
        "run begins": 1,
        "asked": 12,
        "refused": 6,
        "answered": 6,
        "run ends": 1,
    }
    assert {event["request"] for event in events if event["event"] == "asked"} == {
        request.request_hash for request in project.requests
    }
    assert len(done.stderr.splitlines()) >= len(events)
    done = project.run("judge", "--detach")  # all there: nothing to leave behind
    assert done.returncode == 0
    project.write_params(repeats=2)
    done = project.run("judge", "--detach")
    assert done.returncode == 1
    assert "nothing to leave behind" in done.stderr


def rounds_stored(project: Project) -> Counter[str]:
    """How many answers the ledger has to each request."""
    if not project.ledger.exists():
        return Counter()
    with closing(sqlite3.connect(project.ledger)) as database:
        try:
            found = database.execute(
                "SELECT request_hash FROM intents JOIN outcomes USING (intent) WHERE kind = 'answer'"
            )
            return Counter(row[0] for row in found)
        except sqlite3.OperationalError:  # killed before the tables were made
            return Counter()


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.long)])
def test_rounds_survive_kills(service: FakeOpenAI, tmp_path: Path, kills: int) -> None:
    threads = 4 + 1  # one more than calls at once, to store answers
    project = make_project(tmp_path, service.base_url, cells=8 * kills, concurrency=4, timeout_seconds=600)
    hash_of = {sha256_hex(request.body_bytes): request.request_hash for request in project.requests}
    chance = random.Random(23)

    def by_request(asked: Counter[str]) -> Counter[str]:
        # A process that dies while it sends leaves half a request, which nobody answers.
        return Counter({hash_of[digest]: count for digest, count in asked.items() if digest in hash_of})

    def script(body: dict[str, Any], nth: int) -> Reply | Drop:
        time.sleep(chance.uniform(0.0, 0.04))
        # About half of the requests are refused to the end, each time in other words.
        even = int(sha256_hex(json.dumps(body).encode())[0], 16) % 2 == 0
        return say(body, f"refused {nth}") if even else answer(body, nth)

    service.script = script
    lost = Counter[str]()
    for _ in range(kills):
        asked, stored = service.asked.copy(), rounds_stored(project)
        process = project.start()
        deadline = time.monotonic() + 20
        while service.asked == asked and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.25))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        time.sleep(0.1)  # the service ends what it was at
        new = by_request(service.asked - asked)
        unstored = new - (rounds_stored(project) - stored)
        assert unstored.total() <= threads, "more was lost than was under way"
        lost += unstored
    done = project.run()
    assert done.returncode == 0, done.stderr
    stored = rounds_stored(project)
    assert by_request(service.asked) == stored + lost
    # Asked for as often as it takes and not once more, over all processes.
    for found in answers(project):
        text = found.attempt.text or ""
        assert stored[found.request_hash] == len(found.attempts) == (3 if "refused" in text else 1)
    assert set(stored.values()) == {1, 3}
