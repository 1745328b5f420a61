"""Run a command to its end, or end it with everything it started: bounded in time and in output.

Output goes to files, not pipes: a child that outlives its parent and holds a pipe open would keep the
reader waiting for good. The command gets a process group of its own, which is killed whole.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_LOOK_SECONDS = 0.02
_TERM_SECONDS = 2.0


class TooLong(Exception):
    """The command did not end in time, or wrote without end; it was killed."""


class Stopped(Exception):
    """``Children.close`` ended the command."""


@dataclass(frozen=True)
class Ended:
    """How a command ended; ``code`` is negative if a signal killed it."""

    code: int
    out: bytes
    err: bytes


class Children:
    """Commands under way; ``run`` is called from several threads at once."""

    def __init__(self, most_bytes: int = 32 << 20) -> None:
        self._most_bytes = most_bytes
        self._groups: set[int] = set()
        self._lock = threading.Lock()
        self._closed = False

    def run(
        self, argv: Sequence[str], timeout: float, cwd: Path, env: Mapping[str, str], given: bytes = b""
    ) -> Ended:
        """Run ``argv`` without a shell; its standard input is ``given``, by default nothing.

        Raises:
            FileNotFoundError, PermissionError, OSError: the command could not be started.
            TooLong, Stopped: it was killed, with all it started.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, _input(given) as stdin:
            with self._lock:
                if self._closed:
                    raise Stopped
                process = subprocess.Popen(  # noqa: S603 - no shell; the profile names the command
                    argv, stdin=stdin, stdout=out, stderr=err, cwd=cwd, env=env, start_new_session=True
                )
                self._groups.add(process.pid)
            try:
                in_time = self._wait(process, time.monotonic() + timeout, (out, err))
            finally:
                # Before the leader is collected: until then its number stands for no other group.
                with self._lock:
                    self._groups.discard(process.pid)
                    _kill_group(process)
            if self._closed:
                raise Stopped
            if not in_time:
                raise TooLong
            return Ended(process.returncode, _content(out), _content(err))

    def close(self) -> None:
        """End every command under way; none starts any more."""
        with self._lock:
            self._closed = True
            for group in self._groups:
                _signal_group(group, signal.SIGKILL)

    def _wait(self, process: subprocess.Popen[bytes], deadline: float, files: tuple[IO[bytes], ...]) -> bool:
        """Whether the leader ended by itself; it is not collected yet."""
        while not _has_ended(process.pid):
            written = max(os.fstat(file.fileno()).st_size for file in files)
            if time.monotonic() > deadline or written > self._most_bytes:
                _signal_group(process.pid, signal.SIGTERM)
                grace = time.monotonic() + _TERM_SECONDS
                while time.monotonic() < grace and not _has_ended(process.pid):
                    time.sleep(_LOOK_SECONDS)
                return False
            time.sleep(_LOOK_SECONDS)
        return True


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@contextlib.contextmanager
def _input(given: bytes) -> Iterator[IO[bytes] | int]:
    if not given:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        yield file


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
