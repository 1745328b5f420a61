"""Turn pydantic's findings into this project's one-line errors: file, line, field, what is allowed."""

from __future__ import annotations

import difflib
import reprlib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from pipeline.errors import InputError

Model = TypeVar("Model", bound=BaseModel)


class StrictModel(BaseModel):
    """Base of every model at an edge: unknown keys refused, no coercion, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def validate(
    model: type[Model],
    value: Any,
    file: str | Path,
    error: type[InputError],
    *,
    line: int | None = None,
    by_alias: bool = False,
) -> Model:
    """Validate ``value`` as ``model``, or raise ``error`` for one finding.

    An unknown key comes before all else, since a misspelt key shows as a missing one, too.
    ``by_alias``: keys are spelled as the model's aliases, whatever its configuration says.
    """
    try:
        return model.model_validate(value, by_alias=by_alias or None, by_name=False if by_alias else None)
    except ValidationError as problem:
        findings = problem.errors(include_url=False)
        first = next((f for f in findings if f["type"] == "extra_forbidden"), findings[0])
        field = ".".join(str(part) for part in first["loc"]) or None
        raise error.at(file, _explain(first, model, by_alias), line=line, field=field) from None


def secret_error(message: str) -> PydanticCustomError:
    """What a validator raises where the wrong value may be a secret: the message shows no value."""
    return PydanticCustomError(_SECRET, "{what}", {"what": message})


_SECRET = "secret"  # noqa: S105 - a kind of finding
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 60


def _explain(finding: Any, model: type[BaseModel], by_alias: bool) -> str:
    kind = finding["type"]
    if kind == "missing":
        return "missing; add it"
    if kind == "extra_forbidden":
        known = _known_keys(model, finding["loc"][:-1], by_alias)
        return f"unknown key{_suggest(str(finding['loc'][-1]), known)}"
    if kind == _SECRET:
        return str(finding["msg"])
    try:
        shown = _SHOWN.repr(finding["input"])
    except ValueError:  # an integer of more digits than Python prints
        shown = f"a huge {type(finding['input']).__name__}"
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{finding['msg'].removeprefix('Value error, ')} (found {shown})"


def _suggest(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"; {hint}allowed: {', '.join(known)}"


def _known_keys(model: type[BaseModel], path: tuple[Any, ...], by_alias: bool) -> list[str]:
    """The keys allowed where ``path`` leads to inside of ``model``."""
    keys = _fields(model, by_alias)
    for part in path:
        if part not in keys:  # an index of a list: its model is known already
            continue
        annotation = keys[part].annotation
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        inner = next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)
        keys = _fields(inner, by_alias) if inner else {}
    return list(keys)


def _fields(model: type[BaseModel], by_alias: bool) -> dict[str, Any]:
    aliased = by_alias or model.model_config.get("validate_by_alias", True)
    return {(aliased and field.alias) or name: field for name, field in model.model_fields.items()}
