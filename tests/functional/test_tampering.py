"""What `verify` says when somebody changed something: one byte, a row, an answer, or all of history.

Each case names every check that fails and, where it is a value, the place and the two values: all
others pass. What a check compares with is made from the run's inputs, so a forger who rewrites only what
comes after them is caught; one who rewrites the inputs, too, has made another run, with another id.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest
from mutations import (
    ITEMS,
    MANIFEST,
    RECORDED,
    RESPONSES,
    SCORES,
    Mutation,
    add,
    answers,
    drop_failed,
    drop_rounds,
    edit,
    edit_json,
    edit_lines,
    first,
    flip,
    forge_manifest,
    make_free,
    remove,
    reparsed,
    rescored,
    resealed,
    select_first,
    soften,
    sql,
    swap_answers,
)
from published_run import build, pipeline, refusal, write_run
from sealed_project import forge_lock, make_sealed_project, score_again

from pipeline.errors import ManifestError
from pipeline.lineage.manifest import package_sources_hash
from pipeline.lineage.places import place_of
from pipeline.lineage.verify.audit import verify_place
from pipeline.lineage.verify.checks import Check, failures
from pipeline.scoring import schemes
from pipeline.stages import report, score, seal
from pipeline.tables import database as tables

FILES, LOCK = {"manifest: files"}, {"dvc.lock", "reports are fresh"}
HASHES = FILES | LOCK
NUMBERS = {"score reports", "score tables", "metrics", "leaderboard"}
SHOWN = {"tables", *NUMBERS}
# The run id follows from the inputs: where it changes, what prints it is no longer of this run.
IDENTITY = {"tables", "leaderboard", "manifest: facts", "signature"}
EVERYTHING = SHOWN | IDENTITY

PROMPTS = "data/judge-prompts/gemba-mqm-context-v1"
JUDGE = "experiments/judges/tiny-judge.yaml"
REQUESTS = "data/requests/requests.jsonl"

# name -> (what is done, every check that fails, words that the differences hold)
BYTES: dict[str, tuple[Mutation, set[str], str]] = {
    "params.yaml": (
        edit("params.yaml", "seed: 7", "seed: 8"),
        HASHES | {"manifest: facts"},
        "reports/manifest.json#/parameters/seed: is 7, must be 8",
    ),
    "participants.yaml": (
        edit("data/participants.yaml", "zzDisplay A", "zzDisplay C"),
        HASHES | SHOWN - {"metrics"},
        'leaderboard.md:16#Participant: is "zzDisplay A", must be "zzDisplay C"',
    ),
    "translation": (
        edit("data/translations/a.jsonl", "She has", "He has"),
        HASHES | EVERYTHING | {"requests", "answers"},
        '/translation: is "She has already left.", must be "He has already left."',
    ),
    "dataset: a text": (
        edit(ITEMS, "벌써", "방금"),
        HASHES | EVERYTHING | {"requests", "answers"},
        '/variables/source: is "벌써 가셨어.", must be "방금 가셨어."',
    ),
    "dataset: an id": (edit(ITEMS, "zzitem-1", "zzitem-3"), HASHES | {"inputs"}, "is not in the dataset"),
    "dataset: a label": (
        edit(ITEMS, "referent_resolution", "register_carryover"),
        HASHES | {"tables", "score reports", "score tables", "leaderboard", "manifest: facts", "signature"},
        'items.parquet#row=1/primary_phenomenon: is "referent_resolution", must be "register_carryover"',
    ),
    "prompt: system text": (
        flip(f"{PROMPTS}/system.txt"),
        HASHES | EVERYTHING | {"requests", "answers"},
        "without an answer to request",
    ),
    "prompt: template": (
        edit(f"{PROMPTS}/user.txt", "${translation}", "${translations}"),
        HASHES | {"inputs"},
        "translations",
    ),
    "prompt: few-shot": (
        edit(f"{PROMPTS}/few-shot.jsonl", "no-error", "none"),
        HASHES | EVERYTHING | {"requests", "answers"},
        "without an answer to request",
    ),
    "profile: what is asked": (
        edit(JUDGE, "max_tokens: 400", "max_tokens: 401"),
        HASHES | EVERYTHING | {"requests", "answers"},
        "judge_profile/request/max_tokens: is 400, must be 401",
    ),
    "profile: how it travels": (
        edit(JUDGE, "127.0.0.1:9", "127.0.0.1:8"),
        HASHES | {"manifest: facts"},
        "judge_profile/transport/base_url: is",
    ),
    "requirements.lock": (
        flip("requirements.lock"),
        HASHES | {"manifest: facts"},
        "#/requirements_lock_sha256: is",
    ),
    "code: a weight": (
        edit("pipeline/scoring/schemes.py", '"major": 50', '"major": 40'),
        HASHES | {"manifest: facts"},
        "#/package_sources_sha256: is",
    ),
    "recorded answer": (
        edit(RECORDED, "ignored_irrelevant_context", "misused_context"),
        HASHES | {"recorded answers"},
        "does not match the line's content",
    ),
    "cells to judge": (flip("data/requests/cells.parquet", 0.1), HASHES | {"requests"} | IDENTITY, ""),
    "requests.jsonl": (
        edit(REQUESTS, "The ship", "A ship"),
        HASHES | {"requests"} | IDENTITY,
        '/variables/translation: is "A ship is leaving.", must be "The ship is leaving."',
    ),
    "responses.jsonl": (
        edit(RESPONSES, "ignored_irrelevant_context", "misused_context"),
        HASHES | {"answers", "recorded answers"} | IDENTITY,
        "#/sha256: is",
    ),
    "schema.sql": (flip("data/tables/schema.sql"), HASHES | {"tables"}, "schema.sql:"),
    "load.sql": (flip("data/tables/load.sql"), HASHES | {"tables"}, "load.sql:"),
    "metrics.json": (
        edit("reports/metrics.json", "7.75", "7.5"),
        HASHES | {"metrics"},
        "reports/metrics.json#/zzsystem-a/mean_penalty: is 7.5, must be 7.75",
    ),
    "a score report": (
        edit(f"{SCORES}/summary-overall.penalty.json", '"samples": 4', '"samples": 5'),
        HASHES | {"score reports"},
        "summary-overall.penalty.json#/0/samples: is 5, must be 4",
    ),
    "a flat table": (
        edit(f"{SCORES}/summary-overall.penalty.csv", ",7.75,", ",7.74,"),
        HASHES | {"score tables"},
        'summary-overall.penalty.csv:2#mean_penalty: is "7.74", must be "7.75"',
    ),
    "leaderboard.md": (
        edit("reports/leaderboard.md", "| 7.750 |", "| 7.751 |"),
        HASHES | {"leaderboard"},
        'leaderboard.md:16#Mean penalty: is "7.751", must be "7.750"',
    ),
    "manifest.json": (edit(MANIFEST, '"bytes": 1', '"bytes": 2'), HASHES, "manifest.json#/inputs/"),
    "dvc.lock": (edit("dvc.lock", "md5: ", "md5: 0"), LOCK, 'dvc.lock#/stages/render/deps/0/md5: is "0'),
    "dvc.yaml": (
        edit("dvc.yaml", "-m pipeline score", "-m pipeline  score"),
        LOCK,
        "dvc.lock#/stages/score/cmd: is",
    ),
}
TABLES = tuple(tables.TABLES)

# Consistent to some depth: what comes after the change is written anew, so that hashes agree.
DEEPER: dict[str, tuple[Mutation, set[str], str]] = {
    "report, with the manifest": (
        lambda root: (
            edit(f"{SCORES}/leaderboard.by-language.json", '"mean_penalty": 2.5', '"mean_penalty": 2')(root),
            forge_manifest(root),
        )[-1],
        LOCK | {"score reports"},
        "leaderboard.by-language.json#/en/leaderboard/0/mean_penalty: is 2, must be 2.5",
    ),
    "report, with the manifest and dvc.lock": (
        resealed(edit(f"{SCORES}/leaderboard.by-language.json", '"mean_penalty": 2.5', '"mean_penalty": 2')),
        {"score reports"},
        "leaderboard.by-language.json#/en/leaderboard/0/mean_penalty: is 2, must be 2.5",
    ),
    "signature of the leaderboard": (
        resealed(edit("reports/leaderboard.md", "c:5/8", "c:8/8")),
        {"leaderboard"},
        "c:8/8|v:",
    ),
    "leaderboard: another figure in the prose": (
        resealed(edit("reports/leaderboard.md", "judge failed 1;", "judge failed 0;")),
        {"leaderboard"},
        "judge failed 0;",
    ),
    "leaderboard: a line more": (
        resealed(edit("reports/leaderboard.md", "## Overall\n", "It is 9 times better.\n\n## Overall\n")),
        {"leaderboard"},
        'is "It is 9 times better.", must be not there: an unknown line',
    ),
    "leaderboard: a row less": (
        resealed(edit_lines("reports/leaderboard.md", lambda old: [*old[:15], *old[16:]])),
        {"leaderboard"},
        "without the row",
    ),
    "report: a key more": (
        resealed(edit_json(f"{SCORES}/run-status.json", first(["quality"], 5))),
        {"score reports"},
        "run-status.json#/quality: is 5, must be not there: an unknown value",
    ),
    "report: a cell less that failed": (
        resealed(
            edit_json(f"{SCORES}/failed-samples.by-language.json", lambda doc: doc["en"].clear()),
        ),
        {"score reports"},
        "failed-samples.by-language.json#/en/0: is missing, must be",
    ),
    "report: true for 1": (
        resealed(edit_json(f"{SCORES}/run-status.json", first(["rounds", "1"], True))),
        {"score reports"},
        "run-status.json#/rounds/1: is true, must be",
    ),
    "report: a cost": (
        resealed(edit_json(f"{SCORES}/cost-summary.json", first(["byPhase", "judge", "totalCostUsd"], 0))),
        {"score reports"},
        # Seven attempts at 0.00125 dollars each.
        "cost-summary.json#/byPhase/judge/totalCostUsd: is 0, must be 0.00875",
    ),
    "report: not JSON": (
        resealed(edit(f"{SCORES}/cost-summary.json", "{", "[{")),
        {"score reports"},
        "not valid JSON",
    ),
    "report: removed": (
        remove(f"{SCORES}/slices.json"),
        HASHES | {"score reports"},
        "slices.json: is missing",
    ),
    "report: added": (
        add(f"{SCORES}/better.json"),
        HASHES | {"score reports"},
        "better.json: is there, must be no report: an unknown file",
    ),
    "flat table: added": (add(f"{SCORES}/better.csv"), HASHES | {"score tables"}, "an unknown file"),
    "flat table: a line less": (
        resealed(edit_lines(f"{SCORES}/slices.csv", lambda old: old[:-1])),
        {"score tables"},
        "slices.csv:21: is missing",
    ),
    "flat table: a line twice": (
        resealed(edit_lines(f"{SCORES}/slices.csv", lambda old: [*old, old[-1]])),
        {"score tables"},
        "slices.csv:22: is",
    ),
    "flat table: two lines swapped": (
        resealed(edit_lines(f"{SCORES}/slices.csv", lambda old: [old[0], old[2], old[1], *old[3:]])),
        {"score tables"},
        "slices.csv:2#participant_id: is",
    ),
    "input: a file more": (add("data/recorded/more.jsonl", ""), HASHES, "data/recorded/more.jsonl: is there"),
    "table: a failed cell made ok": (
        resealed(sql("cells", "UPDATE t SET status='ok', judge_failure=NULL WHERE status='judge_failed'")),
        {"tables"},
        'cells.parquet#row=2/status: is "ok", must be "judge_failed"',
    ),
    "table: a failed cell dropped": (
        resealed(sql("cells", "DELETE FROM t WHERE status='judge_failed'")),
        {"tables"},
        "cells.parquet#row=8: is missing",
    ),
    "table: a row twice": (
        resealed(sql("turns", "INSERT INTO t SELECT * FROM t LIMIT 1")),
        {"tables"},
        "turns.parquet#row=4: is [0, 0,",
    ),
    "table: rows in another order": (
        resealed(sql("cells", "CREATE OR REPLACE TABLE t AS SELECT * FROM t ORDER BY cell_id DESC")),
        {"tables"},
        "cells.parquet#row=1/cell_id: is 7, must be 0",
    ),
    "table: another translation": (
        resealed(sql("cells", "UPDATE t SET translation='X' WHERE translation='Already went.'")),
        {"tables"},
        'cells.parquet#row=2/translation: is "X", must be "Already went."',
    ),
    "table: a column more": (
        resealed(sql("run", "ALTER TABLE t ADD COLUMN x INTEGER DEFAULT 1")),
        {"tables"},
        "run.parquet#columns: is",
    ),
    "table: a label, scored again": (
        rescored(
            sql(
                "annotations", "UPDATE t SET context_behavior='unclear' WHERE context_behavior LIKE 'missed%'"
            )
        ),
        SHOWN,
        'annotations.parquet#row=1/context_behavior: is "unclear", must be "missed_required_context"',
    ),
    "table: a severity, scored again": (
        rescored(sql("annotation_errors", "UPDATE t SET severity='minor' WHERE severity='critical'")),
        SHOWN,
        'annotation_errors.parquet#row=3/severity: is "minor", must be "critical"',
    ),
    "table: an error dropped, scored again": (
        rescored(sql("annotation_errors", "DELETE FROM t WHERE severity='critical'")),
        SHOWN,
        "annotation_errors.parquet#row=3: is missing",
    ),
    "table: two cells' answers swapped, scored again": (
        rescored(
            sql("judgments", "UPDATE t SET annotation_id = 6 - annotation_id WHERE annotation_id IN (2, 4)")
        ),
        SHOWN,
        "judgments.parquet#row=3/annotation_id: is 4, must be 2",
    ),
    "table: a span, scored again": (
        rescored(sql("spans", "UPDATE t SET location='missing', starts=[], ends=[] WHERE location='exact'")),
        {"tables", "score reports", "leaderboard"},
        'spans.parquet#row=1/location: is "missing", must be "exact"',
    ),
    "table: costs, scored again": (
        rescored(sql("attempts", "UPDATE t SET cost_nano_usd=0")),
        {"tables", "score reports", "score tables"},
        "attempts.parquet#row=1/cost_nano_usd: is 0, must be 1250000",
    ),
    "table: two names swapped, scored again": (
        rescored(
            sql("participants", "UPDATE t SET display_name = 'zzDisplay ' || chr(66 - participant_index)")
        ),
        SHOWN - {"metrics"},
        'participants.parquet#row=1/display_name: is "zzDisplay B", must be "zzDisplay A"',
    ),
    "table: the run id, scored again": (
        rescored(sql("run", "UPDATE t SET run_id=repeat('a', 64)")),
        IDENTITY,
        "manifest.json#/run_id: is",
    ),
    "cells to judge: a reason": (
        resealed(
            sql(
                "cells",
                "UPDATE t SET translation_failure='other' WHERE translation_failure IS NOT NULL",
                "data/requests",
            )
        ),
        {"requests"} | IDENTITY,
        'cells.parquet#row=6/translation_failure: is "other"',
    ),
    "requests: a line less": (
        resealed(edit_lines(REQUESTS, lambda old: old[1:])),
        {"requests"} | IDENTITY,
        "requests.jsonl:5: is missing",
    ),
    "requests: two lines swapped": (
        resealed(edit_lines(REQUESTS, lambda old: [old[1], old[0], *old[2:]])),
        {"requests"} | IDENTITY,
        "requests.jsonl:1#/request_hash: is",
    ),
    "translations: a line less": (
        resealed(edit_lines("data/translations/a.jsonl", lambda old: old[1:])),
        {"requests", "answers"} | EVERYTHING,
        "cells.parquet#row=1/translation: is",
    ),
    "responses: a line less": (
        resealed(edit_lines(RESPONSES, lambda old: old[1:])),
        {"answers"} | EVERYTHING,
        "without an answer to request",
    ),
    "responses: a line twice": (
        resealed(edit_lines(RESPONSES, lambda old: [old[0], *old])),
        {"answers", "score reports", "score tables"} | IDENTITY,
        "responses.jsonl:2: is the answer to",
    ),
    "responses: two lines swapped": (
        resealed(edit_lines(RESPONSES, lambda old: [old[1], old[0], *old[2:]])),
        {"answers"} | IDENTITY,
        "responses.jsonl:2: is the answer to",
    ),
    "responses: no JSON": (
        resealed(edit_lines(RESPONSES, lambda old: ["{\n", *old[1:]])),
        {"answers"},
        "responses.jsonl:1: not valid JSON",
    ),
    "responses and recorded: the failing answer dropped": (
        resealed(answers(RESPONSES, drop_failed), answers(RECORDED, drop_failed)),
        {"answers", "score reports", "score tables"} | IDENTITY,
        "without an answer to request",
    ),
    "an answer's text": (
        resealed(answers(RESPONSES, partial(soften, raw=False))),
        {"answers", "recorded answers"} | EVERYTHING,
        "#/attempts/1/text: is",
    ),
    "an answer's text, and all after it made again": (
        reparsed(answers(RESPONSES, partial(soften, raw=False))),
        {"answers", "recorded answers"},
        "#/attempts/1/text: is",
    ),
    "an answer's text in both files, and all after it made again": (
        reparsed(
            answers(RESPONSES, partial(soften, raw=False)), answers(RECORDED, partial(soften, raw=False))
        ),
        {"answers"},
        "#/attempts/1/text: is",
    ),
    "an answer with its raw bytes, and all after it made again": (
        reparsed(answers(RESPONSES, partial(soften, raw=True))),
        {"recorded answers"},
        "#/attempts/1/raw: is",
    ),
    "two answers swapped": (
        answers(RESPONSES, swap_answers),
        HASHES | {"recorded answers"} | EVERYTHING,
        "responses.jsonl:",
    ),
    "two answers swapped, with the manifest and dvc.lock": (
        resealed(answers(RESPONSES, swap_answers)),
        {"recorded answers"} | EVERYTHING,
        "responses.jsonl:",
    ),
    "two answers swapped in both files, with the manifest and dvc.lock": (
        resealed(answers(RESPONSES, swap_answers), answers(RECORDED, swap_answers)),
        EVERYTHING,
        "annotations.parquet#row=1/text: is",
    ),
    "two answers swapped, and all after it made again": (
        reparsed(answers(RESPONSES, swap_answers)),
        {"recorded answers"},
        "responses.jsonl:",
    ),
    "another attempt selected": (
        resealed(answers(RESPONSES, select_first)),
        {"answers", "recorded answers"} | EVERYTHING,
        "#/selected: is 0, must be 1",
    ),
    "another attempt selected in both files, and all after it made again": (
        reparsed(answers(RESPONSES, select_first), answers(RECORDED, select_first)),
        {"answers"},
        "#/selected: is 0, must be 1",
    ),
    "a refused round forgotten, and all after it made again": (
        reparsed(answers(RESPONSES, drop_rounds)),
        {"recorded answers"},
        "#/attempts/0/text: is",
    ),
    "an answer for free, and all after it made again": (
        reparsed(answers(RESPONSES, make_free)),
        {"recorded answers"},
        "#/attempts/0/cost_nano_usd: is 0, must be 1250000",
    ),
    "manifest: short signature": (
        edit_json(MANIFEST, first(["signature", "short"], "GEMBA-MQM-context|id:00000000")),
        LOCK | {"signature"},
        'manifest.json#/signature/short: is "GEMBA-MQM-context|id:00000000", must be',
    ),
    "manifest: long signature": (
        edit_json(MANIFEST, first(["signature", "long"], "")),
        LOCK | {"signature"},
        'manifest.json#/signature/long: is "", must be',
    ),
    "manifest: a parameter": (
        edit_json(MANIFEST, first(["parameters", "judge", "repeats"], 2)),
        LOCK | {"manifest: facts"},
        "#/parameters/judge/repeats: is 2, must be 1",
    ),
    "manifest: the profile": (
        edit_json(MANIFEST, first(["judge_profile", "request", "model"], "better")),
        LOCK | {"manifest: facts"},
        '#/judge_profile/request/model: is "better", must be "tiny-model"',
    ),
    "manifest: a count": (
        edit_json(MANIFEST, first(["counts", "cells_ok"], 8)),
        LOCK | {"manifest: facts"},
        "#/counts/cells_ok: is 8, must be 5",
    ),
    "manifest: the name": (
        edit_json(MANIFEST, first(["run_name"], "other")),
        LOCK | {"manifest: facts"},
        '#/run_name: is "other", must be "tiny"',
    ),
    "manifest: the code": (
        edit_json(MANIFEST, first(["package_sources_sha256"], "0" * 64)),
        LOCK | {"manifest: facts"},
        "#/package_sources_sha256: is",
    ),
    "manifest: an output less": (
        edit_json(MANIFEST, lambda doc: doc["outputs"].pop()),
        HASHES,
        "listed under outputs",
    ),
    "manifest: a file elsewhere": (
        edit_json(MANIFEST, first(["inputs", 0, "path"], "../params.yaml")),
        HASHES,
        '#/inputs/0/path: is "../params.yaml", must be a file that is there',
    ),
    "manifest: a file twice": (
        edit_json(MANIFEST, lambda doc: doc["inputs"].append(doc["inputs"][0])),
        HASHES,
        "each path once, sorted",
    ),
    "dvc.lock: a parameter": (
        edit("dvc.lock", "seed: 7", "seed: 8"),
        LOCK,
        "params/params.yaml/seed: is 8, must be 7",
    ),
    "dvc.lock: a stage less": (edit("dvc.lock", "  seal:\n", "  sealed:\n"), LOCK, "stages/seal: is missing"),
    "dvc.lock: removed": (remove("dvc.lock"), LOCK, "dvc.lock: missing"),
    "dvc.lock: a dependency less": (
        edit("dvc.lock", "    - path: params.yaml\n", "    - path: README.md\n"),
        LOCK,
        "without params.yaml",
    ),
}


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ``dvc repro`` made, shared: the tests change copies of it."""
    return make_sealed_project(tmp_path_factory.mktemp("sealed") / "project")


