"""Gemini CLI's ``--output-format json``: what a run of it printed, read as an attempt. Pure functions.

A run has no HTTP status, so it gets the one that says the same: 200 for an answer, the service's own where
the exit code holds it (the CLI ends with the HTTP status of a failed call, of which a process keeps the
remainder by 256: 429 becomes 173), else the nearest.
"""

from __future__ import annotations

import re
from typing import Any

from pipeline.answers import Attempt, Usage
from pipeline.canonical import canonical_bytes
from pipeline.errors import one_line
from pipeline.judges.child import Ended
from pipeline.judges.wire_json import count, error_text, parse_object, text_or_none

AUTH, INPUT, SANDBOX, CONFIG, TURNS, TOOL, UNTRUSTED, CANCELLED = 41, 42, 44, 52, 53, 54, 55, 130
_STATUS = {AUTH: 401, INPUT: 400, SANDBOX: 400, CONFIG: 400, UNTRUSTED: 403}
_HTTP_REMAINDERS = range(400 - 256, 256)
_SHOWN_BYTES = 4000
# gemini-2.5-pro may be served as gemini-2.5-pro-001 or gemini-2.5-pro-2026-11, but not as -lite.
_VERSION = re.compile(r"-\d[\d-]*")


def read_run(
    backend: str, wanted_model: str, ended: Ended, version: str | None
) -> tuple[Attempt, str | None]:
    """A run of the command as (attempt, problem); ``problem`` is None if the attempt is an answer.

    An answer of another model than the one asked is none: the CLI changes models by itself when a quota
    is used up. ``raw`` holds what was printed, with the exit code and the command's version.
    """
    document = _document(ended.out)
    status = 200 if ended.code == 0 else status_of(ended)
    attempt = _attempt(backend, status, ended, version, document or {})
    if ended.code != 0:
        return attempt, f"exit code {ended.code}: {_complaint(ended)}"
    if not ended.out.strip():
        return attempt, f"exit code 0 with nothing printed{_tail(ended.err)}"
    if document is None:
        return attempt, "exit code 0 with output that is not JSON"
    if document.get("error") is not None:
        return attempt, f"exit code 0 with an error: {error_text(document['error'])}"
    response = document.get("response")
    if not isinstance(response, str):
        return attempt, "exit code 0 without a response"
    served = attempt.served_model
    if served is not None and not _is_model(served, wanted_model):
        return attempt, (
            f"answered by {served}, not by {wanted_model}: the quota of the model may be used up, or its "
            "name be an alias; wait, or put the name of the model that serves into request.model"
        )
    return attempt.model_copy(update={"text": text_or_none(response)}), None


def status_of(ended: Ended) -> int:
    """The HTTP status that says what a failed run's exit code says."""
    if ended.code in _STATUS:
        return _STATUS[ended.code]
    if ended.code in _HTTP_REMAINDERS:
        return ended.code + 256
    error = (_document(ended.err) or {}).get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code <= 599 else 500


def _is_model(served: str, wanted: str) -> bool:
    rest = served.removeprefix(wanted)
    return served == wanted or (rest != served and _VERSION.fullmatch(rest) is not None)


def _document(printed: bytes) -> dict[str, Any] | None:
    """The JSON object of the output; some versions print log lines before it."""
    whole = parse_object(printed.strip())
    if whole is not None:
        return whole
    start = printed.find(b"\n{")
    return parse_object(printed[start:].strip()) if start >= 0 else None


def _attempt(
    backend: str, status: int, ended: Ended, version: str | None, document: dict[str, Any]
) -> Attempt:
    printed: dict[str, Any] = {
        "cli_version": version,
        "exit_code": ended.code,
        "stdout": ended.out.decode("utf-8", "replace"),
    }
    if ended.code != 0 or not ended.out.strip():
        printed["stderr"] = ended.err[-_SHOWN_BYTES:].decode("utf-8", "replace")
    served, usage = _stats(document.get("stats"))
    return Attempt(
        backend=backend,
        http_status=status,
        text=None,
        finish_reason=None,
        served_model=served,
        system_fingerprint=None,
        response_id=text_or_none(document.get("session_id")),
        usage=usage,
        cost_nano_usd=None,
        raw=canonical_bytes(printed).decode("utf-8"),
        raw_encoding="utf-8",
    )


def _stats(stats: Any) -> tuple[str | None, Usage | None]:
    """The model that said most, and the tokens of all models together: a router's tokens are paid too."""
    models = stats.get("models") if isinstance(stats, dict) else None
    if not isinstance(models, dict) or not models:
        return None, None
    said: dict[str, int] = {}
    prompt = thought = 0
    for name, facts in models.items():
        tokens = facts.get("tokens") if isinstance(facts, dict) else None
        tokens = tokens if isinstance(tokens, dict) else {}
        said[name] = count(tokens.get("candidates")) or 0
        prompt += count(tokens.get("prompt")) or 0
        thought += count(tokens.get("thoughts")) or 0
    served = max(sorted(said), key=said.__getitem__)
    completion = sum(said.values()) + thought
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion, reasoning_tokens=thought)
    return text_or_none(served), usage


def _complaint(ended: Ended) -> str:
    """The command's own words on why it failed: the JSON error, or else the last line."""
    for printed in (ended.err, ended.out):
        error = (_document(printed) or {}).get("error")
        if error is not None:
            return error_text(error)
    return (_tail(ended.err) or _tail(ended.out)).removeprefix(": ") or "no reason given"


def _tail(printed: bytes) -> str:
    lines = [line for line in printed.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {one_line(lines[-1])[:200]}" if lines else ""
