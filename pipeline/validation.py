"""Turn pydantic's findings into this project's one-line errors: file, line, field, what is allowed."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.errors import InputError

Model = TypeVar("Model", bound=BaseModel)


class StrictModel(BaseModel):
    """Base of every model at an edge: unknown keys refused, no coercion, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def validate(
    model: type[Model], value: Any, file: str | Path, error: type[InputError], *, line: int | None = None
) -> Model:
    """Validate ``value`` as ``model``, or raise ``error`` for the first finding."""
    try:
        return model.model_validate(value)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        raise error.at(file, _explain(first, model), line=line, field=field) from None


def _explain(finding: Any, model: type[BaseModel]) -> str:
    kind = finding["type"]
    if kind == "missing":
        return "missing; add it"
    if kind == "extra_forbidden":
        return f"unknown key{_suggest(str(finding['loc'][-1]), _known_keys(model, finding['loc'][:-1]))}"
    given = repr(finding["input"])
    shown = given if len(given) <= 60 else given[:57] + "..."
    return f"{finding['msg'].removeprefix('Value error, ')} (found {shown})"


def _suggest(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"; {hint}allowed: {', '.join(known)}"


def _known_keys(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    current: Any = model
    for part in path:
        if not isinstance(part, str) or part not in getattr(current, "model_fields", {}):
            break
        annotation = current.model_fields[part].annotation
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        current = next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), current)
    return list(getattr(current, "model_fields", {}))
