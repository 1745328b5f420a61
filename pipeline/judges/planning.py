"""What a judge run would do, without doing it: ``python -m pipeline judge --dry-run``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.answers import Key, read_answer_folder
from pipeline.judges.estimating import Estimator, estimator
from pipeline.judges.ledger import Ledger
from pipeline.judges.ledger_file import ledger_is_there
from pipeline.judges.runner import Sources, Terms, Wanted, known
from pipeline.judges.tally import Tally, usd
from pipeline.profiles import JudgeProfile


@dataclass(frozen=True)
class Plan:
    """Requests by where their answers are, and what the others will cost in the first round."""

    tally: Tally
    in_jobs: int
    estimate: Estimator
    prompt_tokens: int
    completion_tokens: int | None
    nano_usd: int | None

    def lines(self, profile: JudgeProfile, budget: int | None) -> Iterator[str]:
        """The plan for people."""
        tally, model = self.tally, profile.request.model
        yield f"wanted:       {tally.wanted} answers"
        yield f"recorded:     {tally.recorded}"
        yield f"ledger:       {tally.ledger}"
        if self.in_jobs:
            yield f"in open jobs: {self.in_jobs}"
        yield f"to be asked:  {tally.missing - self.in_jobs} of {model!r} by {profile.backend}"
        completion = "unknown" if self.completion_tokens is None else f"{self.completion_tokens}"
        yield f"tokens:       {self.prompt_tokens} in, {completion} out ({self.estimate.how()})"
        price = self.estimate.price
        if self.nano_usd is None or price is None:
            why = "no price of it in data/judge-prices.yaml" if price is None else "no bound on answers"
            yield f"cost:         unknown ({why})"
        else:
            of = f"prices of {price.date}" if price.date else "a model of one's own is free"
            yield f"cost:         {usd(self.nano_usd)} ({of}; answers asked for again come on top)"
        if budget is not None:
            yield f"budget:       {usd(budget)}"


def plan(wanted: Wanted, sources: Sources, profile: JudgeProfile, terms: Terms) -> Plan:
    """Look where the answers are and estimate the rest; nothing is asked and nothing written.

    Raises:
        RecordedAnswerError: a recorded answer is damaged, or contradicts another.
        LedgerError: the ledger is unusable.
    """
    keys = wanted.keys()
    recorded = read_answer_folder(sources.recorded, set(keys))
    tally = Tally(wanted=len(keys), recorded=len(recorded))
    missing = [key for key in keys if key not in recorded]
    if missing and ledger_is_there(sources.ledger):
        with Ledger(sources.ledger, read_only=True) as ledger:
            stored = ledger.answered(missing)
            tally.ledger = len(stored)
            missing = [key for key in missing if key not in stored]
            held = {line.intent.key for job in ledger.jobs.open() for line in job.waiting}
            estimate = estimator(profile, terms.price, known(wanted, recorded, ledger, stored))
    else:
        held = set()
        estimate = estimator(profile, terms.price, known(wanted, recorded, None, ()))
    return _plan(wanted, tally, [key for key in missing if key not in held], estimate, held & set(missing))


def _plan(wanted: Wanted, tally: Tally, ask: list[Key], estimate: Estimator, held: set[Key]) -> Plan:
    prompt = completion = nano = 0
    for digest, _ in ask:
        request = wanted.render(digest)
        tokens = estimate.tokens(request)
        prompt += tokens[0]
        completion += tokens[1] or 0
        nano += estimate.expected(request) or 0
    bounded = not ask or estimate.completion_tokens is not None or estimate.max_tokens is not None
    priced = estimate.price is not None and bounded
    return Plan(tally, len(held), estimate, prompt, completion if bounded else None, nano if priced else None)
