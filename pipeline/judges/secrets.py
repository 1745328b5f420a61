"""Keys: from the environment or a ``.env`` file, and out of everything that is written or shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from pipeline.errors import ConfigError

REDACTED = "[redacted]"
_ENTRY = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")


class Secret:
    """A key that shows itself only where it is asked to."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return f"Secret({REDACTED})"

    def reveal(self) -> str:
        """The key itself, for an HTTP header and nothing else."""
        return self._value

    def redact(self, data: bytes) -> bytes:
        """``data`` with every copy of the key struck out: services repeat a refused key in their errors."""
        in_json = json.dumps(self._value)[1:-1]
        for form in (self._value, in_json, in_json.replace("/", "\\/")):
            data = data.replace(form.encode("ascii"), REDACTED.encode("ascii"))
        return data


def find_secret(name: str, folders: Iterable[Path]) -> Secret:
    """The secret of that name: the environment first, then ``.env`` in each folder in order.

    Raises:
        ConfigError: it is set nowhere, or is not a key; the message never holds its value.
    """
    places = [folder / ".env" for folder in folders]
    value = os.environ.get(name, "").strip()
    for place in places:
        value = value or _read_env_file(place).get(name, "")
    if not value:
        raise ConfigError(
            f"the environment variable {name} is not set, which the judge profile names as its key; "
            f"set it, or write {name}=... into {' or '.join(str(place) for place in places)}"
        )
    # Anything else breaks the header, and HTTP libraries quote a broken header in their errors.
    if not all("!" <= character <= "~" for character in value):
        raise ConfigError(f"{name} holds a space, line break or non-ASCII character; set it to the key alone")
    return Secret(value)


def _read_env_file(path: Path) -> dict[str, str]:
    """KEY=VALUE lines; blank lines and ``#`` comments are passed over, quotes around a value removed."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise ConfigError.at(path, "cannot be read as UTF-8 text; mend or remove it") from None
    entries: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _ENTRY.fullmatch(stripped)
        if not match:
            raise ConfigError.at(path, "not a KEY=VALUE line; mend it or start it with '#'", line=number)
        entries[match[1]] = _unquoted(match[2])
    return entries


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value.strip()
