"""``published build`` on a small run of hand-computed reports, and on inputs that are broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from published_run import (
    ANSWERS,
    REPORTS,
    RUN,
    Published,
    build,
    key,
    pipeline,
    refusal,
    tree,
    write_run,
)

RAW, FAILED, TRANSLATED = "judge-raw.jsonl", "translation-failures.jsonl", "translations.jsonl"
FIRST = ("needs-context", "en", "alpha")


@pytest.fixture
def run(tmp_path: Path) -> Published:
    return write_run(tmp_path)


def test_the_files_and_what_is_printed(run: Published, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = build(run, out)
    assert (done.code, done.err) == (0, "")
    first, signature, long, last = done.out.splitlines()
    assert long.startswith("GEMBA-MQM-context|run:")
    assert first == "own-run: 6 of 8 expected cells ok"
    assert signature.startswith("GEMBA-MQM-context|id:")
    assert (
        "|p:unrecorded|j:own-backend:own/judge|e:unrecorded|r:1|a:strict|w:context-v1|c:6/8|v:" in signature
    )
    assert last == f"wrote {out}: source, tables, reports"
    assert sorted(path.name for path in out.iterdir()) == ["reports", "source", "tables"]
    assert sorted(path.name for path in (out / "reports").iterdir()) == [
        "leaderboard.md",
        "manifest.json",
        "scores",
    ]
    board = (out / "reports" / "leaderboard.md").read_text(encoding="utf-8")
    assert f"`{signature}`\n\n`{long}`\n" in board


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_what_was_computed_by_hand(run: Published, tmp_path: Path, name: str) -> None:
    build(run, tmp_path / "out")
    found = json.loads((tmp_path / "out" / "reports" / "scores" / f"{name}.json").read_text("utf-8"))
    assert _without_extras(found, REPORTS[name]) == REPORTS[name]


def _without_extras(found: Any, expected: Any) -> Any:
    """``found`` without the keys that ``expected`` does not have; lists keep their length and order."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return {name: _without_extras(found[name], expected[name]) for name in expected}
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return [_without_extras(*pair) for pair in zip(found, expected, strict=True)]
    return found


def test_building_again_gives_the_same_bytes(run: Published, tmp_path: Path) -> None:
    build(run, tmp_path / "one")
    build(run, tmp_path / "two")
    build(run, tmp_path / "one")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_the_order_of_lines_changes_nothing_but_the_hashes(run: Published, tmp_path: Path) -> None:
    build(run, tmp_path / "one")
    path = run.source / RAW
    path.write_text("".join(reversed(path.read_text("utf-8").splitlines(keepends=True))), encoding="utf-8")
    build(run, tmp_path / "two")
    one, two = tree(tmp_path / "one"), tree(tmp_path / "two")
    differing = {name for name in one | two if one.get(name) != two.get(name)}
    assert differing == {
        "reports/manifest.json",
        "reports/leaderboard.md",
        "tables/run.parquet",
        f"source/run/{RAW}",
    }


def test_another_scheme(run: Published, tmp_path: Path) -> None:
    assert build(run, tmp_path / "out", "--scheme", "wmt-mqm").code == 0
    scores = tmp_path / "out" / "reports" / "scores" / "summary-overall.penalty.json"
    means = [row["mean_penalty"] for row in json.loads(scores.read_text("utf-8"))]
    # Critical counts as major, minor punctuation 0.1: alpha (5 + 2 + 0) / 3, beta (0 + 5 + 0.1) / 3.
    assert means == [7 / 3, 51 / 30]


def test_an_unknown_scheme_is_refused_before_anything_is_written(run: Published, tmp_path: Path) -> None:
    message = refusal(build(run, tmp_path / "out", "--scheme", "mqm"))
    assert message.startswith("scoring.scheme 'mqm' does not exist; choose from: ")
    assert not (tmp_path / "out").exists()


