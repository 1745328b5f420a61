"""Stage ``render``: every expected cell, and one judge request per distinct thing to ask."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from pipeline.canonical import atomic_path, json_line, write_lines
from pipeline.config import language_label, read_params, read_participants
from pipeline.dataset import read_dataset
from pipeline.judges.rendering import build_request
from pipeline.layout import CELLS, PARAMS, PARTICIPANTS, REQUESTS
from pipeline.profiles import read_profile
from pipeline.prompts import cell_variables, read_prompt_set
from pipeline.requests import RequestLine
from pipeline.translations import read_translations

_CELL_SCHEMA = {
    "item_id": pl.String,
    "language": pl.String,
    "participant_id": pl.String,
    "translation": pl.String,
    "translation_failure": pl.String,
    "request_hash": pl.String,
}


def run(root: Path) -> str:
    """Write ``cells.parquet`` and ``requests.jsonl`` below ``root``; returns the line to print.

    ``cells.parquet`` has one row per expected cell in the order item, language, participant.

    Raises:
        InputError: an input file is wrong; nothing is written.
    """
    params = read_params(root / PARAMS)
    dataset = read_dataset(root / params.dataset)
    participants = read_participants(root / PARTICIPANTS, params.participants)
    profile = read_profile(root, params.judge.profile)
    prompt_set = read_prompt_set(root / profile.prompt_set)
    source_language = prompt_set.manifest.source_language_label
    item_ids = {item.sample_id for item in dataset.items}
    translations = {
        participant_id: read_translations(root / participant.translations, item_ids, params.languages)
        for participant_id, participant in participants.items()
    }
    rows: list[tuple[str | None, ...]] = []
    requests: dict[str, RequestLine] = {}
    for item in dataset.items:
        for language in params.languages:
            hash_by_text: dict[str, str] = {}
            for participant_id, given in translations.items():
                cell = (item.sample_id, language)
                text = given.texts.get(cell)
                if text is not None and text not in hash_by_text:
                    variables = cell_variables(item, language_label(language), source_language, text)
                    request = build_request(profile, prompt_set, variables, params.seed)
                    request_hash = hash_by_text[text] = request.request_hash
                    requests[request_hash] = RequestLine(
                        request_hash=request_hash,
                        prompt_set_sha256=prompt_set.sha256,
                        variables=variables,
                    )
                asked = None if text is None else hash_by_text[text]
                rows.append((*cell, participant_id, text, given.failures.get(cell), asked))
    frame = pl.DataFrame(rows, schema=_CELL_SCHEMA, orient="row")
    # Both or none: the first is put in its place only when the second is written, too.
    buffer = io.BytesIO()  # so that a full disk is an OSError of ours, not one of the engine's own
    frame.write_parquet(buffer, compression="zstd", statistics=False, row_group_size=100_000)
    with atomic_path(root / CELLS) as temporary:
        temporary.write_bytes(buffer.getbuffer())
        write_lines(root / REQUESTS, (json_line(requests[key].model_dump()) for key in sorted(requests)))
    judged = frame.get_column("request_hash").count()
    return (
        f"render: {len(rows)} cells, {judged} to judge by {len(requests)} distinct requests -> {CELLS.parent}"
    )
