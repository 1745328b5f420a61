"""Where the published runs stand, and which of their files the tests need."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DEFAULT = REPOSITORY.parent / "shared" / "published"
FOLDER = Path(os.environ.get("CTXEVAL_PUBLISHED") or DEFAULT)

HIGH_JUDGE = "2026-08-high-judge"
ABLATION = "2026-08-context-ablation"
ISSUE_1 = "2026-08-issue1"
CONTEXT_V2 = "2026-04-context-v2"
DATASET = "dataset/runtime.json"
NEEDED = (
    DATASET,
    f"{HIGH_JUDGE}/manifest.json",
    f"{HIGH_JUDGE}/judge-raw.jsonl",
    f"{HIGH_JUDGE}/translation-failures.jsonl",
    f"{HIGH_JUDGE}/reports/leaderboard-chart-input.json",
    f"{ABLATION}/manifest.json",
    f"{ABLATION}/judge-raw.jsonl",
    f"{ABLATION}/judge-normalized.jsonl",
    f"{ABLATION}/translations.jsonl",
    f"{ABLATION}/translation-failures.jsonl",
    f"{ABLATION}/reports/ablation-ab-comparison.md",
    f"{ISSUE_1}/manifest.json",
    f"{CONTEXT_V2}/reports/run-summary.json",
    "SHA256SUMS",
)
# A clone alone has no published runs; where the folder is there or was named, its tests have to run.
ABSENT = not FOLDER.exists() and not os.environ.get("CTXEVAL_PUBLISHED")
REASON = "the published runs are not here; put them beside the clone or name them in CTXEVAL_PUBLISHED"
