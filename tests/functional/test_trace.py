"""``trace`` on a rebuilt run whose numbers were computed by hand, and on the published runs.

The hand-computed run stands in ``published_run.py``: alpha has 5, 2 and 0 and one failed cell; beta has 0,
25 and 1 and one cell that could not be translated.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from published_data import ABLATION, ABSENT, DATASET, FOLDER, HIGH_JUDGE, REASON
from published_run import ANSWERS, Outcome, build, key, pipeline, refusal, write_run
from trace_walk import check_every_number

from pipeline.lineage.places import place_of
from pipeline.lineage.trace.tracer import Tracer
from pipeline.published.build import build_published

Json = dict[str, Any]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rebuilt run, shared by the tests that only look."""
    folder = tmp_path_factory.mktemp("run")
    assert build(write_run(folder), folder / "out").code == 0
    return folder / "out"


@pytest.fixture
def own(built: Path, tmp_path: Path) -> Path:
    """A copy of the rebuilt run, to be changed."""
    return shutil.copytree(built, tmp_path / "out")


def trace(folder: Path, *arguments: str) -> Outcome:
    return pipeline("trace", "--dir", folder, *arguments)


def data(folder: Path, *arguments: str) -> Json:
    done = trace(folder, "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    document: Json = json.loads(done.out)
    assert document["agrees"] is True
    return document


# Arguments -> value, sum, what it is divided by: from the table in published_run.py.
ALPHA, BETA = ("--participant", "alpha"), ("--participant", "beta")
NUMBERS: list[tuple[tuple[str, ...], Any, str, int | None]] = [
    (("summary-overall.penalty#/0/mean_penalty",), 7 / 3, "7", 3),
    (("reports/scores/summary-overall.penalty.json#/1/mean_penalty",), 26 / 3, "26", 3),
    (("--metric", "mean_penalty", *BETA, "--language", "en"), 12.5, "25", 2),
    (("--metric", "mean_penalty", *BETA, "--common"), 12.5, "25", 2),
    (("--metric", "mean_penalty", *ALPHA, "--expectation", "use"), 3.5, "7", 2),
    (("--metric", "mean_penalty", *ALPHA, "--turns", "1", "--mode", "single"), 0, "0", 1),
    (("--metric", "mean_penalty", *BETA, "--phenomenon", "false_lead_trap"), 13, "26", 2),
    (("--metric", "samples", *ALPHA), 3, "3", None),
    (("--metric", "failed_samples", *ALPHA, "--language", "ja"), 1, "1", None),
    (("--metric", "missed_required_context_rate", *ALPHA), 0.5, "1", 2),
    (("--metric", "misused_context_rate", *BETA), 1, "2", 2),
    (("--metric", "errors", *ALPHA, "--severity", "minor"), 2, "2", None),
    (("--metric", "errors", *BETA, "--class", "accuracy/omission"), 1, "1", None),
    (("--metric", "labels", *BETA, "--label", "misused_context"), 2, "2", None),
    (("run-status#/totalExpected",), 8, "8", None),
    (("run-status#/commonCellCount",), 2, "2", None),
    (("run-status#/translationFailureHistoricalCount",), 2, "2", None),
    (("run-status#/judgeFailureRatesByParticipantLanguage/alpha::ja/failed",), 1, "1", None),
    (("run-status#/benchmarkValid",), False, "2", None),
    (("cost-summary#/overall/unknownCostRecordCount",), 7, "7", None),
    (("--cell", "no-context", "en", "beta"), 25, "25", None),
]


@pytest.mark.parametrize(("arguments", "value", "total", "count"), NUMBERS)
def test_numbers(built: Path, arguments: tuple[str, ...], value: Any, total: str, count: int | None) -> None:
    document = data(built, *arguments)
    assert (document["value"], document["sum"], document["divided_by"]) == (value, total, count)


def test_normalised_mean_with_the_means_it_is_made_of(built: Path) -> None:
    """en: alpha 2.5 is best, beta 12.5 worst; ja: beta 1 is best, alpha 2 worst."""
    document = data(built, "summary-overall.normalized#/0/normalized_macro_mean_penalty")
    assert document["value"] == 0.5
    assert document["calculation"] == "((2.5 - 2.5) / (12.5 - 2.5) + (2.0 - 1.0) / (2.0 - 1.0)) / 2"
    parts = [(part["role"], part["where"]["participant_id"], part["value"]) for part in document["parts"]]
    assert parts == [
        ("mean in en", "alpha", 2.5),
        ("best mean in en", "alpha", 2.5),
        ("worst mean in en", "beta", 12.5),
        ("mean in ja", "alpha", 2),
        ("best mean in ja", "beta", 1),
        ("worst mean in ja", "alpha", 2),
    ]


def test_a_mean_without_cells_is_null_and_says_why(built: Path) -> None:
    document = data(built, "--metric", "mean_penalty", *ALPHA, "--language", "ja", "--expectation", "ignore")
    assert document["value"] is None
    assert document["cells"]["not_counted"] == {"judge_failed": 1}
    (cell,) = document["cells"]["list"]
    assert cell["no_answer"]["searched"] == [{"path": "source/run/judge-raw.jsonl"}]


def test_without_common_cells_the_others_are_listed_as_not_counted(built: Path) -> None:
    document = data(built, "leaderboard.by-language.common-cell#/ja/1/mean_penalty")
    assert document["value"] is None
    assert document["cells"]["not_counted"] == {"not common": 2}


def test_cells_come_worst_first_with_bytes_and_hashes(built: Path) -> None:
    document = data(built, "--metric", "mean_penalty", *ALPHA, "--all")
    cells = document["cells"]["list"]
    assert [(cell["item_id"], cell["language"], cell["amount"]) for cell in cells] == [
        ("needs-context", "en", "5"),
        ("needs-context", "ja", "2"),
        ("no-context", "en", "0"),
        ("no-context", "ja", None),
    ]
    hashes = {file["path"]: file["sha256"] for file in document["files"]}
    for cell in cells[:3]:
        at = cell["verdicts"][0]["answer"]["at"]
        content = (built / at["path"]).read_bytes()
        line = json.loads(content.split(b"\n")[at["line"] - 1])
        name = (cell["item_id"], cell["language"], cell["participant_id"])
        assert (line["stable_key"], line["raw_judge_output"]) == (key(name), ANSWERS[name])
        assert hashes[at["path"]] == hashlib.sha256(content).hexdigest()
    for path, digest in hashes.items():
        assert hashlib.sha256((built / path).read_bytes()).hexdigest() == digest
    report = document["report"]["at"]
    lines = (built / report["path"]).read_text(encoding="utf-8").split("\n")
    assert lines[report["line"] - 1].split(":")[1].strip(" ,") == repr(7 / 3)


def test_limit(built: Path) -> None:
    assert data(built, "--metric", "samples", "--limit", "3")["cells"]["shown"] == 3
    assert "the 1 with the largest amounts (--all" in trace(built, "--metric", "samples", "--limit", "1").out


def test_the_tree_says_everything_in_words(built: Path) -> None:
    done = trace(built, "--metric", "mean_penalty", *BETA)
    assert done.code == 0
    for text in (
        "mean_penalty = 8.666666666666666\n",
        "recomputed: 26 / 3 = 8.666666666666666\n",
        "cells: 3 counted of 4 (not counted: 1 translation_failed)\n",
        '25: critical accuracy/omission "now"',
        "label: misused_context",
        "| contextBehavior: misused_context",
        "to translate: 내일 돌려줄게.",
        "failure to translate: network: timeout, source/run/translation-failures.jsonl line 2 [",
        "everything agrees",
    ):
        assert text in done.out
    assert done.out.count("DIFFERS") == 0


def _change(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


RAW = "source/run/judge-raw.jsonl"
CHANGES: dict[str, tuple[str, str, str, str]] = {
    "the reported number": (
        "reports/scores/summary-overall.penalty.json",
        "2.3333333333333335",
        "2.333333333333334",
        "the report says another value than the one recomputed",
    ),
    "a word of an answer": (
        RAW,
        "accuracy/mistranslation",
        "accuracy/omission",
        "not the text that the tables",
    ),
    "an answer's cell": (RAW, key(("needs-context", "en", "alpha")), "x", "not what manifest says"),
    "an item": ("source/dataset/dataset.json", "내일 돌려줄게.", "어제 돌려줬어.", "the item is not the one"),
    "the manifest": ("reports/manifest.json", '"sha256": "', '"sha256": "0', "not what manifest says"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_does_not_agree_is_said(own: Path, name: str) -> None:
    file, old, new, said = CHANGES[name]
    _change(own, file, old, new)
    done = trace(own, "summary-overall.penalty#/0/mean_penalty", "--all")
    assert done.code == 1
    assert said in done.out
    assert "DOES NOT AGREE" in done.out
    assert done.err.count("\n") == 1
    as_data = trace(own, "summary-overall.penalty#/0/mean_penalty", "--all", "--json")
    assert as_data.code == 1
    assert json.loads(as_data.out)["agrees"] is False


def test_hostile_text_is_shown_and_moves_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    run.edit("judge-raw.jsonl", '\\"it\\"', '\\"\\u001b[2J\\u202eit\\u200b\\"')
    assert build(run, tmp_path / "out").code == 0
    done = trace(tmp_path / "out", "--cell", "needs-context", "en", "alpha")
    assert done.code == 0
    assert "\\x1b[2J\\u202eit\\u200b" in done.out
    assert not set("\x1b\u202e\u200b") & set(done.out)


REFUSED: list[tuple[tuple[str, ...], str]] = [
    ((), "give one of: FILE.json#/json/pointer, --metric, --cell"),
    (("a#/b", "--metric", "samples"), "give one of"),
    (("summary-overall.penalty",), "names no number; write it like"),
    (("nothing#/0",), "no report 'nothing'"),
    (("summary-overall.penalty#",), "the whole report"),
    (("summary-overall.penalty#/9/mean_penalty",), "choose an index from 0 to 1"),
    (("summary-overall.penalty#/0/mean",), "choose from: expected, failed_samples, mean_penalty"),
    (("summary-overall.penalty#/-1/mean_penalty",), "choose an index"),
    (("summary-overall.penalty#/0",), "no single number"),
    (("summary-overall.penalty#/0/participant_id",), "is a text; trace a number beside it"),
    (("summary-overall.penalty#0",), "no JSON pointer"),
    (("../source/run/manifest.json#/runId",), "no report"),
    (("--metric", "bleu"), "no metric 'bleu'; choose from: mean_penalty"),
    (("--metric", "mean_penalty"), "mean_penalty needs participant to be named"),
    (("--metric", "mean_penalty", "--participant", "gamma"), "choose from: alpha, beta"),
    (("--metric", "misused_context_rate", *ALPHA, "--expectation", "use"), "ask for no other"),
    (
        ("--metric", "mean_penalty", *ALPHA, "--turns", "1", "--mode", "dyadic"),
        "no cell of the run has all of",
    ),
    (("--metric", "attempts", "--language", "en"), "over the whole run; name no slice"),
    (("--metric", "labels"), "labels needs label to be named"),
    (("--cell", "needs-context", "en", "gamma"), "participant 'gamma' is none of: alpha, beta"),
    (("--cell", "needs-context", "fr", "alpha"), "language 'fr' is none of: en, ja"),
    (("--cell", "needs-context", "en", "alpha", "--common"), "a slice belongs to --metric"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_refused_in_one_line(built: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in refusal(trace(built, *arguments))


def _remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def _write(name: str, text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    return write


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "no manifest": (_remove("reports/manifest.json"), "manifest.json: missing"),
    "no JSON": (_write("reports/manifest.json", "{"), "not valid JSON"),
    "another JSON": (_write("reports/manifest.json", "[]"), "not a manifest"),
    "an empty manifest": (_write("reports/manifest.json", "{}"), "does not list inputs"),
    "a path outside": (
        _write(
            "reports/manifest.json", '{"inputs": [{"path": "../x", "bytes": 1, "sha256": ""}], "outputs": []}'
        ),
        "inside of the run",
    ),
    "no scheme": (
        _write("reports/manifest.json", '{"inputs": [], "outputs": []}'),
        "names no scoring scheme",
    ),
    "an unknown scheme": (
        _write(
            "reports/manifest.json",
            '{"inputs": [], "outputs": [], "parameters": {"scoring_scheme": "x"}}',
        ),
        "choose from: context-v1",
    ),
    "no table": (_remove("tables/cells.parquet"), "cells.parquet: missing"),
    "a table that is none": (_write("tables/cells.parquet", "PAR1"), "cells.parquet: cannot be read"),
    "no answers": (_remove(RAW), "judge-raw.jsonl: cannot be read"),
    "a broken line": (_write(RAW, "{}\n{"), "judge-raw.jsonl:2: not valid JSON"),
    "a line that is no object": (_write(RAW, "1\n"), "judge-raw.jsonl:1: not a JSON object"),
    "a broken report": (_write("reports/scores/slices.json", "["), "slices.json: not valid JSON"),
    "a broken dataset": (_write("source/dataset/dataset.json", "[{}]"), "dataset.json: item 1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_runs_are_refused_in_one_line(own: Path, name: str) -> None:
    spoil, message = BROKEN[name]
    spoil(own)
    assert message in refusal(trace(own, "--metric", "mean_penalty", *ALPHA)).replace(".json:1:", ".json:")


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    assert "missing; name a project" in refusal(trace(tmp_path, "--metric", "samples"))


def test_every_number_of_the_small_run(built: Path) -> None:
    assert check_every_number(Tracer(place_of(built))) > 100


@pytest.mark.published
@pytest.mark.skipif(ABSENT, reason=REASON)
@pytest.mark.parametrize(("run", "numbers"), [(HIGH_JUDGE, 2661), (ABLATION, 471)])
def test_every_number_of_the_published_runs(tmp_path: Path, run: str, numbers: int) -> None:
    """The counts are those of JSON numbers, nulls and booleans in the rebuilt reports."""
    build_published(FOLDER / run, FOLDER / DATASET, tmp_path / "out")
    tracer = Tracer(place_of(tmp_path / "out"))
    assert check_every_number(tracer) == numbers
    raw = (FOLDER / run / "judge-raw.jsonl").read_bytes().split(b"\n")
    for cell in tracer.tables.cells:
        for verdict in tracer.ancestry.cell(cell)["verdicts"]:
            line = json.loads(raw[verdict["answer"]["at"]["line"] - 1])
            assert line["stable_key"].split("::", 1)[1] == "::".join(cell.key)
            assert line["raw_judge_output"] == verdict["answer"]["text"]
