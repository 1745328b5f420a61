"""The run's sealed record: every input and output with its bytes and SHA-256."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.canonical import canonical_hash, sha256_file
from pipeline.errors import ManifestError
from pipeline.lineage.signature import Signature

MANIFEST_VERSION = 1
_PACKAGE = Path(__file__).resolve().parent.parent


def file_entries(root: Path, paths: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Entries ``{path, bytes, sha256}`` for files and, recursively, folders below ``root``, sorted.

    Raises:
        ManifestError: a path is not there.
    """
    files: set[Path] = set()
    for path in paths:
        target = root / path
        if target.is_dir():
            files.update(
                p
                for p in target.rglob("*")
                if p.is_file() and "__pycache__" not in p.parts and p.suffix != ".pyc"
            )
        elif target.is_file():
            files.add(target)
        else:
            raise ManifestError.at(path, "missing; run `dvc repro` so that every stage has run")
    return [
        {
            "path": file.relative_to(root).as_posix(),
            "bytes": file.stat().st_size,
            "sha256": sha256_file(file),
        }
        for file in sorted(files, key=lambda file: file.relative_to(root).as_posix())
    ]


def package_sources_hash(package: Path = _PACKAGE) -> str:
    """SHA-256 over the canonical list of (path, SHA-256) of a package's ``.py`` and ``.sql`` files."""
    entries = sorted(
        (file.relative_to(package).as_posix(), sha256_file(file))
        for pattern in ("*.py", "*.sql")
        for file in package.rglob(pattern)
    )
    return canonical_hash([list(entry) for entry in entries])


def manifest_document(
    *,
    signature: Signature,
    run_name: str,
    inputs: list[dict[str, Any]],
    outputs: list[dict[str, Any]],
    parameters: Mapping[str, Any],
    profile: Mapping[str, Any] | None,
    requirements_lock_sha256: str | None,
    counts: Mapping[str, int],
) -> dict[str, Any]:
    """The manifest as a JSON value. Holds no time, host, platform, path outside the run, or commit."""
    return {
        "manifest_version": MANIFEST_VERSION,
        "run_id": signature.run_id,
        "run_name": run_name,
        "signature": {"short": signature.short(), "long": signature.long()},
        "inputs": inputs,
        "outputs": outputs,
        "parameters": dict(parameters),
        "judge_profile": dict(profile) if profile is not None else None,
        "requirements_lock_sha256": requirements_lock_sha256,
        "package_sources_sha256": package_sources_hash(),
        "counts": dict(counts),
    }
