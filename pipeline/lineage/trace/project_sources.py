"""Sources of a project that was reproduced: its data, its answers, its judge."""

from __future__ import annotations

from functools import cached_property

from pipeline.answers import seal
from pipeline.errors import TraceError
from pipeline.judges.rendering import build_request
from pipeline.layout import PARAMS, PARTICIPANTS, RECORDED, REQUESTS, RESPONSES
from pipeline.lineage.trace.files import RunFiles, relative
from pipeline.lineage.trace.run_tables import CellKey
from pipeline.lineage.trace.sources import AnswerKey, Found, Rendered, items_of, text_or_none
from pipeline.profiles import PROFILE_FOLDER, JudgeProfile, read_profile
from pipeline.prompts import PromptSet, read_prompt_set
from pipeline.yaml_file import project_path, read_yaml


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
        return [Found(found.path, found.line, text_or_none(found.value.get("failure")), found.value)]

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
                path, line, text_or_none(row.get("translation")), row
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
                text = [attempt["text"] for attempt in row["attempts"]][row["selected"]]
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
