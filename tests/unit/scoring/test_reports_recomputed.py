"""Every number of every score report, recomputed from random runs by plain Python and fractions.

The run is drawn as verdicts, not as answers, so nothing here reads an annotation; the expected
documents are written from the design's formulas and share no code with ``pipeline.scoring``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_run import Cell, TinyRun, answer, item

from pipeline.reporting.reports import score_reports
from pipeline.vocabulary import CONTEXT_BEHAVIORS, ERROR_CLASSES, PHENOMENA_BY_EXPECTATION, SEVERITIES

WEIGHTS = {"critical": 25, "major": 5, "minor": 1}
BROKEN = {"malformed": "Hm.", "empty": "", "missing_context_behavior": answer().rsplit("\n", 1)[0]}


@dataclass(frozen=True)
class Verdict:
    """A valid verdict, or a ``failure``."""

    errors: tuple[tuple[str, str], ...] = ()
    label: str = "unclear"
    failure: str | None = None

    def text(self) -> str:
        if self.failure:
            return BROKEN[self.failure]
        by_severity = {s: tuple(c for severity, c in self.errors if severity == s) for s in SEVERITIES}
        return answer(label=self.label, **by_severity)

    @property
    def penalty(self) -> int:
        return sum(WEIGHTS[severity] for severity, _ in self.errors)


verdicts = st.one_of(
    st.builds(
        Verdict,
        errors=st.lists(
            st.tuples(st.sampled_from(SEVERITIES), st.sampled_from(ERROR_CLASSES)), max_size=4
        ).map(tuple),
        label=st.sampled_from(CONTEXT_BEHAVIORS),
    ),
    st.builds(Verdict, failure=st.sampled_from(sorted(BROKEN))),
)


@st.composite
def items(draw: st.DrawFn, name: str) -> Any:
    expectation = draw(st.sampled_from(("use", "ignore")))
    return item(
        name,
        expectation,
        draw(st.integers(1, 3)),
        draw(st.sampled_from(("single", "dyadic"))),
        draw(st.sampled_from(PHENOMENA_BY_EXPECTATION[expectation])),
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[TinyRun, dict[Cell, list[Verdict]]]:
    run = TinyRun(
        items=[draw(items(f"i{n}")) for n in range(draw(st.integers(1, 4)))],
        languages=["ja", "en", "de"][: draw(st.integers(1, 3))],
        participants=["p2", "p1", "p3"][: draw(st.integers(1, 3))],
        repeats=draw(st.integers(1, 3)),
        translations_known=draw(st.booleans()),
    )
    judged: dict[Cell, list[Verdict]] = {}
    for cell in _cells(run):
        fate = draw(st.sampled_from(("judged",) * 5 + ("failed", "failed and judged", "nothing")))
        if fate != "nothing" and fate != "judged":
            run.failures[cell] = "no answer"
            run.history.append((cell, "no answer"))
        if fate.endswith("judged"):
            judged[cell] = draw(st.lists(verdicts, min_size=run.repeats, max_size=run.repeats))
            run.answers[cell] = [verdict.text() for verdict in judged[cell]]
    return run, judged


def _check(drawn: tuple[TinyRun, dict[Cell, list[Verdict]]]) -> None:
    run, judged = drawn
    reports = {report.name: report for report in score_reports(run.scores())}
    for name, expected in Expectation(run, judged).documents().items():
        found = reports.pop(name).document
        assert found == expected, name
    assert set(reports) == {"slices", "cost-summary", "cost-by-model"}  # test_reports.py looks at those


_SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=25, **_SETTINGS)  # type: ignore[arg-type]
@given(runs())
def test_every_number(drawn: tuple[TinyRun, dict[Cell, list[Verdict]]]) -> None:
    _check(drawn)


@pytest.mark.long
@settings(max_examples=400, **_SETTINGS)  # type: ignore[arg-type]
@given(runs())
def test_every_number_of_many_runs(drawn: tuple[TinyRun, dict[Cell, list[Verdict]]]) -> None:
    _check(drawn)


def _cells(run: TinyRun) -> list[Cell]:
    return [(i.sample_id, lang, p) for i in run.items for lang in run.languages for p in run.participants]


class Expectation:
    """What the reports of a run have to say."""

    def __init__(self, run: TinyRun, judged: dict[Cell, list[Verdict]]) -> None:
        self.run, self.judged = run, judged
        self.status = {cell: self._status(cell) for cell in _cells(run)}
        self.ok = [cell for cell, (status, _) in self.status.items() if status == "ok"]
        self.common = {
            (i.sample_id, language)
            for i in run.items
            for language in run.languages
            if all((i.sample_id, language, p) in self.ok for p in run.participants)
        }
        self.by_name = {i.sample_id: i for i in run.items}

    def _status(self, cell: Cell) -> tuple[str, str | None]:
        if cell in self.judged:
            failures = [verdict.failure for verdict in self.judged[cell] if verdict.failure]
            return ("judge_failed", failures[0]) if failures else ("ok", None)
        if cell in self.run.failures:
            return "translation_failed", None
        if self.run.translations_known:
            return "translation_missing", None
        return "judge_failed", "unrecorded"

    def documents(self) -> dict[str, Any]:
        slices = {
            "leaderboard.by-context-expectation": lambda i, lang: i.context_expectation,
            "leaderboard.by-context-turn-count": lambda i, lang: str(i.context_turn_count),
            "leaderboard.by-speaker-mode": lambda i, lang: i.speaker_mode,
            "leaderboard.by-context-turn-count-and-speaker-mode": lambda i, lang: (
                f"{i.context_turn_count}::{i.speaker_mode}"
            ),
            "leaderboard.by-primary-phenomenon": lambda i, lang: i.primary_phenomenon,
        }
        documents = {name: self.sliced(key) for name, key in slices.items()}
        by_language = self.sliced(lambda i, lang: lang)
        key = slices["leaderboard.by-context-expectation"]
        documents["leaderboard.by-context-expectation.common-cell"] = self.sliced(key, common=True)
        documents["leaderboard.by-language.common-cell"] = self.sliced(lambda i, lang: lang, common=True)
        overall = self.sliced(lambda i, lang: "all")["all"]
        for row, p in zip(overall, self.run.participants, strict=True):
            row["expected"] = sum(cell[2] == p for cell in self.status)
        documents["summary-overall.penalty"] = overall
        documents["summary-overall.penalty.common-cell"] = self.sliced(lambda i, lang: "all", common=True)[
            "all"
        ]
        documents["leaderboard-chart-input"] = [
            {key: row[key] for key in ("participant_id", "participant_display_name", "mean_penalty")}
            for row in overall
        ]
        documents["summary-overall.normalized"] = self.normalised(by_language)
        severities, classes = self.errors(1), self.errors(2)
        documents["severity-breakdown.by-language"] = {
            lang: {p: {s: names.get(s, 0) for s in SEVERITIES} for p, names in by_p.items()}
            for lang, by_p in severities.items()
        }
        documents["error-class-breakdown.by-language"] = classes
        documents["failed-samples.by-language"] = failed = self.failed_samples()
        documents["leaderboard.by-language"] = {
            lang: {
                "leaderboard": by_language[lang],
                "severityBreakdown": documents["severity-breakdown.by-language"][lang],
                "errorClassBreakdown": classes[lang],
                "failures": failed[lang],
            }
            for lang in self.run.languages
        }
        documents |= self.context_behavior()
        documents["run-status"] = self.run_status()
        return documents

    def sliced(self, key: Any, *, common: bool = False) -> dict[str, list[dict[str, Any]]]:
        document: dict[str, list[dict[str, Any]]] = {}
        for i in self.run.items:
            for lang in self.run.languages:
                document[key(i, lang)] = []
        for name, rows in document.items():
            for p in self.run.participants:
                cells = [c for c in self.status if c[2] == p and key(self.by_name[c[0]], c[1]) == name]
                counted = [c for c in cells if c in self.ok and (not common or c[:2] in self.common)]
                total = sum(
                    (Fraction(sum(v.penalty for v in self.judged[c]), self.run.repeats) for c in counted),
                    Fraction(),
                )
                row = {
                    "participant_id": p,
                    "participant_display_name": p,
                    "mean_penalty": float(total / len(counted)) if counted else None,
                    "samples": len(counted),
                }
                if not common:
                    row["failed_samples"] = sum(self.status[c][0] == "judge_failed" for c in cells)
                rows.append(row)
        return document

    def normalised(self, by_language: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
        rows = []
        for index, p in enumerate(self.run.participants):
            total: float | None = 0.0
            for lang in self.run.languages:
                means = [row["mean_penalty"] for row in by_language[lang]]
                known = [value for value in means if value is not None]
                if means[index] is None or total is None:
                    total = None
                elif max(known) > min(known):
                    total += (means[index] - min(known)) / (max(known) - min(known))
            rows.append(
                {
                    "participant_id": p,
                    "participant_display_name": p,
                    "normalized_macro_mean_penalty": None
                    if total is None
                    else total / len(self.run.languages),
                }
            )
        return rows

    def errors(self, part: int) -> dict[str, dict[str, dict[str, int]]]:
        return {
            lang: {
                p: dict(
                    Counter(
                        error[part - 1]
                        for cell in self.ok
                        if cell[1:] == (lang, p)
                        for verdict in self.judged[cell]
                        for error in verdict.errors
                    )
                )
                for p in self.run.participants
            }
            for lang in self.run.languages
        }

    def failed_samples(self) -> dict[str, list[dict[str, Any]]]:
        return {
            lang: [
                {
                    "participant_id": p,
                    "participant_display_name": p,
                    "source_id": i.sample_id,
                    "stable_key": f"tiny::{i.sample_id}::{lang}::{p}",
                    "judge_failure": self.status[i.sample_id, lang, p][1],
                }
                for p in self.run.participants
                for i in self.run.items
                if self.status[i.sample_id, lang, p][0] == "judge_failed"
            ]
            for lang in self.run.languages
        }

    def context_behavior(self) -> dict[str, Any]:
        counts, rates = {}, {}
        for p in self.run.participants:
            labels = [
                (self.by_name[cell[0]].context_expectation, verdict.label)
                for cell in self.ok
                if cell[2] == p
                for verdict in self.judged[cell]
            ]
            counts[p] = {name: sum(label == name for _, label in labels) for name in CONTEXT_BEHAVIORS}
            shares = {}
            for expectation, name in (("use", "missed_required_context"), ("ignore", "misused_context")):
                those = [label for given, label in labels if given == expectation]
                share = float(Fraction(those.count(name), len(those))) if those else None
                shares[f"{name}_rate"] = share
            rates[p] = shares
        return {"context-behavior.counts": counts, "context-behavior.rates": rates}

    def run_status(self) -> dict[str, Any]:
        tally = Counter(status for status, _ in self.status.values())
        whole = len(self.status)
        texts = {
            "translation_failed": "could not be translated",
            "translation_missing": "have no translation",
            "judge_failed": "have no valid judge answer",
        }
        reasons = [f"{tally[s]} of {whole} cells {text}" for s, text in texts.items() if tally[s]]
        answers = [verdict for given in self.judged.values() for verdict in given]
        spans = sum(len(verdict.errors) for verdict in answers if not verdict.failure)
        return {
            "benchmarkValid": tally["ok"] == whole,
            "reasons": reasons or [f"all {whole} expected cells are validly judged"],
            "totalExpected": whole,
            "totalNormalized": tally["ok"] + tally["judge_failed"],
            "totalOk": tally["ok"],
            "translationFailureHistoricalCount": len(self.run.history),
            "translationFailureUnresolvedCount": tally["translation_failed"] + tally["translation_missing"],
            "commonCellCount": len(self.common),
            "judgeFailureRatesByParticipantLanguage": {
                f"{p}::{lang}": {
                    "ok": sum(c[1:] == (lang, p) and s == "ok" for c, (s, _) in self.status.items()),
                    "failed": sum(
                        c[1:] == (lang, p) and s == "judge_failed" for c, (s, _) in self.status.items()
                    ),
                }
                for p in self.run.participants
                for lang in self.run.languages
            },
            "judgeFailuresByType": dict(Counter(why for _, why in self.status.values() if why)),
            "cellsWithoutVerdict": [
                {
                    "source_id": i.sample_id,
                    "target_language": lang,
                    "participant_id": p,
                    "status": self.status[i.sample_id, lang, p][0],
                    "reason": self.status[i.sample_id, lang, p][1]
                    or (
                        "no answer" if self.status[i.sample_id, lang, p][0] == "translation_failed" else None
                    ),
                }
                for lang in self.run.languages
                for p in self.run.participants
                for i in self.run.items
                if self.status[i.sample_id, lang, p][0] != "ok"
            ],
            "cellsSharingARequest": 0,
            "requestsShared": 0,
            "rounds": {},
            "reading": {
                "answers": len(answers),
                "valid": sum(not verdict.failure for verdict in answers),
                "repaired": 0,
                "contradictorySections": 0,
                "repairs": {},
                "spans": {"not_locatable": spans} if spans else {},
            },
        }
