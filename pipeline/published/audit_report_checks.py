"""Do the reports of a run agree with each other? Needs no raw answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from pipeline.published.audit_model import Check, not_applicable, outcome_of
from pipeline.published.audit_report_sums import NOTHING, check_sums, mean_of
from pipeline.published.experiment import Experiment
from pipeline.published.report_model import OVERALL, ReportFigures, Row


def check_reports(experiment: Experiment, figures: ReportFigures, *, plain: bool = True) -> list[Check]:
    """Every check among the reports, in a fixed order.

    ``plain``: each cell has one verdict, and errors weigh 25, 5 and 1.
    """
    return [
        _participants(experiment, figures),
        _same_figure(figures),
        *check_sums(figures, plain=plain),
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
            if abs(mean_of(first) - mean_of(other)) > first.unit + other.unit:
                problems.append(
                    f"{first.participant}: {float(mean_of(first)):.6f} in {first.report}, "
                    f"{float(mean_of(other)):.6f} in {other.report}"
                )
    if not compared:
        return not_applicable(id, about, "no mean stands in two reports")
    return outcome_of(id, about, problems, f"{compared} pairs of equal figures")


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
            means = [mean_of(other) for other in rows]
            better = len([mean for mean in means if mean < mean_of(row)])
            as_good = len([mean for mean in means if mean <= mean_of(row)])
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
