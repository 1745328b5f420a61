"""``dvc.lock`` without DVC: every hash, parameter and command of every stage, and what is stale."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pipeline.errors import ManifestError
from pipeline.lineage.verify.checks import HASHES, MISSING, Check, Findings, counted, failed, pointer, shown
from pipeline.lineage.verify.files import Files
from pipeline.validation import validate
from pipeline.yaml_file import read_yaml

LOCK, STAGES = "dvc.lock", "dvc.yaml"
_NAMES = HASHES[1:]


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Entry(_Loose):
    """A dependency or an output as DVC wrote it down."""

    path: str
    hash: str = "md5"
    md5: str
    size: int | None = None
    nfiles: int | None = None


class _LockedStage(_Loose):
    cmd: Any
    deps: list[_Entry] = Field(default_factory=list)
    params: dict[str, dict[str, Any]] = Field(default_factory=dict)
    outs: list[_Entry] = Field(default_factory=list)


class _Lock(_Loose):
    stages: dict[str, _LockedStage]


class _Stage(_Loose):
    cmd: Any = None
    foreach: Any = None
    matrix: Any = None
    deps: list[Any] = Field(default_factory=list)
    params: list[Any] = Field(default_factory=list)
    outs: list[Any] = Field(default_factory=list)
    metrics: list[Any] = Field(default_factory=list)
    plots: list[Any] = Field(default_factory=list)


class _Pipeline(_Loose):
    stages: dict[str, _Stage]


@dataclass
class _Sums:
    hashes: int = 0
    params: int = 0


def check_lock(files: Files) -> list[Check]:
    """Whether the files are what ``dvc.lock`` says, and whether every stage ran on what is there now.

    Raises:
        ConfigError, ManifestError: one of the two files is missing or not of DVC's shape.
    """
    root = files.root
    plan = validate(_Pipeline, read_yaml(root / STAGES), root / STAGES, ManifestError).stages
    if not (root / LOCK).is_file():
        missing = f"{LOCK}: missing; run `dvc repro`"
        return [failed(_NAMES[0], missing), failed(_NAMES[1], f"no stage is locked: {missing}")]
    lock = validate(_Lock, read_yaml(root / LOCK), root / LOCK, ManifestError).stages
    unfolded = [name for name, stage in plan.items() if stage.foreach or stage.matrix]
    plan = {name: stage for name, stage in plan.items() if name not in unfolded}
    lock = {name: stage for name, stage in lock.items() if name.split("@")[0] not in unfolded}
    all_findings, sums = Findings(), _Sums()
    stale: list[str] = []
    for name, stage in plan.items():
        findings = Findings()
        if name in lock:
            _compare_stage(findings, sums, files, name, stage, lock[name])
        else:
            findings.note(f"{LOCK}#/stages/{name}", "missing", "a stage that ran to its end")
        if findings.differences:
            stale.append(name)
        for difference in findings.differences:
            all_findings.note(difference.address, difference.found, difference.expected)
    for name in (name for name in lock if name not in plan):
        all_findings.note(f"{LOCK}#/stages/{name}", "there", f"a stage of {STAGES}")
    figures = (
        f"{counted(len(plan), 'stage')}, {counted(sums.hashes, 'hash', 'hashes')} and "
        f"{counted(sums.params, 'parameter')} compared"
        + (f"; not unfolded, and so not compared: {', '.join(unfolded)}" if unfolded else "")
    )
    return [all_findings.check(_NAMES[0], figures), _fresh(stale, list(plan))]


def _fresh(stale: list[str], names: list[str]) -> Check:
    if not stale:
        return Check(_NAMES[1], "ok", f"every stage ran on what is there now: {', '.join(names)}")
    return failed(
        _NAMES[1],
        f"stage {stale[0]!r} did not run to its end on what is there now, so what was written "
        f"from it is stale; run `dvc repro` (see the lines on {LOCK})",
    )


def _compare_stage(
    findings: Findings, sums: _Sums, files: Files, name: str, stage: _Stage, locked: _LockedStage
) -> None:
    at = f"{LOCK}#/stages/{name}"
    findings.compare(f"{at}/cmd", locked.cmd, stage.cmd)
    for kind, wanted, entries in (
        ("deps", [*map(_path, stage.deps)], locked.deps),
        ("outs", [*map(_path, (*stage.outs, *stage.metrics, *stage.plots))], locked.outs),
    ):
        there = [entry.path for entry in entries]
        for path in (path for path in wanted if path not in there):
            findings.note(f"{at}/{kind}", f"without {path}", f"one that has it, as {STAGES} does")
        for index, entry in enumerate(entries):
            if entry.path not in wanted:
                findings.note(f"{at}/{kind}/{index}", entry.path, f"a path of {STAGES}")
            sums.hashes += 1
            _compare_entry(findings, f"{at}/{kind}/{index}", files, entry)
    wanted_params = dict(_params(stage.params))
    for file in {**wanted_params, **locked.params}:
        content = read_yaml(files.root / file) if (files.root / file).is_file() else {}
        keys = wanted_params.get(file, [])
        stated = locked.params.get(file, {})
        for key in {**dict.fromkeys(keys), **stated}:
            sums.params += 1
            value = _looked_up(content, key) if key in keys else MISSING
            found = stated.get(key, MISSING)
            if _json(found) != _json(value):
                findings.note(f"{at}/params{pointer((file, key))}", shown(found), shown(value))


def _compare_entry(findings: Findings, address: str, files: Files, entry: _Entry) -> None:
    """The file decides: what stands in the lock is found, what the file has is expected."""
    if entry.hash != "md5":
        findings.note(f"{address}/hash", shown(entry.hash), "md5")
        return
    if entry.md5.endswith(".dir"):
        if not (files.root / entry.path).is_dir():
            findings.note(f"{address}/path", f"{entry.path}, which is missing", "a folder")
            return
        folder = files.folder_hash(entry.path)
        pairs = [("md5", folder.md5), ("size", folder.size), ("nfiles", folder.nfiles)]
    else:
        found = files.hash(entry.path)
        if found is None:
            findings.note(f"{address}/path", f"{entry.path}, which is missing", "a file")
            return
        pairs = [("md5", found.md5), ("size", found.size)]
    for name, actual in pairs:
        stated = getattr(entry, name)
        if stated is not None and stated != actual:
            findings.note(f"{address}/{name}", shown(stated), f"{shown(actual)} of {entry.path}")
            return


def _path(entry: Any) -> str:
    """A path of ``deps`` or ``outs``, which may be a mapping of the path to options."""
    return str(next(iter(entry))) if isinstance(entry, dict) else str(entry)


def _params(entries: list[Any]) -> Iterator[tuple[str, list[str]]]:
    """(file, keys) of a stage's ``params``; a bare key is one of ``params.yaml``."""
    bare = [entry for entry in entries if isinstance(entry, str)]
    if bare:
        yield "params.yaml", bare
    for entry in entries:
        if isinstance(entry, dict):
            for file, keys in entry.items():
                yield str(file), [str(key) for key in keys or ()]


def _json(value: Any) -> str:
    """A value of YAML as text: apart where 1 stands for true, alike whatever the order of keys."""
    return json.dumps(value, sort_keys=True, default=repr)


def _looked_up(content: Any, dotted: str) -> Any:
    for key in dotted.split("."):
        if not isinstance(content, dict) or key not in content:
            return MISSING
        content = content[key]
    return content
