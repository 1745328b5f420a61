"""What a request will cost, before it is asked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pipeline.answers import Attempt
from pipeline.judges.prices import Price
from pipeline.profiles import JudgeProfile
from pipeline.requests import JudgeRequest

HOW = "one token a Korean, Japanese or Chinese character, one for every 4 bytes of UTF-8 else"
_CJK = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]")


@lru_cache(maxsize=1024)  # system text and examples are the same in every request
def text_tokens(text: str) -> int:
    """Tokens of a text, as ``HOW`` says."""
    rest = _CJK.sub("", text)
    return len(text) - len(rest) + math.ceil(len(rest.encode("utf-8", "replace")) / 4)


def prompt_tokens(request: JudgeRequest) -> int:
    """Tokens of all the text in a request's body."""
    return sum(text_tokens(text) for text in _texts(request.body))


@dataclass(frozen=True)
class Estimator:
    """Expected and greatest cost of a profile's requests.

    ``prompt_ratio`` is what services counted for each token estimated here, ``completion_tokens`` the
    mean length of an answer; both are from the usage of the answers there are (``sample`` of them), or
    1 and the profile's ``max_tokens``.
    """

    price: Price | None
    max_tokens: int | None
    prompt_ratio: Fraction = Fraction(1)
    completion_tokens: int | None = None
    sample: int = 0

    def tokens(self, request: JudgeRequest) -> tuple[int, int | None]:
        """(prompt, completion) tokens to expect."""
        prompt = math.ceil(prompt_tokens(request) * self.prompt_ratio)
        return prompt, self.completion_tokens if self.sample else self.max_tokens

    def expected(self, request: JudgeRequest) -> int | None:
        """Nano-dollars to expect, None if nobody knows."""
        prompt, completion = self.tokens(request)
        if self.price is None or completion is None:
            return None
        return self.price.nano_usd(prompt, completion)

    def greatest(self, request: JudgeRequest) -> int | None:
        """Nano-dollars of an answer that uses up its token limit."""
        if self.price is None or self.max_tokens is None:
            return None
        prompt, _ = self.tokens(request)
        return self.price.nano_usd(max(prompt, prompt_tokens(request)), self.max_tokens)

    def how(self) -> str:
        """The method, for people."""
        if not self.sample:
            return f"{HOW}; answers as long as max_tokens allows"
        return f"{HOW}, times {float(self.prompt_ratio):.2f} by the usage of {self.sample} answers there are"


def estimator(
    profile: JudgeProfile, price: Price | None, known: Iterable[tuple[JudgeRequest, Attempt]]
) -> Estimator:
    """An estimator for a profile, set right by what is known of its requests."""
    estimated = counted = completions = sample = 0
    for request, attempt in known:
        usage = attempt.usage
        if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            continue
        sample += 1
        estimated += prompt_tokens(request)
        counted += usage.prompt_tokens
        completions += usage.completion_tokens
    limit: int | None = getattr(profile.request, "max_tokens", None)
    if not sample or not estimated or not counted:
        return Estimator(price, limit)
    return Estimator(price, limit, Fraction(counted, estimated), math.ceil(completions / sample), sample)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
