"""A whole project of two items, two participants and one judge profile, small enough to break by hand."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
PROMPT_SET = "data/judge-prompts/gemba-mqm-context-v1"
PROFILE = "experiments/judges/tiny-judge.yaml"

# One item of each expectation and speaker mode.
ITEMS: list[dict[str, Any]] = [
    {
        "sample_id": "zzitem-1",
        "context_turn_count": 1,
        "speaker_mode": "single",
        "context_expectation": "use",
        "primary_phenomenon": "referent_resolution",
        "secondary_phenomena": ["omitted_subject"],
        "context_turns": [
            {"speaker_role": "self", "relative_time_label": None, "source_text": "할머니가 오셨어."}
        ],
        "current_source": {
            "speaker_role": "self",
            "relative_time_label": None,
            "source_text": "벌써 가셨어.",
        },
    },
    {
        "sample_id": "zzitem-2",
        "context_turn_count": 2,
        "speaker_mode": "dyadic",
        "context_expectation": "ignore",
        "primary_phenomenon": "false_lead_trap",
        "secondary_phenomena": [],
        "context_turns": [
            {"speaker_role": "other", "relative_time_label": "어제", "source_text": "배가 고파?"},
            {"speaker_role": "self", "relative_time_label": None, "source_text": "응, 조금."},
        ],
        "current_source": {
            "speaker_role": "self",
            "relative_time_label": None,
            "source_text": "배가 떠난다.",
        },
    },
]

PARAMS = """\
run_name: tiny
dataset: data/datasets/tiny/items.jsonl
languages: [en]
participants: [zzsystem-a, zzsystem-b]
judge: {profile: tiny-judge, offline: true, repeats: 1}
parser: {mode: strict}
scoring: {scheme: context-v1}
seed: 7
"""

PARTICIPANTS = """\
zzsystem-a:
  {display_name: zzDisplay A, provider: zzprovider, model: zzmodel-a, translations: data/translations/a.jsonl}
zzsystem-b:
  {display_name: zzDisplay B, provider: zzprovider, model: zzmodel-b, translations: data/translations/b.jsonl}
"""

JUDGE = f"""\
backend: openai-compatible
prompt_set: {PROMPT_SET}
request:
  service: tiny-service
  model: tiny-model
  temperature: 0
  max_tokens: 400
transport:
  base_url: http://127.0.0.1:9
"""


def items() -> list[dict[str, Any]]:
    """The two items, to be changed at will."""
    return copy.deepcopy(ITEMS)


def lines(*rows: Mapping[str, Any]) -> str:
    """JSON lines as a person would write them, in the order given."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def put(path: Path, text: str) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
    return path


def make_tiny_project(root: Path) -> Path:
    """Write the project; every cell has a translation, but the second of ``zzsystem-b``, which failed."""
    put(root / "params.yaml", PARAMS)
    put(root / "data/participants.yaml", PARTICIPANTS)
    put(root / "data/datasets/tiny/items.jsonl", lines(*ITEMS))
    put(root / PROFILE, JUDGE)
    one, two = (item["sample_id"] for item in ITEMS)
    put(
        root / "data/translations/a.jsonl",
        lines(
            {"item_id": one, "target_language": "en", "translation": "She has already left."},
            {"item_id": two, "target_language": "en", "translation": "The ship is leaving."},
        ),
    )
    put(
        root / "data/translations/b.jsonl",
        lines(
            {"item_id": one, "target_language": "en", "translation": "Already went."},
            {"item_id": two, "target_language": "en", "failure": "gave nothing in three tries"},
        ),
    )
    shutil.copytree(REPOSITORY / PROMPT_SET, root / PROMPT_SET)
    return root
