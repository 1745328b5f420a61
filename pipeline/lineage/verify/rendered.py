"""Every judge request of a project rendered again, from dataset, translations and prompts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.config import Params, Participant, language_label, read_params, read_participants
from pipeline.dataset import Dataset, read_dataset
from pipeline.judges.rendering import build_request
from pipeline.layout import PARAMS, PARTICIPANTS
from pipeline.lineage.verify.recount.run import CellKey
from pipeline.profiles import JudgeProfile, read_profile
from pipeline.prompts import PromptSet, cell_variables, read_prompt_set
from pipeline.translations import Translations, read_translations


@dataclass(frozen=True)
class Sources:
    """A project's inputs, read and checked."""

    params: Params
    dataset: Dataset
    participants: dict[str, Participant]
    profile: JudgeProfile
    prompt_set: PromptSet
    translations: dict[str, Translations]


@dataclass(frozen=True)
class Asked:
    """An expected cell: its translation, why there is none, and the hash of the request about it."""

    key: CellKey
    translation: str | None
    failure: str | None
    request_hash: str | None


@dataclass(frozen=True)
class Rendered:
    """Every expected cell in the order item, language, participant; variables by request hash."""

    cells: tuple[Asked, ...]
    variables: dict[str, dict[str, str]]


def read_sources(root: Path) -> Sources:
    """Read what a project's run is made from.

    Raises:
        InputError: a file is missing or wrong; the message names it.
    """
    params = read_params(root / PARAMS)
    dataset = read_dataset(root / params.dataset)
    participants = read_participants(root / PARTICIPANTS, params.participants)
    profile = read_profile(root, params.judge.profile)
    ids = {item.sample_id for item in dataset.items}
    return Sources(
        params,
        dataset,
        participants,
        profile,
        read_prompt_set(root / profile.prompt_set),
        {
            name: read_translations(root / participant.translations, ids, params.languages)
            for name, participant in participants.items()
        },
    )


def render_again(sources: Sources) -> Rendered:
    """Render the request of every cell that has a translation."""
    cells: list[Asked] = []
    by_content: dict[tuple[str, str, str], str] = {}
    variables: dict[str, dict[str, str]] = {}
    label = sources.prompt_set.manifest.source_language_label
    for item in sources.dataset.items:
        for language in sources.params.languages:
            for name, given in sources.translations.items():
                place = item.sample_id, language
                text = given.texts.get(place)
                if text is not None and (*place, text) not in by_content:
                    filled = cell_variables(item, language_label(language), label, text)
                    request = build_request(sources.profile, sources.prompt_set, filled, sources.params.seed)
                    by_content[*place, text] = request.request_hash
                    variables[request.request_hash] = filled
                cells.append(
                    Asked(
                        (*place, name),
                        text,
                        given.failures.get(place),
                        None if text is None else by_content[*place, text],
                    )
                )
    return Rendered(tuple(cells), variables)
