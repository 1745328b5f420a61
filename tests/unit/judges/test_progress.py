"""What people see while a judge is asked."""

from __future__ import annotations

import io
from collections import Counter

import pytest

from pipeline.judges.progress import PlainProgress, TerminalProgress, open_progress
from pipeline.judges.tally import Tally, usd

TALLY = Tally(
    wanted=100,
    recorded=10,
    ledger=20,
    live=30,
    cost_nano_usd=1_234_567_890,
    failures=Counter({"HTTP 500": 2}),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_plain_line_holds_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter((0.0, 1.0, 6.0, 7.0))
    monkeypatch.setattr("pipeline.judges.progress.time.monotonic", lambda: next(seconds))
    out = io.StringIO()
    shown = PlainProgress(out)
    for _ in range(3):
        shown.show(TALLY)
    # 30 answers in 6 s are 5 a second; 40 are missing.
    assert out.getvalue() == (
        "judge: 60 of 100 answers (10 recorded, 20 from the ledger, 30 asked now, 2 failed), "
        "5.0/s, 8 s left, $1.2345\n"
    )


def test_a_terminal_gets_a_bar_and_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    out = Terminal()
    shown = open_progress(out)
    assert isinstance(shown, TerminalProgress)
    shown.show(TALLY)
    shown.close()
    text = out.getvalue()
    assert "60/100" in text
    assert "recorded 10 ledger 20 live 30 failed 2 $1.2345" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is hidden and shown again


def test_no_terminal_gets_plain_lines() -> None:
    assert isinstance(open_progress(io.StringIO()), PlainProgress)


@pytest.mark.parametrize(
    ("nano", "shown"),
    [(0, "$0.0000"), (99_999, "$0.0000"), (100_000, "$0.0001"), (12_345_678_900, "$12.3456")],
)
def test_usd(nano: int, shown: str) -> None:
    assert usd(nano) == shown


def test_reasons_name_the_most_frequent_first() -> None:
    tally = Tally(wanted=9, failures=Counter({"a": 1, "b": 3, "c": 2, "d": 1}))
    assert tally.reasons() == "3 x b; 2 x c; 1 x a; ..."
    assert tally.failed == 7
