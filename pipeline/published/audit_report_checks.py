"""Do the reports of a run agree with each other? Needs no raw answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from pipeline.published.audit_model import Check, not_applicable, outcome_of
from pipeline.published.experiment import Experiment
from pipeline.published.report_model import OVERALL, ReportFigures, Row

_WEIGHTS = {"critical": 25, "major": 5, "minor": 1}
_RATES = {
    "missed_required_context_rate": ("missed_required_context", "use"),
    "misused_context_rate": ("misused_context", "ignore"),
}
NOTHING = "no report gives these figures"


def check_reports(experiment: Experiment, figures: ReportFigures, *, weighed: bool = True) -> list[Check]:
    """Every check among the reports, in a fixed order.

    ``weighed``: means are over single verdicts weighed 25, 5 and 1.
    """
    return [
        _participants(experiment, figures),
        _same_figure(figures),
        _samples(figures),
        _penalties(figures),
        _common_cells(figures),
        _errors(figures, weighed=weighed),
        _labels(figures),
        _status(experiment, figures),
        _failed_samples(figures),
        _ranks(figures),
        _sources(figures),
    ]


def _participants(experiment: Experiment, figures: ReportFigures) -> Check:
    id, about = "report-participants", "reports name the run's participants, each of them"
    by_report: dict[str, set[str]] = defaultdict(set)
    for row in figures.rows:
        by_report[row.report].add(row.participant)
    listed = set(experiment.participants)
    problems = [
        problem
        for report, named in sorted(by_report.items())
        for problem in (
            *(f"{report}: names {name}, no participant of the run" for name in sorted(named - listed)),
            *(f"{report}: leaves out {name}" for name in sorted(listed - named)),
        )
    ]
    if not by_report:
        return not_applicable(id, about, NOTHING)
    return outcome_of(id, about, problems, f"{len(by_report)} reports, {len(listed)} participants in each")


def _same_figure(figures: ReportFigures) -> Check:
    """The same mean in several reports."""
    id, about = "report-same-figure", "a mean that several reports give is the same in each"
    by_place: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in figures.rows:
        if row.mean is not None:
            by_place[row.participant, row.key, row.common].append(row)
    problems, compared = [], 0
    for rows in by_place.values():
        first = rows[0]
        for other in rows[1:]:
            compared += 1
            if abs(_mean(first) - _mean(other)) > first.unit + other.unit:
                problems.append(
                    f"{first.participant}: {float(_mean(first)):.6f} in {first.report}, "
                    f"{float(_mean(other)):.6f} in {other.report}"
                )
    if not compared:
        return not_applicable(id, about, "no mean stands in two reports")
    return outcome_of(id, about, problems, f"{compared} pairs of equal figures")


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
            sums[row.report, row.participant][0] += _mean(row) * row.samples
            sums[row.report, row.participant][1] += row.unit * row.samples
    problems, compared = [], 0
    for (report, participant), (total, unit) in sums.items():
        whole = overall.get(participant)
        if whole is None or participant not in totals:
            continue
        compared += 1
        samples = totals[participant]
        expected = _mean(whole) * samples
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


def _errors(figures: ReportFigures, *, weighed: bool) -> Check:
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
        weighed = sum(_WEIGHTS.get(severity, 0) * count for severity, count in counts.items())
        if weighed and row is not None and row.samples:
            compared += 1
            if abs(_mean(row) * row.samples - weighed) > row.unit * row.samples:
                total = float(_mean(row) * row.samples)
                problems.append(
                    f"{participant}, {language}: errors weigh {weighed}, mean times samples is {total:.3f}"
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


def _labels(figures: ReportFigures) -> Check:
    """Labels add up to the samples; a rate is a whole number of labels over its items' samples."""
    id, about = "report-labels", "context labels add up to the samples, and rates to whole labels"
    totals = _totals(figures)
    by_expectation = {
        (row.participant, row.key[1]): row.samples
        for row in figures.rows
        if row.dimensions == ("expectation",) and not row.common
    }
    problems, compared = [], 0
    for participant, counts in figures.labels.items():
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


