"""The files of a run: read and hashed once, and compared with what manifest and ``dvc.lock`` say."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pipeline.canonical import sha256_hex
from pipeline.errors import ManifestError, TraceError
from pipeline.jsonl import decode, parse, read_json
from pipeline.layout import MANIFEST
from pipeline.lineage.dvc_lock import DVC_LOCK, Lock, md5_folder, read_lock
from pipeline.lineage.places import RunPlace
from pipeline.yaml_file import project_path

Agreement = Literal["agrees", "differs", "not listed", "none"]
"""``none``: there is no such record, as a rebuilt published run has no ``dvc.lock``."""


@dataclass(frozen=True)
class Artifact:
    """A file as it was hashed just now, and whether the records of it agree."""

    path: str
    bytes: int
    sha256: str
    manifest: Agreement
    dvc_lock: Agreement

    @property
    def agrees(self) -> bool:
        """Whether no record says otherwise, and one says so."""
        return "differs" not in (self.manifest, self.dvc_lock)


class RunFiles:
    """Files of a run by their paths relative to its root."""

    def __init__(self, place: RunPlace) -> None:
        """Read the manifest.

        Raises:
            ManifestError: it is missing or none.
        """
        self.place = place
        manifest = read_json(place.manifest, ManifestError)
        if not isinstance(manifest, dict):
            raise ManifestError.at(place.manifest, "not a manifest; run `dvc repro seal`")
        self.manifest: dict[str, Any] = manifest
        self._listed: dict[str, tuple[Any, Any]] = {}
        try:
            for part in ("inputs", "outputs"):
                for entry in manifest[part]:
                    self._listed[project_path(entry["path"])] = entry["bytes"], entry["sha256"]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ManifestError.at(
                place.manifest, "does not list inputs and outputs inside of the run; run `dvc repro seal`"
            ) from None
        self._contents: dict[str, bytes] = {}
        self._artifacts: dict[str, Artifact] = {}
        self._folders: dict[str, str] = {}

    @property
    def listed(self) -> list[str]:
        """Paths of all files of the manifest, inputs first."""
        return list(self._listed)

    @cached_property
    def lock(self) -> Lock | None:
        """The project's ``dvc.lock``; None where there is none."""
        return None if self.place.published else read_lock(self.place.root)

    def content(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            TraceError: it cannot be read.
        """
        if path not in self._contents:
            try:
                self._contents[path] = (self.place.root / path).read_bytes()
            except OSError as error:
                raise TraceError.at(
                    self.place.root / path,
                    f"cannot be read ({error.strerror}); restore it, or make it with `dvc repro`",
                ) from error
        return self._contents[path]

    def lines(self, path: str) -> list[tuple[int, dict[str, Any]]]:
        """(line number from 1, object) of a JSON lines file.

        Raises:
            TraceError: a line is no JSON object.
        """
        rows = []
        for number, raw in enumerate(self.content(path).split(b"\n"), start=1):
            if raw.strip():
                try:
                    value = json.loads(raw)
                except (ValueError, RecursionError):
                    value = self._parsed(path, raw, number)  # says what is wrong
                if not isinstance(value, dict):
                    raise TraceError.at(path, "not a JSON object; restore the file", line=number)
                rows.append((number, value))
        return rows

    def document(self, path: str) -> Any:
        """The JSON value of a file.

        Raises:
            TraceError: it is none.
        """
        return self._parsed(path, self.content(path), None)

    def _parsed(self, path: str, raw: bytes, line: int | None) -> Any:
        place = self.place.root / path
        return parse(place, decode(place, raw, TraceError, line), TraceError, line)

    def artifact(self, path: str) -> Artifact:
        """A file with its hash and whether the records agree.

        Raises:
            TraceError: it cannot be read.
        """
        if path not in self._artifacts:
            content = self.content(path)
            self._artifacts[path] = Artifact(
                path=path,
                bytes=len(content),
                sha256=sha256_hex(content),
                manifest=self._by_manifest(path, content),
                dvc_lock=self._by_lock(path, content),
            )
        return self._artifacts[path]

    def _by_manifest(self, path: str, content: bytes) -> Agreement:
        if path not in self._listed:
            return "not listed"
        return "agrees" if self._listed[path] == (len(content), sha256_hex(content)) else "differs"

    def _by_lock(self, path: str, content: bytes) -> Agreement:
        if self.lock is None:
            return "none"
        entry = self.lock.covering(path)
        if entry is None:
            return "not listed"
        if not entry.is_folder:
            found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        else:
            if entry.path not in self._folders:
                self._folders[entry.path] = md5_folder(self.place.root / entry.path)
            found = self._folders[entry.path]
        return "agrees" if found == entry.md5 else "differs"

    @property
    def records(self) -> list[str]:
        """The records themselves: the manifest and, in a project, ``dvc.lock``."""
        return [MANIFEST.as_posix(), *([] if self.lock is None else [DVC_LOCK.as_posix()])]


def relative(root: Path, path: Path) -> str:
    """A path as the manifest writes it."""
    return path.relative_to(root).as_posix()
