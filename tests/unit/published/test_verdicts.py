"""The verdict on each kind of claim, over facts that a test can state."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from pipeline.published.claims.expressions import Leaf, Slice
from pipeline.published.claims.facts import Absent, Value
from pipeline.published.claims.model import Claim
from pipeline.published.claims.verdicts import Verdict, judge_claim

MEANS = {"alpha": Fraction(1, 3), "beta": Fraction(1, 2), "gamma": Fraction(1, 2), "delta": None}


class Stated:
    """Means by participant, divided by the number of turns where one is given."""

    def names(self, field: str) -> tuple[str | int, ...]:
        return {"participant": ("alpha", "beta", "gamma"), "turns": (1, 2, 3)}[field]

    def leaf(self, leaf: Leaf) -> Value:
        assert isinstance(leaf, Slice)
        mean = MEANS[leaf.participant or "alpha"]
        return Absent("an ok cell") if mean is None else mean / (leaf.turns or 1)


def mean(participant: str | None = None, turns: int | None = None) -> dict[str, Any]:
    fields = {"participant": participant, "turns": turns}
    return {"function": "mean_penalty"} | {name: value for name, value in fields.items() if value is not None}


OPEN = mean()
OK, DIFFERS, NOT = Verdict.REPRODUCED, Verdict.DIFFERS, Verdict.NOT_RECOMPUTABLE
# kind, printed, compute, over, among, verdict, computed or what is missing
CASES: list[tuple[str, str, Any, str | None, list[Any] | None, Verdict, str]] = [
    ("value", "0.333", mean("alpha"), None, None, OK, "0.333"),
    ("value", "0.334", mean("alpha"), None, None, DIFFERS, "0.333"),
    ("value", "0.334", mean("delta"), None, None, NOT, "an ok cell"),
    ("difference", "0.17", {"function": "difference", "of": mean("beta"), "minus": mean("alpha")}, None, None,
     OK, "0.17"),
    ("ratio", "1.5x", {"function": "ratio", "of": mean("beta"), "to": mean("alpha")}, None, None, OK, "1.5x"),
    ("change", "-33%", {"function": "change", "before": mean("beta"), "after": mean("alpha")}, None, None,
     OK, "-33%"),
    ("change", "33%", {"function": "reduction", "before": mean("beta"), "after": mean("alpha")}, None, None,
     OK, "33%"),
    ("average", "0.44", {"function": "average", "of": [mean("alpha"), mean("beta"), mean("gamma")]}, None,
     None, OK, "0.44"),
    ("ordering", "alpha < beta", OPEN, "participant", None, OK, "alpha < beta"),
    ("ordering", "beta < alpha", OPEN, "participant", None, DIFFERS, "alpha < beta"),
    ("ordering", "alpha < beta < gamma", OPEN, "participant", None, DIFFERS, "alpha < beta = gamma"),
    ("ordering", "alpha < delta", OPEN, "participant", None, NOT, "an ok cell"),
    ("ordering", "3 < 2 < 1", mean("alpha"), "turns", None, OK, "3 < 2 < 1"),
    ("ordering", "1 < 2 < 3", mean("alpha"), "turns", None, DIFFERS, "3 < 2 < 1"),
    ("every", "every", [mean(turns=3), mean(turns=2), mean(turns=1)], "participant", None, OK, "every"),
    ("every", "every", [mean(turns=1), mean(turns=2)], "participant", None, DIFFERS,
     "0 of 3, not alpha, beta, gamma"),
    ("every", "every", [mean("beta"), OPEN], "participant", ["alpha", "beta"], DIFFERS,
     "0 of 2, not alpha, beta"),
    ("every", "every", [OPEN, mean("beta")], "participant", ["alpha", "beta"], DIFFERS, "1 of 2, not beta"),
    ("every", "every", [OPEN, mean("beta")], "participant", ["alpha", "delta"], NOT, "an ok cell"),
    ("smallest", "alpha", OPEN, "participant", None, OK, "alpha"),
    ("smallest", "beta", OPEN, "participant", None, DIFFERS, "alpha"),
    ("largest", "beta", OPEN, "participant", None, DIFFERS, "beta = gamma"),
    ("largest", "beta", OPEN, "participant", ["alpha", "beta"], OK, "beta"),
    ("largest", "delta", OPEN, "participant", ["alpha", "delta"], NOT, "an ok cell"),
    ("range", "33-50%", OPEN, "participant", None, OK, "33% to 50%"),
    ("range", "33–49%", OPEN, "participant", None, DIFFERS, "33% to 50%"),
    ("range", "34–50%", OPEN, "participant", None, DIFFERS, "33% to 50%"),
    ("bound", "<= 0.5", OPEN, "participant", None, OK, "0.5"),
    ("bound", "< 0.5", OPEN, "participant", None, DIFFERS, "0.5"),
    ("bound", "< 0.5", OPEN, "participant", ["alpha"], OK, "0.3"),
    ("bound", "<= 33%", mean("alpha"), None, None, OK, "33%"),  # 33.3 % rounds to the bound
    ("bound", "< 33%", mean("alpha"), None, None, DIFFERS, "33%"),
    ("bound", "> 0.3", mean("alpha"), None, None, OK, "0.3"),  # exactly: a third is above
    ("bound", ">= 0.4", OPEN, "participant", None, DIFFERS, "0.3"),
    ("bound", ">= 0.3", mean("delta"), None, None, NOT, "an ok cell"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "printed", "compute", "over", "among", "verdict", "text"), CASES)
def test_verdict(
    kind: str, printed: str, compute: Any, over: str | None, among: Any, verdict: Verdict, text: str
) -> None:
    claim = Claim.model_validate(
        {
            "id": "a-claim",
            "kind": kind,
            "printed": printed,
            "compute": compute,
            "over": over,
            "among": among,
            "printed_in": [{"document": "page", "place": "table 1"}],
        }
    )
    finding = judge_claim(claim, Stated(), "half_up")
    assert finding.verdict is verdict
    assert (finding.missing if verdict is NOT else finding.computed) == text


def test_the_exact_value_stands_beside_a_number() -> None:
    claim = Claim.model_validate(
        {"id": "m", "kind": "value", "printed": "0.3", "compute": mean("alpha"),
         "printed_in": [{"document": "page", "place": "table 1"}]}
    )  # fmt: skip
    assert judge_claim(claim, Stated(), "half_up").exact == "1/3"
