"""Counts over a run: errors, labels, fates, shared requests, rounds, readings, attempts and their cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from pipeline.annotation import AnnotationError, locate
from pipeline.lineage.verify.recount.run import Cell, PlainRun, Verdict

_NANO = 10**9


@dataclass(frozen=True)
class Shared:
    """Cells whose request another cell has, too, and the distinct requests of such cells."""

    cells: int
    requests: int


@dataclass
class Bill:
    """What one served model's attempts came to. ``nano_usd`` counts what the service named."""

    attempts: int = 0
    unknown_cost: int = 0
    reasked: int = 0
    reasked_nano_usd: int = 0
    nano_usd: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0


def usd(nano: int) -> Fraction:
    """Billionths of a dollar as dollars."""
    return Fraction(nano, _NANO)


def errors_by_language(run: PlainRun) -> Counter[tuple[str, int, str, str]]:
    """Errors of ok cells by (language, participant, severity, class); every verdict counts."""
    counts: Counter[tuple[str, int, str, str]] = Counter()
    for cell in run.ok:
        for verdict in cell.verdicts:
            for error in verdict.annotation.errors:
                counts[cell.language, cell.participant, error.severity, error.error_class] += 1
    return counts


def labels(run: PlainRun) -> Counter[tuple[int, str, str | None]]:
    """Verdicts on ok cells by (participant, context expectation, label)."""
    return Counter(
        (cell.participant, cell.item.context_expectation, verdict.annotation.context_behavior)
        for cell in run.ok
        for verdict in cell.verdicts
    )


def rates(run: PlainRun) -> list[dict[str, Fraction | None]]:
    """Per participant the share of missed and of misused context, each of the items that can show it."""
    found = labels(run)
    return [
        {
            "missed_required_context_rate": _share(found, index, "use", "missed_required_context"),
            "misused_context_rate": _share(found, index, "ignore", "misused_context"),
        }
        for index in range(len(run.design.systems))
    ]


def _share(
    found: Counter[tuple[int, str, str | None]], participant: int, expectation: str, label: str
) -> Fraction | None:
    whole = sum(count for key, count in found.items() if key[:2] == (participant, expectation))
    return Fraction(found[participant, expectation, label], whole) if whole else None


def fates(run: PlainRun) -> Counter[tuple[int, str, str, str | None]]:
    """Cells by (participant, language, status, judge failure)."""
    return Counter((cell.participant, cell.language, cell.status, cell.judge_failure) for cell in run.cells)


def total(run: PlainRun, *statuses: str) -> int:
    """Cells of the given statuses."""
    return sum(cell.status in statuses for cell in run.cells)


def without_verdict(run: PlainRun) -> list[Cell]:
    """Cells that are not ok, in the order language, participant, item."""
    order = {language: index for index, language in enumerate(run.design.languages)}
    cells = [cell for cell in run.cells if cell.status != "ok"]
    return sorted(cells, key=lambda cell: (order[cell.language], cell.participant, cell.item_index))


def shared_requests(run: PlainRun) -> Shared:
    """Cells that share a request, and so one verdict."""
    uses = Counter(cell.request_hash for cell in run.cells if cell.request_hash is not None)
    several = [count for count in uses.values() if count > 1]
    return Shared(sum(several), len(several))


def rounds(run: PlainRun) -> dict[int, int]:
    """Cells by how often their request was asked; of several repeats the one that took most."""
    took: dict[str, int] = {}
    for answer in run.given.attempts:
        asked = max((number for number in answer.rounds if number is not None), default=0)
        took[answer.request_hash] = max(took.get(answer.request_hash, 0), asked)
    counts = Counter(took[cell.request_hash] for cell in run.cells if cell.request_hash in took)
    return {number: counts[number] for number in sorted(counts)}


def verdicts(run: PlainRun) -> Iterator[tuple[Cell, Verdict]]:
    """Every verdict with its cell, whatever the cell's status."""
    for cell in run.cells:
        for verdict in cell.verdicts:
            yield cell, verdict


def repairs(run: PlainRun) -> dict[str, int]:
    """Answers by the repairs that lenient reading made."""
    counts = Counter(name for _, verdict in verdicts(run) for name in verdict.annotation.repairs)
    return {name: counts[name] for name in sorted(counts)}


class Spans:
    """Finds where spans stand, each distinct case once."""

    def __init__(self) -> None:
        self._known: dict[
            tuple[str | None, str | None, str, str | None], tuple[str, list[int], list[int]]
        ] = {}

    def place(self, cell: Cell, error: AnnotationError) -> tuple[str, list[int], list[int]]:
        """(location, starts, ends) of an error's span."""
        span, source_span = storable(error.span), storable(error.source_span)
        case = span, cell.translation, cell.item.current_source.source_text, source_span
        if case not in self._known:
            found = locate(*case)
            starts, ends = [start for start, _ in found.places], [end for _, end in found.places]
            self._known[case] = found.status, starts, ends
        return self._known[case]


def span_locations(run: PlainRun) -> dict[str, int]:
    """Errors by where their span stands."""
    spans = Spans()
    counts = Counter(
        spans.place(cell, error)[0] for cell, verdict in verdicts(run) for error in verdict.annotation.errors
    )
    return {name: counts[name] for name in sorted(counts)}


def storable(text: str | None) -> str | None:
    """A text as a table can hold it: U+FFFD for each half of a surrogate pair."""
    if text is None:
        return None
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def bills(run: PlainRun) -> dict[str, Bill]:
    """What the attempts of all answers cost, by served model, sorted by its name."""
    found: dict[str, Bill] = {}
    for answer in run.given.attempts:
        for attempt, number in zip(answer.attempts, answer.rounds, strict=True):
            bill = found.setdefault(
                "unknown" if attempt.served_model is None else attempt.served_model, Bill()
            )
            again = number is not None and number > 1
            bill.attempts += 1
            bill.unknown_cost += attempt.cost_nano_usd is None
            bill.reasked += again
            bill.reasked_nano_usd += (attempt.cost_nano_usd or 0) if again else 0
            bill.nano_usd += attempt.cost_nano_usd or 0
            if attempt.usage is not None:
                bill.prompt_tokens += attempt.usage.prompt_tokens or 0
                bill.completion_tokens += attempt.usage.completion_tokens or 0
                bill.reasoning_tokens += attempt.usage.reasoning_tokens or 0
    return {model: found[model] for model in sorted(found)}