@pytest.fixture
def project(sealed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sealed, tmp_path / "project")


def said(checks: list[Check]) -> str:
    """All that the failures say."""
    bad = failures(checks)
    return "\n".join(
        [check.figures for check in bad] + [d.line() for check in bad for d in check.differences]
    )


def check_caught(folder: Path, fails: set[str], says: str) -> None:
    checks = verify_place(place_of(folder))
    assert {check.name for check in failures(checks)} == fails
    assert says in said(checks)


def test_untouched(project: Path) -> None:
    checks = verify_place(place_of(project))
    assert [check.name for check in checks if check.status != "ok"] == []
    assert len(checks) == 13


@pytest.mark.parametrize("name", BYTES)
def test_a_byte(project: Path, name: str) -> None:
    mutate, fails, says = BYTES[name]
    mutate(project)
    check_caught(project, fails, says)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("at", [0.3, 0.999])
def test_a_byte_of_a_table(project: Path, table: str, at: float) -> None:
    """The hashes see every byte; whether the rows differ, too, depends on the byte."""
    flip(f"data/tables/{table}.parquet", at)(project)
    found = {check.name for check in failures(verify_place(place_of(project)))}
    assert found - {"tables"} == HASHES


@pytest.mark.parametrize("name", DEEPER)
def test_deeper(project: Path, name: str) -> None:
    mutate, fails, says = DEEPER[name]
    mutate(project)
    check_caught(project, fails, says)


