"""Stage ``judge``: an answer for every request of ``data/requests/requests.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TextIO

from pipeline.config import Params, read_params
from pipeline.errors import InputError
from pipeline.judges.events import Events, default_log
from pipeline.judges.ledger_file import ledger_path
from pipeline.judges.planning import plan
from pipeline.judges.prices import read_price
from pipeline.judges.rendering import build_request
from pipeline.judges.runner import Sources, Terms, Wanted, collect, reconcile_jobs
from pipeline.layout import JUDGE_PRICES, PARAMS, RECORDED, REQUESTS, RESPONSES
from pipeline.profiles import JudgeProfile, read_profile
from pipeline.prompts import PromptSet, read_prompt_set
from pipeline.requests import JudgeRequest, read_request_lines


@dataclass(frozen=True)
class Options:
    """``people`` is shown every event; ``log`` is the file of events, by default beside the ledger."""

    people: TextIO | None = None
    log: Path | None = None
    detach: bool = False


def run(root: Path, options: Options | None = None) -> str:
    """Write ``data/responses/responses.jsonl`` below ``root``; returns what to print, the sum last.

    Raises:
        AnswersMissing: not every answer could be had; nothing is written.
        PipelineError: an input, the ledger, the service or the disk does not allow it.
    """
    options = options or Options()
    job = _read(root)
    with _events(job.sources.ledger, options) as events:
        terms = job.terms(root, events, options.detach)
        tally = collect(job.wanted, job.sources, job.profile, root / RESPONSES, terms)
    last = f"judge: {tally.wanted} answers ({tally.sources()}), {tally.paid()} -> {RESPONSES}"
    return "\n".join([*tally.account(), last])


def dry_run(root: Path) -> str:
    """What ``run`` would do, and its estimated cost, for people.

    Raises:
        PipelineError: an input or the ledger does not allow it.
    """
    job = _read(root)
    terms = job.terms(root, Events(), detach=False)
    lines = plan(job.wanted, job.sources, job.profile, terms).lines(job.profile, terms.budget)
    return "\n".join(lines)


def reconcile(root: Path, *, resend: bool = False) -> list[str]:
    """Find out what became of batch jobs whose submission got no reply; a line for each.

    ``resend``: give up those that are not found, so that the next run asks their lines again.

    Raises:
        PipelineError: an input, the ledger or the service does not allow it.
    """
    job = _read(root)
    with _events(job.sources.ledger, Options()) as events:
        return reconcile_jobs(job.sources, job.profile, job.terms(root, events, detach=False), resend)


@dataclass(frozen=True)
class _Job:
    params: Params
    profile: JudgeProfile
    prompt_set: PromptSet
    wanted: Wanted
    sources: Sources

    def terms(self, root: Path, events: Events, detach: bool) -> Terms:
        judge = self.params.judge
        budget = None if judge.budget_usd is None else int(Decimal(str(judge.budget_usd)) * 10**9)
        # Without the table everything can be done but saying what it will cost.
        prices = root / JUDGE_PRICES
        price = read_price(prices, self.profile) if prices.is_file() else None
        form = self.prompt_set.manifest.form
        return Terms(form, judge.max_rounds, budget, price, detach, events)


def _read(root: Path) -> _Job:
    params = read_params(root / PARAMS)
    profile = read_profile(root, params.judge.profile)
    prompt_set = read_prompt_set(root / profile.prompt_set)
    ledger = ledger_path()
    variables: dict[str, dict[str, str]] = {}

    def render(request_hash: str) -> JudgeRequest:
        return build_request(profile, prompt_set, variables[request_hash], params.seed)

    for number, line in enumerate(read_request_lines(_requests_file(root)), start=1):
        variables[line.request_hash] = line.variables
        stale = line.prompt_set_sha256 != prompt_set.sha256
        if stale or render(line.request_hash).request_hash != line.request_hash:
            raise InputError.at(
                REQUESTS,
                "was rendered from another prompt set, judge profile or params.yaml; run `dvc repro render`",
                line=number,
            )
    return _Job(
        params,
        profile,
        prompt_set,
        Wanted(
            tuple(sorted(variables, key=lambda one: prompt_set.place(variables[one]))),
            params.judge.repeats,
            render,
        ),
        Sources(root / RECORDED, ledger, params.judge.offline, (root, ledger.parent)),
    )


@contextmanager
def _events(ledger: Path, options: Options) -> Iterator[Events]:
    events = Events(options.log or default_log(ledger), options.people)
    try:
        if options.log is not None:
            events.open()
        yield events
    finally:
        events.close()


def _requests_file(root: Path) -> Path:
    path = root / REQUESTS
    if not path.is_file():
        raise InputError.at(REQUESTS, "missing; run `dvc repro render`")
    return path
