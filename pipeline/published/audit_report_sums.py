"""Do the figures of a run's reports add up to each other? Samples, penalties, errors and labels."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from pipeline.published.audit_model import Check, not_applicable, outcome_of
from pipeline.published.report_model import OVERALL, ReportFigures, Row

_WEIGHTS = {"critical": 25, "major": 5, "minor": 1}
_RATES = {
    "missed_required_context_rate": ("missed_required_context", "use"),
    "misused_context_rate": ("misused_context", "ignore"),
}
NOTHING = "no report gives these figures"


def check_sums(figures: ReportFigures, *, plain: bool) -> list[Check]:
    """Every check that adds figures up, in a fixed order.

    ``plain``: each cell has one verdict, and errors weigh 25, 5 and 1.
    """
    return [
        _samples(figures),
        _penalties(figures),
        _common_cells(figures),
        _errors(figures, plain=plain),
        _labels(figures, plain=plain),
    ]


def _samples(figures: ReportFigures) -> Check:
    """Samples and failed samples, added over each report's slices, are the same in every report."""
    id, about = "report-samples", "samples add up to the same total over every kind of slice"
    problems, compared = [], 0
    for field, value in (("samples", _row_samples), ("failed samples", _row_failed)):
        by_participant: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for row in figures.rows:
            count = value(row)
            if not row.common and count is not None:
                by_participant[row.participant][row.report] += count
        if field == "samples":
            for (participant, _), (ok, _failed) in figures.judged.items():
                by_participant[participant]["run-status.json"] += ok
        for participant, totals in by_participant.items():
            compared += len(totals)
            if len(set(totals.values())) > 1:
                spelled = ", ".join(f"{total} in {report}" for report, total in sorted(totals.items()))
                problems.append(f"{participant}: {field}: {spelled}")
    if not compared:
        return not_applicable(id, about, NOTHING)
    return outcome_of(id, about, problems, f"{compared} totals agree")


def _row_samples(row: Row) -> int | None:
    return row.samples


def _row_failed(row: Row) -> int | None:
    return row.failed


def _penalties(figures: ReportFigures) -> Check:
    """Mean times samples, added over each report's slices, is the overall mean times all samples."""
    id, about = "report-penalties", "mean times samples adds up to the overall mean times all samples"
    return _sums(figures, id, about, common=False, totals=_totals(figures))


def _totals(figures: ReportFigures) -> dict[str, int]:
    """Samples by participant: as the overall rows say, else as the languages add up."""
    totals: dict[str, int] = defaultdict(int)
    for row in figures.rows:
        if row.dimensions == ("language",) and not row.common:
            totals[row.participant] += row.samples or 0
    overall = {
        r.participant: r.samples for r in figures.rows if r.key == OVERALL and not r.common and r.samples
    }
    return dict(totals) | overall


def _sums(figures: ReportFigures, id: str, about: str, *, common: bool, totals: dict[str, int]) -> Check:
    overall = {
        row.participant: row
        for row in figures.rows
        if row.key == OVERALL and row.common == common and row.mean is not None
    }
    sums: dict[tuple[str, str], list[Fraction]] = defaultdict(lambda: [Fraction(), Fraction()])
    for row in figures.rows:
        if row.key != OVERALL and row.common == common and row.samples:
            sums[row.report, row.participant][0] += mean_of(row) * row.samples
            sums[row.report, row.participant][1] += row.unit * row.samples
    problems, compared = [], 0
    for (report, participant), (total, unit) in sums.items():
        whole = overall.get(participant)
        if whole is None or participant not in totals:
            continue
        compared += 1
        samples = totals[participant]
        expected = mean_of(whole) * samples
        if abs(total - expected) > unit + whole.unit * samples:
            problems.append(f"{participant}: {float(total):.3f} in {report}, {float(expected):.3f} overall")
    if not compared:
        return not_applicable(id, about, NOTHING)
    return outcome_of(id, about, problems, f"{compared} sums agree")


