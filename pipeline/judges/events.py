"""What a judge run does, one JSON line an event: for diagnosis, and with ``-v`` for people.

A line is ``{"at": UTC time, "event": words, ...facts}``. Events name requests by hash and hold no text of
prompts or answers, which are in the ledger; a key is struck out of every line.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from pipeline.errors import StorageError, one_line
from pipeline.judges.secrets import Secret

Fact = str | int | float | bool | None


def default_log(ledger: Path) -> Path:
    """Where a run beside that ledger logs to, a file of its own."""
    began = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    return ledger.parent / "logs" / f"judge-{began}-{os.getpid()}.jsonl"


class Events:
    """Writes events to a file that is made by the first of them, and to a terminal.

    A log that cannot be written does not end a run: the answers matter more. ``lost`` counts such lines.
    """

    def __init__(
        self,
        path: Path | None = None,
        people: TextIO | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self.lost = 0
        self._people = people
        self._clock = clock
        self._secrets: list[Secret] = []
        self._file: int | None = None
        self._lock = threading.Lock()

    def open(self) -> None:
        """Make the file now.

        Raises:
            StorageError: it cannot be made.
        """
        try:
            self._opened()
        except OSError as error:
            raise StorageError(
                f"cannot write the log {self.path}: {error.strerror}; name another file"
            ) from None

    def keep_out(self, secret: Secret) -> Secret:
        """Strike this key out of every line from now on; returns it."""
        self._secrets.append(secret)
        return secret

    def emit(self, event: str, **facts: Fact) -> None:
        """Write one event down."""
        moment = datetime.fromtimestamp(self._clock(), UTC)
        row = {"at": moment.isoformat(timespec="milliseconds"), "event": event, **facts}
        line = self._without_keys(json.dumps(row, ensure_ascii=False) + "\n")
        if self.path is not None:
            try:
                # One write a line, and no lock: a file opened to append takes whole lines from all threads.
                if os.write(self._opened(), line) < len(line):
                    self.lost += 1
            except OSError:
                self.lost += 1
        if self._people is not None:
            words = " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
            shown = self._without_keys(f"{moment:%H:%M:%S} {one_line(f'{event} {words}')}\n")
            with self._lock, contextlib.suppress(OSError):
                self._people.write(shown.decode("utf-8"))
                self._people.flush()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                with contextlib.suppress(OSError):
                    os.close(self._file)
                self._file = None

    def _opened(self) -> int:
        file = self._file
        if file is not None:
            return file
        with self._lock:
            if self._file is None:
                assert self.path is not None  # noqa: S101 - for the type checker
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            return self._file

    def _without_keys(self, line: str) -> bytes:
        data = line.encode("utf-8", "replace")
        for secret in self._secrets:
            data = secret.redact(data)
        return data