def test_with_translations_spans_are_located(run: Published, tmp_path: Path) -> None:
    texts = {FIRST: "I will give it back.", ("no-context", "en", "beta"): "내일 now?"}
    for cell, text in texts.items():
        run.add(TRANSLATED, {"stable_key": key(cell), "translation": text})
    build(run, tmp_path / "out")
    rows = pipeline(
        "sql", "--tables", tmp_path / "out" / "tables", "--format", "csv",
        "SELECT item_id, participant_id, span, location FROM error_list ORDER BY ALL",
    ).out.splitlines()  # fmt: skip
    assert rows[1:] == [
        "needs-context,alpha,it,exact",
        "needs-context,alpha,あれ,not_locatable",
        "needs-context,alpha,です,not_locatable",
        "no-context,beta,now,exact",
        "no-context,beta,。,not_locatable",
    ]
    # Now that translations are kept, a cell without one was not translated.
    status = json.loads((tmp_path / "out/reports/scores/run-status.json").read_text("utf-8"))
    assert [(cell["source_id"], cell["status"]) for cell in status["cellsWithoutVerdict"]] == [
        ("no-context", "translation_missing"),
        ("needs-context", "translation_failed"),
    ]


def test_texts_of_every_kind(run: Published, tmp_path: Path) -> None:
    texts = {"NUL": "\0", "pair": "\U0001f469", "number": "5", "true": "true", "null": "null", "quote": '"'}
    cells = list(ANSWERS)
    for cell, text in zip(cells, texts.values(), strict=True):
        # As JSON spells them: NUL and the pair by escapes.
        run.add(TRANSLATED, {"stable_key": key(cell), "translation": f"{text}"})
    path = run.source / TRANSLATED
    path.write_text(path.read_text("utf-8").replace("\U0001f469", "\\ud83d\\udc69"), encoding="utf-8")
    assert build(run, tmp_path / "out").code == 0
    with duckdb.connect() as connection:
        file = str(tmp_path / "out" / "tables" / "cells.parquet")
        rows = connection.execute("SELECT translation FROM read_parquet(?)", [file]).fetchall()
    assert {row[0] for row in rows} - {None} == set(texts.values())


def test_folders_with_quotes_spaces_and_patterns(tmp_path: Path) -> None:
    # As a pattern "r[1]" is "r1", where another run stands.
    other = write_run(tmp_path / "r1")
    other.edit(RAW, "used_correctly", "unclear")
    run = write_run(tmp_path / "r[1]")
    assert build(run, tmp_path / "it's an [out]").code == 0
    counts = (tmp_path / "it's an [out]/reports/scores/context-behavior.counts.json").read_text("utf-8")
    assert json.loads(counts) == REPORTS["context-behavior.counts"]