def _common_cells(figures: ReportFigures) -> Check:
    """Common cells are as many for each participant of a slice, and add up over the slices."""
    id, about = "report-common-cells", "common cells are the same for every participant and add up"
    rows = [row for row in figures.rows if row.common and row.samples is not None]
    if not rows:
        return not_applicable(id, about, NOTHING)
    by_slice: dict[tuple[str, object], set[int]] = defaultdict(set)
    for row in rows:
        by_slice[row.report, row.key].add(row.samples or 0)
    problems = [f"{report}: {sorted(c)} in one slice" for (report, _), c in by_slice.items() if len(c) > 1]
    by_report: dict[str, int] = defaultdict(int)
    for (report, _), counts in by_slice.items():
        by_report[report] += max(counts)
    if figures.totals.common_cells is not None:
        by_report["run-status.json"] = figures.totals.common_cells
    if len(set(by_report.values())) > 1:
        problems.append(", ".join(f"{total} in {report}" for report, total in sorted(by_report.items())))
    totals = {row.participant: row.samples or 0 for row in rows if row.key == OVERALL}
    sums = _sums(figures, id, about, common=True, totals=totals)
    problems += sums.details if sums.outcome == "failed" else ()
    return outcome_of(id, about, problems, f"{max(by_report.values())} in {len(by_report)} reports")


def _errors(figures: ReportFigures, *, plain: bool) -> Check:
    """25 critical + 5 major + 1 minor is the penalty of a language; classes count the same errors."""
    id, about = "report-errors", "severities weigh up to the means, and classes count as many errors"
    rows = {
        (row.participant, row.key[0]): row
        for row in figures.rows
        if row.dimensions == ("language",) and not row.common and row.samples
    }
    problems, compared = [], 0
    for (participant, language), counts in figures.severities.items():
        row = rows.get((participant, language))
        weight = sum(_WEIGHTS.get(severity, 0) * count for severity, count in counts.items())
        if plain and row is not None and row.samples:
            compared += 1
            if abs(mean_of(row) * row.samples - weight) > row.unit * row.samples:
                total = float(mean_of(row) * row.samples)
                problems.append(
                    f"{participant}, {language}: errors weigh {weight}, mean times samples is {total:.3f}"
                )
        classes = figures.classes.get((participant, language))
        if classes is not None and sum(classes.values()) != sum(counts.values()):
            problems.append(
                f"{participant}, {language}: {sum(counts.values())} errors by severity, "
                f"{sum(classes.values())} by class"
            )
    if not compared:
        return not_applicable(id, about, NOTHING)
    return outcome_of(id, about, problems, f"{compared} participants by language")


def _labels(figures: ReportFigures, *, plain: bool) -> Check:
    """Labels add up to the samples; a rate is a whole number of labels over its items' samples."""
    id, about = "report-labels", "context labels add up to the samples, and rates to whole labels"
    totals = _totals(figures)
    by_expectation = {
        (row.participant, row.key[1]): row.samples
        for row in figures.rows
        if row.dimensions == ("expectation",) and not row.common
    }
    problems, compared = [], 0
    for participant, counts in figures.labels.items() if plain else ():
        if participant in totals:
            compared += 1
            if sum(counts.values()) != totals[participant]:
                problems.append(
                    f"{participant}: {sum(counts.values())} labels, {totals[participant]} samples"
                )
        for name, (rate, unit) in figures.rates.get(participant, {}).items():
            label, expectation = _RATES.get(name, ("", ""))
            samples = by_expectation.get((participant, expectation))
            if samples is None:
                continue
            compared += 1
            labels = round(rate * samples)
            if abs(labels - rate * samples) > unit * samples or labels > counts.get(label, 0):
                problems.append(
                    f"{participant}: {name} is {float(rate * samples):.3f} of {samples}, "
                    f"the label was given {counts.get(label, 0)} times"
                )
    if not compared:
        return not_applicable(id, about, NOTHING)
    return outcome_of(id, about, problems, f"{compared} totals and rates")


def mean_of(row: Row) -> Fraction:
    """The mean of a row, zero where it has none."""
    return Fraction() if row.mean is None else row.mean
