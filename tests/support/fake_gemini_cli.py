#!/usr/bin/env python3
"""A stand-in for the command ``gemini``: answers without a model, a key or a network.

Put it first on PATH under that name:

    mkdir -p build/bin && ln -sf ../../tests/support/fake_gemini_cli.py build/bin/gemini
    PATH="$PWD/build/bin:$PATH" gemini -m any --output-format json --skip-trust -p 'Judge it.'

What it does beside answering is set in the environment: FAKE_GEMINI_FAULT names a fault that befalls the
first run of each prompt that holds FAKE_GEMINI_ONLY (each run, if FAKE_GEMINI_ALWAYS is set);
FAKE_GEMINI_KEY is the only GEMINI_API_KEY it takes; FAKE_GEMINI_LOG is a file that gets a line a run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

VERSION = "0.57.0"
# What the exit codes say: the CLI's own errors, and what is left of an HTTP status of 256 and more.
EXITS = {
    "exit 1": (1, "Error", "An unexpected critical error occurred"),
    "exit 41": (41, "FatalAuthenticationError", "Please set an Auth method"),
    "exit 42": (42, "FatalInputError", "No input provided"),
    "exit 52": (52, "FatalConfigError", "Invalid settings.json"),
    "exit 55": (55, "FatalUntrustedWorkspaceError", "not running in a trusted directory"),
    "exit 148": (148, "ModelNotFoundError", "Requested entity was not found."),
    "exit 173": (173, "TerminalQuotaError", "You have exhausted your capacity on this model."),
    "exit 247": (247, "ServerError", "The model is overloaded."),
}


def main() -> None:
    """Answer one prompt."""
    options = Options(add_help=False)
    options.add_argument("-m", "--model", default="auto")
    options.add_argument("-p", "--prompt", default="")
    options.add_argument("-o", "--output-format", default="text")
    options.add_argument("--skip-trust", action="store_true")
    options.add_argument("-v", "--version", action="store_true")
    given = options.parse_args()
    if given.version:
        print(VERSION)
        return
    if not given.skip_trust:
        fail(*EXITS["exit 55"])
    prompt = (sys.stdin.read() + given.prompt).strip()
    if not prompt:
        fail(*EXITS["exit 42"])
    key, wanted = os.environ.get("GEMINI_API_KEY", ""), os.environ.get("FAKE_GEMINI_KEY")
    if wanted is not None and key != wanted:
        fail(41, "FatalAuthenticationError", f"API key not valid: {key}")
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    fault = os.environ.get("FAKE_GEMINI_FAULT", "")
    if os.environ.get("FAKE_GEMINI_ONLY", "") not in prompt:
        fault = ""
    if note(f"asked {digest}") and not os.environ.get("FAKE_GEMINI_ALWAYS"):
        fault = ""
    print("Loaded cached credentials.", file=sys.stderr)
    befall(fault)
    text = json.dumps(output(given.model, digest, fault), indent=2)
    if fault == "truncated JSON":
        text = text[: len(text) // 2]
    if fault == "log lines":
        print("[WARN] something\n{not json}", file=sys.stderr)
        print("Flushing telemetry")
    note(f"answered {digest}")
    print(text)


class Options(argparse.ArgumentParser):
    """Ends as the CLI does on arguments it does not know."""

    def error(self, message: str) -> NoReturn:
        fail(42, "FatalInputError", message)


def befall(fault: str) -> None:
    """Do what the fault says, if it ends the run."""
    if fault in EXITS:
        fail(*EXITS[fault])
    if fault == "empty stdout":
        sys.exit(0)
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault in ("hang", "hang with a child"):
        if fault == "hang with a child":  # it inherits the output, and does not take the hint
            stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
            note(f"child {subprocess.Popen([sys.executable, '-c', stubborn]).pid}")
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
    if fault == "a child stays":
        note(f"child {subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid}")


def output(model: str, digest: str, fault: str) -> dict[str, Any]:
    """What is printed for an answer."""
    said = (
        f'Critical:\nno-error\nMajor:\naccuracy/omission - "{digest[:8]} 한국어"\nMinor:\nno-error\n'
        "contextBehavior: used_correctly"
    )
    if fault == "error inside exit 0":
        return {"session_id": "s", "error": {"type": "Error", "message": "it broke", "code": 500}}
    served = "gemini-other-flash" if fault == "changed model" else model
    tokens = {"prompt": 100, "candidates": 20, "total": 127, "cached": 0, "thoughts": 7, "tool": 0}
    return {
        "session_id": f"session-{digest[:12]}",
        "response": "" if fault == "empty response" else said,
        "stats": {"models": {served: {"api": {"totalRequests": 1, "totalErrors": 0}, "tokens": tokens}}},
    }


def note(line: str) -> bool:
    """Add a line to the log; whether it was in it before."""
    if "FAKE_GEMINI_LOG" not in os.environ:
        return False
    log = Path(os.environ["FAKE_GEMINI_LOG"])
    before = log.read_text("utf-8").splitlines() if log.exists() else []
    with log.open("a", encoding="utf-8") as out:
        out.write(f"{line}\n")
    return line in before


def fail(code: int, kind: str, message: str) -> NoReturn:
    """End as the CLI does in JSON format: the error on standard error, and its code."""
    error = {"error": {"type": kind, "message": message, "code": code}}
    print(json.dumps(error, indent=2), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
