"""Write folders whole or not at all: new ones take the place of old ones when all are done."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.errors import StorageError, one_line


@contextlib.contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield a new empty folder; it becomes ``target`` on success and is removed on failure.

    Raises:
        StorageError: the disk is full, ``target`` is a file, or its place cannot be written.
    """
    with folder_beside(target) as staging:
        new = staging / target.name
        new.mkdir()
        yield new
        replace_folders(staging, target.parent, [target.name])


@contextlib.contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Yield a new empty folder on the file system of ``target``, removed with what is in it at the end.

    Raises:
        StorageError: for an operating system error in the block; its message names ``target``.
    """
    staging: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        yield staging
    except OSError as error:
        problem = one_line(error.strerror or str(error))
        raise StorageError(f"cannot write {target}: {problem}; make room or choose another folder") from error
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)


def replace_folders(staging: Path, parent: Path, names: Sequence[str]) -> None:
    """Rename each folder ``staging/name`` to ``parent/name``. Older ones are put aside in ``staging``.

    Raises:
        StorageError: there is a file of such a name; nothing was changed.
        OSError: a name could not be changed; all are back in their places.
    """
    for name in names:
        if (parent / name).exists() and not (parent / name).is_dir():
            raise StorageError(f"{parent / name} is a file where a folder belongs; move it away")
    aside = staging / ".replaced"
    aside.mkdir()
    renamed: list[tuple[Path, Path]] = []
    try:
        for name in names:
            if (parent / name).exists():
                _rename(parent / name, aside / name, renamed)
            _rename(staging / name, parent / name, renamed)
    except BaseException:
        for before, after in reversed(renamed):
            after.rename(before)
        raise


def _rename(before: Path, after: Path, renamed: list[tuple[Path, Path]]) -> None:
    before.rename(after)
    renamed.append((before, after))