def _status(experiment: Experiment, figures: ReportFigures) -> Check:
    """``run-status`` adds up, and says of each language what the boards say."""
    id, about = "report-status", "run-status adds up and agrees with the boards"
    totals = figures.totals
    if totals.expected is None or totals.normalised is None or totals.untranslated is None:
        return not_applicable(id, about, "no run-status report")
    design = experiment.dataset.items * len(experiment.languages) * len(experiment.participants)
    judged = sum(map(sum, figures.judged.values()))
    sums = (
        ("items x languages x participants", design, "expected", totals.expected),
        ("judged + not translated", totals.normalised + totals.untranslated, "expected", totals.expected),
        ("ok + failed by participant and language", judged, "judged", totals.normalised),
    )
    problems = [f"{what} is {a:,}, {name} {b:,}" for what, a, name, b in sums if a != b]
    for row in figures.rows:
        said = figures.judged.get((row.participant, row.key[0] or ""))
        if said and row.dimensions == ("language",) and not row.common:
            board = (row.samples, row.failed)
            if board != said:
                problems.append(
                    f"{row.participant}, {row.key[0]}: {board} in {row.report}, {said} in run-status"
                )
    passed = (
        f"{totals.expected:,} expected = {totals.normalised:,} judged + {totals.untranslated} not translated"
    )
    return outcome_of(id, about, problems, passed)


def _failed_samples(figures: ReportFigures) -> Check:
    id, about = "report-failed-samples", "as many failed samples are listed as are counted"
    if not figures.failed_samples:
        return not_applicable(id, about, NOTHING)
    problems, listed = [], 0
    for row in figures.rows:
        if row.dimensions == ("language",) and not row.common and row.failed is not None:
            names = figures.failed_samples.get(row.key[0] or "", [])
            count = names.count(row.participant)
            listed += count
            if count != row.failed:
                problems.append(f"{row.participant}, {row.key[0]}: {count} listed, {row.failed} counted")
    return outcome_of(id, about, problems, f"{listed} listed and counted")


def _ranks(figures: ReportFigures) -> Check:
    """A printed rank is above the number of better rows of its board, and not above that of rows as good."""
    id, about = "report-ranks", "ranks follow the means"
    boards: dict[tuple[str, object], list[Row]] = defaultdict(list)
    for row in figures.rows:
        if row.rank is not None:
            boards[row.report, row.key].append(row)
    problems = []
    for rows in boards.values():
        for row in rows:
            means = [_mean(other) for other in rows]
            better = len([mean for mean in means if mean < _mean(row)])
            as_good = len([mean for mean in means if mean <= _mean(row)])
            if not better < (row.rank or 0) <= as_good:
                problems.append(
                    f"{row.participant}: rank {row.rank} in {row.report}, {better} rows are better"
                )
    if not boards:
        return not_applicable(id, about, "no report gives ranks")
    return outcome_of(id, about, problems, f"{len(boards)} boards")


def _sources(figures: ReportFigures) -> Check:
    """The runs a summary was put together from add up, and hold the samples that the board shows."""
    id, about = "report-sources", "the runs a summary names add up and bear its rows"
    if not figures.sources:
        return not_applicable(id, about, "no report names source runs")
    problems: list[str] = []
    for run_id, run in figures.sources.items():
        valid, expected, unresolved = (sum(part) for part in zip(*run["samples"].values(), strict=True))
        for what, a, b in (
            ("judged + not translated, expected", run["normalised"] + run["untranslated"], run["expected"]),
            ("valid samples, judged", valid, run["normalised"]),
            ("expected samples, expected", expected, run["expected"]),
            ("unresolved cells, not translated", unresolved, run["untranslated"]),
        ):
            if a != b:
                problems.append(f"{run_id}: {what}: {a:,} and {b:,}")
    borne: dict[str, set[int]] = defaultdict(set)
    for run in figures.sources.values():
        for participant, counts in run["samples"].items():
            borne[participant].add(counts[0])
    problems += _unborne(figures.rows, borne)
    return outcome_of(id, about, problems, f"{len(figures.sources)} source runs")


def _unborne(rows: Iterable[Row], borne: dict[str, set[int]]) -> list[str]:
    return [
        f"{row.participant}: {row.samples} samples in {row.report}, in no source run"
        for row in rows
        if row.key == OVERALL and row.samples is not None and row.samples not in borne[row.participant]
    ]


def _mean(row: Row) -> Fraction:
    return Fraction() if row.mean is None else row.mean
