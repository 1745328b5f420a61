"""OpenRouter's Batch API on the wire: what is uploaded, and how batch objects and result lines are read.

Pure functions over bytes; the network is in ``openrouter_batch``. Facts and field names are those of
https://openrouter.ai/docs/batch-quickstart and the API reference beside it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from pipeline.answers import Attempt, Key
from pipeline.canonical import canonical_bytes
from pipeline.judges.json_slices import elements, members
from pipeline.judges.openai_wire import nano_usd, read_response
from pipeline.judges.wire_json import count, error_text, text_or_none
from pipeline.requests import JudgeRequest

NAME = "openrouter-batch"
ENDPOINT = "/v1/chat/completions"
COMPLETED = "completed"
TERMINAL = frozenset({COMPLETED, "failed", "expired", "cancelled"})
RUNNING = frozenset({"validating", "in_progress", "finalizing", "cancelling"})
_LONGEST_ID = 256


@dataclass(frozen=True)
class Line:
    """One request of a job."""

    custom_id: str
    request: JudgeRequest


@dataclass(frozen=True)
class Batch:
    """A batch object; ``results`` are its result lines as text, None where it gives none."""

    provider_id: str
    status: str
    model: str | None
    created_at: int | None
    total: int | None
    problem: str | None
    results: tuple[str, ...] | None
    cost_nano_usd: int | None

    @property
    def terminal(self) -> bool:
        """Whether it will not change any more. A status nobody knows yet is one to wait through."""
        return self.status in TERMINAL


@dataclass(frozen=True)
class Page:
    """A page of results or of batches, row by row as text, and where the next one begins (None: nowhere)."""

    rows: tuple[str, ...]
    cursor: str | None


@dataclass(frozen=True)
class LineResult:
    """What came of a line: an answer if ``problem`` is None. ``attempt`` is None if there was no response."""

    custom_id: str
    attempt: Attempt | None
    problem: str | None


@dataclass(frozen=True)
class Harvest:
    """The results of a job joined to its lines; ``strange`` counts what belongs to none of them."""

    results: dict[str, LineResult]
    strange: int
    repeated: int


def custom_id(key: Key, round_number: int, tag: str) -> str:
    """The name of a line: request hash, repeat, round, and a ``tag`` of six hex digits of its job.

    It has at most 64 characters, all of them letters, digits, ``-`` and ``_``, which every provider behind
    the service allows. The tag makes it unlike any of another job, even of a ledger elsewhere.
    """
    digest = base64.urlsafe_b64encode(bytes.fromhex(key[0])).rstrip(b"=").decode("ascii")
    return f"{digest}-{key[1]}-{round_number}-{tag}"


def line_bytes(line: Line) -> bytes:
    """A line as it stands in the upload: the request's body but for the provider, which a job has once."""
    body = {name: value for name, value in line.request.body.items() if name != "provider"}
    return canonical_bytes({"body": body, "custom_id": line.custom_id})


def upload(lines: Sequence[Line]) -> bytes:
    """The body of a submission. The service reads it as a stream: ``requests`` has to come last.

    Raises:
        ValueError: there are no lines, or they differ in model or provider.
    """
    heads = {canonical_bytes(_head(line.request)) for line in lines}
    if len(heads) != 1:
        raise ValueError("the lines of a job share one model and one provider")
    head = _head(lines[0].request)
    fields = [b'"endpoint":' + canonical_bytes(ENDPOINT), b'"model":' + canonical_bytes(head["model"])]
    if head["provider"] is not None:
        fields.append(b'"provider":' + canonical_bytes(head["provider"]))
    fields.append(b'"requests":[' + b",".join(map(line_bytes, lines)) + b"]")
    return b"{" + b",".join(fields) + b"}"


def split(lines: Iterable[Line], most_lines: int, most_bytes: int) -> Iterator[list[Line]]:
    """Cut lines into jobs of at most that many lines and upload bytes; a line too large is a job alone."""
    job: list[Line] = []
    size = 0
    for line in lines:
        if not job:
            size = len(upload([line])) - len(line_bytes(line))  # what stands around the lines
        more = len(line_bytes(line)) + bool(job)
        if job and (len(job) == most_lines or size + more > most_bytes):
            yield job
            job, size, more = [], size - sum(len(line_bytes(old)) + 1 for old in job) + 1, more - 1
        job.append(line)
        size += more
    if job:
        yield job


def read_batch(raw: bytes) -> Batch | None:
    """A batch object; None if the bytes are none. White space before it kept the connection alive."""
    text = _decoded(raw)
    return None if text is None else batch_of(text)


