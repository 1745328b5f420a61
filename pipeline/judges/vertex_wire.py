"""Vertex AI's ``generateContent`` on the wire: the body that is sent, and how a response is read.

Pure functions over bytes; the network is in ``vertex``. The model stands in the URL there, but decides the
answer, so it is the member ``model`` of a request's body here and is taken out before the body is sent.
"""

from __future__ import annotations

from typing import Any

from pipeline.answers import Attempt, Usage, encode_raw
from pipeline.canonical import canonical_bytes
from pipeline.judges.base import Messages
from pipeline.judges.wire_json import count, error_text, parse_object, text_or_none, writable
from pipeline.profiles import JudgeProfile, VertexRequest
from pipeline.requests import JudgeRequest
from pipeline.vocabulary import CONTEXT_BEHAVIORS, ERROR_CLASSES, SEVERITIES

_ROLES = {"user": "user", "assistant": "model"}


def request_body(profile: JudgeProfile, messages: Messages) -> dict[str, Any]:
    """The model and the JSON body; a field the profile leaves unset is not sent.

    System messages become the ``systemInstruction``, the others turns of ``user`` and ``model``.
    """
    wanted = profile.request_as(VertexRequest)
    config: dict[str, Any] = {"temperature": wanted.temperature, "maxOutputTokens": wanted.max_tokens}
    if wanted.reasoning_effort is not None:
        config["thinkingConfig"] = {"thinkingLevel": wanted.reasoning_effort.upper()}
    if wanted.response_schema:
        config["responseMimeType"] = "application/json"
        config["responseSchema"] = annotation_schema()
    body: dict[str, Any] = {
        "model": wanted.model,
        "contents": [
            {"role": _ROLES[message["role"]], "parts": [{"text": message["content"]}]}
            for message in messages
            if message["role"] != "system"
        ],
        "generationConfig": config,
    }
    system = [{"text": message["content"]} for message in messages if message["role"] == "system"]
    if system:
        body["systemInstruction"] = {"parts": system}
    return body


def sent_bytes(request: JudgeRequest) -> bytes:
    """What is posted: the body without the model, which the URL names, in RFC 8785 form."""
    return canonical_bytes({key: value for key, value in request.body.items() if key != "model"})


def annotation_schema() -> dict[str, Any]:
    """The JSON form of an annotation as a ``Schema`` of the API, from the closed lists."""
    text = {"type": "STRING"}
    span = {"type": "STRING", "nullable": True}
    error = _object(
        {
            "severity": {"type": "STRING", "enum": list(SEVERITIES)},
            "class": {"type": "STRING", "enum": list(ERROR_CLASSES)},
            "target_span_text": span,
            "source_span_text": span,
            "explanation": text,
        }
    )
    return _object(
        {
            "has_no_error": {"type": "BOOLEAN"},
            "errors": {"type": "ARRAY", "items": error},
            "contextBehavior": {"type": "STRING", "enum": list(CONTEXT_BEHAVIORS)},
        }
    )


def read_response(backend: str, status: int, raw: bytes) -> tuple[Attempt, str | None]:
    """A response as (attempt, problem); ``problem`` is None if the attempt is an answer.

    A candidate is an answer whatever it says and however it ended, and so is a prompt that was blocked:
    asked again it is blocked again. ``finish_reason`` is the service's own word, or ``content_filter``
    for a blocked prompt.
    """
    document = parse_object(raw)
    problem = None if 200 <= status < 300 else f"HTTP {status}"
    if document is None:
        return _attempt(backend, status, raw, {}), problem or f"HTTP {status} with a body that is not JSON"
    attempt = _attempt(backend, status, raw, document)
    if document.get("error") is not None:
        said = _service_error(document["error"])
        return attempt, f"{problem or f'HTTP {status} with an error'}: {said}"
    if problem is not None:
        return attempt, f"{problem}: {error_text(document)}"
    candidate = _first(document.get("candidates"))
    if candidate is not None:
        finish = text_or_none(candidate.get("finishReason"))
        if finish is None and candidate.get("content") is None:
            return attempt, f"HTTP {status} with a candidate that holds nothing"
        return attempt.model_copy(update={"text": _text(candidate), "finish_reason": finish}), None
    feedback = document.get("promptFeedback")
    if isinstance(feedback, dict) and feedback.get("blockReason"):
        return attempt.model_copy(update={"finish_reason": "content_filter"}), None
    return attempt, f"HTTP {status} without a candidate"


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    # Without an ordering the model writes keys in an order of its own, unlike the examples shown to it.
    names = list(properties)
    return {"type": "OBJECT", "properties": properties, "required": names, "propertyOrdering": names}


def _attempt(backend: str, status: int, raw: bytes, document: dict[str, Any]) -> Attempt:
    text, encoding = encode_raw(raw)
    return Attempt(
        backend=backend,
        http_status=status,
        text=None,
        finish_reason=None,
        served_model=text_or_none(document.get("modelVersion")),
        system_fingerprint=None,
        response_id=text_or_none(document.get("responseId")),
        usage=_usage(document.get("usageMetadata")),
        cost_nano_usd=None,  # the service reports none
        raw=text,
        raw_encoding=encoding,
    )


def _usage(reported: Any) -> Usage | None:
    """Tokens as chat completions count them: thoughts are part of the completion, which is what is paid."""
    if not isinstance(reported, dict):
        return None
    prompt, said, thought = (
        count(reported.get(f"{kind}TokenCount")) for kind in ("prompt", "candidates", "thoughts")
    )
    if prompt is None and said is None and thought is None:
        return None
    completion = None if said is None and thought is None else (said or 0) + (thought or 0)
    return Usage(prompt_tokens=prompt, completion_tokens=completion, reasoning_tokens=thought)


def _first(candidates: Any) -> dict[str, Any] | None:
    if isinstance(candidates, list) and candidates and isinstance(candidates[0], dict):
        return candidates[0]
    return None


def _text(candidate: dict[str, Any]) -> str | None:
    """The text parts that are not thoughts, joined; None if there is none."""
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    said = [
        part["text"]
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("thought") is not True
    ]
    return writable("".join(said)) if said else None


def _service_error(error: Any) -> str:
    status = error.get("status") if isinstance(error, dict) else None
    return f"{error_text(status)}: {error_text(error)}" if isinstance(status, str) else error_text(error)
