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
    if name == "vertex":
        from pipeline.judges.vertex import Vertex

        return Vertex
    if name == "gemini-cli":
        from pipeline.judges.gemini_cli import GeminiCli

        return GeminiCli
    if name == "openrouter-batch":
        from pipeline.judges.openrouter_batch import OpenRouterBatch

        return OpenRouterBatch
    raise ConfigError(
        f"no judge backend {name!r}; known: openai-compatible, openrouter-batch, vertex, gemini-cli"
    )