def test_a_weight_and_everything_after_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project whose scoring code was edited and run: hashes agree, the second path's weights do not."""
    usual = schemes.scheme_named("context-v1")
    weights = {**usual.weights, ("critical", "accuracy/omission"): 50}
    lighter = replace(usual, weights=MappingProxyType(weights))
    edit("pipeline/scoring/schemes.py", '"critical": 250, "major": 50', '"critical": 50, "major": 50')(
        project
    )
    for stage in (score, report, seal):
        monkeypatch.setattr(stage, "scheme_named", lambda _: lighter)
    score_again(project)
    code = package_sources_hash(project / "pipeline")
    edit_json(MANIFEST, first(["package_sources_sha256"], code))(project)
    forge_lock(project)
    # (5 + 1 + 0 + 25) / 4 = 7.75 becomes (5 + 1 + 0 + 5) / 4 = 2.75.
    check_caught(project, NUMBERS, "summary-overall.penalty.json#/0/mean_penalty: is 2.75, must be 7.75")


def test_the_last_line_names_a_value_before_a_hash(project: Path) -> None:
    edit(f"{SCORES}/summary-overall.penalty.json", '"samples": 4', '"samples": 5')(project)
    assert refusal(pipeline("verify", "--dir", project)) == (
        "4 of 13 checks failed; score reports: "
        "reports/scores/summary-overall.penalty.json#/0/samples: is 5, must be 4"
    )
    edit(f"{SCORES}/summary-overall.penalty.json", '"samples": 5', '"samples":  4')(project)
    assert "; manifest: files: reports/manifest.json#/outputs/" in refusal(
        pipeline("verify", "--dir", project)
    )


