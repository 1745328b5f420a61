"""Every fault of the network or the service, befalling each backend of live calls, in a whole run.

Whatever happens, a run ends with every request answered, or named as missing (exit 3), or with the one
line that says why nothing can succeed (exit 1). Nothing that was answered is asked again, and a service
that took a request is not given it again unless its answer was lost on the way.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_openai import Drop, FakeOpenAI, Reply, Script, as_json, completion
from fake_openai import answer as chat_answer
from fake_vertex import FakeVertex, candidate, generation
from fake_vertex import answer as vertex_answer
from faults import FAULTS, once
from judge_project import PROMPT_SET, Project, make_project

from pipeline.canonical import sha256_hex
from pipeline.judges.vertex_wire import sent_bytes

KEY = "sk-4f1e.never/shown"
PROJECT = {"GOOGLE_CLOUD_PROJECT": "some-project", "VERTEX_ACCESS_TOKEN": KEY, "SOME_KEY": KEY}
FAKE_CLI = Path(__file__).parents[1] / "support/fake_gemini_cli.py"
CELLS = 3
UNLUCKY = "number 1"
QUICK = {"max_tries": 2, "timeout_seconds": 2, "concurrency": 2}

# What becomes of the first try of a request, by fault: tried again, kept as what the judge said (and
# read, or asked again by the judge's settings), or a reason to stop.
RETRIED = [
    "429",
    "429 with Retry-After",
    "500",
    "HTML 502",
    "truncated JSON",
    "empty body",
    "error inside HTTP 200",
]
LOST = ["reset before the answer", "cut body", "time-out"]  # the service may have done the work
FINE = ["white space before JSON"]
FATAL = {
    "400": "correct the judge profile",
    "401": ("check the key in SOME_KEY", "log in again"),
    "402": ("top it up", "check its billing"),
    "403": ("SOME_KEY", "the role Vertex AI User"),
    "404": "model",
    "413": "correct the judge profile",
}
SAID: dict[str, dict[str, tuple[Any, str | None]]] = {
    "openai-compatible": {
        "null content": ({"content": None}, "stop"),
        "length stop": ({"content": "Critic"}, "length"),
        "safety stop": ({"content": None}, "content_filter"),
    },
    "vertex": {
        "null content": (candidate(), "STOP"),
        "length stop": (candidate({"text": "Critic"}, finish="MAX_TOKENS"), "MAX_TOKENS"),
        "safety stop": (candidate(finish="SAFETY"), "SAFETY"),
        "blocked prompt": (None, "content_filter"),
    },
}
CLI_RETRIED = ["exit 1", "exit 173", "exit 247", "empty stdout", "truncated JSON", "error inside exit 0"]
CLI_RETRIED += ["changed model"]
CLI_LOST = ["hang", "hang with a child", "killed"]
CLI_FINE = ["log lines", "a child stays"]
CLI_FATAL = {
    "exit 41": "check the key in GEMINI_API_KEY",
    "exit 42": "check request.model",
    "exit 52": "settings.json",
    "exit 55": "--skip-trust",
    "exit 148": "check request.model 'fake-model'",
}


@dataclass
class Bench:
    """A project whose judge is a fake HTTP service."""

    backend: str
    service: FakeOpenAI
    project: Project

    @property
    def script(self) -> Script:
        return vertex_answer if self.backend == "vertex" else chat_answer

    def digest(self, number: int) -> str:
        request = self.project.requests[number]
        return sha256_hex(sent_bytes(request) if self.backend == "vertex" else request.body_bytes)

    def befall(self, script: Script) -> None:
        """Let ``script`` answer the unlucky request, the service's own all others."""
        own = self.script

        def choose(body: dict[str, Any], nth: int) -> Reply | Drop:
            return (script if UNLUCKY in str(body) else own)(body, nth)

        self.service.script = choose

    def run(self) -> tuple[int, str]:
        """Run the judge stage: its exit code, and its last line."""
        done = self.project.run(**PROJECT)
        assert "Traceback" not in done.stderr
        return done.returncode, (done.stderr or done.stdout).strip().splitlines()[-1]


