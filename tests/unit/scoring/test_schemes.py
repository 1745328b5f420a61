"""Cell penalties under the named schemes. Expected values are sums of the published weights, by hand."""

from __future__ import annotations

import pytest
from tiny_run import TinyRun, answer

from pipeline.errors import ConfigError
from pipeline.scoring.schemes import SCHEMES, scheme_named
from pipeline.vocabulary import ERROR_CLASSES, SEVERITIES

WORD = "accuracy/mistranslation"
COMMA = "fluency/punctuation"
NONE = "non-translation"

CASES = [
    # scheme, critical, major, minor, penalty
    ("context-v1", 0, 0, 0, 0),
    ("context-v1", 1, 0, 0, 25),
    ("context-v1", 0, 1, 0, 5),
    ("context-v1", 0, 0, 1, 1),
    ("context-v1", 2, 3, 4, 69),  # 2*25 + 3*5 + 4*1: no cap, no limit
    ("context-v1", 0, 0, 7, 7),
    ("gemba-upstream", 0, 0, 0, 0),
    ("gemba-upstream", 0, 0, 5, 5),
    ("gemba-upstream", 0, 0, 7, 5),  # the first five count
    ("gemba-upstream", 0, 1, 5, 9),  # worst first: 5 + 4*1, not 5*1
    ("gemba-upstream", 0, 4, 2, 21),  # 4*5 + 1
    ("gemba-upstream", 0, 5, 0, 25),
    ("gemba-upstream", 0, 6, 0, 25),
    ("gemba-upstream", 1, 0, 0, 25),
    ("gemba-upstream", 1, 1, 1, 25),  # 31, capped
    ("gemba-upstream", 3, 0, 0, 25),
    ("wmt-mqm", 0, 0, 0, 0),
    ("wmt-mqm", 1, 0, 0, 5),  # critical counts as major
    ("wmt-mqm", 1, 1, 1, 11),
    ("wmt-mqm", 0, 9, 0, 45),  # no cap
]


@pytest.mark.parametrize(("scheme", "critical", "major", "minor", "penalty"), CASES)
def test_severities(scheme: str, critical: int, major: int, minor: int, penalty: int) -> None:
    text = answer(critical=(WORD,) * critical, major=(WORD,) * major, minor=(WORD,) * minor)
    assert _penalty(scheme, text) == penalty


@pytest.mark.parametrize(
    ("scheme", "error_class", "by_severity"),
    [
        ("context-v1", NONE, (25, 5, 1)),
        ("context-v1", COMMA, (25, 5, 1)),
        ("gemba-upstream", NONE, (25, 25, 25)),  # always critical
        ("gemba-upstream", COMMA, (25, 5, 1)),
        ("wmt-mqm", NONE, (25, 25, 25)),  # 25 at any severity
        ("wmt-mqm", COMMA, (5, 5, 0.1)),  # only the minor one is 0.1
        ("wmt-mqm", "fluency/spelling", (5, 5, 1)),
    ],
)
def test_classes_with_weights_of_their_own(
    scheme: str, error_class: str, by_severity: tuple[float, float, float]
) -> None:
    texts = (
        answer(critical=(error_class,)),
        answer(major=(error_class,)),
        answer(minor=(error_class,)),
    )
    assert tuple(_penalty(scheme, text) for text in texts) == by_severity


@pytest.mark.parametrize(
    ("scheme", "text", "penalty"),
    [
        # The heavy error stands last and still is among the five that count: 25, then capped.
        ("gemba-upstream", answer(minor=(WORD,) * 6 + (NONE,)), 25),
        # 0.1 + 0.1 + 0.1 in tenths is 3, so 0.3 and not 0.30000000000000004.
        ("wmt-mqm", answer(minor=(COMMA,) * 3), 0.3),
        ("wmt-mqm", answer(major=(NONE, WORD), minor=(COMMA, WORD)), 31.1),
        ("wmt-mqm", answer(critical=(NONE,), minor=(NONE,)), 50),
        # Headings in the answer's own order make no difference to what is worst.
        (
            "gemba-upstream",
            f'Minor:\n{WORD} - "a"\n{WORD} - "b"\n{WORD} - "c"\n{WORD} - "d"\n{WORD} - "e"\n'
            f'Critical:\nno-error\nMajor:\n{WORD} - "f"\ncontextBehavior: unclear',
            9,
        ),
    ],
)
def test_mixtures(scheme: str, text: str, penalty: float) -> None:
    assert _penalty(scheme, text) == penalty


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: scheme.name)
def test_every_severity_and_class_has_a_weight(scheme: object) -> None:
    assert set(scheme.weights) == {(s, c) for s in SEVERITIES for c in ERROR_CLASSES}  # type: ignore[attr-defined]


def test_an_unknown_scheme_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'mqm' does not exist.*context-v1, gemba-upstream, wmt-mqm"):
        scheme_named("mqm")


def _penalty(scheme: str, text: str) -> float | None:
    run = TinyRun(answers={("i1", "en", "p1"): [text]})
    return run.scores(scheme).means()[0].mean_penalty
