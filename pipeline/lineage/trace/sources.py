"""Where the bytes of each item, translation, answer and request stand: file and line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from pipeline.answers import seal
from pipeline.dataset import read_dataset
from pipeline.errors import TraceError
from pipeline.judges.rendering import build_request
from pipeline.layout import PARAMS, PARTICIPANTS, RECORDED, REQUESTS, RESPONSES
from pipeline.lineage.trace.files import RunFiles, relative
from pipeline.lineage.trace.json_place import element_lines
from pipeline.lineage.trace.run_tables import CellKey
from pipeline.profiles import PROFILE_FOLDER, JudgeProfile, read_profile
from pipeline.prompts import PromptSet, read_prompt_set
from pipeline.yaml_file import project_path, read_yaml

AnswerKey = tuple[CellKey, str | None, int]
"""A cell, the hash of its request where there is one, and the repeat."""


@dataclass(frozen=True)
class Found:
    """A thing that was read from a line of a file: its text, and the whole object it stands in."""

    path: str
    line: int
    text: str | None
    value: Mapping[str, Any]


@dataclass(frozen=True)
class Rendered:
    """A request that was rendered again: its hash now, its body, and the files that decide it."""

    request_hash: str
    body: dict[str, Any]
    files: tuple[str, ...]


class Sources(Protocol):
    """What a run was made from, by cell."""

    def item(self, item_id: str) -> Found | None:
        """The line of the dataset; ``text`` is the utterance to translate."""

    def translation(self, key: CellKey) -> Found | None:
        """The line with the translation; None where none was made, or none was kept."""

    def failures(self, key: CellKey) -> list[Found]:
        """The lines that record a failure to translate; ``text`` is the reason."""

    def answer(self, key: AnswerKey) -> Found | None:
        """The line with the judge's answer; ``text`` is what it said."""

    def recorded(self, key: AnswerKey) -> Found | None:
        """The line of ``data/recorded`` with the same answer."""

    def request(self, request_hash: str) -> Found | None:
        """The line of ``requests.jsonl``."""

    def rendered(self, found: Found) -> Rendered:
        """The request of such a line, rendered again from the prompts and the profile.

        Raises:
            InputError: they cannot be read by this version.
        """

    def searched(self, what: str) -> list[str]:
        """The files that were read for ``item``, ``translation``, ``failure`` or ``answer``."""


class ProjectSources:
    """The files of a project that was reproduced, by whichever version of it."""

    def __init__(self, files: RunFiles) -> None:
        """Find out from the manifest and the participants where they stand.

        Raises:
            InputError: one of them is wrong.
        """
        self._files = files
        self._root = files.place.root
        entries = read_yaml(self._root / PARTICIPANTS)
        try:
            parameters = files.manifest["parameters"]
            self._dataset = project_path(parameters["dataset"])
            self._profile = str(parameters["judge"]["profile"])
            self._seed = int(parameters.get("seed", 0))
            self._translation_files = {
                str(name): project_path(entries[name]["translations"]) for name in parameters["participants"]
            }
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise TraceError.at(
                files.place.manifest,
                f"does not fit data/participants.yaml ({problem!r}); run `dvc repro` or restore it from git",
            ) from None

    def item(self, item_id: str) -> Found | None:
        """See ``Sources``."""
        return self._items.get(item_id)

    def translation(self, key: CellKey) -> Found | None:
        """See ``Sources``."""
        found = self._translations.get(key)
        return found if found and found.text is not None else None

    def failures(self, key: CellKey) -> list[Found]:
        """See ``Sources``."""
        found = self._translations.get(key)
        if found is None or found.text is not None:
            return []
        return [Found(found.path, found.line, _text(found.value.get("failure")), found.value)]

    def answer(self, key: AnswerKey) -> Found | None:
        """See ``Sources``."""
        return self._answers.get((str(key[1]), key[2]))

    def recorded(self, key: AnswerKey) -> Found | None:
        """See ``Sources``."""
        return self._recorded.get((str(key[1]), key[2]))

    def request(self, request_hash: str) -> Found | None:
        """See ``Sources``."""
        return self._requests.get(request_hash)

    def rendered(self, found: Found) -> Rendered:
        """See ``Sources``."""
        profile, prompt_set, files = self._judge
        request = build_request(profile, prompt_set, dict(found.value["variables"]), self._seed)
        return Rendered(request.request_hash, request.body, files)

    def searched(self, what: str) -> list[str]:
        """See ``Sources``."""
        if what == "item":
            return [self._dataset]
        if what == "answer":
            return [RESPONSES.as_posix()]
        return sorted(set(self._translation_files.values()))

    @cached_property
    def _items(self) -> dict[str, Found]:
        return items_of(self._files, self._dataset)

    @cached_property
    def _translations(self) -> dict[CellKey, Found]:
        return {
            (str(row.get("item_id")), str(row.get("target_language")), name): Found(
                path, line, _text(row.get("translation")), row
            )
            for name, path in self._translation_files.items()
            for line, row in self._files.lines(path)
        }

    @cached_property
    def _answers(self) -> dict[tuple[str, int], Found]:
        return self._answer_lines(RESPONSES.as_posix())

    @cached_property
    def _recorded(self) -> dict[tuple[str, int], Found]:
        found: dict[tuple[str, int], Found] = {}
        for path in sorted((self._root / RECORDED).glob("*.jsonl")):
            for key, line in self._answer_lines(relative(self._root, path)).items():
                found.setdefault(key, line)
        return found

    def _answer_lines(self, path: str) -> dict[tuple[str, int], Found]:
        found = {}
        for line, row in self._files.lines(path):
            try:
                key = str(row["request_hash"]), int(row["repeat"])
                text = row["attempts"][row["selected"]]["text"]
            except (KeyError, TypeError, ValueError, IndexError):
                raise TraceError.at(
                    self._root / path, "holds no answer; restore the file", line=line
                ) from None
            content = {name: value for name, value in row.items() if name != "sha256"}
            sealed = row.get("sha256") == seal(content)
            found[key] = Found(path, line, text or "", row | {"sealed": sealed})
        return found

    @cached_property
    def _requests(self) -> dict[str, Found]:
        path = REQUESTS.as_posix()
        return {
            str(row.get("request_hash")): Found(path, line, None, row)
            for line, row in self._files.lines(path)
        }

    @cached_property
    def _judge(self) -> tuple[JudgeProfile, PromptSet, tuple[str, ...]]:
        profile = read_profile(self._root, self._profile)
        folder = self._root / profile.prompt_set
        prompt_files = sorted(relative(self._root, path) for path in folder.iterdir() if path.is_file())
        profile_file = PROFILE_FOLDER / f"{self._profile}.yaml"
        return profile, read_prompt_set(folder), (PARAMS.as_posix(), profile_file.as_posix(), *prompt_files)


