"""What a person sees while a judge is asked: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol, TextIO

from pipeline.judges.tally import Tally, usd

if TYPE_CHECKING:  # rich is imported only where there is a terminal
    from rich.progress import Progress as RichProgress

_LINE_SECONDS = 5.0


class Progress(Protocol):
    """Shown the tally several times a second."""

    def show(self, tally: Tally) -> None:
        """Show the tally as it is now."""

    def close(self) -> None:
        """Leave the terminal as it was."""


def open_progress(stream: TextIO = sys.stderr) -> Progress:
    """A bar if ``stream`` is a terminal, else plain lines."""
    return TerminalProgress(stream) if stream.isatty() else PlainProgress(stream)


class PlainProgress:
    """One line at most every few seconds, and none for a run that is over before."""

    def __init__(self, stream: TextIO, every_seconds: float = _LINE_SECONDS) -> None:
        self._stream = stream
        self._every = every_seconds
        self._started = self._last = time.monotonic()

    def show(self, tally: Tally) -> None:
        """See ``Progress.show``."""
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        rate = tally.live / (now - self._started)
        left = f"{tally.missing / rate:.0f} s left" if rate else "time left unknown"
        self._stream.write(
            f"judge: {tally.there} of {tally.wanted} answers ({tally.sources()}, {tally.failed} failed), "
            f"{rate:.1f}/s, {left}, {usd(tally.cost_nano_usd)}\n"
        )
        self._stream.flush()

    def close(self) -> None:
        """See ``Progress.close``."""


class TerminalProgress:
    """A bar with rate, time left, hits by source, failures and cost."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._started = time.monotonic()
        self._bar: RichProgress = RichProgress(
            TextColumn("judge"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[facts]}"),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, facts="")
        self._bar.start()

    def show(self, tally: Tally) -> None:
        """See ``Progress.show``."""
        rate = tally.live / max(1e-9, time.monotonic() - self._started)
        # Short enough for a terminal of 80 columns.
        facts = (
            f"{rate:.1f}/s recorded {tally.recorded} ledger {tally.ledger} live {tally.live} "
            f"failed {tally.failed} {usd(tally.cost_nano_usd)}"
        )
        self._bar.update(self._task, total=tally.wanted, completed=tally.there, facts=facts)

    def close(self) -> None:
        """See ``Progress.close``."""
        self._bar.stop()
