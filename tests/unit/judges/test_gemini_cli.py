"""The Gemini CLI backend: what is run, what its output is read as, and that nothing is left running."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judge_samples import a_cli_profile

from pipeline.answers import Attempt
from pipeline.judges.base import CallFailed, GiveUp, RetryLater, Uncertain
from pipeline.judges.child import Children, Ended, Stopped, TooLong
from pipeline.judges.cli_prompt import render_prompt
from pipeline.judges.cli_wire import read_run
from pipeline.judges.gemini_cli import LONGEST_ARGUMENT, GeminiCli
from pipeline.judges.secrets import Secret
from pipeline.requests import JudgeRequest

FAKE = Path(__file__).parents[2] / "support/fake_gemini_cli.py"
KEY = "AIza-never/shown"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in is the command on PATH; the file gets a line a run."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gemini").symlink_to(FAKE)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_GEMINI_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def send(prompt: str = "Judge it.", model: str = "gemini-x", **transport: Any) -> Attempt:
    profile = a_cli_profile(model, **transport)
    with contextlib.closing(GeminiCli(profile, lambda name: Secret(KEY))) as backend:
        return backend.send(JudgeRequest("gemini-cli", None, {"model": model, "prompt": prompt}))


MESSAGES = [
    {"role": "system", "content": "Judge it."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "fine"},
    {"role": "user", "content": "two"},
]


def test_the_prompt_holds_all_messages_in_order() -> None:
    assert GeminiCli.body(a_cli_profile(), MESSAGES, 7) == {
        "model": "gemini-x",
        "prompt": "# Instructions\n\nJudge it.\n\n"
        "Worked examples come first: what is asked, and the answer wanted.\n\n"
        "# Example 1: asked\n\none\n\n# Example 1: answer\n\nfine\n\n"
        "# Task\n\nNow answer what follows in the form of the examples. Give the answer alone: "
        "no introduction, no tools, no files.\n\ntwo",
    }


def test_a_prompt_without_examples_and_no_slash_before_it() -> None:
    prompt = render_prompt([{"role": "user", "content": "/quit"}])
    assert prompt.startswith("# Instructions\n\n# Task\n\nGive the answer alone")
    assert prompt.endswith("\n\n/quit")


def test_an_answer(log: Path) -> None:
    attempt = send()
    assert attempt.text is not None
    assert attempt.text.endswith("contextBehavior: used_correctly")
    assert (attempt.http_status, attempt.served_model, attempt.finish_reason) == (200, "gemini-x", None)
    assert attempt.usage is not None
    assert attempt.usage.model_dump() == {
        "prompt_tokens": 100,
        "completion_tokens": 27,
        "reasoning_tokens": 7,
    }
    raw = json.loads(attempt.raw)
    assert (raw["cli_version"], raw["exit_code"]) == ("0.57.0", 0)
    assert json.loads(raw["stdout"])["response"] == attempt.text
    assert "stderr" not in raw


@pytest.mark.parametrize(
    "prompt",
    ["$(touch gone); `id` \"'\\ | > x", "--help", "-p", "한국어 🎉", "x" * (LONGEST_ARGUMENT + 1), "a\0b"],
    ids=["shell words", "an option", "a short option", "unicode", "longer than an argument", "NUL"],
)
def test_any_prompt_arrives_as_it_is(log: Path, prompt: str) -> None:
    import hashlib

    assert send(f"Judge: {prompt}").text is not None
    digest = hashlib.sha256(f"Judge: {prompt}".encode()).hexdigest()
    assert log.read_text("utf-8").splitlines() == [f"asked {digest}", f"answered {digest}"]


def test_a_prompt_too_long_for_any_way() -> None:
    with pytest.raises(GiveUp, match="a prompt of 8000001 bytes"):
        send("x" * 8_000_001)


def test_it_runs_in_an_empty_folder_without_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "gemini"
    command.write_text(
        '#!/bin/sh\nprintf \'{"response": "%s %s"}\' "$(ls -A | wc -l)" "$(wc -c)"\n', encoding="utf-8"
    )
    command.chmod(0o755)
    assert send(command=str(command)).text == "0 0"


FAULTS: list[tuple[str, type[CallFailed], str, int | None]] = [
    ("exit 1", RetryLater, "exit code 1: An unexpected critical error", 500),
    ("exit 41", GiveUp, "Please set an Auth method; check its login: run it once by hand", 401),
    ("exit 42", GiveUp, "No input provided; check request.model", 400),
    ("exit 52", GiveUp, "mend the command's settings.json", 400),
    ("exit 55", GiveUp, "does not take --skip-trust", 403),
    ("exit 148", GiveUp, "check request.model 'gemini-x'", 404),
    ("exit 173", RetryLater, "the quota may be used up", 429),
    ("exit 247", RetryLater, "overloaded", 503),
    ("empty stdout", RetryLater, "exit code 0 with nothing printed: Loaded cached credentials.", 200),
    ("truncated JSON", RetryLater, "output that is not JSON", 200),
    ("error inside exit 0", RetryLater, "exit code 0 with an error: it broke", 200),
    ("changed model", RetryLater, "answered by gemini-other-flash, not by gemini-x", 200),
    ("killed", Uncertain, "stopped by a signal", 500),
]


@pytest.mark.parametrize(("fault", "error", "said", "status"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults(
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    error: type[CallFailed],
    said: str,
    status: int | None,
) -> None:
    monkeypatch.setenv("FAKE_GEMINI_FAULT", fault)
    with pytest.raises(error) as caught:
        send()
    assert said in caught.value.problem
    assert "\n" not in caught.value.problem
    assert caught.value.attempt is not None
    assert caught.value.attempt.http_status == status
    assert caught.value.attempt.text is None


@pytest.mark.parametrize("fault", ["log lines", "empty response", "a child stays"])
def test_odd_answers(log: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setenv("FAKE_GEMINI_FAULT", fault)
    began = time.monotonic()
    assert (send().text == "") == (fault == "empty response")
    assert time.monotonic() - began < 10
    assert not any(alive(pid) for pid in children(log))


@pytest.mark.parametrize("fault", ["hang", "hang with a child"])
def test_a_hang_is_stopped_with_all_it_started(
    log: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setenv("FAKE_GEMINI_FAULT", fault)
    began = time.monotonic()
    with pytest.raises(Uncertain, match="did not end within 1 s"):
        send(timeout_seconds=1)
    assert time.monotonic() - began < 10
    assert len(children(log)) == (fault == "hang with a child")
    assert not any(alive(pid) for pid in children(log))


def children(log: Path) -> list[int]:
    return [int(line.split()[1]) for line in log.read_text("utf-8").splitlines() if line.startswith("child")]


def alive(pid: int) -> bool:
    for _ in range(50):  # init has to collect it first
        try:
            state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_no_command() -> None:
    with pytest.raises(GiveUp, match="there is no command no-such-gemini; install it"):
        send(command="no-such-gemini")


def test_a_command_that_may_not_be_run(tmp_path: Path) -> None:
    (tmp_path / "gemini").write_text("", encoding="utf-8")
    with pytest.raises(GiveUp, match="cannot be run"):
        send(command=str(tmp_path / "gemini"))


def test_the_key_is_handed_over_and_shown_nowhere(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GEMINI_KEY", KEY)
    assert send(api_key_env="GEMINI_API_KEY").text is not None
    with pytest.raises(GiveUp, match="check its login"):
        send()
    monkeypatch.setenv("FAKE_GEMINI_KEY", "another")
    with pytest.raises(GiveUp, match=r"not valid: \[redacted\]; check the key in GEMINI_API_KEY") as caught:
        send(api_key_env="GEMINI_API_KEY")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)  # one the profile does not name
    with pytest.raises(GiveUp) as unnamed:
        send()
    for error in (caught.value, unnamed.value):
        assert KEY not in repr(error) + repr(error.attempt)


@pytest.mark.parametrize(
    ("served", "fits"),
    [
        ("gemini-x", True),
        ("gemini-x-001", True),
        ("gemini-x-2026-11", True),
        ("gemini-x-lite", False),
        ("gemini-x2", False),
        ("gemini", False),
    ],
)
def test_served_models(served: str, fits: bool) -> None:
    stats = {"models": {served: {"tokens": {"candidates": 3}}, "a-router": {"tokens": {"candidates": 1}}}}
    printed = json.dumps({"response": "x", "stats": stats}).encode()
    attempt, problem = read_run("gemini-cli", "gemini-x", Ended(0, printed, b""), None)
    assert attempt.served_model == served
    assert (problem is None) == fits


@pytest.mark.parametrize("stats", [None, [], {"models": []}, {"models": {}}, {"models": {"gemini-x": 1}}])
def test_stats_that_say_nothing(stats: Any) -> None:
    printed = json.dumps({"response": "x", "stats": stats}).encode()
    assert read_run("gemini-cli", "gemini-x", Ended(0, printed, b""), None)[1] is None


@pytest.fixture
def commands() -> Iterator[Children]:
    running = Children(most_bytes=1 << 20)
    yield running
    running.close()


def test_output_without_end_is_cut_off(commands: Children, tmp_path: Path) -> None:
    with pytest.raises(TooLong):
        commands.run([shutil.which("yes") or "yes"], 30, tmp_path, {})


def test_closing_ends_what_is_under_way(commands: Children, tmp_path: Path) -> None:
    caught: list[BaseException] = []

    def work() -> None:
        try:
            commands.run(["/bin/sleep", "60"], 60, tmp_path, {})
        except BaseException as error:
            caught.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    commands.close()
    for thread in threads:
        thread.join(5)
    assert [type(error) for error in caught] == [Stopped] * 4
    with pytest.raises(Stopped):
        commands.run(["/bin/true"], 60, tmp_path, {})
