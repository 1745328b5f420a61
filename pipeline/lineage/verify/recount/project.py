"""A project's run as plain Python reads it: rendered cells joined to answers by request hash."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.answers import Answer
from pipeline.lineage.verify.recount.run import Design, Given, System
from pipeline.lineage.verify.rendered import Rendered, Sources


def read_project(sources: Sources, rendered: Rendered, answers: Sequence[Answer]) -> tuple[Design, Given]:
    """Design of a project's run, and what there is for its cells."""
    params = sources.params
    design = Design(
        run_name=params.run_name,
        dataset=sources.dataset,
        languages=tuple(params.languages),
        systems=tuple(
            System(name, p.display_name, p.provider, p.model) for name, p in sources.participants.items()
        ),
        repeats=params.judge.repeats,
        form=sources.prompt_set.manifest.form,
        mode=params.parser.mode,
        scheme=params.scoring.scheme,
        translations_known=True,
    )
    by_key = {answer.key: answer for answer in answers}
    said: dict[str, list[tuple[str, str | None]]] = {}
    for digest in rendered.variables:
        found = [by_key.get((digest, repeat)) for repeat in range(params.judge.repeats)]
        said[digest] = [
            (answer.attempt.text or "", answer.attempt.finish_reason)
            for answer in found
            if answer is not None
        ]
    # Reports count failures to translate by participant, then item, then language.
    order = {name: index for index, name in enumerate(params.participants)}
    failed = sorted(
        ((cell.key, cell.failure) for cell in rendered.cells if cell.failure is not None),
        key=lambda pair: order[pair[0][2]],
    )
    given = Given(
        answers={cell.key: said[cell.request_hash] for cell in rendered.cells if cell.request_hash},
        translations={cell.key: cell.translation for cell in rendered.cells if cell.translation is not None},
        failures=dict(failed),
        history=failed,
        request_hashes={cell.key: cell.request_hash for cell in rendered.cells if cell.request_hash},
        attempts=sorted(answers, key=lambda answer: answer.key),
    )
    return design, given
