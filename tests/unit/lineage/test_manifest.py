"""The manifest: which files it lists, how, and what never stands in it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_run import CLEAN, TinyRun

from pipeline.canonical import json_document
from pipeline.errors import ManifestError
from pipeline.lineage.manifest import file_entries, manifest_document
from pipeline.lineage.run_signature import counts_of, signature_of

REPOSITORY = Path(__file__).parents[3]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_files_are_sorted_by_path_with_bytes_and_hash(tmp_path: Path) -> None:
    _write(tmp_path / "b" / "z.txt", "z")
    _write(tmp_path / "b" / "a" / "빵.txt", "빵")
    _write(tmp_path / "b.txt", "")
    _write(tmp_path / "unlisted.txt", "x")
    assert file_entries(tmp_path, ["b.txt", "b", Path("b/z.txt")]) == [
        {"path": "b.txt", "bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()},
        {"path": "b/a/빵.txt", "bytes": 3, "sha256": hashlib.sha256("빵".encode()).hexdigest()},
        {"path": "b/z.txt", "bytes": 1, "sha256": hashlib.sha256(b"z").hexdigest()},
    ]


def test_compiled_python_is_left_out(tmp_path: Path) -> None:
    for name in ("a.py", "a.pyc", "__pycache__/a.cpython-311.pyc", "__pycache__/other"):
        _write(tmp_path / "code" / name, "x")
    assert [entry["path"] for entry in file_entries(tmp_path, ["code"])] == ["code/a.py"]


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"^reports/scores: missing; run `dvc repro`"):
        file_entries(tmp_path, ["reports/scores"])


def test_document(tmp_path: Path) -> None:
    _write(tmp_path / "in.txt", "x")
    scores = TinyRun(
        participants=["p1", "p2"],
        answers={("i1", "en", "p1"): [CLEAN], ("i1", "en", "p2"): ["?"]},
    ).scores()
    document = manifest_document(
        signature=signature_of(scores),
        run_name="tiny",
        inputs=file_entries(tmp_path, ["in.txt"]),
        outputs=[],
        parameters={"seed": 1},
        profile=None,
        requirements_lock_sha256="0" * 64,
        counts=counts_of(scores),
    )
    assert set(document) == {
        "manifest_version",
        "run_id",
        "run_name",
        "signature",
        "inputs",
        "outputs",
        "parameters",
        "judge_profile",
        "requirements_lock_sha256",
        "package_sources_sha256",
        "counts",
    }
    assert document["counts"] == {
        "participants": 2,
        "languages": 1,
        "cells_expected": 2,
        "cells_ok": 1,
        "cells_judge_failed": 1,
        "cells_translation_failed": 0,
        "cells_translation_missing": 0,
        "common_cells": 0,
        "cells_sharing_a_request": 0,
        "answers": 2,
        "answers_valid": 1,
        "answers_repaired": 0,
    }
    assert document["signature"]["short"].endswith("|c:1/2|v:" + document["signature"]["long"].split(":")[-1])
    for place in (tmp_path, REPOSITORY, Path.home()):
        assert str(place) not in json_document(document)


HASH = "from pipeline.lineage.manifest import package_sources_hash; print(package_sources_hash())"


def _package_hash(root: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", HASH], cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_the_package_hash_follows_its_sources(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    one = shutil.copytree(REPOSITORY / "pipeline", tmp_path / "one" / "pipeline", ignore=ignored)
    two = shutil.copytree(REPOSITORY / "pipeline", tmp_path / "else" / "two" / "pipeline", ignore=ignored)
    before = _package_hash(one.parent)
    assert _package_hash(two.parent) == before, "neither the folder nor compiled files count"
    for path, text in (("vocabulary.py", "\n# more\n"), ("tables/views.sql", "\n-- more\n")):
        source = two / path
        old = source.read_text(encoding="utf-8")
        source.write_text(old + text, encoding="utf-8")
        assert _package_hash(two.parent) != before, path
        source.write_text(old, encoding="utf-8")
    (two / "vocabulary.py").rename(two / "vocabulary2.py")
    (two / "vocabulary.py").write_text("from pipeline.vocabulary2 import *\n")
    assert _package_hash(two.parent) != before, "a renamed module"


def test_the_published_build_lists_every_file_but_its_manifest(tmp_path: Path) -> None:
    from pipeline.published.build import build_published

    _write(
        tmp_path / "run" / "manifest.json",
        json.dumps(
            {
                "runId": "r",
                "judgeBackend": "b",
                "judgeModelId": "j",
                "judgePromptSetId": "s",
                "targetLanguages": ["en"],
                "participants": [
                    {"participantId": "p", "displayName": "P", "provider": "x", "providerModelId": "m"}
                ],
            }
        ),
    )
    _write(tmp_path / "run" / "judge-raw.jsonl", "")
    turn = {"speakerRole": "self", "sourceText": "응."}
    _write(
        tmp_path / "dataset.json",
        json.dumps(
            [
                {
                    "sampleId": "i",
                    "contextTurnCount": 1,
                    "speakerMode": "single",
                    "contextExpectation": "use",
                    "primaryPhenomenon": "referent_resolution",
                    "contextTurns": [turn],
                    "currentSource": turn,
                }
            ]
        ),
    )
    out = tmp_path / "out"
    build_published(tmp_path / "run", tmp_path / "dataset.json", out)
    text = (out / "reports" / "manifest.json").read_text(encoding="utf-8")
    document = json.loads(text)
    entries = document["inputs"] + document["outputs"]
    listed = {entry["path"]: entry["sha256"] for entry in entries}
    there = {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in out.rglob("*")
        if path.is_file() and path != out / "reports/manifest.json"
    }
    assert listed == there
    assert [entry["path"] for entry in document["inputs"]] == [
        "source/dataset/dataset.json",
        "source/run/judge-raw.jsonl",
        "source/run/manifest.json",
    ]
    assert str(tmp_path) not in text