@pytest.fixture(params=["openai-compatible", "vertex"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with (FakeVertex if request.param == "vertex" else FakeOpenAI)() as service:
        yield make_bench(request.param, service, tmp_path)


def make_bench(backend: str, service: FakeOpenAI, folder: Path, **transport: Any) -> Bench:
    transport = {"base_url": service.base_url, **QUICK, **transport}
    if backend == "vertex":
        extra, transport = {"response_schema": False}, {"credentials": "token", **transport}
    else:
        extra, transport = {}, {"api_key_env": "SOME_KEY", **transport}
    profile = {
        "backend": backend,
        "prompt_set": PROMPT_SET,
        "request": {"service": "fake", "model": "fake-model", "max_tokens": 64, **extra},
        "transport": transport,
    }
    return Bench(backend, service, make_project(folder, "", CELLS, profile))


def answered(project: Project) -> int:
    with contextlib.closing(sqlite3.connect(project.ledger)) as database:
        return int(database.execute("SELECT count(*) FROM selections").fetchone()[0])


def assert_all_answered_once(bench: Bench, unlucky_tries: int) -> None:
    assert bench.project.responses.read_text("utf-8").count("\n") == CELLS
    expected = {bench.digest(number): 1 for number in range(CELLS)} | {bench.digest(1): unlucky_tries}
    assert bench.service.asked == Counter(expected)


@pytest.mark.parametrize("fault", [*RETRIED, *LOST, *FINE])
def test_a_fault_that_passes(bench: Bench, fault: str) -> None:
    bench.befall(once(FAULTS[fault], bench.script))
    assert bench.run()[0] == 0
    assert_all_answered_once(bench, 1 if fault in FINE else 2)


@pytest.mark.parametrize("fault", [*RETRIED, *LOST])
def test_a_fault_that_stays_is_named_and_mended_later(bench: Bench, fault: str) -> None:
    bench.befall(lambda body, nth: FAULTS[fault](_reply(bench.script(body, nth))))
    code, said = bench.run()
    assert code == 3
    assert f"1 requests brought no answer (1 x {_words(fault)}" in said
    assert "2 of 3 judge answers are there, 1 are missing" in said
    assert not bench.project.responses.exists()
    assert answered(bench.project) == 2
    bench.service.script = bench.script
    assert bench.run()[0] == 0
    assert_all_answered_once(bench, QUICK["max_tries"] + 1)


def _reply(reply: Reply | Drop) -> Reply:
    assert isinstance(reply, Reply)
    return reply


def _words(fault: str) -> str:
    if fault == "time-out":
        return "no answer within 2 s"
    if fault in LOST:
        return "the connection broke"
    return {"HTML 502": "HTTP 502", "429 with Retry-After": "HTTP 429"}.get(
        fault, f"HTTP {fault}" if fault.isdigit() else "HTTP 200 with"
    )


@pytest.mark.parametrize("fault", FATAL)
def test_a_refusal_stops_the_run_with_its_cure(bench: Bench, fault: str) -> None:
    bench.befall(once(FAULTS[fault], bench.script))
    code, said = bench.run()
    assert code == 1
    cures = FATAL[fault]
    cure = cures if isinstance(cures, str) else cures[bench.backend == "vertex"]
    assert f"HTTP {fault}: " in said
    assert cure in said
    before = answered(bench.project)
    assert bench.run()[0] == 0
    assert_all_answered_once(bench, 2)
    assert before < CELLS


@pytest.mark.parametrize("fault", ["null content", "length stop", "safety stop", "blocked prompt"])
def test_whatever_the_judge_says_is_kept(bench: Bench, fault: str) -> None:
    if fault not in SAID[bench.backend]:
        pytest.skip("not of this service")
    part, finish = SAID[bench.backend][fault]
    if bench.backend == "vertex":
        said = generation({}, candidates=[part]) if part else {"promptFeedback": {"blockReason": "SAFETY"}}
    else:
        said = completion({}, choices=[{"message": part, "finish_reason": finish}])
    bench.befall(lambda body, nth: as_json(said))
    assert bench.run()[0] == 0
    assert f'"finish_reason":"{finish}"' in bench.project.responses.read_text("utf-8")
    asked = dict(bench.service.asked)
    bench.project.responses.unlink()
    assert bench.run()[0] == 0
    assert dict(bench.service.asked) == asked, "a settled request was asked again"
    assert all(asked[bench.digest(number)] == 1 for number in (0, 2))


# Wrong or missing settings: one line that says which, and what to do.


def test_no_network(tmp_path: Path) -> None:
    for backend in ("openai-compatible", "vertex"):
        with FakeOpenAI() as gone:
            pass
        bench = make_bench(backend, gone, tmp_path / backend, max_tries=1)
        code, said = bench.run()
        assert code == 3
        assert f"cannot connect to {gone.base_url}; is the service running" in said


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        ("openai-compatible", "SOME_KEY"),
        ("vertex", "GOOGLE_CLOUD_PROJECT"),
        ("vertex", "VERTEX_ACCESS_TOKEN"),
    ],
)
def test_no_key(tmp_path: Path, backend: str, name: str) -> None:
    with FakeOpenAI() as service:
        bench = make_bench(backend, service, tmp_path)
        done = bench.project.run(**{**PROJECT, name: ""})
    assert done.returncode == 1
    assert f"the environment variable {name} is not set" in done.stderr
    assert service.asked.total() == 0


# The command line.


@pytest.fixture
def cli(tmp_path: Path) -> Project:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gemini").symlink_to(FAKE_CLI)
    profile = {
        "backend": "gemini-cli",
        "prompt_set": PROMPT_SET,
        "request": {"service": "fake", "model": "fake-model"},
        "transport": {**QUICK, "api_key_env": "GEMINI_API_KEY"},
    }
    return make_project(tmp_path, "", CELLS, profile)


