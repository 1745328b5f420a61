"""Ways to tamper with a sealed run, from one byte to a whole forged history."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from sealed_project import (
    MANIFEST,
    RECORDED,
    RESPONSES,
    forge_lock,
    forge_manifest,
    parse_again,
    response_body,
    score_again,
    sealed_line,
)

from pipeline.answers import encode_raw

Mutation = Callable[[Path], None]


def flip(file: str, at: float = 0.5) -> Mutation:
    """Change one byte: the one that stands at this share of the file."""

    def mutate(root: Path) -> None:
        path = root / file
        data = bytearray(path.read_bytes())
        data[int(len(data) * at)] ^= 1
        path.write_bytes(bytes(data))

    return mutate


def edit(file: str, old: str, new: str) -> Mutation:
    """Replace a text that stands in a file, the first time it stands there."""

    def mutate(root: Path) -> None:
        path = root / file
        text = path.read_bytes().decode("utf-8")
        assert old in text, f"{file} does not hold {old!r}"
        path.write_bytes(text.replace(old, new, 1).encode("utf-8"))

    return mutate


def edit_lines(file: str, change: Callable[[list[str]], list[str]]) -> Mutation:
    """Replace the lines of a file."""

    def mutate(root: Path) -> None:
        path = root / file
        old = path.read_text(encoding="utf-8").splitlines(keepends=True)
        new = change(old)
        assert new != old
        path.write_text("".join(new), encoding="utf-8")

    return mutate


def edit_json(file: str, change: Callable[[Any], None]) -> Mutation:
    """Change the value of a tracked JSON file, and write it in the same form."""

    def mutate(root: Path) -> None:
        path = root / file
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        text = json.dumps(document, ensure_ascii=False, sort_keys=True, indent=2) + "\n"
        assert text != path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")

    return mutate


def remove(file: str) -> Mutation:
    """Remove a file."""
    return lambda root: (root / file).unlink()


def add(file: str, text: str = "{}\n") -> Mutation:
    """Add a file that nothing lists."""

    def mutate(root: Path) -> None:
        assert not (root / file).exists()
        (root / file).write_text(text, encoding="utf-8")

    return mutate


def sql(table: str, statement: str, folder: str = "data/tables") -> Mutation:
    """Change the rows of a Parquet file, in DuckDB, and write it anew; the statement names it ``t``."""

    def mutate(root: Path) -> None:
        path = root / folder / f"{table}.parquet"
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t AS SELECT * FROM read_parquet(?)", [str(path)])
            before = connection.execute("SELECT * FROM t").fetchall()
            connection.execute(statement)
            assert connection.execute("SELECT * FROM t").fetchall() != before, "nothing changed"
            connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")

    return mutate


def answers(file: str, change: Callable[[list[dict[str, Any]]], None], *, seals: bool = True) -> Mutation:
    """Change the rows of an answers file; ``seals``: and make each line's own hash fit again."""

    def mutate(root: Path) -> None:
        path = root / file
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        change(rows)
        form = sealed_line if seals else lambda row: json.dumps(row, ensure_ascii=False) + "\n"
        path.write_text("".join(form(row) for row in rows), encoding="utf-8")

    return mutate


def swap_answers(rows: list[dict[str, Any]]) -> None:
    """Give the answer without errors to the request that was answered with a major error, and back."""
    good, bad = _saying(rows, "ignored_irrelevant_context"), _saying(rows, "missed_required_context")
    rows[good]["attempts"], rows[bad]["attempts"] = rows[bad]["attempts"], rows[good]["attempts"]


def soften(rows: list[dict[str, Any]], *, raw: bool) -> None:
    """Make the critical error a minor one, in the text and, if asked, in the raw body, too."""
    attempt = rows[_saying(rows, "misused_context")]["attempts"][-1]
    critical = 'Critical:\naccuracy/omission - "船"\nMajor:\nno-error\nMinor:\nno-error'
    minor = 'Critical:\nno-error\nMajor:\nno-error\nMinor:\naccuracy/omission - "船"'
    assert critical in attempt["text"]
    attempt["text"] = attempt["text"].replace(critical, minor)
    if raw:
        attempt["raw"], attempt["raw_encoding"] = encode_raw(response_body(attempt["text"]))


def make_free(rows: list[dict[str, Any]]) -> None:
    """Say that the first answer cost nothing, in the raw body, too."""
    attempt = rows[0]["attempts"][0]
    attempt["raw"], _ = encode_raw(response_body(attempt["text"], cost="0"))
    attempt["cost_nano_usd"] = 0


def select_first(rows: list[dict[str, Any]]) -> None:
    """Let the first of two attempts count."""
    rows[_saying(rows, "misused_context")]["selected"] = 0


def drop_rounds(rows: list[dict[str, Any]]) -> None:
    """Forget the refused round before the answer that counts."""
    row = rows[_saying(rows, "misused_context")]
    row["attempts"], row["selected"] = row["attempts"][1:], 0


def _saying(rows: list[dict[str, Any]], words: str) -> int:
    (found,) = (n for n, row in enumerate(rows) if words in (row["attempts"][-1]["text"] or ""))
    return found


def drop_failed(rows: list[dict[str, Any]]) -> None:
    """Drop the answer that could not be read, and so the cell that failed."""
    del rows[_saying(rows, "Hm, hm.")]


def then(*mutations: Mutation) -> Mutation:
    """One after the other."""

    def mutate(root: Path) -> None:
        for mutation in mutations:
            mutation(root)

    return mutate


def first(path: list[str | int], value: Any) -> Callable[[Any], None]:
    """Set a value of a JSON document."""

    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


SCORES = "reports/scores"
ITEMS = "data/datasets/tiny/items.jsonl"
both: Mutation = then(forge_manifest, forge_lock)


def resealed(*mutations: Mutation) -> Mutation:
    """And the manifest's and ``dvc.lock``'s hashes rewritten to match."""
    return then(*mutations, both)


def reparsed(*mutations: Mutation) -> Mutation:
    """And tables, reports and manifest made again from what is there now, and ``dvc.lock`` rewritten."""
    return then(*mutations, parse_again, forge_lock)


def rescored(*mutations: Mutation) -> Mutation:
    """And reports and manifest made again from the tables, and ``dvc.lock`` rewritten."""
    return then(*mutations, score_again, forge_lock)


__all__ = [
    "ITEMS",
    "MANIFEST",
    "RECORDED",
    "RESPONSES",
    "SCORES",
    "Mutation",
    "add",
    "answers",
    "both",
    "drop_failed",
    "drop_rounds",
    "edit",
    "edit_json",
    "edit_lines",
    "first",
    "flip",
    "forge_lock",
    "forge_manifest",
    "make_free",
    "remove",
    "reparsed",
    "rescored",
    "resealed",
    "select_first",
    "soften",
    "sql",
    "swap_answers",
    "then",
]
