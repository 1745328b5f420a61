"""An audit as data and as Markdown: the same bytes for the same run, wherever it stands."""

from __future__ import annotations

from typing import Any

from pipeline.published.audit_model import Audit, CheckResult, ClaimResult, Outcome
from pipeline.published.claims.model import Document, PrintedIn
from pipeline.published.claims.verdicts import Finding, Verdict

# What the reports of the run say of a claim, in the words of the audit.
BY_REPORTS = {
    Verdict.REPRODUCED: "agree",
    Verdict.DIFFERS: "differ",
    Verdict.NOT_RECOMPUTABLE: "do not say",
}

_PLURAL = {
    Verdict.REPRODUCED: "reproduced",
    Verdict.DIFFERS: "differ",
    Verdict.NOT_RECOMPUTABLE: "not recomputable",
}


def audit_document(audit: Audit) -> dict[str, Any]:
    """The audit as a JSON value. Holds figures, names and reasons; no text of the run's data, no path."""
    experiment = audit.experiment
    return {
        "experiment": experiment.id,
        "run_id": audit.run_id,
        "raw_answers": experiment.raw_answers,
        "rounding": audit.claims.rounding,
        "claims": [_claim(result, audit.claims.documents) for result in audit.claim_results],
        "checks": [_check(result) for result in audit.check_results],
        "summary": {
            "claims": len(audit.claim_results),
            **{verdict.value.replace(" ", "_"): audit.count(verdict) for verdict in Verdict},
            "checks": len(audit.check_results),
            **{outcome.value.replace(" ", "_"): _outcomes(audit, outcome) for outcome in Outcome},
            "unexplained": audit.unexplained(),
        },
    }


def _claim(result: ClaimResult, documents: dict[str, Document]) -> dict[str, Any]:
    claim, finding = result.claim, result.finding
    compute = [part.model_dump(exclude_none=True) for part in claim.chain]
    return {
        "id": claim.id,
        "kind": claim.kind,
        "printed": claim.printed,
        "verdict": finding.verdict.value,
        "computed": finding.computed,
        "exact": finding.exact,
        "missing": finding.missing,
        "by_reports": {
            "say": BY_REPORTS[result.by_reports.verdict],
            "computed": result.by_reports.computed,
        },
        "known": result.known,
        "compute": compute if claim.kind == "every" else compute[0],
        "printed_in": [_address(place, documents) for place in claim.printed_in],
    }


def _document(document: Document) -> str:
    if document.repository is None:
        return f"`{document.path}` of the run"
    revision = f" at commit `{document.commit}`" if document.commit else ""
    return f"`{document.path}`{revision} of {cell(document.repository)}"


def _address(place: PrintedIn, documents: dict[str, Document]) -> str:
    document = documents[place.document]
    revision = f"@{document.commit[:8]}" if document.commit else ""
    return f"{document.path}{revision}: {place.place}"


def _check(result: CheckResult) -> dict[str, Any]:
    check = result.check
    return {
        "id": check.id,
        "about": check.about,
        "outcome": check.outcome.value,
        "details": list(check.details),
        "known": result.known,
    }


def _outcomes(audit: Audit, outcome: Outcome) -> int:
    return sum(result.check.outcome is outcome for result in audit.check_results)


def summary_lines(audit: Audit) -> list[str]:
    """Counts of claims and checks in sentences, the last for what has no explanation."""
    verdicts = ", ".join(f"{audit.count(verdict)} {words}" for verdict, words in _PLURAL.items())
    outcomes = ", ".join(f"{_outcomes(audit, o)} {o.value}" for o in Outcome)
    lines = [f"{len(audit.claim_results)} claims: {verdicts}."]
    if silent := [r for r in audit.claim_results if r.finding.verdict is Verdict.NOT_RECOMPUTABLE]:
        counts = ", ".join(
            f"{sum(r.by_reports.verdict is verdict for r in silent)} {words}"
            for verdict, words in BY_REPORTS.items()
        )
        lines.append(f"Of those not recomputable the run's own reports: {counts}.")
    lines.append(f"{len(audit.check_results)} consistency checks: {outcomes}.")
    unexplained = audit.unexplained()
    known = sum(r.fails and bool(r.known) for r in audit.claim_results) + sum(
        r.fails and bool(r.known) for r in audit.check_results
    )
    lines.append(f"Claims and checks that fail for a known reason: {known}.")
    lines.append(f"Without explanation: {', '.join(unexplained) if unexplained else 'nothing'}.")
    return lines


def audit_markdown(audit: Audit, level: int = 1) -> str:
    """The audit for people: counts, what does not hold, checks, and every claim with its verdict.

    ``level`` is that of the first heading.
    """
    head = "#" * level
    experiment = audit.experiment
    parts = [
        f"{head} {experiment.title} (`{experiment.id}`)",
        "\n".join(f"- {s}" for s in summary_lines(audit)),
    ]
    if not experiment.raw_answers:
        parts.append(
            "This run was published without its raw judge answers: nothing of it can be computed again, and "
            "no claim of it is verified. What can be checked is whether its reports agree with each other "
            "and with what was printed."
        )
    failing = [result for result in audit.claim_results if result.fails]
    if failing:
        parts.append(f"{head}# Claims that do not hold\n\n{_failing(failing)}")
    parts.append(f"{head}# Consistency checks\n\n{_checks(audit)}")
    parts.append(f"{head}# Claims\n\n{_claims(audit)}")
    documents = audit.claims.documents.items()
    parts.append("\n".join(f"- {name}: {_document(document)}" for name, document in documents))
    return "\n\n".join(parts) + "\n"


def _failing(results: list[ClaimResult]) -> str:
    lines = []
    for result in results:
        claim = result.claim
        found = result.finding if result.finding.computed is not None else result.by_reports
        source = "computed" if found is result.finding else "the run's own reports say"
        known = f" {result.known}" if result.known else ""
        lines.append(
            f"- `{claim.id}`: printed {cell(claim.printed)}, {source} {cell(found.computed or '')}.{known}"
        )
    return "\n".join(lines)


def _checks(audit: Audit) -> str:
    lines = ["| check | outcome | what was found |", "| --- | --- | --- |"]
    for result in audit.check_results:
        check = result.check
        found = "; ".join(check.details) + (f". Known: {result.known}" if result.known else "")
        lines.append(f"| `{check.id}`: {check.about} | {check.outcome.value} | {cell(found)} |")
    return "\n".join(lines)


def _claims(audit: Audit) -> str:
    lines = [
        "| claim | printed | verdict | computed | own reports | where it was printed |",
        "| --- | ---: | --- | ---: | --- | --- |",
    ]
    for result in audit.claim_results:
        claim = result.claim
        places = "; ".join(f"{place.document}: {place.place}" for place in claim.printed_in)
        lines.append(
            f"| `{claim.id}` | {cell(claim.printed)} | {_verdict(result.finding)} "
            f"| {cell(result.finding.computed or '')} | {BY_REPORTS[result.by_reports.verdict]} "
            f"| {cell(places)} |"
        )
    return "\n".join(lines)


def _verdict(finding: Finding) -> str:
    return finding.verdict.value + (f": needs {finding.missing}" if finding.missing else "")


def cell(text: str) -> str:
    """A text inside of a Markdown table or line: no character of it is structure."""
    folded = " ".join(text.split())
    for character in "\\|`*_<>[]":
        folded = folded.replace(character, f"\\{character}")
    return folded
