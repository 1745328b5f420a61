"""The published runs come out exactly. Expected figures are those of their own reports and README."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from published_data import ABLATION, ABSENT, DATASET, FOLDER, HIGH_JUDGE, ISSUE_1, REASON
from published_run import Outcome, pipeline, refusal

from pipeline.tables.database import connect, load_tables

pytestmark = [pytest.mark.published, pytest.mark.skipif(ABSENT, reason=REASON)]


def _build(name: str, out: Path) -> Path:
    done = pipeline("published", "build", FOLDER / name, "--dataset", FOLDER / DATASET, "--out", out)
    assert (done.code, done.err) == (0, "")
    return out


@pytest.fixture(scope="module")
def high_judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(HIGH_JUDGE, tmp_path_factory.mktemp("high-judge") / "out")


@pytest.fixture(scope="module")
def ablation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(ABLATION, tmp_path_factory.mktemp("ablation") / "out")


@pytest.fixture(scope="module")
def checked(high_judge: Path) -> Outcome:
    return pipeline("published", "check", FOLDER / HIGH_JUDGE, high_judge)


def _by_file(outcome: Outcome) -> dict[str, tuple[int, int, int]]:
    """(agree, differ, not recomputable) by file."""
    pattern = re.compile(r"(\S+\.jsonl?) +(\d+) agree +(\d+) differ +(\d+) not recomputable")
    found = map(pattern.fullmatch, outcome.out.splitlines())
    return {m[1]: (int(m[2]), int(m[3]), int(m[4])) for m in found if m}


def test_high_judge_agrees_in_every_value_that_can_be_recomputed(checked: Outcome) -> None:
    assert checked.code == 0
    assert checked.out.splitlines()[-1] == "2956 of 3142 values agree, 0 differ, 186 not recomputable"
    published = {path.name for path in (FOLDER / HIGH_JUDGE / "reports").glob("*.json")}
    assert set(_by_file(checked)) == published


def test_not_recomputable_are_only_asr_costs_and_one_row_of_the_chart(checked: Outcome) -> None:
    lost = {name: counts[2] for name, counts in _by_file(checked).items() if counts[2]}
    assert lost == {
        "ASR-CER-summary-high.json": 129,
        "cost-by-model.json": 24,
        "cost-summary.json": 30,
        "leaderboard-chart-input.json": 3,
    }
    chart = json.loads((FOLDER / HIGH_JUDGE / "reports" / "leaderboard-chart-input.json").read_text("utf-8"))
    manifest = json.loads((FOLDER / HIGH_JUDGE / "manifest.json").read_text("utf-8"))
    listed = {participant["participantId"] for participant in manifest["participants"]}
    strangers = [index for index, row in enumerate(chart) if row["participant_id"] not in listed]
    assert strangers == [12]
    assert len(chart[12]) == 3


def test_high_judge_cells(high_judge: Path) -> None:
    # README: 7,776 expected = 7,759 answered + 5 failed + 12 untranslated.
    rows = _query(high_judge, "SELECT status, judge_failure, count(*) FROM cells GROUP BY ALL ORDER BY ALL")
    assert rows == [
        ("judge_failed", "unrecorded", 5),
        ("ok", None, 7759),
        ("translation_failed", None, 12),
    ]
    # README: 7,759 answers are 3,378 distinct texts, and spans are not locatable without translations.
    assert _query(high_judge, "SELECT count(*) FROM annotations") == [(3378,)]
    assert _query(high_judge, "SELECT DISTINCT location FROM spans") == [("not_locatable",)]


def test_high_judge_signature(high_judge: Path) -> None:
    signature = json.loads((high_judge / "reports" / "manifest.json").read_text("utf-8"))["signature"]
    judge = "j:openrouter-batch:google/gemini-3.7-flash%3Abatch"
    assert f"|p:unrecorded|{judge}|e:unrecorded|r:1|a:strict|w:context-v1|c:7759/7776|" in signature["short"]


def test_participants_stand_in_the_manifests_order(high_judge: Path) -> None:
    manifest = json.loads((FOLDER / HIGH_JUDGE / "manifest.json").read_text("utf-8"))
    rows = _query(high_judge, "SELECT participant_id FROM participants ORDER BY participant_index")
    assert [row[0] for row in rows] == [p["participantId"] for p in manifest["participants"]]


def test_one_changed_bit_is_found(high_judge: Path, tmp_path: Path) -> None:
    source = tmp_path / HIGH_JUDGE
    (source / "reports").mkdir(parents=True)
    for name in ("manifest.json", "judge-raw.jsonl"):
        (source / name).symlink_to(FOLDER / HIGH_JUDGE / name)
    board = "summary-overall.penalty.json"
    text = (FOLDER / HIGH_JUDGE / "reports" / board).read_text("utf-8")
    assert "1.5771604938271604" in text
    (source / "reports" / board).write_text(text.replace("1.5771604938271604", "1.5771604938271606"), "utf-8")
    done = pipeline("published", "check", source, high_judge)
    refusal(done)
    assert "published 1.5771604938271606, rebuilt 1.5771604938271604" in done.out


def test_a_run_without_raw_answers_is_never_called_verified(tmp_path: Path) -> None:
    built = pipeline(
        "published", "build", FOLDER / ISSUE_1, "--dataset", FOLDER / DATASET, "--out", tmp_path / "out"
    )
    assert "judge-raw.jsonl: missing: a run without raw judge answers cannot be rebuilt" in refusal(built)
    done = pipeline("published", "check", FOLDER / ISSUE_1, tmp_path / "out")
    assert done.code == 0
    assert {counts[:2] for counts in _by_file(done).values()} == {(0, 0)}


def test_every_normalised_record_of_the_ablation_is_equal(ablation: Path) -> None:
    done = pipeline("published", "check", FOLDER / ABLATION, ablation)
    assert done.code == 0
    lines = (FOLDER / ABLATION / "judge-normalized.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 1284
    values = sum(_scalars(json.loads(line)) for line in lines)
    assert _by_file(done) == {"judge-normalized.jsonl": (values, 0, 0)}
    assert _query(ablation, "SELECT count(*) FROM judgments") == [(1284,)], "and no record more"


def _scalars(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_scalars, value.values()))
    return sum(map(_scalars, value)) if isinstance(value, list) else 1


def test_means_of_the_ablation(ablation: Path) -> None:
    board = json.loads((ablation / "reports/scores/summary-overall.penalty.json").read_text("utf-8"))
    assert [f"{row['mean_penalty']:.4f}" for row in board] == ["2.1184", "1.4517"]
    assert [row["samples"] for row in board] == [642, 642]


def test_spans_of_the_ablation(ablation: Path) -> None:
    # annotation-format.md: 23 of 876 spans are not verbatim in the translation, 17 of them in the source.
    rows = dict(_query(ablation, "SELECT location, count(*) FROM spans GROUP BY location"))
    assert sum(rows.values()) == 876
    assert (rows["in_source"], rows["missing"]) == (17, 6)
    assert rows["exact"] + rows["ambiguous"] == 853


# The pairs of ablation-ab-comparison.md, by plain SQL over the tables and with weights of its own: per
# (item, language) the penalty of A, sentence only, and of B, with the history.
PAIRS = """
CREATE TEMP TABLE pairs AS
WITH penalties AS (
    SELECT
        item_index, language_index, right(participant_id, 1) AS condition,
        coalesce(sum(CASE severity WHEN 'critical' THEN 25 WHEN 'major' THEN 5 WHEN 'minor' THEN 1 END), 0)
            AS penalty
    FROM judgments
    JOIN cells USING (cell_id)
    JOIN participants USING (participant_index)
    LEFT JOIN annotation_errors USING (annotation_id)
    WHERE status = 'ok'
    GROUP BY ALL
)
SELECT language, context_expectation, context_turn_count, a.penalty AS a, b.penalty AS b
FROM (SELECT * FROM penalties WHERE condition = 'a') AS a
JOIN (SELECT * FROM penalties WHERE condition = 'b') AS b USING (item_index, language_index)
JOIN items USING (item_index)
JOIN languages USING (language_index)
"""


@pytest.fixture(scope="module")
def pairs(ablation: Path) -> Any:
    with connect() as connection:
        load_tables(connection, ablation / "tables")
        connection.execute(PAIRS)
        yield connection


def test_pairs_of_the_ablation(pairs: duckdb.DuckDBPyConnection) -> None:
    query = """
        SELECT count(*), count(*) FILTER (a < b), count(*) FILTER (a > b), count(*) FILTER (a = b),
            round(sum(a) / count(*), 4), round(sum(b) / count(*), 4)
        FROM pairs
    """
    # "642 pairs. A better: 134 | B better: 236 | equal: 272"
    assert pairs.execute(query).fetchone() == (642, 134, 236, 272, 2.1184, 1.4517)


SLICES = [
    ("context_expectation", "## By context expectation", "leaderboard.by-context-expectation"),
    ("language", "## By language", "leaderboard.by-language"),
    ("context_turn_count", "## By turn count", "leaderboard.by-context-turn-count"),
]


@pytest.mark.parametrize(("column", "heading", "report"), SLICES)
def test_slices_of_the_ablation(
    ablation: Path, pairs: duckdb.DuckDBPyConnection, column: str, heading: str, report: str
) -> None:
    query = f"SELECT {column}, sum(a)::INT, sum(b)::INT, count(*)::INT FROM pairs GROUP BY ALL"  # noqa: S608
    rows = [(str(name), a / n, b / n, n) for name, a, b, n in pairs.execute(query).fetchall()]
    text = (FOLDER / ABLATION / "reports" / "ablation-ab-comparison.md").read_text("utf-8")
    section = text.split(f"{heading}\n")[1].split("\n## ")[0]
    published = re.findall(r"^\| ([\w-]+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|$", section, re.MULTILINE)
    assert len(published) == len(rows)
    assert {(name, f"{a:.3f}", f"{b:.3f}", str(n)) for name, a, b, n in rows} == set(published)
    document = json.loads((ablation / "reports" / "scores" / f"{report}.json").read_text("utf-8"))
    for name, a, b, n in rows:
        board = document[name]["leaderboard"] if column == "language" else document[name]
        assert [(row["mean_penalty"], row["samples"]) for row in board] == [(a, n), (b, n)]


def _query(built: Path, query: str) -> list[tuple[Any, ...]]:
    with connect() as connection:
        load_tables(connection, built / "tables")
        return connection.execute(query).fetchall()
