"""A run made again from its inputs alone: nothing here comes from a table or a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.answers import Answer
from pipeline.canonical import sha256_file
from pipeline.errors import ManifestError
from pipeline.layout import CELLS, MANIFEST, REQUESTS, REQUIREMENTS, RESPONSES
from pipeline.lineage.manifest import package_sources_hash
from pipeline.lineage.sealed import PACKAGE
from pipeline.lineage.signature import UNRECORDED, Signature
from pipeline.lineage.verify.manifest import Manifest, Stated
from pipeline.lineage.verify.recount.imported import RUN, read_imported
from pipeline.lineage.verify.recount.means import Means
from pipeline.lineage.verify.recount.project import read_project
from pipeline.lineage.verify.recount.run import PlainRun, recount
from pipeline.lineage.verify.recount.status import manifest_counts
from pipeline.lineage.verify.rendered import Rendered, Sources
from pipeline.published.source import open_run
from pipeline.tables.facts import RunFacts
from pipeline.tables.run_id import imported_run_id, own_run_id


@dataclass(frozen=True)
class Made:
    """A run counted by plain Python, with what table ``run`` and the manifest have to say of it."""

    run: PlainRun
    means: Means
    facts: RunFacts
    stated: Stated

    @property
    def signature(self) -> Signature:
        """The run's signature."""
        facts = self.facts
        return Signature(
            run_id=facts.run_id,
            dataset_fingerprint=facts.dataset_fingerprint,
            prompt_set_sha256=facts.prompt_set_sha256,
            judge_backend=facts.judge_backend,
            judge_model=facts.judge_model,
            reasoning_effort=facts.reasoning_effort,
            repeats=facts.repeats,
            parser_mode=facts.parser_mode,
            scheme=self.run.design.scheme,
            ok_cells=len(self.run.ok),
            expected_cells=len(self.run.cells),
        )


def make_project(root: Path, sources: Sources, rendered: Rendered, answers: Sequence[Answer]) -> Made:
    """A project's run, from its sources and the answers of ``responses.jsonl``.

    Raises:
        PipelineError: there is no such scoring scheme, or a file that is hashed is missing.
    """
    params, profile, prompt_set = sources.params, sources.profile, sources.prompt_set
    run = recount(*read_project(sources, rendered, answers))
    facts = RunFacts(
        run_id=own_run_id(
            dataset_fingerprint=sources.dataset.fingerprint,
            judge_identity=profile.identity_hash(),
            prompt_set_sha256=prompt_set.sha256,
            languages=params.languages,
            participants=params.participants,
            repeats=params.judge.repeats,
            parser_mode=params.parser.mode,
            cells_sha256=sha256_file(root / CELLS),
            requests_sha256=sha256_file(root / REQUESTS),
            responses_sha256=sha256_file(root / RESPONSES),
        ),
        run_name=params.run_name,
        dataset_fingerprint=sources.dataset.fingerprint,
        dataset_sha256=sources.dataset.file_sha256,
        prompt_set_id=prompt_set.manifest.id,
        prompt_set_sha256=prompt_set.sha256,
        judge_profile=params.judge.profile,
        judge_description=profile.description,
        judge_backend=profile.backend,
        judge_model=profile.request.model,
        reasoning_effort=profile.request.reasoning_effort or "default",
        repeats=params.judge.repeats,
        parser_mode=params.parser.mode,
        annotation_form=prompt_set.manifest.form,
    )
    return _made(
        run,
        facts,
        parameters=params.model_dump(mode="json"),
        judge_profile=profile.model_dump(mode="json"),
        requirements=sha256_file(root / REQUIREMENTS),
        package=package_sources_hash(root / PACKAGE),
    )


def make_imported(root: Path, manifest: Manifest) -> Made:
    """A rebuilt run, from ``source/`` below ``root``; only the scoring scheme is taken from the manifest.

    Raises:
        PipelineError: a source file is missing or broken, or there is no such scheme.
    """
    scheme = manifest.parameters.get("scoring_scheme")
    if not isinstance(scheme, str):
        raise ManifestError.at(
            root / MANIFEST, "names no scoring scheme; build the run anew", field="parameters"
        )
    imported = read_imported(root, scheme)
    run = recount(imported.design, imported.given)
    source, dataset = imported.manifest, imported.design.dataset
    facts = RunFacts(
        run_id=imported_run_id(dataset.fingerprint, open_run(root / RUN).files),
        run_name=source.run_id,
        dataset_fingerprint=dataset.fingerprint,
        dataset_sha256=dataset.file_sha256,
        prompt_set_id=source.prompt_set_id,
        prompt_set_sha256=None,
        judge_profile=None,
        judge_description="",
        judge_backend=source.judge_backend,
        judge_model=source.judge_model,
        reasoning_effort=UNRECORDED,
        repeats=1,
        parser_mode="strict",
        annotation_form="text",
    )
    running = package_sources_hash()
    return _made(
        run,
        facts,
        parameters={
            "languages": list(run.design.languages),
            "participants": [system.participant_id for system in run.design.systems],
            "parser_mode": run.design.mode,
            "scoring_scheme": scheme,
        },
        judge_profile=None,
        requirements=None,
        package=running if manifest.package_sources_sha256 == running else None,
    )


def _made(
    run: PlainRun,
    facts: RunFacts,
    *,
    parameters: dict[str, Any],
    judge_profile: dict[str, Any] | None,
    requirements: str | None,
    package: str | None,
) -> Made:
    means = Means(run)
    stated = Stated(
        run_id=facts.run_id,
        run_name=facts.run_name,
        parameters=parameters,
        judge_profile=judge_profile,
        requirements_lock_sha256=requirements,
        package_sources_sha256=package,
        counts=manifest_counts(run, len(means.common)),
    )
    return Made(run, means, facts, stated)
