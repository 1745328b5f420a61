"""``trace`` on an own run with two verdicts a cell, answers asked again, and costs: numbers by hand.

| cell                | verdicts            | penalty       |
| ------------------- | ------------------- | ------------- |
| zzitem-1 zzsystem-a | major 5, minor 1    | (5 + 1) / 2   |
| zzitem-2 zzsystem-a | none 0, minor 1     | (0 + 1) / 2   |
| zzitem-1 zzsystem-b | critical 25, broken | judge_failed  |
| zzitem-2 zzsystem-b | not translated      | none          |

The first verdict was asked for twice: a refused answer for 1,000 billionths of a dollar, then one for 2,500.
Every other attempt cost 500, but for the last, whose cost the service did not say.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from published_run import pipeline
from tiny_project import PARAMS, REPOSITORY, make_tiny_project, put
from trace_walk import check_every_number

from pipeline.answers import Answer, Attempt, Usage
from pipeline.lineage.places import place_of
from pipeline.lineage.trace.run_tables import penalty_tenths
from pipeline.lineage.trace.tracer import Tracer
from pipeline.profiles import PROMPT_SET_ROOTS
from pipeline.requests import read_request_lines
from pipeline.scoring.schemes import scheme_named
from pipeline.stages import judge, parse, render, report, score, seal

BROKEN = "I would rather not."


def text(severity: str | None) -> str:
    lines = [
        line
        for name in ("Critical", "Major", "Minor")
        for line in (f"{name}:", 'style/awkward - "x"' if name == severity else "no-error")
    ]
    return "\n".join([*lines, "contextBehavior: used_correctly"])


# (item, translation) -> the verdicts' texts.
VERDICTS = {
    ("벌써 가셨어.", "She has already left."): (text("Major"), text("Minor")),
    ("배가 떠난다.", "The ship is leaving."): (text(None), text("Minor")),
    ("벌써 가셨어.", "Already went."): (text("Critical"), BROKEN),
}


def attempt(said: str, cost: int | None) -> Attempt:
    return Attempt(
        backend="openai-compatible",
        http_status=200,
        text=said,
        finish_reason="stop",
        served_model="tiny-served",
        system_fingerprint=None,
        response_id=None,
        usage=Usage(prompt_tokens=100, completion_tokens=10, reasoning_tokens=None),
        cost_nano_usd=cost,
        raw=json.dumps({"said": said}),
        raw_encoding="utf-8",
    )


def make(
    root: Path,
    verdicts: Mapping[tuple[str, str], tuple[str, ...]],
    params: Mapping[str, str] | None = None,
    translations: Mapping[str, str] | None = None,
) -> Path:
    """The project, run from hand-written answers; ``params`` and ``translations`` replace texts."""
    make_tiny_project(root)
    written = PARAMS.replace("repeats: 1", "repeats: 2")
    for old, new in (params or {}).items():
        assert old in written
        written = written.replace(old, new)
    put(root / "params.yaml", written)
    for file in ("a", "b"):
        path = root / f"data/translations/{file}.jsonl"
        said = path.read_text(encoding="utf-8")
        for old, new in (translations or {}).items():
            said = said.replace(old, new)
        put(path, said)
    put(root / "pipeline/__init__.py", "")
    shutil.copyfile(REPOSITORY / "requirements.lock", root / "requirements.lock")
    for folder in PROMPT_SET_ROOTS:
        (root / folder).mkdir(parents=True, exist_ok=True)
    render.run(root)
    answers = []
    for line in read_request_lines(root / "data/requests/requests.jsonl"):
        given = line.variables["source"], line.variables["translation"]
        for repeat, said in enumerate(verdicts[given]):
            attempts = [attempt(said, None if said == BROKEN else 500)]
            if said == text("Major"):
                attempts = [attempt(BROKEN, 1000), attempt(said, 2500)]
            answers.append(
                Answer(
                    request_hash=line.request_hash,
                    repeat=repeat,
                    selected=len(attempts) - 1,
                    attempts=attempts,
                )
            )
    put(root / "data/recorded/tiny.jsonl", "".join(answer.line() for answer in answers))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CTXEVAL_LEDGER", str(root.parent / "ledger.sqlite"))
        for stage in (judge, parse, score, report, seal):
            stage.run(root)
    return root


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("project"), VERDICTS)


def data(project: Path, *arguments: str) -> dict[str, Any]:
    done = pipeline("trace", "--dir", project, "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    document: dict[str, Any] = json.loads(done.out)
    return document


A = ("--participant", "zzsystem-a")
# Arguments -> value, sum, divisor.
NUMBERS: list[tuple[tuple[str, ...], Any, str, int | None]] = [
    (("summary-overall.penalty#/0/mean_penalty",), 1.75, "3.5", 2),
    (("summary-overall.penalty#/1/mean_penalty",), None, "0", 0),
    (("metrics#/zzsystem-a/mean_penalty",), 1.75, "3.5", 2),
    (("metrics#/zzsystem-b/coverage",), 0, "0", 2),
    (("--metric", "labels", *A, "--label", "used_correctly"), 4, "4", None),
    (("--metric", "missed_required_context_rate", *A), 0, "0", 2),
    (("--metric", "errors", *A), 3, "3", None),
    (("run-status#/reading/answers",), 6, "6", None),
    (("run-status#/reading/valid",), 5, "5", None),
    (("run-status#/judgeFailuresByType/malformed",), 1, "1", None),
    (("run-status#/rounds/2",), 1, "1", None),
    (("run-status#/rounds/1",), 2, "2", None),
    (("cost-summary#/byPhase/judge/attempts",), 7, "7", None),
    (("cost-summary#/byPhase/judge/promptTokens",), 700, "700", None),
    (("cost-summary#/byPhase/judge/totalCostUsd",), 5.5e-6, "5500", None),
    (("cost-summary#/byPhase/judge/reaskedCostUsd",), 2.5e-6, "2500", None),
    (("cost-summary#/byPhase/judge/reaskedAttempts",), 1, "1", None),
    (("cost-summary#/byPhase/judge/unknownCostRecordCount",), 1, "1", None),
    (("cost-by-model#/tiny-served/totalCostUsd",), 5.5e-6, "5500", None),
    (("cost-summary#/overall/unknownCostRecordCount",), 4, "4", None),
    (("--cell", "zzitem-1", "en", "zzsystem-a"), 3, "3", None),
]


@pytest.mark.parametrize(("arguments", "value", "total", "count"), NUMBERS)
def test_numbers(
    project: Path, arguments: tuple[str, ...], value: Any, total: str, count: int | None
) -> None:
    document = data(project, *arguments)
    assert document["agrees"] is True
    assert (document["value"], document["sum"], document["divided_by"]) == (value, total, count)


def test_every_number(project: Path) -> None:
    assert check_every_number(Tracer(place_of(project))) > 80


def test_an_answer_with_all_its_attempts(project: Path) -> None:
    (cell,) = data(project, "--cell", "zzitem-1", "en", "zzsystem-a")["cells"]["list"]
    first, second = cell["verdicts"]
    assert (first["penalty"], second["penalty"]) == ("5", "1")
    answer = first["answer"]
    assert [(a["cost_nano_usd"], json.loads(a["raw"])["said"]) for a in answer["attempts"]] == [
        (1000, BROKEN),
        (2500, text("Major")),
    ]
    assert answer["selected_attempt"] == 2
    recorded = (project / answer["recorded"]["at"]["path"]).read_text(encoding="utf-8").split("\n")
    projected = (project / answer["at"]["path"]).read_text(encoding="utf-8").split("\n")
    assert recorded[answer["recorded"]["at"]["line"] - 1] == projected[answer["at"]["line"] - 1]
    request = cell["request"]
    assert request["rendered_again"] == {"agrees": True, "hash": request["hash"]}
    assert "She has already left." in request["body"]["messages"][-1]["content"]
    assert cell["translation"]["at"] == {"path": "data/translations/a.jsonl", "line": 1}
    assert cell["item"]["at"] == {"path": "data/datasets/tiny/items.jsonl", "line": 1}


def test_a_failed_verdict_and_a_failed_translation(project: Path) -> None:
    done = pipeline("trace", "--dir", project, "--metric", "mean_penalty", "--participant", "zzsystem-b")
    assert done.code == 0
    assert "0 counted of 2 (not counted: 1 judge_failed, 1 translation_failed)" in done.out
    assert "verdict 2: no penalty: malformed" in done.out
    assert f"| {BROKEN}" in done.out
    assert "failure to translate: gave nothing in three tries, data/translations/b.jsonl line 2" in done.out


# What is changed -> what is said of it.
CHANGES = {
    "data/judge-prompts/gemba-mqm-context-v1/user.txt": ("Source", "Sauce", "the request has another hash"),
    "data/translations/a.jsonl": ("already", "just", "the translation is not the one"),
    "data/recorded/tiny.jsonl": (
        '"cost_nano_usd":2500',
        '"cost_nano_usd":2501',
        "the recorded answer is another",
    ),
    "data/responses/responses.jsonl": (
        '"cost_nano_usd":2500',
        '"cost_nano_usd":1',
        "own seal does not match",
    ),
    "data/datasets/tiny/items.jsonl": ("벌써 가셨어.", "이미 가셨어.", "the item is not the one"),
}


@pytest.mark.parametrize("file", CHANGES)
def test_what_does_not_agree_is_said(project: Path, tmp_path: Path, file: str) -> None:
    copy = shutil.copytree(project, tmp_path / "copy")
    old, new, said = CHANGES[file]
    content = (copy / file).read_text(encoding="utf-8")
    assert old in content
    (copy / file).write_text(content.replace(old, new), encoding="utf-8")
    done = pipeline("trace", "--dir", copy, "--cell", "zzitem-1", "en", "zzsystem-a")
    assert done.code == 1
    assert said in done.out
    assert f"{file}: hashed just now, it is not what manifest says" in done.out
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("scheme", "weights", "tenths"),
    [
        ("context-v1", [250, 50, 10], 310),
        ("gemba-upstream", [250, 50, 10], 250),  # at most 25
        ("gemba-upstream", [10, 10, 10, 10, 10, 50, 10], 90),  # the five heaviest: 50 + 4 * 10
        ("wmt-mqm", [], 0),
    ],
)
def test_penalties_under_limits(scheme: str, weights: list[int], tenths: int) -> None:
    assert penalty_tenths(weights, scheme_named(scheme)) == tenths


SHIP = ("배가 떠난다.", "The ship is leaving.")
BOLD = text("Minor").replace("Minor:", "**Minor:**")  # which lenient reading repairs


def moved(a: Path, b: Path) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Inputs that differ, and what moved each mean, exactly."""
    done = pipeline("diff", a, b, "--json")
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    inputs = [each["name"] for each in document["inputs"] if not each["same"] and each["used"]]
    return inputs, {
        move["participant_id"]: {
            cause: part["exact"]
            for cause, part in move["contributions"].items()
            if part and part["exact"] != "0"
        }
        for move in document["leaderboard"]
    }