def test_a_manifest_with_another_key_is_not_read(project: Path) -> None:
    edit_json(MANIFEST, first(["verified"], True))(project)
    with pytest.raises(ManifestError, match="verified: unknown key"):
        verify_place(place_of(project))


def test_a_stage_failed_after_the_reports_were_written(project: Path) -> None:
    """The judge stage fails for want of an answer; DVC has removed its output, and the reports are old."""
    edit_lines(RECORDED, lambda old: old[1:])(project)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CTXEVAL_LEDGER": str(project.parent / "no-ledger.sqlite"),
    }
    for command, code in ((["init", "--quiet", "--no-scm"], 0), (["repro", "--quiet"], 255)):
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *command],
            cwd=project,
            env=environment,
            capture_output=True,
            check=False,
        )
        assert done.returncode == code
    done = pipeline("verify", "--dir", project)
    assert done.code == 1
    fresh = next(line for line in done.out.splitlines() if "reports are fresh" in line)
    assert fresh.startswith("FAIL  reports are fresh")
    assert "stage 'judge' did not run to its end on what is there now" in fresh
    assert "skip  score reports" in done.out


def test_used_answers_that_are_not_recorded_are_named(project: Path) -> None:
    """No failure: an answer from the ledger is as good. Which they are is said."""
    missing = json.loads((project / RECORDED).read_text(encoding="utf-8").splitlines()[1])["request_hash"]
    resealed(edit_lines(RECORDED, lambda old: [old[0], *old[2:]]))(project)
    done = pipeline("verify", "--dir", project)
    assert done.code == 0
    assert "4 of 5 used answers recorded" in done.out
    assert f"responses.jsonl:2: request {missing}, repeat 0, not recorded" in done.out


