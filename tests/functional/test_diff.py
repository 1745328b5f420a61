"""``diff`` of two rebuilt runs that differ in what a test changed; expected means are computed by hand.

The run stands in ``published_run.py``. alpha: 5 (needs-context en), 2 (needs-context ja), 0 (no-context en)
-> 7/3. beta: 0, 25, 1 -> 26/3.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from published_data import ABLATION, ABSENT, DATASET, FOLDER, HIGH_JUDGE, REASON
from published_run import ANSWERS, Published, build, key, pipeline, refusal, write_run

Json = dict[str, Any]
NO_ERROR = ANSWERS["needs-context", "en", "beta"]


def runs(tmp_path: Path, change: Callable[[Published], None], *options: str) -> tuple[Path, Path]:
    """The run as it is and as it is after a change."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        run = write_run(tmp_path / name)
        if name == "b":
            change(run)
        done = build(run, tmp_path / name / "out", *(options if name == "b" else ()))
        assert done.code == 0, done
    return tmp_path / "a" / "out", tmp_path / "b" / "out"


def compared(a: Path, b: Path, *options: str) -> Json:
    done = pipeline("diff", a, b, "--json", *options)
    assert (done.code, done.err) == (0, "")
    document: Json = json.loads(done.out)
    for move in document["leaderboard"]:
        if move["difference"]:
            parts = [Fraction(part["exact"]) for part in move["contributions"].values() if part]
            assert sum(parts, Fraction()) == Fraction(move["difference"]["exact"])
    return document


def parts(document: Json, participant: str) -> dict[str, str]:
    """What moved a participant's mean, exactly."""
    (move,) = (move for move in document["leaderboard"] if move["participant_id"] == participant)
    return {
        cause: part["exact"] for cause, part in move["contributions"].items() if part and part["exact"] != "0"
    }


def differing(document: Json) -> list[str]:
    return [each["name"] for each in document["inputs"] if not each["same"] and each["used"]]


def test_a_run_and_itself(tmp_path: Path) -> None:
    a, b = runs(tmp_path, lambda run: None)
    for other in (a, b):
        document = compared(a, other)
        assert document["same"] is True
        assert document["cells"]["changed"] == 0
        assert pipeline("diff", a, other).out.endswith("\nNothing differs.\n")


def test_another_answer(tmp_path: Path) -> None:
    """alpha's 5 becomes 1: (1 + 2 + 0) / 3 - 7/3 = -4/3; its label changes, too."""

    def change(run: Published) -> None:
        run.edit(
            "judge-raw.jsonl", "Major:\\naccuracy/mistranslation - ", "Major:\\nno-error\\nMinor:\\nx - "
        )
        run.edit("judge-raw.jsonl", 'x - \\"it\\"\\nMinor:\\nno-error', 'style/awkward - \\"it\\"')
        run.edit("judge-raw.jsonl", "missed_required_context", "unclear")

    a, b = runs(tmp_path, change)
    document = compared(a, b)
    assert differing(document) == ["recorded answers"]
    assert document["cells"]["by_cause"] == {"answer": {"touched": 1, "changed": 1}}
    assert document["cells"]["by_kind"] == {"label": 1, "penalty": 1}
    (cell,) = document["cells"]["list"]
    assert (cell["item_id"], cell["language"], cell["participant_id"]) == ("needs-context", "en", "alpha")
    assert (cell["a"]["penalty"], cell["b"]["penalty"], cell["causes"]) == (5, 1, ["answer"])
    assert parts(document, "alpha") == {"answer": "-4/3"}
    assert parts(document, "beta") == {}


def test_a_changed_item_comes_before_the_answers_it_brought(tmp_path: Path) -> None:
    """no-context says something else; beta's answers about it are 0 now: (0 + 0 + 1) / 3 - 26/3 = -25/3."""

    def change(run: Published) -> None:
        text = run.dataset.read_text(encoding="utf-8")
        place = text.rindex("내일 돌려줄게.")
        run.dataset.write_text(text[:place] + "모레 돌려줄게." + text[place + 8 :], encoding="utf-8")
        run.edit("judge-raw.jsonl", 'Critical:\\naccuracy/omission - \\"now\\"', "Critical:\\nno-error")

    a, b = runs(tmp_path, change)
    document = compared(a, b)
    assert differing(document) == ["dataset", "recorded answers"]
    assert document["cells"]["by_cause"] == {"item": {"touched": 4, "changed": 1}}
    assert parts(document, "beta") == {"item": "-25/3"}
    (move,) = (move for move in document["leaderboard"] if move["participant_id"] == "beta")
    assert (move["rank_a"], move["rank_b"]) == (2, 1)


