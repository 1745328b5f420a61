"""What moved a mean, cause by cause, on cells whose states are written by hand."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from pipeline.lineage.diff.causes import CAUSES, CellChange, State
from pipeline.lineage.diff.moves import moves


def state(penalty: int | None) -> State:
    value = None if penalty is None else Fraction(penalty)
    return State("judge_failed (empty)" if penalty is None else "ok", value, ())


def change(name: str, a: State | None, /, **by_cause: State | None) -> CellChange:
    """A cell that goes from ``a`` through the states that the named causes bring."""
    states, current = {}, a
    for cause in CAUSES:
        current = by_cause.get(cause, current)
        states[cause] = current
    return CellChange((name, "en", "p"), None, a, current, states)


def test_contributions_by_hand() -> None:
    # A: 5, 1, 3 -> 3.  request: the 5 becomes 2 -> 2.  reading: the 1 fails -> (2 + 3) / 2 = 5/2.
    # weights: the 3 becomes 8 -> 5.
    changes = [
        change("one", state(5), request=state(2)),
        change("two", state(1), reading=state(None)),
        change("three", state(3), weights=state(8)),
    ]
    (move,) = moves(changes, ["p"])
    assert (move.a, move.b, move.rank_a, move.rank_b) == (3, 5, 1, 1)
    assert {cause: part for cause, part in move.contributions.items() if part} == {
        "request": -1,
        "reading": Fraction(1, 2),
        "weights": Fraction(5, 2),
    }


def test_no_mean_in_between() -> None:
    """Read as A reads, no answer is valid: what follows takes the difference to the last mean."""
    changes = [change("one", state(4), request=state(None), reading=state(1))]
    (move,) = moves(changes, ["p"])
    assert (move.contributions["request"], move.contributions["reading"]) == (None, -3)


def test_no_mean_in_a() -> None:
    (move,) = moves([change("one", None, cells=state(4), weights=state(6))], ["p"])
    assert (move.a, move.b, move.rank_a, move.rank_b) == (None, 6, None, 1)
    assert (move.contributions["cells"], move.contributions["weights"]) == (None, 2)


states = st.none() | st.builds(state, st.none() | st.integers(0, 50))


@given(st.lists(st.tuples(states, st.dictionaries(st.sampled_from(list(CAUSES)), states)), min_size=1))
def test_contributions_add_up_exactly(cells: list[tuple[State | None, dict[str, State | None]]]) -> None:
    changes = [change(str(number), a, **by_cause) for number, (a, by_cause) in enumerate(cells)]
    (move,) = moves(changes, ["p"])
    if move.a is not None and move.b is not None:
        parts = (part for part in move.contributions.values() if part is not None)
        assert sum(parts, Fraction()) == move.b - move.a


def test_equal_means_share_a_rank() -> None:
    cells = [
        CellChange(("one", "en", name), None, state(p), state(p), dict.fromkeys(CAUSES, state(p)))
        for name, p in (("x", 2), ("y", 1), ("z", 2), ("w", 3))
    ]
    found = {move.participant: move.rank_a for move in moves(cells, ["x", "y", "z", "w"])}
    assert found == {"x": 2, "y": 1, "z": 2, "w": 4}
