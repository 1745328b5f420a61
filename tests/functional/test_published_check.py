"""``published check``: what counts as equal, what as missing, and what cannot be recomputed."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from published_run import REPORTS, RUN, Outcome, Published, build, pipeline, refusal, write_run

BOARD = "summary-overall.penalty"


def _count(value: Any) -> int:
    """JSON scalars in a document."""
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    return sum(map(_count, value)) if isinstance(value, list) else 1


TOTAL = _count(REPORTS)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    assert build(write_run(folder), folder / "out").code == 0
    return folder


@pytest.fixture
def run(built: Path, tmp_path: Path) -> Published:
    """A copy of the run and its rebuild, that a test may change."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    return Published(tmp_path / "run", tmp_path / "dataset.json")


def _check(run: Published) -> Outcome:
    return pipeline("published", "check", run.source, run.source.parent / "out")


def _change(run: Published, name: str, change: Callable[[Any], Any]) -> None:
    """Change a document of the published run."""
    path = run.source / "reports" / f"{name}.json"
    document = json.loads(path.read_text("utf-8")) if path.exists() else {}
    changed = change(document)
    path.write_text(json.dumps(document if changed is None else changed, ensure_ascii=False), "utf-8")


def test_all_agree(run: Published) -> None:
    done = _check(run)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[-1] == f"{TOTAL} of {TOTAL} values agree, 0 differ, 0 not recomputable"
    expected = {f"{name}.json": _count(document) for name, document in REPORTS.items()}
    assert [(line.split()[0], int(line.split()[1])) for line in lines[:-1]] == sorted(expected.items())


def _swap(row: dict[str, Any], **values: Any) -> None:
    row.update(values)


# report, change of the published document, pointer and what is said about it
DIFFERENT: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "one bit of a float": (
        BOARD,
        lambda d: _swap(d[0], mean_penalty=math.nextafter(7 / 3, 3)),
        f"/alpha/mean_penalty: published {math.nextafter(7 / 3, 3)!r}, rebuilt {7 / 3!r}",
    ),
    "a name": (
        BOARD,
        lambda d: _swap(d[0], participant_display_name="System alpha"),
        "/alpha/participant_display_name: published 'System alpha', rebuilt 'System Alpha'",
    ),
    "a whole number": (
        "run-status",
        lambda d: _swap(d, totalExpected=9),
        "/totalExpected: published 9, rebuilt 8",
    ),
    "a number for a truth": (
        "run-status",
        lambda d: _swap(d, benchmarkValid=0),
        "/benchmarkValid: published 0, rebuilt False",
    ),
    "a truth for a number": (
        "context-behavior.rates",
        lambda d: _swap(d["beta"], misused_context_rate=True),
        "/beta/misused_context_rate: published True, rebuilt 1",
    ),
    "a text for a number": (
        "run-status",
        lambda d: _swap(d, totalExpected="8"),
        "/totalExpected: published '8', rebuilt 8",
    ),
    "zero for nothing": (
        "leaderboard.by-language.common-cell",
        lambda d: _swap(d["ja"][0], mean_penalty=0),
        "/ja/alpha/mean_penalty: published 0, rebuilt None",
    ),
    "nothing for zero": (
        "context-behavior.rates",
        lambda d: _swap(d["alpha"], misused_context_rate=None),
        "/alpha/misused_context_rate: published None, rebuilt 0",
    ),
    "a key that is missing": (
        "run-status",
        lambda d: _swap(d, **{"medianPenalty/~": 1}),
        "/medianPenalty~1~0: published 1, rebuilt missing",
    ),
    "a slice that is missing": (
        "leaderboard.by-language.common-cell",
        lambda d: _swap(d, ko=d["ja"][:1] and [{"participant_id": "alpha"}]),
        "/ko/alpha/participant_id: published 'alpha', rebuilt missing",
    ),
    "an empty list that is missing": (
        "failed-samples.by-language",
        lambda d: _swap(d, ko=[]),
        "/ko: published [], rebuilt missing",
    ),
    "an object for a list": (
        "failed-samples.by-language",
        lambda d: _swap(d, en={}),
        "/en: published {}, rebuilt []",
    ),
    "a changed list entry": (
        "failed-samples.by-language",
        lambda d: _swap(d["ja"][0], source_id="needs-context"),
        "/ja/own-run::no-context::ja::alpha/source_id: published 'needs-context', rebuilt 'no-context'",
    ),
    "another list entry": (
        "failed-samples.by-language",
        lambda d: _swap(d["ja"][0], stable_key="own-run::no-context::ja::beta"),
        "/ja/own-run::no-context::ja::beta/stable_key: published 'own-run::no-context::ja::beta', "
        "rebuilt missing",
    ),
    "a list that has more entries when rebuilt": (
        "failed-samples.by-language",
        lambda d: _swap(d, ja=[]),
        "/ja/0: published missing, rebuilt {'judge_failure': 'unrecorded', "
        "'participant_display_name': 'System Alpha', 'participant_id': 'alpha', 'source_id': 'no-context', "
        "'stable_key': 'own-run::no-context::ja::alpha'}",
    ),
    "a count of an error class": (
        "leaderboard.by-language",
        lambda d: _swap(d["en"]["errorClassBreakdown"]["alpha"], **{"style/awkward": 1}),
        "/en/errorClassBreakdown/alpha/style~1awkward: published 1, rebuilt missing",
    ),
}


