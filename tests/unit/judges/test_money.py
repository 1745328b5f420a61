"""Prices, estimates and the budget, against amounts worked out by hand."""

from __future__ import annotations

import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from judge_project import REPOSITORY
from judge_samples import a_profile, a_request, an_attempt

from pipeline.answers import Usage
from pipeline.errors import ConfigError
from pipeline.judges.budget import Budget, OverBudget
from pipeline.judges.estimating import Estimator, estimator, prompt_tokens, text_tokens
from pipeline.judges.prices import FREE, Price, PriceFile, read_price
from pipeline.layout import JUDGE_PRICES
from pipeline.requests import JudgeRequest
from pipeline.yaml_file import read_yaml

DOLLAR = 10**9
ENTRY = "- {model: m, input_usd: '2.50', output_usd: '10', checked: provider, source: s, date: '2026-11-30'"


def prices(folder: Path, *entries: str) -> Path:
    path = folder / "prices.yaml"
    path.write_text("prices:\n" + "\n".join(entries) + "\n", encoding="utf-8")
    return path


def test_a_price_is_exact(tmp_path: Path) -> None:
    price = read_price(prices(tmp_path, ENTRY + "}"), a_profile())
    assert price is not None
    # 1,000 tokens at 2.50 USD and 100 at 10 USD a million: 0.0025 + 0.001 USD.
    assert price.nano_usd(1000, 100) == 3_500_000
    assert price.date == "2026-11-30"


@pytest.mark.parametrize(
    ("model", "entry", "nano"),
    [
        ("m:batch", ENTRY + ", batch_discount: '0.5'}", 1250),
        ("m:batch", ENTRY + "}", None),  # nobody knows whether there is a discount
        ("other", ENTRY + "}", None),
    ],
)
def test_batches_and_models_unknown(tmp_path: Path, model: str, entry: str, nano: int | None) -> None:
    price = read_price(prices(tmp_path, entry), a_profile(request={"model": model}))
    assert (price.nano_usd(1, 0) if price else None) == nano


def test_a_model_of_ones_own_is_free(tmp_path: Path) -> None:
    assert read_price(tmp_path / "none", a_profile(request={"model_file_sha256": "0" * 64})) == FREE


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([ENTRY + "}", ENTRY + "}"], "stands twice"),
        ([ENTRY.replace("'10'", "10") + "}"], "string"),
        ([ENTRY.replace("'10'", "'-1'") + "}"], "decimal number"),
        ([ENTRY.replace("'10'", "'NaN'") + "}"], "decimal number"),
        ([ENTRY.replace("2026-11-30", "yesterday") + "}"], "a day such as"),
        ([ENTRY + ", batch_discount: '2'}"], "from 0 to 1"),
        ([ENTRY.replace("provider", "guess") + "}"], "provider"),
    ],
)
def test_a_broken_table_is_one_line(tmp_path: Path, entries: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        read_price(prices(tmp_path, *entries), a_profile())
    assert "\n" not in str(refused.value)


def test_the_shipped_table_can_be_read() -> None:
    table = PriceFile.model_validate(read_yaml(REPOSITORY / JUDGE_PRICES))
    assert all(entry.source.startswith("https://") for entry in table.prices)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("한국어", 3), ("日本語、", 4), ("한국어 abc", 4), ("é", 1)],
)
def test_text_tokens(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


def test_an_estimate_is_set_right_by_usage() -> None:
    price = Price(Decimal(1), Decimal(1), "2026-11-30")
    request = a_request("x" * 400)
    said = an_attempt(usage=Usage(prompt_tokens=202, completion_tokens=7, reasoning_tokens=None))
    first = estimator(a_profile(), price, [])
    assert first.tokens(request) == (prompt_tokens(request), 64)
    right = estimator(a_profile(), price, [(request, said), (request, an_attempt(usage=None))])
    assert right.prompt_ratio == Fraction(202, prompt_tokens(request))
    assert right.tokens(request) == (202, 7)
    assert right.expected(request) == 209
    assert right.greatest(request) == 202 + 64


def an_estimator(nano_per_call: int = DOLLAR) -> Estimator:
    """Every call costs that much at most: one completion token, and free prompts."""
    return Estimator(Price(Decimal(0), Decimal(nano_per_call), "2026-11-30"), 1)


def test_a_budget_needs_a_price() -> None:
    with pytest.raises(ConfigError, match="price of 'm' is not known"):
        Budget(DOLLAR, Estimator(None, 64), "m")
    Budget(None, Estimator(None, 64), "m").reserve(a_request())


@pytest.mark.parametrize(
    ("cost", "status", "uncertain", "spent"),
    [
        (DOLLAR // 4, 200, False, DOLLAR // 4),  # as the service says
        (None, 200, False, DOLLAR // 2),  # by its tokens: half of one
        (None, 500, False, 0),
        (None, None, False, 0),  # no response, and surely not taken
        (None, None, True, DOLLAR),  # may have been charged
    ],
)
def test_what_a_call_counts_as(cost: int | None, status: int | None, uncertain: bool, spent: int) -> None:
    budget = Budget(10 * DOLLAR, an_estimator(), "m")
    usage = Usage(prompt_tokens=9, completion_tokens=0, reasoning_tokens=None)
    budget.reserve(a_request())
    attempt = None if status is None else an_attempt(http_status=status, cost_nano_usd=cost, usage=usage)
    if spent == DOLLAR // 2:  # a service that counts no tokens either: the greatest it can be
        attempt, spent = an_attempt(cost_nano_usd=None, usage=None), DOLLAR
    budget.settle(a_request(), attempt, uncertain=uncertain)
    assert budget.spent == spent


def test_the_next_call_may_not_pass_it() -> None:
    budget = Budget(2 * DOLLAR, an_estimator(), "m")
    requests: list[JudgeRequest] = [a_request(name) for name in "abc"]
    budget.reserve(requests[0])
    assert budget.try_reserve(requests[1])
    assert not budget.try_reserve(requests[2])
    budget.withdraw(requests[1])
    assert budget.try_reserve(requests[2])
    budget.settle(requests[0], an_attempt(cost_nano_usd=1), uncertain=False)
    budget.settle(requests[2], an_attempt(cost_nano_usd=DOLLAR), uncertain=False)
    with pytest.raises(OverBudget, match=r"\$2\.0000 could be passed: \$1\.0000 spent, .* \$1\.0000"):
        budget.reserve(requests[1])


def test_a_call_waits_for_those_under_way_to_turn_out_cheaper() -> None:
    budget = Budget(DOLLAR, an_estimator(), "m")
    budget.reserve(a_request())
    threading.Timer(
        0.05, budget.settle, (a_request(), an_attempt(cost_nano_usd=0)), {"uncertain": False}
    ).start()
    budget.reserve(a_request())
    assert budget.spent == 0
