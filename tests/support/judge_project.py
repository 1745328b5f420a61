"""A small project folder in which the judge stage runs, and how to run it in this process or another."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pipeline.canonical import json_line, sha256_hex
from pipeline.judges.rendering import build_request
from pipeline.profiles import JudgeProfile, read_profile
from pipeline.prompts import read_prompt_set
from pipeline.requests import JudgeRequest

REPOSITORY = Path(__file__).parents[2]
PROMPT_SET = "data/judge-prompts/tiny"


@dataclass
class Project:
    """The folder, its requests and its ledger."""

    root: Path
    requests: list[JudgeRequest]

    @property
    def ledger(self) -> Path:
        return self.root.parent / "state" / "ledger.sqlite"

    @property
    def responses(self) -> Path:
        return self.root / "data/responses/responses.jsonl"

    @property
    def digests(self) -> list[str]:
        """SHA-256 of each request's body as it is sent."""
        return [sha256_hex(request.body_bytes) for request in self.requests]

    @property
    def profile(self) -> JudgeProfile:
        return read_profile(self.root, "fake")

    def write_params(self, **judge: Any) -> None:
        params = {
            "run_name": "test",
            "dataset": "data/datasets/none.jsonl",
            "languages": ["en"],
            "participants": ["nobody"],
            "judge": {"profile": "fake", "offline": False, "repeats": 1, **judge},
        }
        _write_yaml(self.root / "params.yaml", params)

    def write_profile(self, base_url: str, request: dict[str, Any] | None = None, **transport: Any) -> None:
        profile = {
            "backend": "openai-compatible",
            "prompt_set": PROMPT_SET,
            "request": {
                "service": "fake",
                "model": "fake-model",
                "temperature": 0,
                "max_tokens": 64,
                **(request or {}),
            },
            "transport": {"base_url": base_url, "max_tries": 2, "timeout_seconds": 10, **transport},
        }
        self.write_whole_profile(profile)

    def write_whole_profile(self, profile: dict[str, Any]) -> None:
        _write_yaml(self.root / "experiments/judges/fake.yaml", profile)

    def environment(self, **extra: str) -> dict[str, str]:
        return {**os.environ, "CTXEVAL_LEDGER": str(self.ledger), **extra}

    def start(self, *command: str, **extra: str) -> subprocess.Popen[str]:
        """Start the judge stage (or ``python -m pipeline COMMAND``) in a process of its own."""
        words = ["-m", "pipeline", *command] if command else ["-c", _STAGE, str(self.root)]
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=self.root if command else REPOSITORY,
            env=self.environment(PYTHONPATH=str(REPOSITORY), **extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return self.run_for(120, *command, **extra)

    def run_for(self, seconds: float, *command: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end, for that long at most."""
        process = self.start(*command, **extra)
        out, err = process.communicate(timeout=seconds)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


# What ``python -m pipeline judge`` does, without its command: one line and an exit code for an error.
_STAGE = """
import os, resource, sys, pathlib
if "CTXEVAL_TEST_FSIZE" in os.environ:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["CTXEVAL_TEST_FSIZE"]),) * 2)
from pipeline.errors import PipelineError
from pipeline.stages.judge import run
try:
    print(run(pathlib.Path(sys.argv[1])))
except PipelineError as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""


def make_project(
    folder: Path, base_url: str, cells: int = 6, profile: dict[str, Any] | None = None, **transport: Any
) -> Project:
    """A project of that many requests whose judge is the service at ``base_url``, or that of ``profile``."""
    root = folder / "project"
    prompts = root / PROMPT_SET
    prompts.mkdir(parents=True)
    shipped = REPOSITORY / "data/judge-prompts/gemba-mqm-context-v1"
    (prompts / "manifest.json").write_bytes((shipped / "manifest.json").read_bytes())
    (prompts / "system.txt").write_text("Judge it.\n", encoding="utf-8")
    (prompts / "user.txt").write_text(
        "${source_language} ${target_language}\n${fence}\n${context}\n${source}\n${translation}\n${fence}\n",
        encoding="utf-8",
    )
    (prompts / "few-shot.jsonl").write_text("", encoding="utf-8")
    (root / "experiments/judges").mkdir(parents=True)
    project = Project(root, [])
    project.write_params()
    if profile is None:
        project.write_profile(base_url, **transport)
    else:
        project.write_whole_profile(profile)
    prompt_set = read_prompt_set(prompts)
    lines = []
    for number in range(cells):
        variables = {
            "source_language": "Korean",
            "target_language": "English",
            "context": "[1] other: 뭐 해?",
            "source": "밥 먹어.",
            "translation": f"I am eating, number {number}.",
        }
        request = build_request(project.profile, prompt_set, variables, 0)
        project.requests.append(request)
        lines.append(
            {
                "request_hash": request.request_hash,
                "prompt_set_sha256": prompt_set.sha256,
                "variables": variables,
            }
        )
    (root / "data/requests").mkdir(parents=True)
    (root / "data/requests/requests.jsonl").write_text(
        "".join(json_line(line) for line in sorted(lines, key=lambda line: str(line["request_hash"]))),
        encoding="utf-8",
    )
    return project


def _write_yaml(path: Path, value: Any) -> None:
    with path.open("w", encoding="utf-8") as out:
        YAML(typ="safe", pure=True).dump(value, out)
