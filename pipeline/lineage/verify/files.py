"""Hash the files of a run, each read once however many checks ask."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pipeline.errors import ManifestError

_BLOCK = 1 << 20
_NEVER_READ = {".git", ".dvc", ".hg"}  # by DVC, wherever they stand


@dataclass(frozen=True)
class FileHash:
    """A file's size in bytes, and its hashes as hex digits."""

    size: int
    md5: str
    sha256: str


@dataclass(frozen=True)
class FolderHash:
    """What DVC writes down of a folder: size of all files in bytes, their number, and one hash."""

    size: int
    nfiles: int
    md5: str


class Files:
    """The files below ``root``; paths are relative to it and written with ``/``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, FileHash] = {}
        self._ignored = _ignore_patterns(root / ".dvcignore")

    def hash(self, path: str) -> FileHash | None:
        """Size and hashes of a file, None if there is none of that name.

        Raises:
            ManifestError: it cannot be read.
        """
        if path not in self._known:
            target = self.root / path
            if not target.is_file():
                return None
            md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
            try:
                with target.open("rb") as handle:
                    while block := handle.read(_BLOCK):
                        md5.update(block)
                        sha256.update(block)
                        size += len(block)
            except OSError as error:
                raise ManifestError.at(path, f"cannot be read ({error.strerror}); check the file") from error
            self._known[path] = FileHash(size, md5.hexdigest(), sha256.hexdigest())
        return self._known[path]

    def folder_hash(self, path: str) -> FolderHash:
        """A folder as DVC 3 hashes it: the MD5 of the JSON list of its files' MD5s, with the suffix ``.dir``.

        The list is sorted by path, and what ``.dvcignore`` names is left out.
        """
        entries = []
        size = 0
        for relative in self.below(path):
            found = self.hash(f"{path}/{relative}")
            if found is not None and not self._is_ignored(f"{path}/{relative}"):
                entries.append({"md5": found.md5, "relpath": relative})
                size += found.size
        entries.sort(key=lambda entry: entry["relpath"])
        listing = json.dumps(entries, sort_keys=True).encode("utf-8")
        digest = hashlib.md5(listing, usedforsecurity=False).hexdigest()
        return FolderHash(size, len(entries), f"{digest}.dir")

    def below(self, path: str) -> list[str]:
        """The files in a folder and the folders in it, relative to it, sorted."""
        folder = self.root / path
        return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())

    def listed(self, paths: Iterable[str]) -> set[str]:
        """The files that a manifest over ``paths`` (files and folders) lists: all but compiled Python."""
        found = set()
        for path in paths:
            if (self.root / path).is_file():
                found.add(path)
            for relative in self.below(path):
                if "__pycache__" not in relative.split("/") and not relative.endswith(".pyc"):
                    found.add(f"{path}/{relative}")
        return found

    def _is_ignored(self, path: str) -> bool:
        parts = path.split("/")
        if _NEVER_READ & set(parts):
            return True
        for pattern in self._ignored:
            names = parts[:-1] if pattern.endswith("/") else parts
            if any(fnmatchcase(name, pattern.rstrip("/")) for name in names):
                return True
        return False


def _ignore_patterns(path: Path) -> tuple[str, ...]:
    """Patterns of a ``.dvcignore``: names with ``*`` and ``?``, a ``/`` at the end for folders only.

    Raises:
        ManifestError: it holds one that says more.
    """
    if not path.is_file():
        return ()
    patterns = [line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    patterns = [pattern for pattern in patterns if pattern and not pattern.startswith("#")]
    for pattern in patterns:
        if "/" in pattern[:-1] or pattern.startswith("!") or "\\" in pattern:
            raise ManifestError.at(
                path, f"{pattern!r} is more than a name; use names such as *.pyc or __pycache__/"
            )
    return tuple(patterns)
