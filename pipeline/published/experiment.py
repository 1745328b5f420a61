"""``experiments/<id>/experiment.yaml``: how a published run was made, and the bytes it was published as."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.errors import ConfigError
from pipeline.validation import StrictModel, validate
from pipeline.yaml_file import ProjectPath, read_yaml

EXPERIMENTS = Path("experiments")
EXPERIMENT = "experiment.yaml"

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]*$")]


class Publication(StrictModel):
    """Where a run was published, and under which licence. ``path`` is the run folder there."""

    repository: str
    commit: Annotated[str, Field(pattern="^[0-9a-f]{40}$")]
    path: str
    licence: str
    attribution: str


class ExperimentJudge(StrictModel):
    """What judged the run. ``effort`` is ``unrecorded`` where no document of the run says it."""

    backend: str
    model: str
    effort: str
    prompt_set: str
    annotation_form: Literal["text", "json"]
    batch_jobs: list[str]


class ExperimentDataset(StrictModel):
    """The dataset file by its SHA-256, and the SHA-256 that the run's own manifest names."""

    file: Name
    sha256: Sha256
    recorded_sha256: Sha256
    items: Annotated[int, Field(ge=1)]


class KnownFinding(StrictModel):
    """A claim or check that is known to fail with exactly what was ``found``, and why.

    ``found`` is the computed text of a claim, or a check's ``Check.found``. A reason does not excuse
    another finding, and one that nothing bears out is a finding itself.
    """

    finding: str
    found: str
    why: str


class Experiment(StrictModel):
    """A published experiment. ``folder`` is what its run folder is called, ``files`` what it holds."""

    id: Name
    title: str
    folder: Name
    run_ids: Annotated[list[str], Field(min_length=1)]
    published: Publication | None = None
    judge: ExperimentJudge
    dataset: ExperimentDataset
    languages: Annotated[list[str], Field(min_length=1)]
    participants: Annotated[list[str], Field(min_length=1)]
    raw_answers: bool
    files: dict[ProjectPath, Sha256]
    known_findings: list[KnownFinding] = Field(default=[])

    @model_validator(mode="after")
    def _distinct(self) -> Experiment:
        for what, names in (
            ("participants", self.participants),
            ("languages", self.languages),
            ("known_findings", [known.finding for known in self.known_findings]),
        ):
            if len(set(names)) < len(names):
                raise ValueError(f"{what} names one twice; names are unique")
        return self


def read_experiment(project: Path, name: str) -> Experiment:
    """The experiment of that name in a project.

    Raises:
        ConfigError: there is none, or its file is broken.
    """
    known = experiment_names(project)
    if name not in known:
        there = f"there are: {', '.join(known)}" if known else "run this in a project's folder"
        raise ConfigError.at(EXPERIMENTS / name / EXPERIMENT, f"no such experiment; {there}")
    path = project / EXPERIMENTS / name / EXPERIMENT
    experiment = validate(Experiment, read_yaml(path), path, ConfigError)
    if experiment.id != name:
        raise ConfigError.at(
            path, f"is {experiment.id!r}; it must be its folder's name, {name!r}", field="id"
        )
    return experiment


def experiment_names(project: Path) -> list[str]:
    """The names of all experiments that have an ``experiment.yaml``, sorted."""
    return sorted(path.parent.name for path in (project / EXPERIMENTS).glob(f"*/{EXPERIMENT}"))


def experiment_of(project: Path, source: Path, run_id: str | None) -> Experiment:
    """The experiment that a run folder belongs to: by the run id of its manifest, else by its name.

    Raises:
        ConfigError: none or several fit; the message lists those there are.
    """
    experiments = [read_experiment(project, name) for name in experiment_names(project)]
    fitting = [e for e in experiments if run_id in e.run_ids]
    fitting = fitting or [e for e in experiments if source.resolve().name in (e.folder, e.id)]
    if len(fitting) != 1:
        names = ", ".join(experiment.id for experiment in experiments) or "none here"
        raise ConfigError.at(source, f"no experiment is known for it; name one with --experiment ({names})")
    return fitting[0]
