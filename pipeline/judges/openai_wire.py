"""Chat completions on the wire: the body that is sent, and how a response is read.

Pure functions over bytes; the network is in ``http_client``. A response is an answer when it
holds a choice with a message, whatever the message says: empty, refused and cut answers are kept as
what the judge said. An error object, a page or a fragment is no answer.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any

from pipeline.answers import LARGEST_INTEGER, Attempt, Usage, encode_raw
from pipeline.judges.base import Messages
from pipeline.judges.wire_json import count, error_text, parse_object, text_or_none, writable
from pipeline.profiles import ChatRequest, JudgeProfile


def request_body(profile: JudgeProfile, messages: Messages, seed: int) -> dict[str, Any]:
    """The JSON body; a field the profile leaves unset is not sent."""
    wanted = profile.request_as(ChatRequest)
    body: dict[str, Any] = {
        "model": wanted.model,
        "messages": list(messages),
        "temperature": wanted.temperature,
        "max_tokens": wanted.max_tokens,
    }
    if wanted.reasoning_effort is not None:
        effort: Any = wanted.reasoning_effort
        body[wanted.effort_field] = {"effort": effort} if wanted.effort_field == "reasoning" else effort
    if wanted.provider is not None:
        body["provider"] = wanted.provider
    if wanted.response_format is not None:
        body["response_format"] = wanted.response_format
    if wanted.send_seed:
        body["seed"] = seed
    return body


def read_response(backend: str, status: int, raw: bytes) -> tuple[Attempt, str | None]:
    """A response as (attempt, problem); ``problem`` is None if the attempt is an answer.

    ``problem`` is one line: what came instead of an answer.
    """
    document = parse_object(raw)
    problem = None if 200 <= status < 300 else f"HTTP {status}"
    if document is None:
        return _attempt(backend, status, raw, {}), problem or "HTTP 200 with a body that is not JSON"
    attempt = _attempt(backend, status, raw, document)
    if document.get("error") is not None:
        return attempt, f"{problem or f'HTTP {status} with an error'}: {error_text(document['error'])}"
    if problem is not None:
        return attempt, f"{problem}: {error_text(document)}"
    choice = _first_choice(document)
    if choice is None:
        return attempt, f"HTTP {status} without a choice that holds a message"
    if choice.get("error") is not None:
        return attempt, f"HTTP {status} with an error: {error_text(choice['error'])}"
    finish_reason = text_or_none(choice.get("finish_reason"))
    if finish_reason == "error":
        return attempt, f"HTTP {status} with finish reason 'error'"
    said = attempt.model_copy(
        update={"text": _message_text(choice["message"]), "finish_reason": finish_reason}
    )
    return said, None


def nano_usd(cost: Any) -> int | None:
    """A cost in US dollars, as JSON number or decimal text, in billionths of a dollar; None if it is none."""
    if isinstance(cost, bool) or not isinstance(cost, int | str | Decimal):
        return None
    try:
        nano = int((Decimal(cost) * 10**9).to_integral_value(rounding=ROUND_HALF_EVEN))
    except (InvalidOperation, ValueError, OverflowError):
        return None
    return nano if 0 <= nano <= LARGEST_INTEGER else None


def _attempt(backend: str, status: int, raw: bytes, document: dict[str, Any]) -> Attempt:
    text, encoding = encode_raw(raw)
    reported = document.get("usage")
    usage: dict[str, Any] = reported if isinstance(reported, dict) else {}
    return Attempt(
        backend=backend,
        http_status=status,
        text=None,
        finish_reason=None,
        served_model=text_or_none(document.get("model")),
        system_fingerprint=text_or_none(document.get("system_fingerprint")),
        response_id=text_or_none(document.get("id")),
        usage=_usage(usage),
        cost_nano_usd=nano_usd(usage.get("cost")),
        raw=text,
        raw_encoding=encoding,
    )


def _usage(usage: dict[str, Any]) -> Usage | None:
    details = usage.get("completion_tokens_details")
    tokens = (
        count(usage.get("prompt_tokens")),
        count(usage.get("completion_tokens")),
        count(details.get("reasoning_tokens")) if isinstance(details, dict) else None,
    )
    if all(token is None for token in tokens):
        return None
    return Usage(prompt_tokens=tokens[0], completion_tokens=tokens[1], reasoning_tokens=tokens[2])


def _first_choice(document: dict[str, Any]) -> dict[str, Any] | None:
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    choice = choices[0]
    if isinstance(choice.get("message"), dict) or choice.get("error") is not None:
        return choice
    return None


def _message_text(message: dict[str, Any]) -> str | None:
    """What the judge said: the text, or the text parts in order, or else its refusal."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(_part_text(part) for part in content)
    if isinstance(content, str) and content:
        return writable(content)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return writable(refusal)
    return "" if content == "" else None


def _part_text(part: Any) -> str:
    """The text of a content part; parts of other types (a model's thoughts, images) say nothing."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type", "text") in ("text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else ""
    return ""
