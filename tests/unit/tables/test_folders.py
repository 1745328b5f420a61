"""Folders are replaced all together or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import StorageError
from pipeline.tables.folders import folder_beside, replace_folders, whole_folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _tree(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_both_are_replaced(tmp_path: Path) -> None:
    _write(tmp_path / "a" / "old", "1")
    with folder_beside(tmp_path / "a") as staging:
        _write(staging / "a" / "new", "2")
        _write(staging / "b" / "new", "3")
        replace_folders(staging, tmp_path, ["a", "b"])
    assert _tree(tmp_path) == {"a/new": "2", "b/new": "3"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_if_the_second_cannot_be_renamed_the_first_is_put_back(tmp_path: Path) -> None:
    _write(tmp_path / "a" / "old", "1")
    _write(tmp_path / "b" / "old", "1")
    with pytest.raises(StorageError), folder_beside(tmp_path / "a") as staging:
        _write(staging / "a" / "new", "2")
        replace_folders(staging, tmp_path, ["a", "b"])  # staging holds no b
    assert _tree(tmp_path) == {"a/old": "1", "b/old": "1"}


def test_a_file_in_the_way_is_left(tmp_path: Path) -> None:
    _write(tmp_path / "a" / "old", "1")
    _write(tmp_path / "b", "mine")
    with (
        pytest.raises(StorageError, match="b is a file where a folder belongs"),
        folder_beside(tmp_path / "a") as staging,
    ):
        (staging / "a").mkdir()
        (staging / "b").mkdir()
        replace_folders(staging, tmp_path, ["a", "b"])
    assert _tree(tmp_path) == {"a/old": "1", "b": "mine"}


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, OSError])
def test_nothing_is_left_of_a_failure(tmp_path: Path, problem: type[BaseException]) -> None:
    _write(tmp_path / "a" / "old", "1")
    expected = StorageError if problem is OSError else problem
    with pytest.raises(expected), whole_folder(tmp_path / "a") as new:
        _write(new / "half", "2")
        raise problem("x")
    assert _tree(tmp_path) == {"a/old": "1"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_message_is_one_line(tmp_path: Path) -> None:
    with (
        pytest.raises(StorageError, match=r"^cannot write .*a: two lines; make room"),
        whole_folder(tmp_path / "a"),
    ):
        raise OSError("two\nlines")
