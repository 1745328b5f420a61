"""Read a stored response again, by the reader of the backend that brought it."""

from __future__ import annotations

import json

from pipeline.answers import Attempt


def read_again(attempt: Attempt, model: str) -> Attempt:
    """What the raw bytes of an attempt say now: text, finish reason, tokens, cost, and the like.

    A batch job that names one cost for all of its lines leaves no cost in a line's bytes; the share that
    was worked out then stays. ``model`` is the one the profile asks for.

    Raises:
        ValueError: no backend of that name has stored responses, or the bytes are none of its.
    """
    raw = attempt.raw_bytes()
    if attempt.backend == "openai-compatible":
        from pipeline.judges import openai_wire

        return openai_wire.read_response(attempt.backend, attempt.http_status, raw)[0]
    if attempt.backend == "openrouter-batch":
        from pipeline.judges import openai_wire

        found = openai_wire.read_response(attempt.backend, attempt.http_status, raw)[0]
        shared = found.cost_nano_usd is None and found.usage is not None
        return found.model_copy(update={"cost_nano_usd": attempt.cost_nano_usd}) if shared else found
    if attempt.backend == "vertex":
        from pipeline.judges import vertex_wire

        return vertex_wire.read_response(attempt.backend, attempt.http_status, raw)[0]
    if attempt.backend == "gemini-cli":
        return _read_cli(attempt, raw, model)
    raise ValueError(f"no judge backend {attempt.backend!r} is known")


def _read_cli(attempt: Attempt, raw: bytes, model: str) -> Attempt:
    from pipeline.judges.child import Ended
    from pipeline.judges.cli_wire import read_run

    printed = json.loads(raw)
    if not isinstance(printed, dict) or not isinstance(printed.get("exit_code"), int):
        raise ValueError("raw is not what the backend keeps of a run")
    out, err = str(printed.get("stdout", "")), str(printed.get("stderr", ""))
    ended = Ended(printed["exit_code"], out.encode("utf-8"), err.encode("utf-8"))
    found = read_run(attempt.backend, model, ended, printed.get("cli_version"))[0]
    # What is kept of a run is cut to a length in bytes, so to keep it twice could cut it twice.
    return found.model_copy(update={"raw": attempt.raw, "raw_encoding": attempt.raw_encoding})
