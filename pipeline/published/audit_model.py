"""What an audit says: a verdict for every claim, an outcome for every check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipeline.published.claims.model import Claim, Claims
from pipeline.published.claims.verdicts import Finding, Verdict
from pipeline.published.experiment import Experiment


class Outcome(StrEnum):
    """How a consistency check ended. ``explained``: it disagrees, and the reason was tested and holds."""

    PASSED = "passed"
    EXPLAINED = "explained"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Check:
    """A consistency check. ``details`` are sentences; of many findings the first are shown, all counted."""

    id: str
    about: str
    outcome: Outcome
    details: tuple[str, ...] = ()
    problems: int = 0

    @property
    def found(self) -> str:
        """The number of problems and the first of them, in one text."""
        return f"{self.problems}: {self.details[0]}" if self.problems else ""


@dataclass(frozen=True)
class ClaimResult:
    """A claim, its verdict from the tables, and what the run's own reports say of it."""

    claim: Claim
    finding: Finding
    by_reports: Finding
    known: str | None

    @property
    def fails(self) -> bool:
        """Whether the printed figure disagrees with the tables, or with the run's own reports."""
        return Verdict.DIFFERS in (self.finding.verdict, self.by_reports.verdict)

    @property
    def found(self) -> str:
        """What stands against the printed figure: computed from the tables, else said by the reports."""
        against = self.finding if self.finding.verdict is not Verdict.NOT_RECOMPUTABLE else self.by_reports
        return against.computed or ""


@dataclass(frozen=True)
class CheckResult:
    """A check, and why it fails where that is known."""

    check: Check
    known: str | None

    @property
    def fails(self) -> bool:
        """Whether the check found something that it could not explain itself."""
        return self.check.outcome is Outcome.FAILED


@dataclass(frozen=True)
class Audit:
    """An audited run. ``run_id`` is the run's own name, None where it has no manifest."""

    experiment: Experiment
    run_id: str | None
    claims: Claims
    claim_results: tuple[ClaimResult, ...]
    check_results: tuple[CheckResult, ...]
    unfounded: tuple[str, ...]  # known findings that nothing bears out

    def count(self, verdict: Verdict) -> int:
        """Claims with that verdict."""
        return sum(result.finding.verdict is verdict for result in self.claim_results)

    def unexplained(self) -> list[str]:
        """Ids of all claims and checks that fail without a known reason, then the unfounded reasons."""
        results: list[tuple[str, ClaimResult | CheckResult]] = [
            *((result.claim.id, result) for result in self.claim_results),
            *((result.check.id, result) for result in self.check_results),
        ]
        return [name for name, result in results if result.fails and not result.known] + list(self.unfounded)


SHOWN = 10


def outcome_of(id: str, about: str, problems: list[str], passed: str) -> Check:
    """A check that failed with the first of its problems, or passed with one sentence."""
    if not problems:
        return Check(id, about, Outcome.PASSED, (passed,))
    more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
    return Check(id, about, Outcome.FAILED, (*problems[:SHOWN], *more), len(problems))


def not_applicable(id: str, about: str, why: str) -> Check:
    """A check that has nothing to look at."""
    return Check(id, about, Outcome.NOT_APPLICABLE, (why,))
