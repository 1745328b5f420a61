"""What a request is made of: its identity, its bytes, and what must never be in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rfc8785
from tiny_project import JUDGE, PARAMS, PROFILE, PROMPT_SET, items, lines, make_tiny_project, put

from pipeline.config import read_params
from pipeline.errors import InputError
from pipeline.judges.rendering import build_request
from pipeline.profiles import read_profile
from pipeline.prompts import read_prompt_set
from pipeline.requests import JudgeRequest, RequestLine, read_request_lines
from pipeline.stages import render


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_tiny_project(tmp_path / "project")


def requests_of(project: Path) -> list[tuple[RequestLine, JudgeRequest]]:
    """Render the project; its request lines, each with the request it stands for."""
    render.run(project)
    params = read_params(project / "params.yaml")
    profile = read_profile(project, params.judge.profile)
    prompt_set = read_prompt_set(project / profile.prompt_set)
    return [
        (line, build_request(profile, prompt_set, line.variables, params.seed))
        for line in read_request_lines(project / "data/requests/requests.jsonl")
    ]


def hashes(project: Path) -> set[str]:
    return {line.request_hash for line, _ in requests_of(project)}


BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "밥"}], "temperature": 0.0}


def test_hash_and_bytes() -> None:
    """SHA-256 over the RFC 8785 form of service, model file and body, written out by hand."""
    request = JudgeRequest("svc", None, BODY)
    body = '{"messages":[{"content":"밥","role":"user"}],"model":"m","temperature":0}'
    assert request.body_bytes == body.encode("utf-8")
    whole = f'{{"body":{body},"model_file_sha256":null,"service":"svc"}}'
    assert request.request_hash == hashlib.sha256(whole.encode("utf-8")).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        {"service": "another"},
        {"model_file_sha256": "0" * 64},
        {"body": BODY | {"model": "n"}},
        {"body": BODY | {"temperature": 0.1}},
        {"body": BODY | {"messages": [{"role": "user", "content": "국"}]}},
        {"body": BODY | {"messages": [{"role": "system", "content": "밥"}]}},
        {"body": BODY | {"seed": 1}},
    ],
)
def test_hash_changes_with_every_part(other: dict[str, Any]) -> None:
    request = JudgeRequest("svc", None, BODY)
    assert replace(request, **other).request_hash != request.request_hash


def test_the_lines_stand_for_the_requests(project: Path) -> None:
    found = requests_of(project)
    assert len(found) == 3  # four cells, one of which has no translation
    for line, request in found:
        assert request.request_hash == line.request_hash
        assert request.body_bytes == rfc8785.dumps(request.body)
        assert line.prompt_set_sha256 == read_prompt_set(project / PROMPT_SET).sha256
    assert [line.request_hash for line, _ in found] == sorted(line.request_hash for line, _ in found)


# Where and how a request travels, and for whom: none of it is what is asked.
NOT_IDENTITY: list[tuple[str, str, str]] = [
    (PROFILE, "http://127.0.0.1:9", "https://example.org/v1"),
    (PROFILE, "transport:", "transport:\n  concurrency: 200"),
    (PROFILE, "transport:", "transport:\n  timeout_seconds: 1"),
    (PROFILE, "transport:", "transport:\n  max_tries: 1"),
    (PROFILE, "transport:", "transport:\n  requests_per_minute: 5"),
    (PROFILE, "transport:", "transport:\n  path: /v2/chat"),
    (PROFILE, "transport:", "transport:\n  api_key_env: SOME_KEY"),
    (PROFILE, "backend:", "description: another\nbackend:"),
    (PROFILE, "temperature: 0", "temperature: 0.0"),
    ("params.yaml", "run_name: tiny", "run_name: another"),
    ("params.yaml", "repeats: 1", "repeats: 3"),
    ("params.yaml", "offline: true", "offline: false"),
    ("params.yaml", "mode: strict", "mode: lenient"),
    ("params.yaml", "seed: 7", "seed: 8"),  # the profile does not say send_seed
    ("params.yaml", "[zzsystem-a, zzsystem-b]", "[zzsystem-b, zzsystem-a]"),
]
# Everything that is asked.
IDENTITY: list[tuple[str, str, str]] = [
    (PROFILE, "tiny-service", "another-service"),
    (PROFILE, "tiny-model", "another-model"),
    (PROFILE, "temperature: 0", "temperature: 0.5"),
    (PROFILE, "max_tokens: 400", "max_tokens: 401"),
    (PROFILE, "max_tokens: 400", f"max_tokens: 400\n  model_file_sha256: {'a' * 64}"),
    (PROFILE, "max_tokens: 400", "max_tokens: 400\n  reasoning_effort: high"),
    (PROFILE, "max_tokens: 400", "max_tokens: 400\n  provider: {only: [one]}"),
    (PROFILE, "max_tokens: 400", "max_tokens: 400\n  response_format: {type: json_object}"),
    (PROFILE, "max_tokens: 400", "max_tokens: 400\n  send_seed: true"),
    (f"{PROMPT_SET}/user.txt", "Annotate the", "Please annotate the"),
    (f"{PROMPT_SET}/few-shot.jsonl", "현관", "거실"),
    (f"{PROMPT_SET}/manifest.json", '"Korean"', '"Spoken Korean"'),
    ("params.yaml", "[en]", "[de]"),
]


def edit(project: Path, file: str, old: str, new: str) -> None:
    text = (project / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    put(project / file, text.replace(old, new))


@pytest.mark.parametrize(("file", "old", "new"), NOT_IDENTITY)
def test_hash_does_not_change_with(project: Path, file: str, old: str, new: str) -> None:
    before = hashes(project)
    edit(project, file, old, new)
    assert hashes(project) == before


@pytest.mark.parametrize(("file", "old", "new"), IDENTITY)
def test_every_hash_changes_with(project: Path, file: str, old: str, new: str) -> None:
    before = hashes(project)
    edit(project, file, old, new)
    if new == "[de]":
        for participant in "ab":
            path = f"data/translations/{participant}.jsonl"
            text = (project / path).read_text(encoding="utf-8")
            put(project / path, text.replace('"target_language": "en"', '"target_language": "de"'))
    after = hashes(project)
    assert len(after) == 3
    assert not after & before


def test_seed_is_identity_where_it_is_sent(project: Path) -> None:
    put(project / PROFILE, JUDGE.replace("max_tokens: 400", "max_tokens: 400\n  send_seed: true"))
    before = hashes(project)
    put(project / "params.yaml", PARAMS.replace("seed: 7", "seed: 8"))
    assert not hashes(project) & before


def test_requests_name_neither_participant_nor_item(project: Path) -> None:
    """Every id and name of the tiny project begins with ``zz``, and nothing else does."""
    found = requests_of(project)
    assert len(found) == 3
    for line, request in found:
        assert "zz" not in line.model_dump_json()
        assert b"zz" not in request.body_bytes


def test_equal_questions_share_a_request_and_keep_their_cells(project: Path) -> None:
    """Two systems that say the same are one request; two items with the same words are, too."""
    first, second = items()
    twin = first | {"sample_id": "zzitem-3"}
    put(project / "data/datasets/tiny/items.jsonl", lines(first, second, twin))
    rows = [
        {"item_id": item["sample_id"], "target_language": "en", "translation": "The same."}
        for item in (first, second, twin)
    ]
    for participant in "ab":
        put(project / f"data/translations/{participant}.jsonl", lines(*rows))
    assert len(requests_of(project)) == 2
    cells = pl.read_parquet(project / "data/requests/cells.parquet")
    assert cells.height == 6
    by_item = {item: set(part.get_column("request_hash")) for (item,), part in cells.group_by("item_id")}
    assert by_item["zzitem-1"] == by_item["zzitem-3"] != by_item["zzitem-2"]


def test_cells_stand_in_the_order_item_language_participant(project: Path) -> None:
    render.run(project)
    cells = pl.read_parquet(project / "data/requests/cells.parquet")
    assert cells.select("item_id", "language", "participant_id", "translation").rows() == [
        ("zzitem-1", "en", "zzsystem-a", "She has already left."),
        ("zzitem-1", "en", "zzsystem-b", "Already went."),
        ("zzitem-2", "en", "zzsystem-a", "The ship is leaving."),
        ("zzitem-2", "en", "zzsystem-b", None),
    ]
    assert cells.get_column("translation_failure").to_list() == [
        None,
        None,
        None,
        "gave nothing in three tries",
    ]
    assert cells.get_column("request_hash").is_null().to_list() == [False, False, False, True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}\n", ":1: request_hash: missing; add it"),
        (json.dumps({"request_hash": 1, "prompt_set_sha256": "", "variables": {}}), ":1: request_hash: "),
        (
            json.dumps({"request_hash": "", "prompt_set_sha256": "", "variables": {}, "url": ""}),
            ":1: url: unknown key; ",
        ),
        ("{", ":1: not valid JSON"),
    ],
)
def test_damaged_lines(tmp_path: Path, text: str, expected: str) -> None:
    path = put(tmp_path / "requests.jsonl", text)
    with pytest.raises(InputError) as caught:
        list(read_request_lines(path))
    assert str(caught.value).startswith(f"{path}{expected}")
