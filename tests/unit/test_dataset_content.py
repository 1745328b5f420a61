"""What ko-context-dialogue-v1 promises about its content (its README): balance, pairing, originality."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "data/datasets/ko-context-dialogue-v1"
PROMPT_SETS = sorted((*ROOT.glob("data/judge-prompts/*"), *ROOT.glob("experiments/*/judge-prompts")))
PUBLISHED = Path(os.environ.get("CTXEVAL_PUBLISHED", ROOT.parent / "shared/published"))
LANGUAGES = ("en", "ja", "zh-Hans")
ITEM_KEYS = [
    "sample_id",
    "context_turn_count",
    "speaker_mode",
    "context_expectation",
    "primary_phenomenon",
    "secondary_phenomena",
    "context_turns",
    "current_source",
]
# Share of the shorter text's character 5-grams that stand in the other, too.
NEAR = 0.3


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


ITEMS = _lines(FOLDER / "items.jsonl")
AUTHORING = _lines(FOLDER / "authoring.jsonl")


def _grams(text: str) -> set[str]:
    bare = re.sub(r"\W", "", text)
    return {bare[start : start + 5] for start in range(len(bare) - 4)}


def _overlap(one: str, other: str) -> float:
    first, second = _grams(one), _grams(other)
    return len(first & second) / max(1, min(len(first), len(second)))


def _utterances(item: dict[str, Any]) -> list[str]:
    return [turn["source_text"] for turn in (*item["context_turns"], item["current_source"])]


def _counts(*fields: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(item[field] for field in fields) for item in ITEMS)


def test_balance_over_turns_modes_and_expectations() -> None:
    assert _counts("context_turn_count", "speaker_mode") == {
        (turns, mode): 4 for turns in (1, 2, 3) for mode in ("single", "dyadic")
    }
    assert _counts("speaker_mode", "context_expectation") == {
        (mode, expectation): count
        for mode in ("single", "dyadic")
        for expectation, count in (("use", 8), ("ignore", 4))
    }
    ignored = [_counts("context_turn_count", "context_expectation")[turns, "ignore"] for turns in (1, 2, 3)]
    assert sorted(ignored) == [2, 3, 3]


def test_balance_over_phenomena() -> None:
    assert _counts("context_expectation", "primary_phenomenon") == {
        ("use", "referent_resolution"): 3,
        ("use", "ellipsis_completion"): 3,
        ("use", "sense_disambiguation"): 3,
        ("use", "pragmatic_intent_resolution"): 3,
        ("use", "register_carryover"): 2,
        ("use", "temporal_or_causal_linkage"): 2,
        ("ignore", "topic_shift_independence"): 2,
        ("ignore", "false_lead_trap"): 2,
        ("ignore", "stale_context_resistance"): 2,
        ("ignore", "metadata_nonliteral_resistance"): 2,
    }


@pytest.mark.parametrize("number,item", list(enumerate(ITEMS, start=1)), ids=[i["sample_id"] for i in ITEMS])
def test_item_form(number: int, item: dict[str, Any]) -> None:
    assert list(item) == ITEM_KEYS
    assert item["sample_id"] == (
        f"kcd-{number:03d}-ctx{item['context_turn_count']}-{item['speaker_mode']}"
        f"-{item['context_expectation']}-{item['primary_phenomenon']}"
    )
    assert len(item["context_turns"]) == item["context_turn_count"]
    roles = {turn["speaker_role"] for turn in item["context_turns"]}
    assert roles == {"self"} if item["speaker_mode"] == "single" else "other" in roles
    assert item["current_source"]["speaker_role"] == "self"
    assert item["current_source"]["relative_time_label"] is None
    assert all(re.search("[가-힣]", text) for text in _utterances(item))


def test_authoring_notes_belong_to_the_items() -> None:
    assert [note["sample_id"] for note in AUTHORING] == [item["sample_id"] for item in ITEMS]
    for item, note in zip(ITEMS, AUTHORING, strict=True):
        turns = note["relevant_turns"]
        assert bool(turns) == (item["context_expectation"] == "use")
        assert set(turns) <= set(range(item["context_turn_count"]))
        assert note["intended_reading"] and note["likely_failures"] and note["notes"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_item_has_a_reference_in_the_target_script(language: str) -> None:
    for note in AUTHORING:
        assert tuple(note["references"]) == LANGUAGES
        text = note["references"][language]
        assert text.strip() == text != ""
        assert not re.search("[가-힣]", text), "Korean left in a reference"
        assert bool(re.search("[ぁ-ん]", text)) == (language == "ja")
        assert text.isascii() == (language == "en")


def test_no_two_utterances_are_near_duplicates() -> None:
    everything = [text for item in ITEMS for text in _utterances(item)]
    near = [pair for pair in itertools.combinations(everything, 2) if _overlap(*pair) >= NEAR]
    assert not near


@pytest.mark.parametrize("folder", PROMPT_SETS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_no_few_shot_example_comes_from_the_dataset(folder: Path) -> None:
    dataset = [text for item in ITEMS for text in _utterances(item)]
    for example in _lines(folder / "few-shot.jsonl"):
        for shown in (*example["variables"]["context"].splitlines(), example["variables"]["source"]):
            assert all(_overlap(re.sub(r"^\[\d+\].*?: ", "", shown), text) < NEAR for text in dataset)


@pytest.mark.published
@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published runs are not here")
def test_nothing_is_near_the_published_dataset() -> None:
    rows = json.loads((PUBLISHED / "dataset/runtime.json").read_text(encoding="utf-8"))
    published = [turn["sourceText"] for row in rows for turn in (*row["contextTurns"], row["currentSource"])]
    shown = [
        example["variables"]["source"]
        for folder in PROMPT_SETS
        for example in _lines(folder / "few-shot.jsonl")
    ]
    for text in (*shown, *(text for item in ITEMS for text in _utterances(item))):
        assert all(_overlap(text, other) < NEAR for other in published)