FORGED: dict[str, Mutation] = {
    "two answers swapped": reparsed(answers(RESPONSES, swap_answers), answers(RECORDED, swap_answers)),
    "an answer softened": reparsed(
        answers(RESPONSES, partial(soften, raw=True)), answers(RECORDED, partial(soften, raw=True))
    ),
    "a refused round forgotten": reparsed(answers(RESPONSES, drop_rounds), answers(RECORDED, drop_rounds)),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_no_hash_can_catch(project: Path, name: str) -> None:
    """Everything rewritten, answers, tables, reports, manifest, run id: a whole run, but not that one."""
    quoted = json.loads((project / MANIFEST).read_text(encoding="utf-8"))
    FORGED[name](project)
    forged = json.loads((project / MANIFEST).read_text(encoding="utf-8"))
    assert forged["run_id"] != quoted["run_id"]
    assert pipeline("verify", "--dir", project).code == 0
    for expected in (quoted["run_id"], quoted["run_id"][:8], quoted["signature"]["short"]):
        done = pipeline("verify", "--dir", project, "--expect", expected)
        assert done.code == 1
        assert [line for line in done.out.splitlines() if line.startswith("FAIL")] == [
            line for line in done.out.splitlines() if line.startswith("FAIL  expected run")
        ]
        message = refusal(done)
        assert forged["run_id"][:8] in message
        assert quoted["run_id"][:8] in message


@pytest.mark.parametrize("form", ["short", "long", "id", "digits", "markdown"])
def test_expected_run(project: Path, form: str) -> None:
    manifest = json.loads((project / MANIFEST).read_text(encoding="utf-8"))
    expected = {
        **manifest["signature"],
        "id": manifest["run_id"],
        "digits": manifest["run_id"][:12],
        "markdown": f" `{manifest['signature']['short']}`\n",
    }[form]
    done = pipeline("verify", "--dir", project, "--expect", expected)
    assert done.code == 0, done
    assert "ok    expected run" in done.out


@pytest.mark.parametrize("text", ["", "abc", "0123456", "A" * 8, "g" * 8, "0" * 65, "GEMBA-MQM-context|id:0"])
def test_what_cannot_be_expected(project: Path, text: str) -> None:
    done = pipeline("verify", "--dir", project, "--expect", text)
    assert refusal(done)
    assert done.out == ""


# A rebuilt run. RAW is line 1 of its raw answers.
RAW, SOURCE = "source/run/judge-raw.jsonl", "source/run/manifest.json"
PUBLISHED: dict[str, tuple[Mutation, set[str], str]] = {
    "raw answer": (
        edit(RAW, "accuracy/mistranslation", "accuracy/omission"),
        FILES | IDENTITY | {"score reports", "score tables"},
        "annotation_errors.parquet#row=1/error_class: is",
    ),
    "raw answer, with the manifest": (
        lambda root: (edit(RAW, "style/awkward", "other")(root), forge_manifest(root))[-1],
        IDENTITY | {"score reports", "score tables"},
        "annotation_errors.parquet#row=2/error_class: is",
    ),
    "raw answers: a line less": (
        edit_lines(RAW, lambda old: old[:-1]),
        FILES | IDENTITY | {"score reports", "score tables"},
        "cells.parquet#row=8/status: is",
    ),
    "raw answers: a line twice": (
        edit_lines(RAW, lambda old: [*old, old[0]]),
        FILES | {"answers"},
        "stands twice",
    ),
    "raw answers: another cell's key": (
        edit(RAW, "::alpha", "::nobody"),
        FILES | {"answers"},
        "names no cell",
    ),
    "failures: a reason": (
        edit("source/run/translation-failures.jsonl", "timeout", "time out"),
        FILES | IDENTITY,
        'translation_failures.parquet#row=1/reason: is "network: timeout", must be "network: time out"',
    ),
    "failures: removed": (
        remove("source/run/translation-failures.jsonl"),
        FILES | IDENTITY | {"score reports", "score tables"},
        "run-status.json#/translationFailureHistoricalCount: is 2, must be 0",
    ),
    "dataset": (
        edit("source/dataset/dataset.json", "false_lead_trap", "stale_context_resistance"),
        FILES | IDENTITY | {"score reports", "score tables"},
        "items.parquet#row=2/primary_phenomenon",
    ),
    "its own manifest": (
        edit(SOURCE, "System Alpha", "System Omega"),
        FILES | IDENTITY | {"score reports", "score tables"},
        '#Participant: is "System Alpha", must be "System Omega"',
    ),
    "a table": (
        sql("judgments", "UPDATE t SET annotation_id = 1 - annotation_id WHERE annotation_id < 2", "tables"),
        FILES | {"tables"},
        "judgments.parquet#row=1/annotation_id: is 1, must be 0",
    ),
    "a report": (
        edit(f"{SCORES}/summary-overall.normalized.json", "0.5", "0.4"),
        FILES | {"score reports"},
        "#/0/normalized_macro_mean_penalty: is 0.4, must be 0.5",
    ),
    "a report, with the manifest": (
        lambda root: (
            edit(f"{SCORES}/context-behavior.rates.json", "0.5", "0.25")(root),
            forge_manifest(root),
        )[-1],
        {"score reports"},
        "#/alpha/missed_required_context_rate: is 0.25, must be 0.5",
    ),
    "the scheme": (
        edit_json(MANIFEST, first(["parameters", "scoring_scheme"], "wmt-mqm")),
        {"score reports", "score tables", "leaderboard", "signature"},
        # beta's critical error weighs 25 and 5: (0 + 25 + 1) / 3, and (0 + 5 + 0.1) / 3.
        "summary-overall.penalty.json#/1/mean_penalty: is 8.666666666666666, must be 1.7",
    ),
    "no such scheme": (
        edit_json(MANIFEST, first(["parameters", "scoring_scheme"], "kind")),
        {"answers"},
        "scoring.scheme 'kind' does not exist",
    ),
    "a file more": (add("source/run/more.txt"), FILES, "source/run/more.txt: is there"),
}


@pytest.fixture
def rebuilt(tmp_path: Path) -> Path:
    assert build(write_run(tmp_path), tmp_path / "out").code == 0
    return tmp_path / "out"


@pytest.mark.parametrize("name", PUBLISHED)
def test_output_folder(rebuilt: Path, name: str) -> None:
    mutate, fails, says = PUBLISHED[name]
    mutate(rebuilt)
    check_caught(rebuilt, fails, says)


def test_an_output_folder_built_from_forged_answers(rebuilt: Path, tmp_path: Path) -> None:
    quoted = json.loads((rebuilt / MANIFEST).read_text(encoding="utf-8"))["run_id"]
    run = write_run(tmp_path / "forged")
    run.edit("judge-raw.jsonl", "Critical:\\naccuracy/omission", "Critical:\\naccuracy/addition")
    assert build(run, tmp_path / "again").code == 0
    assert pipeline("verify", "--dir", tmp_path / "again").code == 0
    assert pipeline("verify", "--dir", rebuilt, "--expect", quoted).code == 0
    done = pipeline("verify", "--dir", tmp_path / "again", "--expect", quoted[:8])
    assert f'must be "{quoted[:8]}"' in refusal(done)


def test_verify_changes_nothing(project: Path) -> None:
    def state() -> dict[str, str]:
        files = (path for path in sorted(project.rglob("*")) if path.is_file())
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before = state()
    verify_place(place_of(project))
    assert state() == before