# what is broken -> how, and what the message says (with {source} for the run's folder)
Break = Callable[[Published], Any]
BROKEN: dict[str, tuple[Break, str]] = {
    "no folder": (
        lambda run: run.source.rename(run.source.with_name("x")),
        "/manifest.json: no such file",
    ),
    "no manifest": (
        lambda run: (run.source / "manifest.json").unlink(),
        "/manifest.json: no such file",
    ),
    "no raw file": (
        lambda run: (run.source / RAW).unlink(),
        "{source}/judge-raw.jsonl: missing: a run",
    ),
    "broken manifest": (
        lambda run: (run.source / "manifest.json").write_text("{"),
        "{source}/manifest.json:1: not valid JSON",
    ),
    "manifest without run id": (
        lambda run: run.edit("manifest.json", '"runId"', '"run"'),
        "{source}/manifest.json: runId: missing; add it",
    ),
    "manifest with a number for a text": (
        lambda run: run.edit("manifest.json", '"own/judge"', "5"),
        "{source}/manifest.json: judgeModelId: Input should be a valid string (found 5)",
    ),
    "manifest with a language twice": (
        lambda run: run.edit("manifest.json", '"ja"', '"en"'),
        "{source}/manifest.json: targetLanguages: names 'en' twice",
    ),
    "manifest with a participant twice": (
        lambda run: run.edit("manifest.json", '"participantId": "beta"', '"participantId": "alpha"'),
        "{source}/manifest.json: participants: names 'alpha' twice",
    ),
    "manifest without participants": (
        lambda run: (run.source / "manifest.json").write_text(
            json.dumps(json.loads((run.source / "manifest.json").read_text()) | {"participants": []})
        ),
        "{source}/manifest.json: participants: List should have at least 1 item",
    ),
    "broken line": (
        lambda run: run.edit(RAW, '"source_id": "no-context"', '"source_id": "no-con'),
        "{source}/judge-raw.jsonl:4: not valid JSON: ",
    ),
    "line cut off": (
        lambda run: (run.source / RAW).write_bytes((run.source / RAW).read_bytes()[:-30]),
        "{source}/judge-raw.jsonl:6: not valid JSON: ",
    ),
    "line that is no object": (lambda run: run.add(RAW, []), "{source}/judge-raw.jsonl:7: not a JSON object"),  # type: ignore[arg-type]
    "not UTF-8": (
        lambda run: (run.source / RAW).write_bytes(
            (run.source / RAW).read_bytes().replace(b"now", b"n\xffw")
        ),
        "{source}/judge-raw.jsonl:5: not UTF-8; save the file as UTF-8",
    ),
    "half a surrogate pair": (
        lambda run: run.edit(RAW, "あれ", "\\ud800"),
        "{source}/judge-raw.jsonl:3: ",
    ),
    "duplicate": (
        lambda run: run.add(RAW, {"stable_key": key(FIRST), "raw_judge_output": "x"}),
        f"{{source}}/judge-raw.jsonl:7: {key(FIRST)}: stands twice; remove one of the lines",
    ),
    "no key": (
        lambda run: run.add(RAW, {"raw_judge_output": "x"}),
        "{source}/judge-raw.jsonl:7: stable_key: a line has no stable_key",
    ),
    "key of three parts": (
        lambda run: run.edit(RAW, key(FIRST), f"{RUN}::needs-context::en"),
        f"{{source}}/judge-raw.jsonl:1: {RUN}::needs-context::en: is not run::item::language::participant",
    ),
    "key of five parts": (
        lambda run: run.edit(RAW, key(FIRST), f"{key(FIRST)}::x"),
        f"{{source}}/judge-raw.jsonl:1: {key(FIRST)}::x: is not run::item::language::participant",
    ),
    "another run": (
        lambda run: run.edit(RAW, key(FIRST), key(FIRST).replace(RUN, "other")),
        "{source}/judge-raw.jsonl:1: other::needs-context::en::alpha: names another run than the manifest",
    ),
    "unknown item": (
        lambda run: run.edit(RAW, f"{RUN}::no-context", f"{RUN}::lost"),
        f"{{source}}/judge-raw.jsonl:4: {RUN}::lost::en::alpha: names an item that the dataset does not hold",
    ),
    "unknown language": (
        lambda run: run.edit(RAW, "::en::", "::ko::"),
        f"{{source}}/judge-raw.jsonl:1: {RUN}::needs-context::ko::alpha: names a language that the manifest",
    ),
    "unknown participant": (
        lambda run: run.edit(RAW, "::alpha", "::gamma"),
        f"{{source}}/judge-raw.jsonl:1: {RUN}::needs-context::en::gamma: names a participant that",
    ),
    "key that contradicts its line": (
        lambda run: run.edit(RAW, '"source_id": "needs-context"', '"source_id": "no-context"'),
        f"{{source}}/judge-raw.jsonl:1: {key(FIRST)}: disagrees with the source_id or target_language",
    ),
    "no text": (
        lambda run: run.edit(RAW, '"raw_judge_output"', '"answer"'),
        f"{{source}}/judge-raw.jsonl:1: {key(FIRST)}: has no raw_judge_output, or one that is no text",
    ),
    "null for a text": (
        lambda run: _set(run, RAW, "raw_judge_output", None),
        "has no raw_judge_output, or one",
    ),
    "number for a text": (
        lambda run: _set(run, RAW, "raw_judge_output", 5),
        "has no raw_judge_output, or one",
    ),
    "list for a text": (
        lambda run: _set(run, RAW, "raw_judge_output", ["x"]),
        "has no raw_judge_output, or one",
    ),
    "object for a text": (
        lambda run: _set(run, RAW, "raw_judge_output", {"x": 1}),
        "has no raw_judge_output",
    ),
    "true for a text": (
        lambda run: _set(run, RAW, "raw_judge_output", True),
        "has no raw_judge_output, or one",
    ),
    "number for a key": (
        lambda run: _set(run, RAW, "stable_key", 5),
        "is not run::item::language::participant",
    ),
    "translation twice": (
        lambda run: [run.add(TRANSLATED, {"stable_key": key(FIRST), "translation": t}) for t in ("a", "b")],
        f"{{source}}/translations.jsonl:2: {key(FIRST)}: stands twice; remove one of the lines",
    ),
    "translation that is a number": (
        lambda run: run.add(TRANSLATED, {"stable_key": key(FIRST), "translation": 5}),
        f"{{source}}/translations.jsonl:1: {key(FIRST)}: has no translation, or one that is no text",
    ),
    "failure without a key": (
        lambda run: run.add(FAILED, {"error_class": "x"}),
        "{source}/translation-failures.jsonl:3: stable_key: missing; add it",
    ),
    "failure of another run": (
        lambda run: run.edit(FAILED, RUN, "other"),
        "{source}/translation-failures.jsonl:1: stable_key: must be run::item::language::participant",
    ),
    "failure of an unknown item": (
        lambda run: run.edit(FAILED, "::needs-context", "::lost"),
        "{source}/translation-failures.jsonl:1: stable_key: names the item 'lost', which the run does not",
    ),
    "failure of an unknown language": (
        lambda run: run.edit(FAILED, "::en::", "::ko::"),
        "{source}/translation-failures.jsonl:1: stable_key: names the language 'ko', which the run does not",
    ),
    "failure of an unknown participant": (
        lambda run: run.edit(FAILED, "::beta", "::gamma"),
        "{source}/translation-failures.jsonl:1: stable_key: names the participant 'gamma', which the run",
    ),
    "failure with a number for a text": (
        lambda run: run.edit(FAILED, '"timeout"', "5"),
        "{source}/translation-failures.jsonl:1: last_error_summary: Input should be a valid string (found 5)",
    ),
    "failure with half a surrogate pair": (
        lambda run: run.edit(FAILED, "timeout", "\\ud800"),
        "{source}/translation-failures.jsonl:1: ",
    ),
    "broken failure line": (
        lambda run: run.edit(FAILED, '"error_class"', "error_class"),
        "{source}/translation-failures.jsonl:1: not valid JSON",
    ),
    "no dataset": (lambda run: run.dataset.unlink(), "{dataset}: no such file"),
    "broken dataset": (
        lambda run: run.dataset.write_text(run.dataset.read_text("utf-8").replace("dyadic", "x"), "utf-8"),
        "{dataset}: ",
    ),
}