def run_cli(project: Project, fault: str = "", **environment: str) -> tuple[int, str]:
    folder = project.root.parent
    done = project.run(
        PATH=f"{folder / 'bin'}:{os.environ['PATH']}",
        FAKE_GEMINI_LOG=str(folder / "log"),
        FAKE_GEMINI_FAULT=fault,
        FAKE_GEMINI_ONLY=UNLUCKY,
        **{"GEMINI_API_KEY": KEY, **environment},
    )
    assert "Traceback" not in done.stderr
    return done.returncode, (done.stderr or done.stdout).strip().splitlines()[-1]


def cli_log(project: Project, word: str) -> Counter[str]:
    """How often the command was run (``asked``), or printed an answer, by prompt."""
    lines = (project.root.parent / "log").read_text("utf-8").splitlines()
    return Counter(line.split()[1] for line in lines if line.startswith(word))


def prompt_digest(project: Project, number: int) -> str:
    return hashlib.sha256(project.requests[number].body["prompt"].encode()).hexdigest()


@pytest.mark.parametrize("fault", [*CLI_RETRIED, *CLI_LOST, *CLI_FINE])
def test_a_fault_of_the_command_that_passes(cli: Project, fault: str) -> None:
    assert run_cli(cli, fault)[0] == 0
    assert cli.responses.read_text("utf-8").count("\n") == CELLS
    tries = {prompt_digest(cli, number): 1 for number in range(CELLS)}
    tries[prompt_digest(cli, 1)] = 1 if fault in CLI_FINE else 2
    assert cli_log(cli, "asked") == tries
    for pid in cli_log(cli, "child"):
        assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text("utf-8")


@pytest.mark.parametrize("fault", [*CLI_RETRIED, "hang with a child", "killed"])
def test_a_fault_of_the_command_that_stays(cli: Project, fault: str) -> None:
    code, said = run_cli(cli, fault, FAKE_GEMINI_ALWAYS="1")
    assert code == 3
    assert "1 requests brought no answer (1 x gemini" in said
    assert "2 of 3 judge answers are there" in said
    assert run_cli(cli)[0] == 0
    assert cli_log(cli, "asked")[prompt_digest(cli, 1)] == QUICK["max_tries"] + 1
    assert cli_log(cli, "asked")[prompt_digest(cli, 0)] == 1


@pytest.mark.parametrize("fault", CLI_FATAL)
def test_a_refusal_of_the_command_stops_the_run(cli: Project, fault: str) -> None:
    code, said = run_cli(cli, fault, FAKE_GEMINI_ALWAYS="1")
    assert code == 1
    assert CLI_FATAL[fault] in said
    assert run_cli(cli)[0] == 0
    asked = cli_log(cli, "answered")
    assert asked == Counter({prompt_digest(cli, number): 1 for number in range(CELLS)})


def test_no_command(cli: Project) -> None:
    (cli.root.parent / "bin/gemini").unlink()
    done = cli.run(GEMINI_API_KEY=KEY, PATH=str(cli.root))
    assert done.returncode == 1
    assert "there is no command gemini; install it" in done.stderr


# Keys.


@pytest.mark.parametrize("backend", ["openai-compatible", "vertex"])
def test_a_key_reaches_no_file_and_no_line(tmp_path: Path, backend: str) -> None:
    def script(body: dict[str, Any], nth: int) -> Reply:
        if nth == 1:
            return as_json({"error": {"message": f"overloaded, {KEY}"}}, 500)
        if backend == "vertex":
            return as_json(generation(body, candidates=[candidate({"text": f"your key is {KEY}"})]))
        choice = {"message": {"content": f"your key is {KEY}"}, "finish_reason": "stop"}
        return as_json(completion(body, choices=[choice]))

    with (FakeVertex if backend == "vertex" else FakeOpenAI)() as service:
        bench = make_bench(backend, service, tmp_path)
        service.script = script
        first = bench.project.run(**PROJECT)
        assert first.returncode == 0, first.stderr
        service.script = lambda body, nth: as_json({"error": {"message": f"bad key {KEY}"}}, 401)
        bench.project.write_params(repeats=2)
        refused = bench.project.run(**PROJECT)
        assert refused.returncode == 1
        assert f"Bearer {KEY}" in service.authorizations
    assert_nowhere(bench.project, first.stdout + first.stderr + refused.stdout + refused.stderr)


def test_a_key_of_the_command_reaches_no_file_and_no_line(cli: Project) -> None:
    code, said = run_cli(cli, FAKE_GEMINI_KEY="another")
    assert (code, "[redacted]" in said) == (1, True)
    code, more = run_cli(cli, FAKE_GEMINI_KEY=KEY)
    assert code == 0
    assert_nowhere(cli, said + more)


def assert_nowhere(project: Project, printed: str) -> None:
    shown = printed.encode()
    for path in project.root.parent.rglob("*"):
        shown += path.read_bytes() if path.is_file() and path.parent.name != "bin" else b""
    with contextlib.closing(sqlite3.connect(project.ledger)) as database:
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in database.execute(f"SELECT * FROM {table}"):  # noqa: S608
                for value in row:
                    shown += zlib.decompress(value) if isinstance(value, bytes) else str(value).encode()
    assert KEY.encode() not in shown
