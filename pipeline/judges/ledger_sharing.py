"""Answers from one ledger to another: a file of JSON lines, each sealed with its own SHA-256.

Lines hold requests, then every call that has an end, in the order the ends came in. A call is known by its
*origin*, the owner and number of its intent where it was written first, so that it is imported once however
often and by whatever way it comes. An import adds; a selection that is there stays.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pipeline.answers import Attempt, seal
from pipeline.canonical import json_line, sha256_text, write_lines
from pipeline.errors import InputError
from pipeline.jsonl import read_json_lines
from pipeline.judges.ledger_access import Access
from pipeline.judges.ledger_file import VARIABLE, ledger_is_there
from pipeline.judges.ledger_rows import ATTEMPT_COLUMNS, attempt_of, attempt_row
from pipeline.validation import StrictModel, validate

FORMAT = 1
_REQUESTS = "SELECT request_hash, canonical FROM requests ORDER BY request_hash"
_CALLS = f"""
SELECT coalesce(origin, owner || '/' || intent), request_hash, repeat, owner, started_at, ended_at, kind,
       problem, selections.outcome IS NOT NULL AND selections.outcome = outcomes.outcome,
       backend, {ATTEMPT_COLUMNS}
FROM outcomes JOIN intents USING (intent) LEFT JOIN imports USING (intent)
LEFT JOIN selections USING (request_hash, repeat)
ORDER BY outcomes.outcome
"""  # noqa: S608
# An imported intent has the owner of its origin and a number of this ledger.
_KNOWN_HERE = """
SELECT intent FROM intents WHERE intent = ? AND owner = ? AND intent NOT IN (SELECT intent FROM imports)
"""
_KNOWN_BY_IMPORT = "SELECT intent FROM imports WHERE origin = ?"
_HAS_REQUEST = "SELECT 1 FROM requests WHERE request_hash = ?"
_ADD_REQUEST = "INSERT INTO requests VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD_INTENT = "INSERT INTO intents (request_hash, repeat, backend, owner, started_at) VALUES (?, ?, ?, ?, ?)"
_ADD_IMPORT = "INSERT INTO imports VALUES (?, ?)"
_ADD_OUTCOME = f"""
INSERT INTO outcomes (intent, ended_at, kind, problem, {ATTEMPT_COLUMNS})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608
_SELECT = """
INSERT INTO selections SELECT ?, ?, outcome, ? FROM outcomes WHERE intent = ? ON CONFLICT DO NOTHING
"""
_DAMAGED = "the file is damaged or was changed; ask for a new export. Nothing was imported"

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$")]
Name = Annotated[str, Field(pattern=r"^[0-9A-Za-z._-]{1,100}$")]


class Header(StrictModel):
    """The first line."""

    answer_ledger: Literal[1]


class SharedRequest(StrictModel):
    """A request: the text its hash was taken over."""

    request_hash: Digest
    canonical: str

    @model_validator(mode="after")
    def _hash_fits(self) -> SharedRequest:
        if sha256_text(self.canonical) != self.request_hash:
            raise ValueError("canonical is not the text of request_hash")
        return self


class SharedCall(StrictModel):
    """A call and what came of it; ``attempt`` is None if no response came."""

    origin: Annotated[str, Field(pattern=r"^[0-9A-Za-z._-]{1,100}/[0-9]{1,18}$")]
    request_hash: Digest
    repeat: Annotated[int, Field(ge=0, lt=2**31)]
    backend: Name
    owner: Name
    started_at: Moment
    ended_at: Moment
    kind: Literal["answer", "failed", "uncertain"]
    problem: str | None
    selected: bool
    attempt: Attempt | None

    @model_validator(mode="after")
    def _is_one_thing(self) -> SharedCall:
        answered = self.kind == "answer"
        if answered != (self.problem is None) or (answered and self.attempt is None):
            raise ValueError("an answer has an attempt and no problem, everything else has a problem")
        if self.selected and not answered:
            raise ValueError("only an answer can be selected")
        if self.attempt is not None and self.attempt.backend != self.backend:
            raise ValueError("the attempt is of another backend than the call")
        return self


@dataclass(frozen=True)
class Imported:
    """Calls added, calls that were there, requests that got their answer by the import."""

    added: int
    known: int
    settled: int


