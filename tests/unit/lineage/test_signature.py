"""The judge signature, short and long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline import __version__
from pipeline.lineage.signature import Signature

SIGNATURE = Signature(
    run_id="0123456789abcdef",
    dataset_fingerprint="d" * 64,
    prompt_set_sha256="fedcba9876543210",
    judge_backend="openai-compatible",
    judge_model="judge-1",
    reasoning_effort="high",
    repeats=3,
    parser_mode="strict",
    scheme="context-v1",
    ok_cells=70,
    expected_cells=72,
)


def test_short() -> None:
    # The form of DESIGN.md, "Manifest and signature".
    assert SIGNATURE.short() == (
        "GEMBA-MQM-context|id:01234567|d:dddddddd|p:fedcba98|j:openai-compatible:judge-1|e:high|r:3"
        f"|a:strict|w:context-v1|c:70/72|v:{__version__}"
    )


def test_long_has_the_same_values() -> None:
    assert SIGNATURE.long() == (
        "GEMBA-MQM-context|run:01234567|dataset:dddddddd|prompts:fedcba98|judge:openai-compatible:judge-1"
        f"|effort:high|repeats:3|reading:strict|weights:context-v1|cells:70/72|version:{__version__}"
    )


def test_what_was_not_recorded_says_so() -> None:
    signature = replace(SIGNATURE, prompt_set_sha256=None, reasoning_effort="unrecorded")
    assert "|p:unrecorded|" in signature.short()
    assert "|e:unrecorded|" in signature.short()


@pytest.mark.parametrize(
    ("model", "encoded"),
    [
        ("google/gemini:batch", "google/gemini%3Abatch"),
        ("a|b", "a%7Cb"),
        ("100%", "100%25"),
        ("%7C", "%257C"),
        ("a|v:9.9", "a%7Cv%3A9.9"),
        ("a\nb\r\u2028c", "a%0Ab%0D%E2%80%A8c"),  # a signature is one line
        ("모델 1", "모델 1"),
    ],
)
def test_values_cannot_be_read_as_structure(model: str, encoded: str) -> None:
    short = replace(SIGNATURE, judge_model=model, judge_backend=model).short()
    assert f"|j:{encoded}:{encoded}|e:" in short
    parts = short.split("|")
    assert len(parts) == 11
    assert parts[-1] == f"v:{__version__}"
    assert len(short.splitlines()) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"run_id": "f" * 64},
        {"dataset_fingerprint": "e" * 64},
        {"prompt_set_sha256": None},
        {"judge_backend": "x"},
        {"judge_model": "x"},
        {"reasoning_effort": "low"},
        {"repeats": 1},
        {"parser_mode": "lenient"},
        {"scheme": "wmt-mqm"},
        {"ok_cells": 1},
        {"expected_cells": 71},
    ],
)
def test_each_value_shows(other: dict[str, object]) -> None:
    changed = replace(SIGNATURE, **other)  # type: ignore[arg-type]
    assert changed.short() != SIGNATURE.short()
    assert changed.long() != SIGNATURE.long()