@pytest.mark.parametrize(("name", "change", "line"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_a_difference_is_found(run: Published, name: str, change: Callable[[Any], Any], line: str) -> None:
    _change(run, name, change)
    done = _check(run)
    assert line in done.out.splitlines(), done.out
    said = refusal(done)
    assert said.endswith(" published values differ from the rebuilt ones; see the lines above")
    differ = int(said.split()[0])
    assert done.out.splitlines()[-1].endswith(f" values agree, {differ} differ, 0 not recomputable")


EQUAL: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "rows in another order": (BOARD, lambda d: d.reverse()),
    "keys in another order": ("run-status", lambda d: dict(reversed(list(d.items())))),
    "a whole float": ("run-status", lambda d: _swap(d, totalExpected=8.0)),
    "fewer keys": ("run-status", lambda d: d.pop("totalOk", None) and None),
    "fewer rows": (BOARD, lambda d: d[:1]),
}


@pytest.mark.parametrize(("name", "change"), EQUAL.values(), ids=EQUAL.keys())
def test_what_is_no_difference(run: Published, name: str, change: Callable[[Any], Any]) -> None:
    _change(run, name, change)
    done = _check(run)
    assert done.code == 0, done.out
    assert " 0 differ, 0 not recomputable" in done.out.splitlines()[-1]


def test_extra_keys_of_the_rebuilt_run_are_allowed(run: Published) -> None:
    rebuilt = run.source.parent / "out" / "reports" / "scores" / f"{BOARD}.json"
    rows = json.loads(rebuilt.read_text("utf-8"))
    rebuilt.write_text(json.dumps([row | {"median": 1} for row in rows]), "utf-8")
    assert _check(run).code == 0


def test_a_value_changed_in_the_rebuilt_run_is_found(run: Published) -> None:
    rebuilt = run.source.parent / "out" / "reports" / "scores" / f"{BOARD}.json"
    rebuilt.write_text(rebuilt.read_text("utf-8").replace("2.3333333333333335", "2.333333333333333"), "utf-8")
    refusal(_check(run))


def test_no_more_than_ten_differences_are_shown_for_a_file(run: Published) -> None:
    _change(run, "run-status", lambda d: _swap(d, **{f"more{n:02}": n for n in range(13)}))
    lines = _check(run).out.splitlines()
    assert sum(": published " in line for line in lines) == 10
    assert "    and 3 more" in lines


def test_a_long_value_is_shown_shortened(run: Published) -> None:
    _change(run, BOARD, lambda d: _swap(d[0], participant_display_name="x" * 1000))
    (line,) = (line for line in _check(run).out.splitlines() if "published 'x" in line)
    assert line == (f"/alpha/participant_display_name: published '{'x' * 199}..., rebuilt 'System Alpha'")


def test_a_hostile_value_is_shown_on_one_line(run: Published) -> None:
    _change(run, BOARD, lambda d: _swap(d[0], participant_display_name="a\nb\x1b[31m\u2028c"))
    done = _check(run)
    assert "\x1b" not in done.out
    assert len(done.out.splitlines()) == len(REPORTS) + 2


NOT_RECOMPUTABLE = [
    ("ASR-anything", {"a": [1, 2]}, 2, "needs speech recognition results, which are no judge answers"),
    ("cost-summary", {"a": 1}, 1, "the raw files hold no cost"),
    ("cost-by-model", {"a": {"b": 1, "c": 2}}, 2, "the raw files hold no cost"),
    ("leaderboard.by-mood", {"a": 1}, 1, "no report of this pipeline"),
    (
        "leaderboard-chart-input",
        [{"participant_id": "gamma", "mean_penalty": 1}],
        2,
        "a row of a participant that the manifest does not list",
    ),
]


@pytest.mark.parametrize(("name", "document", "count", "reason"), NOT_RECOMPUTABLE)
def test_what_cannot_be_recomputed_says_why(
    run: Published, name: str, document: Any, count: int, reason: str
) -> None:
    _change(run, name, lambda _: document)
    done = _check(run)
    assert done.code == 0, done.out
    assert f"    {count} not recomputable: {reason}" in done.out.splitlines()
    assert done.out.splitlines()[-1] == (
        f"{TOTAL} of {TOTAL + count} values agree, 0 differ, {count} not recomputable"
    )


def test_without_raw_answers_nothing_is_verified(run: Published) -> None:
    (run.source / "judge-raw.jsonl").unlink()
    done = pipeline("published", "check", run.source, run.source.parent / "nowhere")
    assert done.code == 0
    assert done.out.splitlines()[-1] == f"0 of {TOTAL} values agree, 0 differ, {TOTAL} not recomputable"
    assert done.out.count("not recomputable: the run kept no raw judge answers") == len(REPORTS)


REFUSED: dict[str, tuple[Callable[[Published], Any], str]] = {
    "no rebuild": (
        lambda run: shutil.rmtree(run.source.parent / "out"),
        "out/reports/manifest.json: no such file",
    ),
    "a report of the rebuild is missing": (
        lambda run: (run.source.parent / "out/reports/scores" / f"{BOARD}.json").unlink(),
        f"out/reports/scores/{BOARD}.json: no such file",
    ),
    "a rebuild of another run": (
        lambda run: run.edit("manifest.json", RUN, "other-run"),
        "is of run 'own-run', the source of 'other-run'; run `published build` on this source",
    ),
    "a manifest that is none": (
        lambda run: (run.source.parent / "out/reports/manifest.json").write_text("[]"),
        "no manifest of a rebuilt run; run `published build` again",
    ),
    "a broken report": (
        lambda run: (run.source / "reports" / f"{BOARD}.json").write_text("{"),
        f"{BOARD}.json:1: not valid JSON",
    ),
    "a report with a key twice": (
        lambda run: (run.source / "reports" / f"{BOARD}.json").write_text('{"a": 1, "a": 2}'),
        "key 'a' stands twice",
    ),
    "no reports": (
        lambda run: shutil.rmtree(run.source / "reports"),
        "holds neither reports/*.json nor judge-normalized.jsonl: nothing to check",
    ),
    "no manifest": (lambda run: (run.source / "manifest.json").unlink(), "manifest.json: no such file"),
}


@pytest.mark.parametrize(("damage", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_compared_is_one_line(
    run: Published, damage: Callable[[Published], Any], message: str
) -> None:
    damage(run)
    assert message in refusal(_check(run))


RECORD = {
    "run_id": RUN,
    "source_id": "needs-context",
    "target_language": "en",
    "participant_id": "alpha",
    "participant_model_id": "own/alpha",
    "judge_model_id": "own/judge",
    "status": "ok",
    "errors": [
        {
            "severity": "major",
            "class": "accuracy/mistranslation",
            "target_span_text": "it",
            "source_span_text": None,
        }
    ],
    "summary": {
        "has_no_error": False,
        "critical_count": 0,
        "major_count": 1,
        "minor_count": 0,
        "total_penalty": 5,
    },
    "stable_key": f"{RUN}::needs-context::en::alpha",
    "context_behavior": "missed_required_context",
    "context_turn_count": 2,
    "speaker_mode": "dyadic",
    "context_expectation": "use",
    "primary_phenomenon": "referent_resolution",
}


def test_normalised_records(run: Published) -> None:
    run.add("judge-normalized.jsonl", RECORD)
    done = _check(run)
    assert done.code == 0, done.out
    values = _count(RECORD)
    assert done.out.splitlines()[-1] == (
        f"{TOTAL + values} of {TOTAL + values} values agree, 0 differ, 0 not recomputable"
    )


@pytest.mark.parametrize(
    ("other", "line"),
    [
        ({"status": "failed"}, "/status: published 'failed', rebuilt 'ok'"),
        ({"errors": []}, "/errors/0: published missing, rebuilt {'severity': 'major', 'class': "),
        ({"errors": [RECORD["errors"][0] | {"severity": "minor"}]}, "/errors/0/severity: published 'minor'"),  # type: ignore[index]
        ({"errors": RECORD["errors"] * 2}, "/errors/1/severity: published 'major', rebuilt missing"),  # type: ignore[operator]
        ({"stable_key": f"{RUN}::no-context::ja::alpha"}, "/status: published 'ok', rebuilt missing"),
    ],
)
def test_a_difference_in_a_normalised_record(run: Published, other: dict[str, Any], line: str) -> None:
    run.add("judge-normalized.jsonl", RECORD | other)
    done = _check(run)
    refusal(done)
    assert line in done.out
