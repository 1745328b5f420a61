"""Hashes without DVC, against those that DVC wrote into this project's ``dvc.lock``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.errors import ManifestError
from pipeline.lineage.dvc_lock import LockEntry, md5_file, md5_folder, read_lock

ROOT = Path(__file__).parents[3]


def entries() -> dict[str, LockEntry]:
    """Entries of files and folders that git keeps, but for code, which may be newer than the lock."""
    lock = read_lock(ROOT)
    assert lock is not None
    found = {entry.path: entry for entry in (*lock.dependencies, *lock.outputs)}
    made = ("data/requests", "data/responses", "data/tables")
    return {p: entry for p, entry in found.items() if p not in made and not p.startswith("pipeline")}


ENTRIES = entries()


@pytest.mark.parametrize("path", ENTRIES)
def test_hash_is_dvcs(path: str) -> None:
    entry = ENTRIES[path]
    assert (md5_folder if entry.is_folder else md5_file)(ROOT / path) == entry.md5


def test_folders_and_files_are_among_them() -> None:
    assert sum(entry.is_folder for entry in ENTRIES.values()) >= 6
    assert sum(not entry.is_folder for entry in ENTRIES.values()) >= 5


def test_covering() -> None:
    lock = read_lock(ROOT)
    assert lock is not None
    for path, found in {
        "data/tables/cells.parquet": "data/tables",
        "data/tables": "data/tables",
        "params.yaml": "params.yaml",
        "README.md": None,
    }.items():
        entry = lock.covering(path)
        assert (entry.path if entry else None) == found


@pytest.mark.parametrize(
    "text",
    [
        "stages: [1]",
        "stages: {a: {outs: [{path: x}]}}",
        "stages: {a: {outs: [{path: ../x, md5: 00000000000000000000000000000000}]}}",
        "stages: {a: {outs: [{path: x, md5: nonsense}]}}",
        "stages: {a: 1}",
        "- a",
        "a: [",
        "",
        "\x00",
    ],
)
def test_not_a_lock_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "dvc.lock").write_text(text, encoding="utf-8")
    with pytest.raises(ManifestError, match=r"restore it from git or run `dvc repro`"):
        read_lock(tmp_path)


def test_no_lock_file(tmp_path: Path) -> None:
    assert read_lock(tmp_path) is None


def test_a_folder_in_the_cache(tmp_path: Path) -> None:
    entry = LockEntry("stage", "out", "ab" + "0" * 30 + ".dir")
    assert entry.cached_files(tmp_path) is None
    listed = tmp_path / "files" / "md5" / "ab" / ("0" * 30 + ".dir")
    listed.parent.mkdir(parents=True)
    for relpath, accepted in (("inner/file", True), ("../outside", False), ("/absolute", False)):
        listed.write_text(json.dumps([{"md5": "cd" + "1" * 30, "relpath": relpath}]), encoding="utf-8")
        expected = [(tmp_path / "files" / "md5" / "cd" / ("1" * 30), relpath)] if accepted else None
        assert entry.cached_files(tmp_path) == expected
    listed.write_text("[1]", encoding="utf-8")
    assert entry.cached_files(tmp_path) is None
