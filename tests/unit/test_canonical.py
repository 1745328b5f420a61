"""Canonical bytes against RFC 8785 and its reference library; files that appear whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from pipeline import canonical
from pipeline.errors import InputError, StorageError

REPOSITORY = Path(__file__).parents[2]

# Any code point, lone surrogates too, which st.text() leaves out unless asked.
TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
NUMBERS = st.integers() | st.integers(2**53 - 2, 2**53 + 2) | st.integers(-(2**53) - 2, -(2**53) + 2)
SCALARS = st.none() | st.booleans() | NUMBERS | st.floats() | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_same_bytes_as_the_reference_library_or_the_same_refusal(value: Any) -> None:
    try:
        expected = rfc8785.dumps(value)
    except ValueError:
        with pytest.raises(ValueError):
            canonical.canonical_bytes(value)
        return
    assert canonical.canonical_bytes(value) == expected
    assert canonical.canonical_hash(value) == hashlib.sha256(expected).hexdigest()


REFUSED: list[Any] = [
    float("nan"),
    float("inf"),
    -float("inf"),
    2**53,
    -(2**53),
    "\ud800",
    "가\udfff",
    ["\udc00"],
    {"\ud800": 1},
    {"가": "\ud800"},
    {1: "a key that is no text"},
    {"a": {None: 1}},
    {"a set"},
    b"bytes",
    complex(1),
]


@pytest.mark.parametrize("value", REFUSED, ids=ascii)
def test_no_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError):
        canonical.canonical_bytes(value)


# RFC 8785, section 3.2.2 (input) and 3.2.4 (bytes).
RFC_SAMPLE = r"""{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
}"""
RFC_SAMPLE_BYTES = bytes.fromhex(
    "7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72"
    "75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a"
    "5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31"
    "65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37"
    "5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30"
    "30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d"
)
# RFC 8785, section 3.2.3: keys sort by UTF-16 code units, so the emoji stands before U+FB33.
RFC_KEYS = {
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\U0001f600": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis",
}
RFC_KEY_ORDER = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_sample_of_the_rfc() -> None:
    assert canonical.canonical_bytes(json.loads(RFC_SAMPLE)) == RFC_SAMPLE_BYTES


def test_key_order_of_the_rfc() -> None:
    written = json.loads(canonical.canonical_bytes(RFC_KEYS), object_pairs_hook=lambda pairs: pairs)
    assert [key for key, _ in written] == RFC_KEY_ORDER
    assert dict(written) == RFC_KEYS


# RFC 8785, appendix B: IEEE 754 bits and their JSON form.
@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_of_the_rfc(bits: str, expected: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical.canonical_bytes([number]) == f"[{expected}]".encode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # Sorted keys, two spaces, integral floats as integers, other floats as repr, one newline.
        ({"b": 2.0, "a": [1.5, -0.0]}, '{\n  "a": [\n    1.5,\n    0\n  ],\n  "b": 2\n}\n'),
        ({"밥": (True, None, "국")}, '{\n  "밥": [\n    true,\n    null,\n    "국"\n  ]\n}\n'),
        (1e22, "10000000000000000000000\n"),
        (0.1, "0.1\n"),
        ([], "[]\n"),
    ],
)
def test_json_document(value: Any, expected: str) -> None:
    assert canonical.json_document(value) == expected


@given(st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False) | st.integers()))
def test_json_document_is_stable(value: dict[str, Any]) -> None:
    """Reading a document and writing it again gives the same bytes, whatever the order of its keys."""
    text = canonical.json_document(value)
    assert json.loads(text) == value
    assert canonical.json_document(json.loads(text)) == text
    assert canonical.json_document(dict(reversed(value.items()))) == text


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": -float("inf")}])
def test_json_text_has_no_nan(value: Any) -> None:
    for write in (canonical.json_document, canonical.json_line):
        with pytest.raises(ValueError):
            write(value)


def test_json_line() -> None:
    assert canonical.json_line({"b": "밥\n", "a": [1, None]}) == '{"a":[1,null],"b":"밥\\n"}\n'


# FIPS 180-2, appendix B.1: SHA-256 of "abc".
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_sha256(tmp_path: Path) -> None:
    file = tmp_path / "abc"
    file.write_bytes(b"abc")
    assert canonical.sha256_hex(b"abc") == canonical.sha256_text("abc") == canonical.sha256_file(file) == ABC
    assert len(canonical.sha256_text("\ud800")) == 64  # a lone surrogate is hashed, not refused


@pytest.mark.parametrize("name", ["missing", "."])
def test_sha256_of_what_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        canonical.sha256_file(tmp_path / name)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_atomic_path_replaces_on_success(tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "out.txt"
    for text in ("one", "two"):
        with canonical.atomic_path(target) as temporary:
            assert temporary.parent == target.parent
            temporary.write_text(text)
        assert contents(target.parent) == {"out.txt": text.encode()}
    assert target.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("error", [RuntimeError("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_atomic_path_lets_an_exception_through_and_leaves_the_old_file(
    tmp_path: Path, error: BaseException
) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(type(error)), canonical.atomic_path(target) as temporary:
        temporary.write_text("half of the new")
        raise error
    assert contents(tmp_path) == {"out.txt": b"old"}


def _write_unbuffered() -> None:
    Path("/dev/full").write_bytes(b"x" * 100_000)


def _write_and_close() -> None:
    with Path("/dev/full").open("w") as out:  # too short for the buffer: the error comes at close
        out.write("x")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("write", [_write_unbuffered, _write_and_close])
def test_full_device_is_a_storage_error(tmp_path: Path, write: Callable[[], None]) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(StorageError) as caught, canonical.atomic_path(target):
        write()
    assert str(caught.value) == (
        f"cannot write {target}: {os.strerror(errno.ENOSPC)}; make room or choose another folder"
    )
    assert contents(tmp_path) == {"out.txt": b"old"}


_FULL_DISK = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from pipeline import canonical
from pipeline.errors import StorageError
target, text = Path(sys.argv[1]), "x" * int(sys.argv[2])
for write, value in (
    (canonical.write_text, text),
    (canonical.write_lines, (line for line in [text + "\\n"] * 2)),
    (canonical.write_json, [text]),
):
    try:
        write(target, value)
        print("written")
    except StorageError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no RLIMIT_FSIZE")
@pytest.mark.parametrize("length", [2_000, 100_000], ids=["fails at close", "fails at write"])
def test_writers_on_a_full_disk(tmp_path: Path, length: int) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, target, str(length)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = f"cannot write {target}: {os.strerror(errno.EFBIG)}; make room or choose another folder"
    assert done.stdout.splitlines() == [wanted] * 3
    assert contents(tmp_path) == {"out.txt": b"old"}


@pytest.mark.parametrize("target", ["file/below/out.txt", "folder"])
def test_target_that_cannot_be_a_file(tmp_path: Path, target: str) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder/inside").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"^cannot write .*; make room or choose another folder$"):
        canonical.write_text(tmp_path / target, "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_line_ends_are_kept(tmp_path: Path) -> None:
    canonical.write_text(tmp_path / "text", "a\r\nb\n밥\r")
    canonical.write_lines(tmp_path / "lines", ["a\r\n", "밥\n"])
    assert contents(tmp_path) == {"text": "a\r\nb\n밥\r".encode(), "lines": "a\r\n밥\n".encode()}