def test_weights(tmp_path: Path) -> None:
    """wmt-mqm: critical 5, minor punctuation 0.1: beta (0 + 5 + 0.1) / 3 = 1.7; alpha stays 7/3."""
    a, b = runs(tmp_path, lambda run: None, "--scheme", "wmt-mqm")
    document = compared(a, b)
    assert differing(document) == ["weights"]
    assert document["cells"]["by_cause"] == {"weights": {"touched": 2, "changed": 2}}
    assert parts(document, "alpha") == {}
    assert parts(document, "beta") == {"weights": str(Fraction(17, 10) - Fraction(26, 3))}


def test_answer_and_weights_together(tmp_path: Path) -> None:
    """beta's 25 becomes no error: -25/3 by the answer; then its 1 becomes 0.1: -0.3 by the weights."""
    a, b = runs(
        tmp_path,
        lambda run: run.edit(
            "judge-raw.jsonl", 'Critical:\\naccuracy/omission - \\"now\\"', "Critical:\\nno-error"
        ),
        "--scheme",
        "wmt-mqm",
    )
    document = compared(a, b)
    assert parts(document, "beta") == {"answer": "-25/3", "weights": "-3/10"}
    # Backwards: the 5 of wmt-mqm comes, 5/3; then 5 and 0.1 become 25 and 1: 26/3 - 5.1/3 = 209/30.
    assert parts(compared(b, a), "beta") == {"answer": "5/3", "weights": "209/30"}


def test_a_failed_cell_that_is_answered_now(tmp_path: Path) -> None:
    """alpha gets a fourth cell, of penalty 0: 7/4 - 7/3 = -7/12."""
    cell = ("no-context", "ja", "alpha")
    line = {
        "stable_key": key(cell),
        "source_id": cell[0],
        "target_language": cell[1],
        "participant_id": cell[2],
    }
    a, b = runs(tmp_path, lambda run: run.add("judge-raw.jsonl", line | {"raw_judge_output": NO_ERROR}))
    document = compared(a, b)
    (found,) = document["cells"]["list"]
    assert found["a"] == {"status": "judge_failed (unrecorded)", "penalty": None, "labels": []}
    assert found["b"]["status"] == "ok"
    assert parts(document, "alpha") == {"answer": "-7/12"}


def test_cells_that_only_one_run_has(tmp_path: Path) -> None:
    """Without needs-context, alpha has 0 alone and beta 25 and 1: 0 - 7/3, 13 - 26/3 = 13/3."""

    def change(run: Published) -> None:
        items = json.loads(run.dataset.read_text(encoding="utf-8"))
        run.dataset.write_text(json.dumps(items[1:]), encoding="utf-8")
        for name in ("judge-raw.jsonl", "translation-failures.jsonl"):
            path = run.source / name
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            path.write_text("".join(line for line in lines if "needs-context" not in line), encoding="utf-8")

    a, b = runs(tmp_path, change)
    document = compared(a, b)
    assert document["cells"]["by_kind"] == {"only in A": 4}
    assert parts(document, "alpha") == {"cells": "-7/3"}
    assert parts(document, "beta") == {"cells": "13/3"}
    page = pipeline("diff", a, b).out
    assert "needs-context en alpha: 5 missed_required_context -> not there (cells)" in page
    assert "alpha" in page
    assert "-2.3333" in page


def test_limit(tmp_path: Path) -> None:
    a, b = runs(tmp_path, lambda run: None, "--scheme", "wmt-mqm")
    assert [compared(a, b, *given)["cells"]["shown"] for given in (("--limit", "1"), ("--all",))] == [1, 2]
    assert "and 1 more (--all shows every one)" in pipeline("diff", a, b, "--limit", "1").out


@pytest.mark.parametrize("name", ["nothing-of-this-name", "a"])
def test_refused_in_one_line(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    message = refusal(pipeline("diff", name, name))
    assert "not a git repository" in message or "name a project where `dvc repro` ran" in message


@pytest.mark.published
@pytest.mark.skipif(ABSENT, reason=REASON)
def test_published_runs_have_no_participant_in_common(tmp_path: Path) -> None:
    for name in (HIGH_JUDGE, ABLATION):
        build(Published(FOLDER / name, FOLDER / DATASET), tmp_path / name)
    document = compared(tmp_path / HIGH_JUDGE, tmp_path / ABLATION)
    assert document["cells"]["by_kind"] == {"only in A": 7776, "only in B": 1296}
    means = {move["participant_id"]: (move["mean_a"], move["mean_b"]) for move in document["leaderboard"]}
    chart = json.loads((FOLDER / HIGH_JUDGE / "reports" / "leaderboard-chart-input.json").read_text("utf-8"))
    for row in chart[:-1]:  # the last row does not follow from the answers
        assert means[row["participant_id"]] == (row["mean_penalty"], None)
