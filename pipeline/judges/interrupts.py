"""Ctrl-C and SIGTERM as a wish to stop, counted and acted upon where it is safe."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType


@dataclass
class Signals:
    """How many times this process was asked to stop."""

    count: int = 0


@contextlib.contextmanager
def counted_signals() -> Iterator[Signals]:
    """Count SIGINT and SIGTERM instead of dying of them; only the main thread can."""
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return

    def note(number: int, frame: FrameType | None) -> None:
        signals.count += 1

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
