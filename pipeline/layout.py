"""Where a project's files stand, relative to its root. The same names stand in ``dvc.yaml``."""

from __future__ import annotations

from pathlib import Path

PARAMS = Path("params.yaml")
DATASETS = Path("data/datasets")
PARTICIPANTS = Path("data/participants.yaml")
TRANSLATIONS = Path("data/translations")
RECORDED = Path("data/recorded")
JUDGE_PRICES = Path("data/judge-prices.yaml")
REQUIREMENTS = Path("requirements.lock")

CELLS = Path("data/requests/cells.parquet")
REQUESTS = Path("data/requests/requests.jsonl")
RESPONSES = Path("data/responses/responses.jsonl")
TABLES = Path("data/tables")
SCORES = Path("reports/scores")
METRICS = Path("reports/metrics.json")
LEADERBOARD = Path("reports/leaderboard.md")
MANIFEST = Path("reports/manifest.json")
