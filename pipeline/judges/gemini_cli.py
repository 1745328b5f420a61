"""Backend ``gemini-cli``: the command ``gemini``, run once a request in an empty folder, without a shell."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

from pipeline.answers import Attempt
from pipeline.judges import cli_wire
from pipeline.judges.base import FindSecret, GiveUp, Messages, RetryLater, Uncertain
from pipeline.judges.child import Children, Ended, Stopped, TooLong
from pipeline.judges.cli_prompt import render_prompt
from pipeline.judges.cli_wire import read_run
from pipeline.judges.secrets import Secret
from pipeline.profiles import CliTransport, JudgeProfile
from pipeline.requests import JudgeRequest

NAME = "gemini-cli"
# Linux takes 128 KiB in one argument; what is longer goes through standard input, of which the CLI
# reads 8 MiB and drops the rest.
LONGEST_ARGUMENT = 100_000
LONGEST_INPUT = 8_000_000
_VERSION_SECONDS = 60.0
# The command takes its key from these if no other login is chosen.
_OWN_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_REFUSALS = frozenset({400, 401, 402, 403, 404})


class GeminiCli:
    """``gemini -m MODEL --output-format json --skip-trust -p PROMPT``.

    The CLI is an agent with tools and an own system text: it runs in an empty folder, so that it finds no
    file to read, and its answers are not those of the bare model.
    """

    def __init__(self, profile: JudgeProfile, find_secret: FindSecret) -> None:
        transport = profile.transport_as(CliTransport)
        self._command = shutil.which(transport.command) or transport.command
        self._shown = transport.command
        self._timeout = transport.timeout_seconds
        self._key_name = transport.api_key_env
        self._model = profile.request.model
        self._environment = dict(os.environ)
        if transport.api_key_env:
            self._environment[transport.api_key_env] = find_secret(transport.api_key_env).reveal()
        names = {*_OWN_KEYS, transport.api_key_env or ""} & set(self._environment)
        self._keys = [Secret(self._environment[name]) for name in sorted(names) if self._environment[name]]
        self._folder = tempfile.TemporaryDirectory(prefix="judge-", ignore_cleanup_errors=True)
        self._children = Children()
        self._version: str | None = None
        self._version_known = False
        self._lock = threading.Lock()

    @staticmethod
    def body(profile: JudgeProfile, messages: Messages, seed: int) -> dict[str, Any]:
        """See ``Backend.body``. The command has options for the model and the prompt only."""
        return {"model": profile.request.model, "prompt": render_prompt(messages)}

    def send(self, request: JudgeRequest) -> Attempt:
        """See ``Backend.send``."""
        prompt = str(request.body["prompt"])
        size = len(prompt.encode("utf-8"))
        if size > LONGEST_INPUT:
            raise GiveUp(
                f"a prompt of {size} bytes; {self._shown} reads {LONGEST_INPUT}: use another backend"
            )
        argv = [self._command, "-m", self._model, "--output-format", "json", "--skip-trust"]
        given = b""
        if size > LONGEST_ARGUMENT or "\0" in prompt:
            given = prompt.encode("utf-8")
        else:
            argv += ["-p", prompt]
        version = self._known_version()
        try:
            ended = self._run(argv, self._timeout, given)
        except TooLong:
            raise Uncertain(
                f"{self._shown} did not end within {self._timeout:g} s (transport.timeout_seconds); "
                "it was stopped"
            ) from None
        except Stopped:
            raise Uncertain(f"{self._shown} was stopped with the run") from None
        attempt, problem = read_run(NAME, self._model, ended, version)
        if problem is None:
            return attempt
        if ended.code < 0 or ended.code == cli_wire.CANCELLED:
            raise Uncertain(f"{self._shown} was stopped by a signal", attempt)
        problem = f"{self._shown}: {problem}"
        if attempt.http_status == 429:
            problem += "; the quota may be used up: wait, or use another key or account"
        if attempt.http_status in _REFUSALS or ended.code in (cli_wire.TURNS, cli_wire.TOOL):
            raise GiveUp(f"{problem}; {self._cure(ended.code, attempt.http_status)}", attempt)
        raise RetryLater(problem, attempt)

    def close(self) -> None:
        """See ``Backend.close``."""
        self._children.close()
        self._folder.cleanup()

    def _known_version(self) -> str | None:
        """What ``--version`` prints, asked once; None if it prints nothing that looks like one."""
        with self._lock:
            if not self._version_known:
                try:
                    ended = self._run([self._command, "--version"], _VERSION_SECONDS)
                except (TooLong, Stopped):
                    ended = Ended(1, b"", b"")
                lines = ended.out.decode("ascii", "replace").split()
                self._version = lines[-1][:40] if ended.code == 0 and lines else None
                self._version_known = True
            return self._version

    def _run(self, argv: list[str], timeout: float, given: bytes = b"") -> Ended:
        try:
            ended = self._children.run(argv, timeout, Path(self._folder.name), self._environment, given)
        except FileNotFoundError:
            raise GiveUp(
                f"there is no command {self._shown}; install it (npm install -g @google/gemini-cli) "
                "or correct transport.command"
            ) from None
        except OSError as error:
            raise GiveUp(
                f"{self._shown} cannot be run ({error.strerror}); correct transport.command"
            ) from None
        return Ended(ended.code, self._clean(ended.out), self._clean(ended.err))

    def _clean(self, printed: bytes) -> bytes:
        """Output without keys, and without the folders of this machine, which stack traces name."""
        for key in self._keys:
            printed = key.redact(printed)
        for folder, shown in ((self._folder.name, "(folder)"), (self._environment.get("HOME", ""), "~")):
            if len(folder) > 1:
                printed = printed.replace(os.fsencode(folder), shown.encode())
        return printed

    def _cure(self, code: int, status: int) -> str:
        key = f"the key in {self._key_name}" if self._key_name else "its login"
        if code == cli_wire.UNTRUSTED:
            return "update the command: this version does not take --skip-trust"
        if code in (cli_wire.CONFIG, cli_wire.SANDBOX, cli_wire.TURNS, cli_wire.TOOL):
            return "mend the command's settings.json"
        return {
            401: f"check {key}: run it once by hand, or name a key's variable in transport.api_key_env",
            402: "the account has no credit left: top it up, then run again",
            403: f"check what {key} is allowed to use",
            404: f"check request.model {self._model!r}",
        }.get(status, "check request.model and the version of the command")
