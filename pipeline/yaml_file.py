"""Read a YAML file of configuration: mappings, lists and scalars, and nothing YAML can do beyond."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

from pipeline.errors import ConfigError
from pipeline.jsonl import decode, has_surrogate, read_bytes

_DEEPEST = 50


def project_path(path: str) -> str:
    """``path`` if it is relative and stays inside of the project; raises ``ValueError`` if not."""
    if not path or not path.isprintable() or path.startswith("/") or "\\" in path or ".." in path.split("/"):
        raise ValueError("must be a path inside the project, written with '/'")
    return path


ProjectPath = Annotated[str, AfterValidator(project_path)]


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds.

    Raises:
        ConfigError: the file is missing, not UTF-8, no plain YAML, or no mapping with text keys.
    """
    text = decode(path, read_bytes(path, ConfigError), ConfigError)
    try:
        _check_plain(path, text)
        value = YAML(typ="safe", pure=True).load(text)
    except YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        position = getattr(problem, "position", None)  # of a character YAML does not allow
        line = mark.line + 1 if mark else None if position is None else text.count("\n", 0, position) + 1
        what = getattr(problem, "problem", None) or getattr(problem, "reason", None) or "cannot be read"
        what = str(what).partition(" with value ")[0]  # a key that stands twice: its values may be secret
        raise ConfigError.at(path, f"not valid YAML: {what}", line=line) from None
    except ValueError as problem:  # a date or number that is none, such as 2026-02-30
        raise ConfigError.at(path, f"not valid YAML: {problem}; put text in quotes") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ConfigError.at(path, "must be a YAML mapping with text keys")
    return value


def _check_plain(path: Path, text: str) -> None:
    """Refuse YAML that is more than nested mappings, lists and scalars, before it is built.

    Tags can name types, and aliases can stand for themselves or for exponentially much.
    """
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        line = event.start_mark.line + 1
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise ConfigError.at(path, "nested too deeply to be configuration", line=line)
        if isinstance(event, NodeEvent) and event.anchor is not None:
            raise ConfigError.at(path, f"anchor or alias {event.anchor!r}; write the value out", line=line)
        if isinstance(event, CollectionStartEvent | ScalarEvent) and event.tag is not None:
            raise ConfigError.at(path, f"tag {event.tag!r}; write plain YAML without tags", line=line)
        if isinstance(event, ScalarEvent) and has_surrogate(event.value):
            raise ConfigError.at(path, "half of a surrogate pair; write the whole character", line=line)
