"""Which inputs of two runs differ, by what their manifests and tables say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.lineage.trace.opened import OpenRun
from pipeline.lineage.trace.run_tables import CellKey

_PROMPTS = ("data/judge-prompts/", "experiments/2026-04-gemini-context-v2-archived/judge-prompts/")
# Input -> where its files stand in a project or in a rebuilt run. The rest of an input is no file.
_FILES: dict[str, tuple[str, ...]] = {
    "dataset": ("data/datasets/", "source/dataset/"),
    "translations": (
        "data/translations/",
        "source/run/translations.jsonl",
        "source/run/translation-failures.jsonl",
    ),
    "participants": ("data/participants.yaml",),
    "prompts": _PROMPTS,
    "profile": ("experiments/judges/",),
    "recorded answers": ("data/recorded/", "source/run/judge-raw.jsonl"),
    "code": ("pipeline/",),
    "requirements": ("requirements.lock",),
}


@dataclass(frozen=True)
class InputDifference:
    """An input of the two runs. ``details`` say what differs, one line each; none where it is the same.

    ``used`` is whether what differs is what the run is made with; other files of the same folders may
    differ without any effect.
    """

    name: str
    details: tuple[str, ...]
    used: bool = True

    @property
    def same(self) -> bool:
        """Whether both runs have it alike."""
        return not self.details


def input_differences(a: OpenRun, b: OpenRun) -> list[InputDifference]:
    """Every input in a fixed order, the same or not."""
    found = {name: tuple(_file_differences(a, b, places)) for name, places in _FILES.items()}
    profile = tuple(_value_differences(_profile(a), _profile(b)))
    run_a, run_b = a.tables.run, b.tables.run
    parameters = tuple(_value_differences(_parameters(a), _parameters(b)))
    reading = tuple(_value_differences(_of(run_a, "parser_mode"), _of(run_b, "parser_mode")))
    weights = tuple(_value_differences({"scheme": a.tables.scheme.name}, {"scheme": b.tables.scheme.name}))
    return [
        _chosen("dataset", "dataset_fingerprint", run_a, run_b, found["dataset"]),
        InputDifference("translations", found["translations"], _translations(a) != _translations(b)),
        InputDifference("participants", found["participants"]),
        _chosen("prompts", "prompt_set_sha256", run_a, run_b, found["prompts"]),
        InputDifference("profile", profile or found["profile"], bool(profile)),
        InputDifference("parameters", parameters),
        InputDifference("reading", reading),
        InputDifference("weights", weights),
        InputDifference("recorded answers", found["recorded answers"], _answers(a) != _answers(b)),
        InputDifference("code", found["code"] or _code(a, b)),
        InputDifference("requirements", found["requirements"]),
    ]


def _translations(run: OpenRun) -> dict[CellKey, tuple[str | None, str | None]]:
    return {cell.key: (cell.translation, cell.translation_failure) for cell in run.tables.cells}


def _answers(run: OpenRun) -> dict[CellKey, list[str]]:
    return {cell.key: [verdict.text for verdict in cell.verdicts] for cell in run.tables.cells}


def _code(a: OpenRun, b: OpenRun) -> tuple[str, ...]:
    """Rebuilt runs list no file of the package, only one hash over its sources."""
    key = "package_sources_sha256"
    return tuple(_value_differences(_of(a.files.manifest, key), _of(b.files.manifest, key)))


def _chosen(
    name: str, key: str, a: Mapping[str, Any], b: Mapping[str, Any], files: tuple[str, ...]
) -> InputDifference:
    """An input of which there are several: the hash says whether the one that is used differs."""
    used = tuple(_value_differences(_of(a, key), _of(b, key)))
    return InputDifference(name, (*used, *files), bool(used))


def _of(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {key: values.get(key)}


def _profile(run: OpenRun) -> dict[str, Any]:
    """The judge: its profile, without how it travels, or what an imported run says of it."""
    profile = run.files.manifest.get("judge_profile")
    if isinstance(profile, dict):
        return {name: value for name, value in profile.items() if name not in ("transport", "description")}
    return {"backend": run.tables.run["judge_backend"], "model": run.tables.run["judge_model"]}


def _parameters(run: OpenRun) -> dict[str, Any]:
    """The parameters that have no input of their own here."""
    parameters = run.files.manifest.get("parameters")
    if not isinstance(parameters, dict):
        return {}
    ours = ("scoring", "scoring_scheme", "parser", "parser_mode")
    return {name: value for name, value in parameters.items() if name not in ours}


def _file_differences(a: OpenRun, b: OpenRun, places: tuple[str, ...]) -> Iterator[str]:
    listed_a, listed_b = _listed(a, places), _listed(b, places)
    for path in sorted(listed_a.keys() | listed_b.keys()):
        if path not in listed_b:
            yield f"{path}: only in A"
        elif path not in listed_a:
            yield f"{path}: only in B"
        elif listed_a[path] != listed_b[path]:
            yield f"{path}: {listed_a[path][:12]} in A, {listed_b[path][:12]} in B"


def _listed(run: OpenRun, places: tuple[str, ...]) -> dict[str, str]:
    """SHA-256 by path of the manifest's inputs below these places."""
    return {
        str(entry["path"]): str(entry["sha256"])
        for entry in run.files.manifest["inputs"]
        if str(entry["path"]).startswith(places)
    }


def _value_differences(a: Any, b: Any, name: str = "") -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from _value_differences(a.get(key), b.get(key), f"{name}.{key}" if name else str(key))
    elif a != b and isinstance(a, list) and isinstance(b, list):
        only = [("A", [x for x in a if x not in b]), ("B", [x for x in b if x not in a])]
        said = [f"only in {side}: {', '.join(map(str, values))}" for side, values in only if values]
        yield f"{name}: {'; '.join(said) or 'in another order'}"
    elif a != b:
        yield f"{name}: {a!r} in A, {b!r} in B"