def export_ledger(path: Path, file: Path) -> int:
    """Write the ledger at ``path`` to ``file``, which must not exist; returns the number of calls.

    Raises:
        InputError: there is no ledger, or there is such a file.
        LedgerError, StorageError: the ledger cannot be read, or the file not be written.
    """
    if not ledger_is_there(path):
        raise InputError(f"there is no ledger {path} to export; set {VARIABLE} to one")
    if file.exists():
        raise InputError.at(file, "is there already; name a file that is not")
    access = Access(path, read_only=True)
    count = 0

    def lines(database: Connection) -> Iterator[str]:
        nonlocal count
        yield _sealed({"answer_ledger": FORMAT})
        for digest, packed in database.execute(_REQUESTS):
            yield _sealed({"request_hash": digest, "canonical": zlib.decompress(packed).decode("utf-8")})
        for row in database.execute(_CALLS):
            count += 1
            yield _sealed(_call_row(path, row))

    try:
        with access.reading() as database:
            database.execute("BEGIN")  # one view of the ledger, whatever is asked meanwhile
            write_lines(file, lines(database))
            database.execute("COMMIT")
    finally:
        access.close()
    return count


def import_ledger(path: Path, file: Path) -> Imported:
    """Add the calls of an exported file to the ledger at ``path``: all of them, or none if a line is broken.

    Raises:
        InputError: the file is missing, damaged, or no export.
        LedgerError, StorageError: the ledger is unusable.
    """
    rows = _checked(file)
    if next(rows, None) is None:
        raise InputError.at(file, "is empty; it is no export of a ledger")
    access = Access(path)
    added = known = settled = 0
    try:
        with access.writing() as database:
            for number, row in rows:
                if isinstance(row, SharedRequest):
                    packed = zlib.compress(row.canonical.encode("utf-8"))
                    database.execute(_ADD_REQUEST, (row.request_hash, packed))
                    continue
                if database.execute(_HAS_REQUEST, (row.request_hash,)).fetchone() is None:
                    raise InputError.at(file, f"the line's request is not in it: {_DAMAGED}", line=number)
                intent = _intent(database, row.origin)
                known += intent is not None
                added += intent is None
                if intent is None:
                    intent = _add(database, row)
                if row.selected:
                    facts = (row.request_hash, row.repeat, access.now(), intent)
                    settled += database.execute(_SELECT, facts).rowcount
    finally:
        access.close()
    return Imported(added, known, settled)


def _checked(file: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number, header, request or call), each checked."""
    for number, row in read_json_lines(file, InputError):
        stated = row.pop("sha256", None)
        model: type[StrictModel] = Header
        if number > 1:
            model = SharedCall if "origin" in row else SharedRequest
        checked = validate(model, row, file, InputError, line=number)
        if stated != seal(row):
            raise InputError.at(
                file, f"does not match the line's content: {_DAMAGED}", line=number, field="sha256"
            )
        yield number, checked


def _intent(database: Connection, origin: str) -> int | None:
    owner, _, number = origin.rpartition("/")
    found = database.execute(_KNOWN_BY_IMPORT, (origin,)).fetchone()
    found = found or database.execute(_KNOWN_HERE, (int(number), owner)).fetchone()
    return int(found[0]) if found else None


def _add(database: Connection, call: SharedCall) -> int:
    facts = (call.request_hash, call.repeat, call.backend, call.owner, call.started_at)
    intent = int(database.execute(_ADD_INTENT, facts).lastrowid or 0)
    database.execute(_ADD_IMPORT, (intent, call.origin))
    database.execute(
        _ADD_OUTCOME, (intent, call.ended_at, call.kind, call.problem, *attempt_row(call.attempt))
    )
    return intent


def _call_row(path: Path, row: tuple[Any, ...]) -> dict[str, Any]:
    origin, digest, repeat, owner, started, ended, kind, problem, selected, *attempt = row
    return {
        "origin": origin,
        "request_hash": digest,
        "repeat": repeat,
        "backend": attempt[0],
        "owner": owner,
        "started_at": started,
        "ended_at": ended,
        "kind": kind,
        "problem": problem,
        "selected": bool(selected),
        "attempt": None if attempt[1] is None else attempt_of(path, tuple(attempt)).model_dump(mode="python"),
    }


def _sealed(row: dict[str, Any]) -> str:
    return json_line({**row, "sha256": seal(row)})
