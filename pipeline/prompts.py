"""Judge-prompt sets: a folder of system text, user template and few-shot messages.

Every value that enters a template is untrusted. Templates fence it with ``${fence}``, a run of
backticks longer than any run inside the values, so that no value can end its block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal

from pipeline.canonical import canonical_hash
from pipeline.dataset import Item, Turn
from pipeline.errors import PromptError
from pipeline.jsonl import decode, read_bytes, read_json, read_json_lines
from pipeline.validation import StrictModel, validate
from pipeline.vocabulary import CONTEXT_BEHAVIORS, ERROR_CLASSES, SEVERITIES

FILES = ("manifest.json", "system.txt", "user.txt", "few-shot.jsonl")
VARIABLES = ("source_language", "target_language", "context", "source", "translation")
UNTRUSTED = ("context", "source", "translation")
_BACKTICKS = re.compile(r"`+")
_FENCE_LINE = "${fence}"


class AdaptedFrom(StrictModel):
    """The upstream project and commit whose prompt this one adapts."""

    project: str
    commit: str


class PromptManifest(StrictModel):
    """``manifest.json`` of a prompt set."""

    id: str
    form: Literal["text", "json"]
    source_language_label: str
    severities: list[str]
    classes: list[str]
    context_behaviors: list[str]
    adapted_from: AdaptedFrom
    description: str = ""


class FewShot(StrictModel):
    """One worked example: template variables and the answer wanted."""

    variables: dict[str, str]
    answer: str


@dataclass(frozen=True)
class PromptSet:
    """A loaded prompt set; ``sha256`` covers the content of all four files."""

    manifest: PromptManifest
    system: str
    user: Template
    few_shot: tuple[FewShot, ...]
    sha256: str

    def place(self, variables: Mapping[str, str]) -> tuple[str, ...]:
        """A key that sorts cells so that prompts which begin alike come together.

        A service that keeps what it made of a prompt's beginning then has less to read.
        """
        return tuple(variables[name] for name in self.user.get_identifiers() if name in variables)

    def messages(self, variables: Mapping[str, str]) -> list[dict[str, str]]:
        """Chat messages for one cell: system, few-shot pairs, then the cell itself.

        Raises:
            PromptError: a template variable is missing or unknown.
        """
        messages = [{"role": "system", "content": self.system}]
        for example in self.few_shot:
            messages.append({"role": "user", "content": self._user_text(example.variables)})
            messages.append({"role": "assistant", "content": example.answer})
        messages.append({"role": "user", "content": self._user_text(variables)})
        return messages

    def _user_text(self, variables: Mapping[str, str]) -> str:
        check_variables(variables)
        return self.user.substitute(variables, fence=fence(variables.values()))


def check_variables(variables: Mapping[str, str]) -> None:
    """Raise ``PromptError`` unless exactly the known variables are there."""
    for name in VARIABLES:
        if name not in variables:
            raise PromptError(f"template variable {name!r} is missing; give all of: {', '.join(VARIABLES)}")
    for name in variables:
        if name not in VARIABLES:
            raise PromptError(f"template variable {name!r} is unknown; known: {', '.join(VARIABLES)}")


def fence(values: Any) -> str:
    """A run of backticks, three at least, longer than any run inside ``values``."""
    longest = max((len(run) for value in values for run in _BACKTICKS.findall(value)), default=0)
    return "`" * max(3, longest + 1)


def cell_variables(item: Item, language_label: str, source_language: str, translation: str) -> dict[str, str]:
    """Template variables of one cell. Holds no participant and no item id: the judge is blind."""
    return {
        "source_language": source_language,
        "target_language": language_label,
        "context": "\n".join(_context_line(n, turn) for n, turn in enumerate(item.context_turns, start=1)),
        "source": item.current_source.source_text,
        "translation": translation,
    }


def _context_line(number: int, turn: Turn) -> str:
    when = f" ({turn.relative_time_label})" if turn.relative_time_label else ""
    return f"[{number}] {turn.speaker_role}{when}: {turn.source_text}"


def read_prompt_set(folder: Path) -> PromptSet:
    """Load and check a prompt set.

    Raises:
        PromptError: a file is missing, the manifest is wrong, or a template or few-shot example
            names a variable that does not exist (the message names it).
    """
    for name in FILES:
        if not (folder / name).is_file():
            raise PromptError.at(folder / name, f"missing; a prompt set is {', '.join(FILES)}")
    manifest = validate(
        PromptManifest,
        read_json(folder / "manifest.json", PromptError),
        folder / "manifest.json",
        PromptError,
    )
    for field, wanted in (
        ("severities", SEVERITIES),
        ("classes", ERROR_CLASSES),
        ("context_behaviors", CONTEXT_BEHAVIORS),
    ):
        if sorted(getattr(manifest, field)) != sorted(wanted):
            raise PromptError.at(
                folder / "manifest.json", f"must list exactly: {', '.join(wanted)}", field=field
            )
    system = _text(folder / "system.txt")
    user = Template(_text(folder / "user.txt"))
    _check_template(folder / "user.txt", user)
    examples = []
    for line, row in read_json_lines(folder / "few-shot.jsonl", PromptError):
        example = validate(FewShot, row, folder / "few-shot.jsonl", PromptError, line=line)
        try:
            check_variables(example.variables)
        except PromptError as problem:
            raise PromptError.at(folder / "few-shot.jsonl", str(problem), line=line) from None
        examples.append(example)
    content = {
        "manifest": manifest.model_dump(mode="json"),
        "system": system,
        "user": user.template,
        "few_shot": [example.model_dump(mode="json") for example in examples],
    }
    return PromptSet(manifest, system, user, tuple(examples), canonical_hash(content))


def _text(path: Path) -> str:
    return decode(path, read_bytes(path, PromptError), PromptError).rstrip("\n")


def _check_template(path: Path, template: Template) -> None:
    for match in template.pattern.finditer(template.template):
        if match["invalid"] is not None:
            line = template.template.count("\n", 0, match.start()) + 1
            shown = template.template[match.start() :].split("\n")[0][:40]
            raise PromptError.at(
                path,
                f"{shown!r} starts with no ${{variable}}; known: {', '.join((*VARIABLES, 'fence'))}; "
                "write '$$' for a dollar sign",
                line=line,
            )
    for name in template.get_identifiers():
        if name != "fence" and name not in VARIABLES:
            raise PromptError.at(
                path,
                f"names template variable {name!r}, which does not exist; "
                f"known: {', '.join((*VARIABLES, 'fence'))}",
            )
    for name in VARIABLES:
        if name not in template.get_identifiers():
            raise PromptError.at(path, f"does not use template variable {name!r}; add ${{{name}}}")
    _check_fences(path, template)


def _check_fences(path: Path, template: Template) -> None:
    """Every untrusted variable stands in a block, and every block is closed."""
    inside = False
    for line, text in enumerate(template.template.split("\n"), start=1):
        if text.rstrip() == _FENCE_LINE:
            inside = not inside
            continue
        for name in Template(text).get_identifiers():
            if name == "fence" or (name in UNTRUSTED and not inside):
                raise PromptError.at(
                    path,
                    f"template variable {name!r}: a value stands between two lines of {_FENCE_LINE} alone",
                    line=line,
                )
    if inside:
        raise PromptError.at(path, f"opens a block with {_FENCE_LINE} and does not close it; add the line")
