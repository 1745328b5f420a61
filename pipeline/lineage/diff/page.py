"""The comparison of two runs for people, made of the JSON value alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.lineage.terminal_text import visible, width

Json = dict[str, Any]

_DETAILS = 8  # lines that are shown of what differs in an input


def diff_text(document: Json) -> str:
    """Runs, inputs, cells and leaderboard, one after the other."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Json) -> Iterator[str]:
    for side in ("a", "b"):
        run = document[side]
        name, run_name = visible(run["name"]), visible(run["run_name"])
        yield f"{side.upper()}: {name}, run {run_name}, id {run['run_id'][:8]}"
    if document["same"]:
        yield "Nothing differs."
        return
    yield ""
    yield "Inputs"
    yield from _inputs(document["inputs"])
    yield ""
    yield from _cells(document)
    yield ""
    yield from _leaderboard(document)


def _inputs(inputs: Sequence[Json]) -> Iterator[str]:
    if same := [each["name"] for each in inputs if each["same"]]:
        yield f"  the same: {', '.join(same)}"
    for each in inputs:
        if each["same"]:
            continue
        yield f"  {each['name']}{'' if each['used'] else ' (none of what the runs use)'}"
        for detail in each["details"][:_DETAILS]:
            yield f"    {visible(detail)}"
        if len(each["details"]) > _DETAILS:
            yield f"    and {len(each['details']) - _DETAILS} more"


def _cells(document: Json) -> Iterator[str]:
    cells = document["cells"]
    yield f"Cells: {cells['a']} in A, {cells['b']} in B, {cells['changed']} changed"
    if kinds := cells["by_kind"]:
        yield "  " + ", ".join(f"{name} {count}" for name, count in kinds.items())
    for cause, count in cells["by_cause"].items():
        yield f"  {count['changed']} of {count['touched']} touched: {document['causes'][cause]}"
    for cell in cells["list"]:
        name = visible(f"{cell['item_id']} {cell['language']} {cell['participant_id']}")
        yield f"  - {name}: {_state(cell['a'])} -> {_state(cell['b'])} ({', '.join(cell['causes'])})"
    if cells["shown"] < cells["changed"]:
        yield f"  and {cells['changed'] - cells['shown']} more (--all shows every one)"


def _state(state: Json | None) -> str:
    if state is None:
        return "not there"
    labels = ", ".join(label or "no label" for label in state["labels"])
    value = state["status"] if state["penalty"] is None else f"{state['penalty']:g}"
    return f"{value} {labels}".strip()


def _leaderboard(document: Json) -> Iterator[str]:
    moves = document["leaderboard"]
    causes = [
        cause for cause in document["causes"] if any(_part(move, cause) not in ("0", "-") for move in moves)
    ]
    yield "Mean penalty, and what moved it: causes applied from left to right, which add up to the difference"
    header = ["participant", "A", *causes, "B", "difference", "rank"]
    rows = [
        [
            visible(move["participant_id"]),
            _mean(move["mean_a"]),
            *(_part(move, cause) for cause in causes),
            _mean(move["mean_b"]),
            "-" if move["difference"] is None else _signed(move["difference"]["points"]),
            f"{move['rank_a'] or '-'} -> {move['rank_b'] or '-'}",
        ]
        for move in moves
    ]
    widths = [max(map(width, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (
            f"{text}{' ' * (size - width(text))}" if index == 0 else f"{' ' * (size - width(text))}{text}"
            for index, (text, size) in enumerate(zip(row, widths, strict=True))
        )
        yield "  " + "  ".join(cells)
    for cause in causes:
        behind = document["behind_requests"] if cause == "request" else ()
        differs = f" (here differ: {', '.join(behind)})" if behind else ""
        yield f"  {cause}: {document['causes'][cause]}{differs}"


def _part(move: Json, cause: str) -> str:
    part = move["contributions"][cause]
    return "-" if part is None else _signed(part["points"])


def _mean(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _signed(value: float) -> str:
    return "0" if value == 0 else f"{value:+.4f}"
