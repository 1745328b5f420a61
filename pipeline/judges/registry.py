"""Judge backends by the name a profile gives them; each is imported only when it is used."""

from __future__ import annotations

from pipeline.errors import ConfigError
from pipeline.judges.base import Backend


def backend_class(name: str) -> type[Backend]:
    """The backend of that name.

    Raises:
        ConfigError: there is none.
    """
    if name == "openai-compatible":
        from pipeline.judges.openai_compatible import OpenAICompatible

        return OpenAICompatible
    raise ConfigError(f"no judge backend {name!r}; known: openai-compatible")