def batch_of(text: str) -> Batch | None:
    """A batch object by its JSON text, as it also stands in a list of them."""
    parts = members(text)
    if parts is None:
        return None
    results = parts.pop("results", "null")
    document = {name: json.loads(part, parse_float=Decimal) for name, part in parts.items()}
    provider_id, status = text_or_none(document.get("id")), text_or_none(document.get("status"))
    if not provider_id or not provider_id.isprintable() or len(provider_id) > _LONGEST_ID or not status:
        return None
    counts, usage, error = document.get("request_counts"), document.get("usage"), document.get("error")
    return Batch(
        provider_id=provider_id,
        status=status,
        model=text_or_none(document.get("model")),
        created_at=count(document.get("created_at")),
        total=count(counts.get("total")) if isinstance(counts, dict) else None,
        problem=None if error is None else error_text(error),
        results=tuple(elements(results)) if results.startswith("[") else None,
        cost_nano_usd=nano_usd(usage.get("cost")) if isinstance(usage, dict) else None,
    )


def read_page(raw: bytes, cursor_field: str) -> Page | None:
    """A page with its rows in ``data`` and the next page's cursor in ``cursor_field``; None if it is none."""
    text = _decoded(raw)
    parts = None if text is None else members(text)
    if parts is None:
        return None
    rows = parts.get("data", parts.get("results", "null"))
    if not rows.startswith("["):
        return None
    cursor = text_or_none(json.loads(parts.get(cursor_field, "null")))
    more = parts.get("has_more") != "false"
    return Page(tuple(elements(rows)), cursor if cursor and more else None)


def read_results(rows: Iterable[str], known: Container[str]) -> Harvest:
    """Join result lines to the lines of a job by custom id, whatever their order.

    A line that stands twice counts once: the first answer, or else the first problem.
    """
    results: dict[str, LineResult] = {}
    strange = repeated = 0
    for row in rows:
        parts = members(row)
        name = None if parts is None else json.loads(parts.get("custom_id", "null"))
        if parts is None or not isinstance(name, str) or name not in known:
            strange += 1
            continue
        repeated += name in results
        if name not in results or results[name].problem is not None:
            result = _read_line(name, row, parts)
            if name not in results or result.problem is None:
                results[name] = result
    return Harvest(results, strange, repeated)


def share_cost(results: Iterable[LineResult], cost_nano_usd: int | None) -> list[LineResult]:
    """Spread what a job cost over its lines by their tokens, where no line says its own cost.

    The shares add up to the cost; what one answer costs by itself is then an estimate.
    """
    lines = list(results)
    attempts = [line.attempt for line in lines]
    weights = [_tokens(attempt) for attempt in attempts]
    own = any(attempt is not None and attempt.cost_nano_usd is not None for attempt in attempts)
    if cost_nano_usd is None or own or not sum(weights):
        return lines
    shared, before, running = [], 0, 0
    for line, weight in zip(lines, weights, strict=True):
        running += weight
        upto = cost_nano_usd * running // sum(weights)
        if line.attempt is not None and weight:
            line = replace(line, attempt=line.attempt.model_copy(update={"cost_nano_usd": upto - before}))
        shared.append(line)
        before = upto
    return shared


def _read_line(name: str, row: str, parts: dict[str, str]) -> LineResult:
    """One result line. Exactly one of ``response`` and ``error`` should be there; where both are, the
    error decides, because nobody knows what the response is worth then.

    The attempt keeps the bytes of the response's body, or of the whole line where there is none; a line
    without a status of its own has that of the poll which brought it.
    """
    error = json.loads(parts.get("error", "null"))
    response = members(parts.get("response", "null"))
    if error is not None:
        attempt, _ = read_response(NAME, 200, row.encode("utf-8"))
        beside = " (beside a response)" if response is not None else ""
        return LineResult(name, attempt, f"the service says of the line: {error_text(error)}{beside}")
    status = 200 if response is None else json.loads(response.get("status_code", "200"))
    if isinstance(status, bool) or not isinstance(status, int) or not 100 <= status <= 599:
        response = None
    body = "null" if response is None else response.get("body", "null")
    if response is None or not body.startswith("{"):
        attempt, _ = read_response(NAME, status if response is not None else 200, row.encode("utf-8"))
        return LineResult(name, attempt, "a result line without a readable response")
    attempt, problem = read_response(NAME, status, body.encode("utf-8"))
    return LineResult(name, attempt, None if problem is None else f"a result line says {problem}")


def _tokens(attempt: Attempt | None) -> int:
    if attempt is None or attempt.usage is None:
        return 0
    return (attempt.usage.prompt_tokens or 0) + (attempt.usage.completion_tokens or 0)


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        return None


def _head(request: JudgeRequest) -> dict[str, Any]:
    return {"model": request.body.get("model"), "provider": request.body.get("provider")}