def test_diff_by_reading(tmp_path: Path) -> None:
    """Read strictly, zzitem-2 of zzsystem-a fails: 3. Leniently it has 1 / 2 again: 1.75."""
    verdicts = VERDICTS | {SHIP: (text(None), BOLD)}
    strict = make(tmp_path / "strict", verdicts)
    lenient = make(tmp_path / "lenient", verdicts, {"mode: strict": "mode: lenient"})
    assert moved(strict, lenient) == (["reading"], {"zzsystem-a": {"reading": "-5/4"}, "zzsystem-b": {}})
    assert moved(lenient, strict) == (["reading"], {"zzsystem-a": {"reading": "5/4"}, "zzsystem-b": {}})


def test_diff_by_answer_then_by_reading(tmp_path: Path, project: Path) -> None:
    """The new answers (minor, minor) are refused as A reads: 3 - 1.75. As B reads: (3 + 1) / 2 - 3."""
    lenient = make(tmp_path / "b", VERDICTS | {SHIP: (BOLD, BOLD)}, {"mode: strict": "mode: lenient"})
    inputs, means = moved(project, lenient)
    assert inputs == ["reading", "recorded answers"]
    assert means["zzsystem-a"] == {"answer": "5/4", "reading": "-1"}


def test_diff_by_translation(tmp_path: Path, project: Path) -> None:
    """The ship sails now, and has a major error in one verdict of two: 5 / 2; 0.5 -> 2.5 of two cells."""
    verdicts = {cell: said for cell, said in VERDICTS.items() if cell != SHIP}
    verdicts[SHIP[0], "The ship sails."] = (text("Major"), text(None))
    other = make(tmp_path / "b", verdicts, translations={"is leaving": "sails"})
    assert moved(project, other) == (
        ["translations", "recorded answers"],
        {"zzsystem-a": {"translation": "1"}, "zzsystem-b": {}},
    )


def test_diff_by_repeats(tmp_path: Path, project: Path) -> None:
    """With the first verdict alone: zzsystem-a (5 + 0) / 2 - 1.75, and zzsystem-b has a mean, 25."""
    single = make(
        tmp_path / "b", {cell: said[:1] for cell, said in VERDICTS.items()}, {"repeats: 2": "repeats: 1"}
    )
    assert moved(project, single) == (
        ["parameters", "recorded answers"],
        {"zzsystem-a": {"repeats": "3/4"}, "zzsystem-b": {}},
    )
