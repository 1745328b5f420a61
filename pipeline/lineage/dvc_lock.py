"""What ``dvc.lock`` says of files, and DVC's own hashes of files and folders, without DVC."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.errors import ManifestError
from pipeline.jsonl import decode, read_bytes

DVC_LOCK = Path("dvc.lock")
_MD5 = re.compile(r"[0-9a-f]{32}(\.dir)?")


@dataclass(frozen=True)
class LockEntry:
    """A dependency or an output of a stage: its path, and its MD5, which ends in ``.dir`` for a folder."""

    stage: str
    path: str
    md5: str

    @property
    def is_folder(self) -> bool:
        """Whether the hash is that of a folder."""
        return self.md5.endswith(".dir")

    def cached_files(self, cache: Path) -> list[tuple[Path, str]] | None:
        """Where the cache keeps each file of the entry, with its path inside the entry.

        The inner path is empty for a single file. None if the cache lacks the list of a folder's files, or
        holds one that is none.
        """
        stored = _stored(cache, self.md5)
        if not self.is_folder:
            return [(stored, "")]
        try:
            listed = json.loads(stored.read_bytes())
            pairs = [(str(each["relpath"]), str(each["md5"])) for each in listed]
        except (OSError, ValueError, TypeError, KeyError):
            return None
        if not all(_is_inside(inner) and _MD5.fullmatch(md5) for inner, md5 in pairs):
            return None
        return [(_stored(cache, md5), inner) for inner, md5 in pairs]


@dataclass(frozen=True)
class Lock:
    """All entries of a ``dvc.lock``, in its order."""

    dependencies: tuple[LockEntry, ...]
    outputs: tuple[LockEntry, ...]

    @cached_property
    def _by_path(self) -> dict[str, LockEntry]:
        # What a stage made counts before what a later one read.
        return {entry.path: entry for entry in (*self.dependencies, *self.outputs)}

    def covering(self, path: str) -> LockEntry | None:
        """The entry of a file (a path relative to the project, with ``/``) or of the folder it stands in."""
        place = PurePosixPath(path)
        candidates = [str(place), *(str(parent) for parent in place.parents)]
        return next((self._by_path[name] for name in candidates if name in self._by_path), None)


def read_lock(root: Path) -> Lock | None:
    """Read ``dvc.lock`` below ``root``; None if there is none.

    Raises:
        ManifestError: it is not DVC's.
    """
    path = root / DVC_LOCK
    if not path.is_file():
        return None
    entries: dict[str, list[LockEntry]] = {"deps": [], "outs": []}
    try:
        for name, stage in _stages(decode(path, read_bytes(path, ManifestError), ManifestError)).items():
            for kind, found in entries.items():
                for entry in stage.get(kind) or ():
                    listed = LockEntry(str(name), str(entry["path"]), str(entry["md5"]))
                    if not (_MD5.fullmatch(listed.md5) and _is_inside(listed.path)):
                        raise ValueError(f"entry {listed.path!r} is none of DVC's")
                    found.append(listed)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ManifestError.at(
            path, f"not DVC's lock file ({str(problem)[:200]}); restore it from git or run `dvc repro`"
        ) from None
    return Lock(tuple(entries["deps"]), tuple(entries["outs"]))


def _stages(text: str) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        # The C parser where it is installed: a lock file is long, and plain.
        stages = YAML(typ="safe").load(text)["stages"]
    except (YAMLError, RecursionError) as problem:
        raise ValueError(str(problem)) from None
    if not isinstance(stages, dict):
        raise ValueError("it holds no stages")
    return stages


def md5_file(path: Path) -> str:
    """DVC's hash of a file: MD5 of its bytes."""
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def md5_folder(folder: Path) -> str:
    """DVC's hash of a folder: MD5 of the JSON list of its files' MD5 and paths, sorted by path.

    What ``.dvcignore`` names, byte code, does not count.
    """
    files = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    listed = [
        {"md5": md5_file(files[name]), "relpath": name}
        for name in sorted(files, key=lambda name: tuple(name.split("/")))
    ]
    return hashlib.md5(json.dumps(listed).encode(), usedforsecurity=False).hexdigest() + ".dir"


def _stored(cache: Path, md5: str) -> Path:
    return cache / "files" / "md5" / md5[:2] / md5[2:]


def _is_inside(path: str) -> bool:
    place = PurePosixPath(path)
    return bool(path) and not place.is_absolute() and ".." not in place.parts and "\\" not in path