class PublishedSources:
    """The files a published run was rebuilt from: ``source/run`` and ``source/dataset``."""

    _ANSWERS = "source/run/judge-raw.jsonl"
    _TRANSLATIONS = "source/run/translations.jsonl"
    _FAILURES = "source/run/translation-failures.jsonl"

    def __init__(self, files: RunFiles) -> None:
        """Find the dataset file.

        Raises:
            TraceError: the rebuilt run holds not exactly one, or no answers.
        """
        self._files = files
        datasets = [path for path in files.listed if path.startswith("source/dataset/")]
        if len(datasets) != 1 or self._ANSWERS not in files.listed:
            raise TraceError.at(
                files.place.manifest,
                f"lists {len(datasets)} dataset files, not one, or no {self._ANSWERS}; build the run anew",
            )
        self._dataset = datasets[0]

    def item(self, item_id: str) -> Found | None:
        """See ``Sources``."""
        return self._items.get(item_id)

    def translation(self, key: CellKey) -> Found | None:
        """See ``Sources``."""
        return self._translations.get(key)

    def failures(self, key: CellKey) -> list[Found]:
        """See ``Sources``."""
        return self._failures.get(key, [])

    def answer(self, key: AnswerKey) -> Found | None:
        """See ``Sources``."""
        return self._answers.get(key[0])

    def recorded(self, key: AnswerKey) -> Found | None:
        """See ``Sources``: a published run has none."""
        return None

    def request(self, request_hash: str) -> Found | None:
        """See ``Sources``: a published run has none."""
        return None

    def rendered(self, found: Found) -> Rendered:
        """See ``Sources``."""
        raise TraceError("a published run records no requests")

    def searched(self, what: str) -> list[str]:
        """See ``Sources``."""
        wanted = {"item": self._dataset, "translation": self._TRANSLATIONS, "failure": self._FAILURES}
        path = wanted.get(what, self._ANSWERS)
        return [path] if path in self._files.listed else []

    @cached_property
    def _items(self) -> dict[str, Found]:
        return items_of(self._files, self._dataset)

    @cached_property
    def _answers(self) -> dict[CellKey, Found]:
        return self._by_cell(self._ANSWERS, "raw_judge_output")

    @cached_property
    def _translations(self) -> dict[CellKey, Found]:
        return self._by_cell(self._TRANSLATIONS, "translation")

    @cached_property
    def _failures(self) -> dict[CellKey, list[Found]]:
        found: dict[CellKey, list[Found]] = {}
        for line, row in self._lines(self._FAILURES):
            reason = ": ".join(str(row[k]) for k in ("error_class", "last_error_summary") if row.get(k))
            entry = Found(self._FAILURES, line, reason or "unrecorded", row)
            found.setdefault(_cell_key(row), []).append(entry)
        return found

    def _by_cell(self, path: str, field: str) -> dict[CellKey, Found]:
        return {
            _cell_key(row): Found(path, line, _text(row.get(field)), row) for line, row in self._lines(path)
        }

    def _lines(self, path: str) -> list[tuple[int, dict[str, Any]]]:
        return self._files.lines(path) if path in self._files.listed else []


def _cell_key(row: Mapping[str, Any]) -> CellKey:
    """``run::item::language::participant`` as a cell."""
    parts = str(row.get("stable_key")).split("::")
    return (parts[1], parts[2], parts[3]) if len(parts) == 4 else ("", "", "")


def items_of(files: RunFiles, path: str) -> dict[str, Found]:
    """The items of a dataset file, in either of its forms, by id.

    Raises:
        InputError: the dataset is wrong.
    """
    dataset = read_dataset(files.place.root / path)
    content = files.content(path).decode("utf-8")
    lines = element_lines(content) or [n for n, _ in files.lines(path)]
    return {
        item.sample_id: Found(path, line, item.current_source.source_text, item.model_dump(mode="json"))
        for line, item in zip(lines, dataset.items, strict=True)
    }


def sources_of(files: RunFiles) -> Sources:
    """The sources of the run whose files these are."""
    return PublishedSources(files) if files.place.published else ProjectSources(files)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
