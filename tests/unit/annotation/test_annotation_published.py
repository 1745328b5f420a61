"""Every published judge answer, read strictly; expected values are the benchmark's own normalised records."""

from __future__ import annotations

from collections import Counter

import pytest
from annotation_answers import PUBLISHED, json_lines

from pipeline.annotation import Annotation, locate, read_answer
from pipeline.vocabulary import SEVERITIES

ABLATION = PUBLISHED / "2026-08-context-ablation"
HIGH_JUDGE = PUBLISHED / "2026-08-high-judge"
pytestmark = [
    pytest.mark.published,
    pytest.mark.skipif(
        not HIGH_JUDGE.is_dir(), reason=f"the published runs are not at {PUBLISHED}; set CTXEVAL_PUBLISHED"
    ),
]


def read_all(records: list[dict]) -> list[Annotation]:
    return [read_answer(record["raw_judge_output"], form="text", mode="strict") for record in records]


def test_every_answer_of_the_high_judge_run_counts() -> None:
    # 7,759 is the number of valid answers in that run's run-status report.
    annotations = read_all(json_lines(HIGH_JUDGE / "judge-raw.jsonl"))
    assert len(annotations) == 7759
    assert [annotation.reason for annotation in annotations if annotation.status != "ok"] == []


def test_every_answer_of_the_ablation_equals_its_normalised_record() -> None:
    raw = json_lines(ABLATION / "judge-raw.jsonl")
    expected = {record["stable_key"]: record for record in json_lines(ABLATION / "judge-normalized.jsonl")}
    assert len(raw) == len(expected) == 1284
    for record, annotation in zip(raw, read_all(raw), strict=True):
        normalised = expected[record["stable_key"]]
        assert annotation.status == normalised["status"] == "ok"
        errors = [
            {
                "severity": error.severity,
                "class": error.error_class,
                "target_span_text": error.span,
                "source_span_text": error.source_span,
            }
            for error in annotation.errors
        ]
        assert errors == normalised["errors"]
        assert annotation.context_behavior == normalised["context_behavior"]
        summary = normalised["summary"]
        assert summary["has_no_error"] is not bool(errors)
        for severity in SEVERITIES:
            assert summary[f"{severity}_count"] == sum(error["severity"] == severity for error in errors)


def test_spans_of_the_ablation_are_located() -> None:
    # The annotation-format page: 23 of 876 spans are not verbatim in the translation, 17 are in the source.
    translated = {record["stable_key"]: record for record in json_lines(ABLATION / "translations.jsonl")}
    raw = json_lines(ABLATION / "judge-raw.jsonl")
    counts: Counter[str] = Counter()
    for record, annotation in zip(raw, read_all(raw), strict=True):
        cell = translated[record["stable_key"]]
        for error in annotation.errors:
            counts[locate(error.span, cell["translation"], cell["source"]).status] += 1
    assert counts["exact"] + counts["ambiguous"] == 876 - 23
    assert (counts["in_source"], counts["missing"], counts.total()) == (17, 6, 876)
