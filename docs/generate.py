"""Write the generated parts of the documentation, or check that they are up to date.

    python docs/generate.py            # write
    python docs/generate.py --check    # exit 1 if something would change

Generated are ``docs/commands.md`` (every command's ``--help``), ``docs/profiles.md`` (every key of a judge
profile) and the leaderboard in ``README.md``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pipeline.cli import cli  # noqa: E402
from pipeline.profiles import (  # noqa: E402
    GeminiCliProfile,
    OpenAICompatibleProfile,
    OpenRouterBatchProfile,
    VertexProfile,
)

BEGIN, END = "<!-- leaderboard -->\n", "<!-- /leaderboard -->"


def commands_page() -> str:
    """All commands with their help, in the order of the command line."""
    parts = ["# Commands", "Generated from the command line by `python docs/generate.py`."]
    for name, text in help_texts(cli, "python -m pipeline"):
        parts.append(f"## `{name}`\n\n```\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def help_texts(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Yield (full name, help) of a command and, for a group, of all below it."""
    context = click.Context(command, info_name=name, max_content_width=100)
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            if found is not None:
                yield from help_texts(found, f"{name} {sub}")


def profiles_page() -> str:
    """Every key of a judge profile by backend, with its default and what it may be."""
    parts = [
        "# Judge profiles",
        "Generated from `pipeline/profiles.py` by `python docs/generate.py`. A profile is a YAML file of "
        "`experiments/judges/` with `backend`, `prompt_set`, `request`, `transport` and, if wanted, "
        "`description`. `request` and the prompt set decide a request's hash; `transport` never does.",
    ]
    for profile in (OpenAICompatibleProfile, OpenRouterBatchProfile, VertexProfile, GeminiCliProfile):
        parts.append(f"## `backend: {profile.model_fields['backend'].annotation.__args__[0]}`")
        rows = ["| key | default | allowed |", "| --- | --- | --- |"]
        for section in ("request", "transport"):
            model = profile.model_fields[section].annotation
            allowed = model.model_json_schema()["properties"]
            for name, field in model.model_fields.items():
                default = "required" if field.is_required() else f"`{json.dumps(field.default)}`"
                rows.append(f"| `{section}.{name}` | {default} | {_allowed(allowed[name])} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _allowed(schema: dict[str, Any]) -> str:
    """A JSON schema in few words."""
    if "anyOf" in schema:
        return " or ".join(_allowed(part) for part in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    limits = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
    words = [f"{word} {schema[key]}" for key, word in limits.items() if key in schema]
    kind = {"string": "text", "object": "mapping", "boolean": "true or false"}.get(
        schema.get("type", ""), schema.get("type", "any")
    )
    return " ".join([kind, *words])


def readme() -> str:
    """The README with the overall board of ``reports/leaderboard.md`` in its place."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    report = (ROOT / "reports" / "leaderboard.md").read_text(encoding="utf-8")
    signatures = "\n\n".join(line for line in report.splitlines() if line.startswith("`GEMBA"))
    overall = report.split("## Overall\n\n")[1].split("\n\n")[0]
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}{overall}\n\n{signatures}\n{END}{after}"


def main() -> None:
    pages = {
        ROOT / "docs" / "commands.md": commands_page(),
        ROOT / "docs" / "profiles.md": profiles_page(),
        ROOT / "README.md": readme(),
    }
    stale = [path for path, text in pages.items() if not path.is_file() or path.read_text("utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date; run `python docs/generate.py`")
        sys.exit(1 if stale else 0)
    for path in stale:
        path.write_text(pages[path], encoding="utf-8", newline="\n")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
