"""Attempts and requests as the ledger's rows hold them."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from pipeline.answers import Attempt, Usage, encode_raw
from pipeline.canonical import json_line, sha256_hex, sha256_text
from pipeline.errors import LedgerError
from pipeline.requests import JudgeRequest

ATTEMPT_COLUMNS = (
    "http_status, text, finish_reason, served_model, system_fingerprint, response_id, "
    "prompt_tokens, completion_tokens, reasoning_tokens, cost_nano_usd, raw, digest"
)


def packed_request(request: JudgeRequest) -> bytes:
    """The bytes a request's hash is taken over, compressed."""
    return zlib.compress(request.identity_bytes)


def attempt_row(attempt: Attempt | None) -> tuple[Any, ...]:
    """The values of ``ATTEMPT_COLUMNS``; all None if no response came."""
    if attempt is None:
        return (None,) * 12
    usage = attempt.usage or Usage(prompt_tokens=None, completion_tokens=None, reasoning_tokens=None)
    raw = attempt.raw_bytes()
    facts = (
        attempt.http_status,
        attempt.text,
        attempt.finish_reason,
        attempt.served_model,
        attempt.system_fingerprint,
        attempt.response_id,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
        attempt.cost_nano_usd,
    )
    return (*facts, zlib.compress(raw), _digest(facts, raw))


def attempt_of(path: Path, row: tuple[Any, ...]) -> Attempt:
    """The attempt of a row (backend, then ``ATTEMPT_COLUMNS``) of the ledger at ``path``.

    Raises:
        LedgerError: the stored response cannot be unpacked, or is not what was stored.
    """
    backend, *facts, packed, digest = row
    status, text, finish_reason, served_model, fingerprint, response_id, *tokens, cost = facts
    try:
        body = zlib.decompress(packed)
    except zlib.error:
        raise LedgerError(
            f"{path} is damaged (a stored response cannot be unpacked); restore a copy of it"
        ) from None
    if _digest(tuple(facts), body) != digest:
        raise LedgerError(f"{path} is damaged (a stored answer was changed); restore a copy of it")
    raw, encoding = encode_raw(body)
    usage = None
    if any(count is not None for count in tokens):
        usage = Usage(prompt_tokens=tokens[0], completion_tokens=tokens[1], reasoning_tokens=tokens[2])
    return Attempt(
        backend=backend,
        http_status=status,
        text=text,
        finish_reason=finish_reason,
        served_model=served_model,
        system_fingerprint=fingerprint,
        response_id=response_id,
        usage=usage,
        cost_nano_usd=cost,
        raw=raw,
        raw_encoding=encoding,
    )


def _digest(facts: tuple[Any, ...], raw: bytes) -> str:
    """SHA-256 over what a response was read as and the response itself."""
    return sha256_text(json_line([*facts, sha256_hex(raw)]))
