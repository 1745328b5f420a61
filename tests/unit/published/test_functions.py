"""Every function of a claim on a run of eight cells that can be computed by hand.

| cell               | alpha                                     | beta                                   |
| ------------------ | ----------------------------------------- | -------------------------------------- |
| needs-context, en  | one major, 5; missed_required_context     | none, 0; used_correctly                |
| needs-context, ja  | two minor, 2; used_correctly              | could not be translated                |
| no-context, en     | none, 0; ignored_irrelevant_context       | one critical, 25; misused_context      |
| no-context, ja     | the judge failed: nothing recorded        | one minor, 1; misused_context          |

needs-context has two turns of two speakers and expects its use; no-context has one turn of one speaker.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

import pytest
from published_run import write_run
from pydantic import TypeAdapter

from pipeline.dataset import read_dataset
from pipeline.published.claims import expressions
from pipeline.published.claims.expressions import Combination, Leaf, fill
from pipeline.published.claims.facts import Absent, evaluate
from pipeline.published.claims.table_facts import TableFacts, load_table_facts
from pipeline.published.importing import import_run
from pipeline.published.source import open_run
from pipeline.scoring.schemes import SCHEMES
from pipeline.tables.database import connect
from pipeline.vocabulary import CONTEXT_BEHAVIORS

EXPRESSION: TypeAdapter[Any] = TypeAdapter(expressions.Expression)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> TableFacts:
    run = write_run(tmp_path_factory.mktemp("run"))
    with connect() as connection:
        import_run(connection, open_run(run.source), read_dataset(run.dataset))
        return load_table_facts(connection, SCHEMES["context-v1"])


def mean(participant: str, **others: Any) -> dict[str, Any]:
    return {"function": "mean_penalty", "participant": participant, **others}


CASES: list[tuple[dict[str, Any], Fraction | str]] = [
    (mean("alpha"), Fraction(5 + 2 + 0, 3)),
    (mean("beta"), Fraction(0 + 25 + 1, 3)),
    (mean("alpha", language="ja"), Fraction(2)),
    (mean("alpha", expectation="use"), Fraction(5 + 2, 2)),
    (mean("alpha", turns=1), Fraction(0)),
    (mean("beta", speaker_mode="single"), Fraction(25 + 1, 2)),
    (mean("beta", phenomenon="false_lead_trap"), Fraction(25 + 1, 2)),
    (mean("beta", phenomenon="ellipsis_completion"), "an ok cell"),
    # Common are the two English cells.
    (mean("alpha", cells="common"), Fraction(5 + 0, 2)),
    (mean("beta", cells="common"), Fraction(0 + 25, 2)),
    (mean("beta", cells="common", language="ja"), "an ok cell"),
    ({"function": "penalty_sum", "participant": "beta"}, Fraction(26)),
    ({"function": "penalty_sum", "cells": "common"}, Fraction(30)),
    ({"function": "cell_count", "status": "expected"}, Fraction(8)),
    ({"function": "cell_count", "status": "judged"}, Fraction(7)),
    ({"function": "cell_count", "status": "ok"}, Fraction(6)),
    ({"function": "cell_count", "status": "ok", "participant": "alpha"}, Fraction(3)),
    ({"function": "cell_count", "status": "judge_failed"}, Fraction(1)),
    ({"function": "cell_count", "status": "judge_failed", "participant": "beta"}, Fraction(0)),
    ({"function": "cell_count", "status": "translation_failed"}, Fraction(1)),
    ({"function": "cell_count", "status": "translation_missing"}, Fraction(0)),
    ({"function": "distinct_count", "of": "items"}, Fraction(2)),
    ({"function": "distinct_count", "of": "languages"}, Fraction(2)),
    ({"function": "distinct_count", "of": "participants"}, Fraction(2)),
    ({"function": "distinct_count", "of": "participants", "status": "translation_failed"}, Fraction(1)),
    ({"function": "distinct_count", "of": "items", "status": "ok", "language": "ja"}, Fraction(2)),
    ({"function": "common_cell_count"}, Fraction(2)),
    ({"function": "common_cell_count", "expectation": "use"}, Fraction(1)),
    ({"function": "common_cell_count", "language": "ja"}, Fraction(0)),
    ({"function": "label_count", "label": "misused_context"}, Fraction(2)),
    ({"function": "label_count", "label": "used_correctly", "participant": "alpha"}, Fraction(1)),
    ({"function": "label_rate", "label": "missed_required_context", "participant": "alpha"}, Fraction(1, 3)),
    (
        {
            "function": "label_rate",
            "label": "missed_required_context",
            "participant": "alpha",
            "expectation": "use",
        },
        Fraction(1, 2),
    ),
    ({"function": "label_rate", "label": "unclear", "phenomenon": "ellipsis_completion"}, "an ok cell"),
    ({"function": "error_count"}, Fraction(1 + 2 + 1 + 1)),
    ({"function": "error_count", "severity": "minor"}, Fraction(3)),
    ({"function": "error_count", "severity": "minor", "participant": "alpha", "language": "ja"}, Fraction(2)),
    ({"function": "error_count", "error_class": "style/awkward"}, Fraction(2)),
    ({"function": "error_count", "severity": "major", "error_class": "style/awkward"}, Fraction(0)),
    # Both ok: the two English cells (5 against 0, 0 against 25); Japanese has one verdict a cell.
    ({"function": "paired_count", "a": "alpha", "b": "beta", "outcome": "pairs"}, Fraction(2)),
    ({"function": "paired_count", "a": "alpha", "b": "beta", "outcome": "a_lower"}, Fraction(1)),
    ({"function": "paired_count", "a": "alpha", "b": "beta", "outcome": "b_lower"}, Fraction(1)),
    ({"function": "paired_count", "a": "alpha", "b": "beta", "outcome": "equal"}, Fraction(0)),
    ({"function": "paired_count", "a": "beta", "b": "beta", "outcome": "equal"}, Fraction(3)),
    ({"function": "paired_count", "a": "alpha", "b": "beta", "outcome": "b_lower", "turns": 2}, Fraction(1)),
    ({"function": "judge_cost"}, "costs, which the raw answers do not hold"),
    ({"function": "reported", "file": "x.json", "pointer": "/a", "needs": "another run"}, "another run"),
    ({"function": "unreported", "needs": "raw judge answers"}, "raw judge answers"),
    ({"function": "difference", "of": mean("beta"), "minus": mean("alpha")}, Fraction(26 - 7, 3)),
    ({"function": "ratio", "of": mean("beta"), "to": mean("alpha")}, Fraction(26, 7)),
    ({"function": "ratio", "of": mean("beta"), "to": mean("alpha", turns=1)}, "a divisor other than zero"),
    ({"function": "change", "before": mean("beta"), "after": mean("alpha")}, Fraction(7 - 26, 26)),
    ({"function": "reduction", "before": mean("beta"), "after": mean("alpha")}, Fraction(26 - 7, 26)),
    ({"function": "average", "of": [mean("alpha"), mean("beta"), mean("alpha", turns=1)]}, Fraction(33, 9)),
    ({"function": "sum", "of": [mean("alpha"), mean("beta")]}, Fraction(11)),
    ({"function": "sum", "of": [mean("alpha"), {"function": "judge_cost"}]},
     "costs, which the raw answers do not hold"),
    # Nested: (26/3 - 7/3) / 2
    (
        {
            "function": "average",
            "of": [
                {"function": "difference", "of": mean("beta"), "minus": mean("alpha")},
                mean("alpha", turns=1),
            ],
        },
        Fraction(19, 6),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("compute", "expected"), CASES)
def test_function(facts: TableFacts, compute: dict[str, Any], expected: Fraction | str) -> None:
    found = evaluate(EXPRESSION.validate_python(compute), facts)
    assert found == (Absent(expected) if isinstance(expected, str) else expected)


def test_every_function_has_a_case() -> None:
    functions = {
        get_args(model.model_fields["function"].annotation)[0]
        for model in (*get_args(Leaf), *get_args(Combination))
    }
    assert functions == {compute["function"] for compute, _ in CASES}


def test_labels_are_those_of_the_benchmark() -> None:
    assert get_args(expressions.Label) == CONTEXT_BEHAVIORS


def test_names_are_in_the_order_of_the_run(facts: TableFacts) -> None:
    assert facts.names("participant") == ("alpha", "beta")
    assert facts.names("language") == ("en", "ja")
    assert facts.names("expectation") == ("use", "ignore")
    assert facts.names("turns") == (1, 2)
    assert facts.names("speaker_mode") == ("single", "dyadic")
    assert facts.names("phenomenon") == ("referent_resolution", "false_lead_trap")


def test_filling_reaches_open_leaves_only() -> None:
    compute = EXPRESSION.validate_python(
        {"function": "sum", "of": [mean("alpha"), {"function": "mean_penalty"}, {"function": "judge_cost"}]}
    )
    first, second, cost = fill(compute, "participant", "beta").of  # type: ignore[union-attr]
    assert (first.participant, second.participant, cost.function) == ("alpha", "beta", "judge_cost")
