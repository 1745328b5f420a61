"""Waiting: how long, how often, and when not at all."""

from __future__ import annotations

import threading
import time

import pytest

from pipeline.judges.pace import Pace, Patience


@pytest.fixture(autouse=True)
def _longest_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.judges.pace.random.uniform", lambda low, high: high)


@pytest.mark.parametrize(
    ("tried", "waited", "asked_for", "expected"),
    [
        (1, 0, None, 1),
        (2, 1, None, 2),
        (3, 3, None, 4),
        (4, 7, None, 8),
        (5, 15, None, 10),  # bounded by longest_seconds
        (1, 0, 5.0, 6),  # what the service asks for, and jitter upon it
        (1, 0, 0.0, 1),
        (6, 0, None, None),  # no try left
        (2, 99, None, None),  # no time left
        (1, 0, 3600.0, None),  # the service asks for more than there is
    ],
)
def test_patience(tried: int, waited: float, asked_for: float | None, expected: float | None) -> None:
    patience = Patience(tries=6, first_seconds=1, longest_seconds=10, total_seconds=100)
    assert patience.wait(tried, waited, asked_for) == expected


def test_jitter_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[tuple[float, float]] = []

    def lowest(low: float, high: float) -> float:
        bounds.append((low, high))
        return low

    monkeypatch.setattr("pipeline.judges.pace.random.uniform", lowest)
    assert Patience(tries=3).wait(2, 0, None) == 0
    assert bounds == [(0, 2.0)]


def _starts(tempo: Pace, count: int) -> list[float]:
    """Seconds until each of ``count`` threads had its turn."""
    began, starts, lock = time.monotonic(), [], threading.Lock()

    def wait() -> None:
        tempo.wait(threading.Event())
        with lock:
            starts.append(time.monotonic() - began)

    threads = [threading.Thread(target=wait) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(starts)


def test_calls_are_spaced_over_all_threads() -> None:
    starts = _starts(Pace(600), 5)  # one every 0.1 s
    assert all(start >= number * 0.1 - 0.005 for number, start in enumerate(starts))


def test_without_a_limit_nothing_waits() -> None:
    assert _starts(Pace(None), 5)[-1] < 0.5


def test_a_pause_holds_all_calls_back() -> None:
    tempo = Pace(None)
    tempo.pause(0.2)
    assert _starts(tempo, 3)[0] >= 0.19


def test_a_wait_ends_when_the_run_stops() -> None:
    tempo, stop = Pace(None), threading.Event()
    tempo.pause(60)
    threading.Timer(0.05, stop.set).start()
    began = time.monotonic()
    tempo.wait(stop)
    assert time.monotonic() - began < 5
