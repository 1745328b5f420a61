"""``data/judge-prices.yaml``: what judge models cost, with the day and the page each price was read from."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from pipeline.answers import Attempt
from pipeline.errors import ConfigError
from pipeline.profiles import JudgeProfile
from pipeline.validation import StrictModel, validate
from pipeline.yaml_file import read_yaml

_BATCH = ":batch"
_NANO_PER_TOKEN = Decimal(1000)  # of a dollar per million tokens


def _amount(text: str) -> str:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(-1)
    if not value.is_finite() or not 0 <= value <= 100_000:
        raise ValueError("must be a decimal number from 0, written as text such as '0.30'")
    return text


Amount = Annotated[str, AfterValidator(_amount)]


class PriceEntry(StrictModel):
    """A model's price in US dollars per million tokens; ``batch_discount`` is the share a batch saves.

    ``checked``: read from the provider's own list, or second-hand.
    """

    model: Annotated[str, Field(min_length=1)]
    input_usd: Amount
    output_usd: Amount
    batch_discount: Amount | None = None
    checked: Literal["provider", "second-hand"]
    source: Annotated[str, Field(min_length=1)]
    date: str

    @field_validator("date", mode="before")
    @classmethod
    def _day(cls, value: Any) -> str:
        try:
            return datetime.date.fromisoformat(str(value)).isoformat()
        except ValueError:
            raise ValueError("must be a day such as 2026-11-30") from None

    @field_validator("batch_discount")
    @classmethod
    def _share(cls, value: str | None) -> str | None:
        if value is not None and Decimal(value) > 1:
            raise ValueError("must be from 0 to 1")
        return value


class PriceFile(StrictModel):
    """The whole file."""

    prices: list[PriceEntry]


@dataclass(frozen=True)
class Price:
    """Nano-dollars per token, and the day the price was read; None: it does not change with the day."""

    input_nano: Decimal
    output_nano: Decimal
    date: str | None

    def nano_usd(self, prompt_tokens: int, completion_tokens: int) -> int:
        """The cost of so many tokens, rounded up."""
        exact = self.input_nano * prompt_tokens + self.output_nano * completion_tokens
        return int(exact.to_integral_value(rounding=ROUND_CEILING))

    def of(self, attempt: Attempt) -> int | None:
        """An attempt's cost: as the service said, else by its tokens, else None."""
        if attempt.cost_nano_usd is not None:
            return attempt.cost_nano_usd
        usage = attempt.usage
        if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        return self.nano_usd(usage.prompt_tokens, usage.completion_tokens)


FREE = Price(Decimal(0), Decimal(0), None)


def read_price(path: Path, profile: JudgeProfile) -> Price | None:
    """The price of a profile's judge; None if the table does not know it.

    A model of one's own (``model_file_sha256``) is free. The name of a model that is asked in batches,
    ``NAME:batch``, has the price of ``NAME`` less its discount, unless it has an entry of its own.

    Raises:
        ConfigError: the table is missing or broken.
    """
    if profile.request.model_file_sha256 is not None:
        return FREE
    entries = {}
    for entry in validate(PriceFile, read_yaml(path), path, ConfigError).prices:
        if entry.model in entries:
            raise ConfigError.at(path, f"model {entry.model!r} stands twice; remove one", field="prices")
        entries[entry.model] = entry
    model = profile.request.model
    if model in entries:
        return _price(entries[model], Decimal(1))
    base = entries.get(model.removesuffix(_BATCH))
    if base is None or base.batch_discount is None:
        return None
    return _price(base, 1 - Decimal(base.batch_discount))


def _price(entry: PriceEntry, share: Decimal) -> Price:
    return Price(
        Decimal(entry.input_usd) * share * _NANO_PER_TOKEN,
        Decimal(entry.output_usd) * share * _NANO_PER_TOKEN,
        entry.date,
    )
