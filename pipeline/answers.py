"""Judge answers as tracked lines: ``data/responses/responses.jsonl`` and ``data/recorded/*.jsonl``.

One line stands for one (request_hash, repeat). It holds every attempt that got an HTTP response, with
the bytes of the response, and says which attempt is the answer. It holds no time, host or URL of this
project's making, and no word of where the answer was found.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pipeline.canonical import json_line, sha256_text, write_lines
from pipeline.errors import RecordedAnswerError
from pipeline.jsonl import read_json_lines
from pipeline.validation import StrictModel, validate

Key = tuple[str, int]
"""(request_hash, repeat counted from 0)."""

# RFC 8785 knows no integer beyond what a double holds exactly.
LARGEST_INTEGER = 2**53 - 1
Count = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]

_DAMAGED = "restore the file from git, or remove the line and ask again with judge.offline: false"


class Usage(StrictModel):
    """Tokens as the service counted them; null where it did not say."""

    prompt_tokens: Count | None
    completion_tokens: Count | None
    reasoning_tokens: Count | None


class Attempt(StrictModel):
    """One time a request was put to a judge and an HTTP response came back.

    ``text`` is what the judge said, null if it said nothing. ``cost_nano_usd`` is the cost the service
    reported, in billionths of a US dollar. ``raw`` is the whole response body.
    """

    backend: str
    http_status: Annotated[int, Field(ge=100, le=599)]
    text: str | None
    finish_reason: str | None
    served_model: str | None
    system_fingerprint: str | None
    response_id: str | None
    usage: Usage | None
    cost_nano_usd: Count | None
    raw: str
    raw_encoding: Literal["utf-8", "base64"]

    @model_validator(mode="after")
    def _raw_can_be_read(self) -> Attempt:
        if self.raw_encoding == "base64":
            self.raw_bytes()
        return self

    @property
    def answered(self) -> bool:
        """Whether the judge answered, whatever it said; an error or a fragment is no answer."""
        return 200 <= self.http_status < 300 and (self.text is not None or self.finish_reason is not None)

    def raw_bytes(self) -> bytes:
        """The response body, byte for byte."""
        if self.raw_encoding == "utf-8":
            return self.raw.encode("utf-8")
        try:
            return base64.b64decode(self.raw, validate=True)
        except binascii.Error:
            raise ValueError("raw is not base64") from None


class Answer(StrictModel):
    """The answer to (request_hash, repeat): its attempts in order, one of them selected."""

    request_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    repeat: Annotated[int, Field(ge=0)]
    selected: Annotated[int, Field(ge=0)]
    attempts: Annotated[list[Attempt], Field(min_length=1)]

    @model_validator(mode="after")
    def _selected_is_there(self) -> Answer:
        if self.selected >= len(self.attempts):
            raise ValueError(f"selected is {self.selected}, but attempts holds {len(self.attempts)}")
        return self

    @property
    def key(self) -> Key:
        """What the answer answers."""
        return self.request_hash, self.repeat

    @property
    def attempt(self) -> Attempt:
        """The selected attempt: the one that counts."""
        return self.attempts[self.selected]

    @property
    def rounds(self) -> list[int | None]:
        """For each attempt, the number of the judge's answer (from 1), or None if it brought none."""
        numbers: list[int | None] = []
        answers = 0
        for index, attempt in enumerate(self.attempts):
            there = attempt.answered or index == self.selected
            answers += there
            numbers.append(answers if there else None)
        return numbers

    @property
    def cost_nano_usd(self) -> int:
        """What all attempts cost together, as far as the service said."""
        return sum(attempt.cost_nano_usd or 0 for attempt in self.attempts)

    def line(self) -> str:
        """The answer as one line of a tracked file, sealed with its own SHA-256."""
        row = self.model_dump(mode="python")
        return json_line({**row, "sha256": seal(row)})


def encode_raw(body: bytes) -> tuple[str, Literal["utf-8", "base64"]]:
    """A response body as (text, encoding): readable where it is UTF-8, else base64."""
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(body).decode("ascii"), "base64"


def seal(row: dict[str, Any]) -> str:
    """SHA-256 over the RFC 8785 form of an answer line without its ``sha256`` key.

    Such a row has ASCII keys, strings, integers and nulls only, for which ``json_line`` without its line
    end *is* the RFC 8785 form, at a tenth of the time (a test compares the two).
    """
    return sha256_text(json_line(row)[:-1])


def read_answers(path: Path, wanted: Container[Key] | None = None) -> Iterator[tuple[int, Answer]]:
    """Yield (line number, answer) for every line of an answers file, each checked against its seal.

    Lines whose key is not in ``wanted`` are checked and passed over; None wants all.

    Raises:
        RecordedAnswerError: the file is missing, or a line is damaged or not of this shape.
    """
    for number, row in read_json_lines(path, RecordedAnswerError):
        stated = row.pop("sha256", None)
        answer = validate(Answer, row, path, RecordedAnswerError, line=number)
        if stated != seal(row):
            raise RecordedAnswerError.at(
                path, f"does not match the line's content; {_DAMAGED}", line=number, field="sha256"
            )
        if wanted is None or answer.key in wanted:
            yield number, answer


def read_answer_folder(folder: Path, wanted: Container[Key] | None = None) -> dict[Key, Answer]:
    """All answers of the ``*.jsonl`` files of a folder, by key; a missing folder holds none.

    Raises:
        RecordedAnswerError: a line is damaged, or two lines give different answers to one key.
    """
    answers: dict[Key, Answer] = {}
    places: dict[Key, tuple[Path, int]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for number, answer in read_answers(path, wanted):
            known = answers.setdefault(answer.key, answer)
            place, line = places.setdefault(answer.key, (path, number))
            if known is not answer and known != answer:
                raise RecordedAnswerError.at(
                    path,
                    f"another answer to the request at {place}:{line} (request {answer.request_hash[:12]}, "
                    f"repeat {answer.repeat}); recorded answers are final: remove one of the two lines",
                    line=number,
                )
    return answers


def write_answers(path: Path, answers: Iterable[Answer]) -> None:
    """Write an answers file; ``answers`` come sorted by key.

    Raises:
        StorageError: the file cannot be written; what stood there before is untouched.
    """
    write_lines(path, (answer.line() for answer in answers))
