"""Judge requests: their identity, and the lines of ``data/requests/requests.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.canonical import canonical_bytes, sha256_hex
from pipeline.errors import InputError
from pipeline.jsonl import read_json_lines
from pipeline.validation import StrictModel, validate


@dataclass(frozen=True)
class JudgeRequest:
    """One judge call: the exact body, the service's name and, for a local model, its file hash.

    No URL, path, key, participant or item id is part of it: where and for whom it is asked does
    not change what is asked.
    """

    service: str
    model_file_sha256: str | None
    body: dict[str, Any]

    @cached_property
    def body_bytes(self) -> bytes:
        """The bytes that are sent: the body in RFC 8785 form."""
        return canonical_bytes(self.body)

    @property
    def identity_bytes(self) -> bytes:
        """The RFC 8785 form of service, model file hash and body: what is hashed."""
        facts = canonical_bytes({"model_file_sha256": self.model_file_sha256, "service": self.service})
        # The keys stand in order: body, model_file_sha256, service.
        return b'{"body":' + self.body_bytes + b"," + facts[1:]

    @property
    def request_hash(self) -> str:
        """SHA-256 over ``identity_bytes``."""
        return sha256_hex(self.identity_bytes)


class RequestLine(StrictModel):
    """One line of ``requests.jsonl``: enough to render the request again, not the request itself."""

    request_hash: str
    prompt_set_sha256: str
    variables: dict[str, str]


def read_request_lines(path: Path) -> Iterator[RequestLine]:
    """Yield the lines of a ``requests.jsonl``.

    Raises:
        InputError: the file is missing or a line is damaged.
    """
    for line, row in read_json_lines(path, InputError):
        yield validate(RequestLine, row, path, InputError, line=line)
