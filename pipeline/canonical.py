"""Canonical bytes: hashing, JSON forms, and writing files whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import rfc8785

from pipeline.errors import InputError, StorageError

_CHUNK = 1 << 20
_EXACT = 2**53


def sha256_hex(data: bytes) -> str:
    """SHA-256 of bytes as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def sha256_text(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes; lone surrogates are hashed as they are."""
    return sha256_hex(text.encode("utf-8", "surrogatepass"))


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks.

    Raises:
        InputError: the file is missing or cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as handle:
            while block := handle.read(_CHUNK):
                digest.update(block)
    except OSError as error:
        raise InputError.at(path, f"cannot be read ({error.strerror}); check the path") from error
    return digest.hexdigest()


def canonical_bytes(value: Any) -> bytes:
    """RFC 8785 (JSON Canonicalization Scheme) bytes of a JSON value.

    A value of ASCII keys, text, booleans, nulls and exact integers has the same bytes from the
    standard library's encoder, which is much faster; everything else goes to ``rfc8785``.

    Raises:
        ValueError: the value has no such form (NaN, a lone surrogate, an integer beyond 2**53).
    """
    if _is_plain(value):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")
    return rfc8785.dumps(value)


def _is_plain(value: Any) -> bool:
    if value is None or isinstance(value, str | bool):
        return True
    if isinstance(value, int):
        return -_EXACT < value < _EXACT
    if isinstance(value, dict):
        return all(
            isinstance(key, str) and key.isascii() and _is_plain(inner) for key, inner in value.items()
        )
    return isinstance(value, list) and all(map(_is_plain, value))


def canonical_hash(value: Any) -> str:
    """SHA-256 over the RFC 8785 form of a JSON value."""
    return sha256_hex(canonical_bytes(value))


def json_line(value: Any) -> str:
    """One line of a tracked ``.jsonl`` file: sorted keys, no spaces, UTF-8, ``\\n`` at the end."""
    return (
        json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"
    )


def json_document(value: Any) -> str:
    """A tracked ``.json`` file: sorted keys, two spaces of indent, integral floats as integers."""
    return json.dumps(_integral(value), ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False) + "\n"


def _integral(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _integral(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_integral(inner) for inner in value]
    return value


@contextlib.contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; rename it onto ``target`` on success.

    Raises:
        StorageError: the disk is full or the folder cannot be written; nothing is left behind.
    """
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(descriptor)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o644)
        os.replace(temporary, target)
    except OSError as error:
        raise StorageError(
            f"cannot write {target}: {error.strerror or error}; make room or choose another folder"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> None:
    """Write a UTF-8 text file atomically, with ``\\n`` line ends kept as they are."""
    with atomic_path(target) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def write_lines(target: Path, lines: Iterable[str]) -> None:
    """Write already terminated lines to a UTF-8 file atomically, without holding them all."""
    with atomic_path(target) as temporary, temporary.open("w", encoding="utf-8", newline="") as out:
        out.writelines(lines)


def write_json(target: Path, value: Any) -> None:
    """Write ``json_document(value)`` atomically."""
    write_text(target, json_document(value))