def _replace_bytes(path: Path, old: bytes, new: bytes) -> None:
    path.write_bytes(path.read_bytes().replace(old, new))


def _set(run: Published, name: str, field: str, value: Any) -> None:
    """Give a field of a file's first line another value."""
    first, *rest = (run.source / name).read_text("utf-8").splitlines(keepends=True)
    changed = json.dumps(json.loads(first) | {field: value}) + "\n"
    (run.source / name).write_text("".join([changed, *rest]), encoding="utf-8")


@pytest.mark.parametrize(("damage", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_input_is_one_line_and_nothing_is_written(
    run: Published, tmp_path: Path, damage: Break, message: str
) -> None:
    out = tmp_path / "out"
    damage(run)
    expected = message.format(source=run.source, dataset=run.dataset)
    assert expected in refusal(build(run, out))
    assert not out.exists()


@pytest.mark.parametrize("value", [None, 5, 0.5, True, ["x"], {"x": 1}])
def test_an_answer_that_is_no_text(run: Published, tmp_path: Path, value: Any) -> None:
    _set(run, RAW, "raw_judge_output", value)
    assert refusal(build(run, tmp_path / "out")) == (
        f"{run.source / RAW}:1: {key(FIRST)}: has no raw_judge_output, or one that is no text; "
        "mend or remove the line"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["broken line", "duplicate", "unknown participant", "no manifest"])
def test_an_older_build_stays_as_it_was(run: Published, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    build(run, out)
    before = tree(out)
    BROKEN[name][0](run)
    refusal(build(run, out))
    assert tree(out) == before
    assert sorted(path.name for path in out.iterdir()) == ["reports", "source", "tables"]


def test_an_out_that_cannot_be_written(run: Published, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert refusal(build(run, tmp_path / "file")).startswith(f"cannot write {tmp_path / 'file' / 'tables'}: ")
    out = tmp_path / "out"
    out.mkdir()
    (out / "reports").write_text("mine")
    assert "is a file where a folder belongs; move it away" in refusal(build(run, out))
    assert tree(out) == {"reports": b"mine"}


def test_other_files_in_out_stay(run: Published, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    build(run, out)
    assert (out / "notes.txt").read_text() == "mine"
