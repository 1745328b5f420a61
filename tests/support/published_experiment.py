"""A project with one experiment: the small run of ``published_run``, its claims and its SHA-256 list."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from published_run import RUN, Published, write_run
from ruamel.yaml import YAML

ID = "own-experiment"
Json = dict[str, Any]


def mean(participant: str | None = None) -> Json:
    """The function ``mean_penalty``."""
    return {"function": "mean_penalty"} | ({"participant": participant} if participant else {})


# What follows from the table in published_run.
CLAIMS: list[Json] = [
    {"id": "mean.alpha", "kind": "value", "printed": "2.33", "compute": mean("alpha")},  # 7 / 3
    {"id": "mean.beta", "kind": "value", "printed": "8.667", "compute": mean("beta")},  # 26 / 3
    {"id": "order", "kind": "ordering", "over": "participant", "printed": "alpha < beta", "compute": mean()},
    {"id": "scored", "kind": "count", "printed": "6", "compute": {"function": "cell_count", "status": "ok"}},
    {"id": "cost", "kind": "value", "printed": "$1.00", "compute": {"function": "judge_cost"}},
]


@dataclass(frozen=True)
class Project:
    """Where the project, the run folder and its dataset file stand."""

    root: Path
    source: Path
    dataset: Path

    @property
    def run(self) -> Published:
        """The run, with what can be done to it."""
        return Published(self.source, self.dataset)

    @property
    def folder(self) -> Path:
        """The experiment's folder."""
        return self.root / "experiments" / ID

    def write_claims(self, *claims: Json, **changes: Any) -> None:
        """Write claims.json with these claims."""
        places = [{"document": "page", "place": "table 1"}]
        document = {"experiment": ID, "rounding": "half_up", "documents": {"page": {"path": "README.md"}},
                    "claims": [claim | {"printed_in": places} for claim in claims]}  # fmt: skip
        (self.folder / "claims.json").write_text(json.dumps(document | changes), "utf-8")

    def write_experiment(self, **changes: Any) -> None:
        """Write experiment.yaml for the run as it stands now; a change of None takes a key away."""
        document: Json = {
            "id": ID,
            "title": "An experiment of our own",
            "folder": "run",
            "run_ids": [RUN],
            "judge": {"backend": "own-backend", "model": "own/judge", "effort": "high",
                      "prompt_set": "own-prompts", "annotation_form": "text", "batch_jobs": []},
            "dataset": {"file": "dataset.json", "sha256": digest(self.dataset),
                        "recorded_sha256": digest(self.dataset), "items": 2},
            "languages": ["en", "ja"],
            "participants": ["alpha", "beta"],
            "raw_answers": True,
            "files": {path: digest(self.source / path) for path in files(self.source)},
        }  # fmt: skip
        kept = {name: value for name, value in (document | changes).items() if value is not None}
        with (self.folder / "experiment.yaml").open("w", encoding="utf-8") as out:
            YAML().dump(kept, out)


def write_project(folder: Path) -> Project:
    """Write a project, and beside it the run folder with its dataset in ``dataset/``."""
    runs = folder / "runs"
    runs.mkdir(parents=True)
    run = write_run(runs)
    (runs / "dataset").mkdir()
    project = Project(folder / "project", run.source, runs / "dataset" / "dataset.json")
    shutil.move(run.dataset, project.dataset)
    project.folder.mkdir(parents=True)
    project.write_experiment()
    project.write_claims(*CLAIMS)
    return project


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files(folder: Path) -> list[str]:
    """Paths of all files of a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
