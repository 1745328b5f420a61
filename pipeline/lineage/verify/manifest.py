"""The manifest against the files, and what it says of the run against what the run's inputs say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from pipeline.errors import ManifestError
from pipeline.jsonl import read_json
from pipeline.layout import MANIFEST
from pipeline.lineage.manifest import MANIFEST_VERSION
from pipeline.lineage.verify.checks import HASHES, Check, Findings, compare_json, counted, shown
from pipeline.lineage.verify.files import Files
from pipeline.validation import StrictModel, validate


class Entry(StrictModel):
    """A file of the manifest."""

    path: str
    bytes: int
    sha256: str


class Printed(StrictModel):
    """The signature in both forms."""

    short: str
    long: str


class Manifest(StrictModel):
    """``reports/manifest.json``. Every key is known here, so that none goes unchecked."""

    manifest_version: int
    run_id: str
    run_name: str
    signature: Printed
    inputs: list[Entry]
    outputs: list[Entry]
    parameters: dict[str, Any]
    judge_profile: dict[str, Any] | None
    requirements_lock_sha256: str | None
    package_sources_sha256: str
    counts: dict[str, int] = Field(default_factory=dict)


@dataclass(frozen=True)
class Stated:
    """What the manifest has to say of the run; ``package_sources_sha256`` None: it cannot be known here."""

    run_id: str
    run_name: str
    parameters: dict[str, Any]
    judge_profile: dict[str, Any] | None
    requirements_lock_sha256: str | None
    package_sources_sha256: str | None
    counts: dict[str, int]


def read_manifest(root: Path) -> Manifest:
    """Read ``reports/manifest.json`` below ``root``.

    Raises:
        ManifestError: it is missing, no JSON, of another version, or has other keys than it must.
    """
    path = root / MANIFEST
    value = read_json(path, ManifestError)
    version = value.get("manifest_version") if isinstance(value, dict) else None
    if type(version) is int and version != MANIFEST_VERSION:
        raise ManifestError.at(
            path,
            f"of version {version}; this pipeline verifies {MANIFEST_VERSION}: use the one that made it",
        )
    return validate(Manifest, value, path, ManifestError)


def check_files(manifest: Manifest, files: Files, inputs: list[str], outputs: list[str]) -> Check:
    """Hash every file again; every file below ``inputs`` and ``outputs`` has to be listed, once, sorted."""
    findings = Findings()
    name = MANIFEST.as_posix()
    for part, entries, paths in (
        ("inputs", manifest.inputs, inputs),
        ("outputs", manifest.outputs, outputs),
    ):
        for index, entry in enumerate(entries):
            _compare_entry(findings, files, f"{name}#/{part}/{index}", entry)
        listed = [entry.path for entry in entries]
        there = files.listed(paths) - {name}
        for path in sorted(there - set(listed)):
            findings.note(path, "there", f"listed under {part} of {name}, or not there")
        for path in sorted(set(listed) - there):
            if files.hash(path) is not None:
                findings.note(f"{name}#/{part}/{listed.index(path)}/path", path, f"one of the run's {part}")
        if listed != sorted(set(listed)):
            findings.note(f"{name}#/{part}", "not sorted, or a path twice", "each path once, sorted")
    figures = (
        f"{counted(len(manifest.inputs), 'input')} and {counted(len(manifest.outputs), 'output')} re-hashed, "
        "none unlisted"
        if not findings.differences
        else f"{counted(len(manifest.inputs) + len(manifest.outputs), 'file')} re-hashed"
    )
    return findings.check(HASHES[0], figures)


def _compare_entry(findings: Findings, files: Files, address: str, entry: Entry) -> None:
    """The file decides: what the manifest says is found, what the file has is expected."""
    found = files.hash(entry.path) if _inside(entry.path) else None
    if found is None:
        findings.note(f"{address}/path", shown(entry.path), "a file that is there")
    elif entry.sha256 != found.sha256:
        findings.note(f"{address}/sha256", entry.sha256, f"{found.sha256} of {entry.path}")
    elif entry.bytes != found.size:
        findings.note(f"{address}/bytes", str(entry.bytes), f"{found.size} of {entry.path}")
    findings.values += 2


def _inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def check_facts(manifest: Manifest, stated: Stated) -> Check:
    """Run id, names, parameters, profile, hashes of code and requirements, and counts."""
    findings = Findings()
    name = MANIFEST.as_posix()
    note = ""
    for key in (
        "run_id",
        "run_name",
        "parameters",
        "judge_profile",
        "requirements_lock_sha256",
        "package_sources_sha256",
        "counts",
    ):
        wanted = getattr(stated, key)
        if key == "package_sources_sha256" and wanted is None:
            note = "; package_sources_sha256 is not checked: the sources that made it are not here"
            continue
        compare_json(findings, name, getattr(manifest, key), wanted, (key,))
    return findings.check("manifest: facts", f"{counted(findings.values, 'value')} made again{note}")
