"""Every figure of ``leaderboard.md``, read back from the Markdown and recomputed.

A line that holds a digit and is none of those known here is a difference: nothing passes unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pipeline.errors import one_line
from pipeline.lineage.verify.checks import Findings, shown, shown_apart
from pipeline.lineage.verify.recount import counts
from pipeline.lineage.verify.recount.means import Means, Row
from pipeline.lineage.verify.recount.run import PlainRun
from pipeline.lineage.verify.recount.status import reading
from pipeline.vocabulary import SEVERITIES

_LAST = "Coverage and reading"
_FIGURES = re.compile(r"[\d`|]")
_SLICES = {"By target language": "language", "By context expectation": "context_expectation"}


@dataclass(frozen=True)
class Printed:
    """What is printed besides numbers: the judge, and the signature; old boards have its short form only."""

    judge_backend: str
    judge_model: str
    judge_description: str
    reasoning_effort: str
    short: str
    long: str
    has_long: bool


def compare_leaderboard(
    findings: Findings, file: str, text: str, run: PlainRun, means: Means, said: Printed
) -> None:
    """Compare every table cell, and every line that holds a figure, with what it has to be."""
    tables = {"Overall": _overall(run, means)} | {
        title: _sliced(run, means, column) for title, column in _SLICES.items()
    }
    sentences = _sentences(run, means, said)
    used: set[int] = set()
    seen: set[str] = set()
    section = ""
    rows: Iterator[list[str]] = iter(())
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        address = f"{file}:{number}"
        if line.startswith("## "):
            _end_table(findings, file, rows)
            section, columns = line.removeprefix("## "), []
            if section not in (*tables, _LAST):
                findings.note(address, shown(line), "not there: an unknown section")
        elif line.startswith("|") and section in tables:
            if not columns:
                if section in seen:
                    findings.note(address, "a second table", "one table")
                seen.add(section)
                rows = iter(tables[section])
                columns = next(rows)
                _compare_row(findings, address, columns, _cells(line), columns)
            elif set(line) - set("| -:"):
                _compare_row(findings, address, columns, _cells(line), next(rows, None))
        elif line:
            _compare_sentence(findings, address, line, sentences, used)
    _end_table(findings, file, rows)
    for section in (title for title in tables if title not in seen):
        findings.note(file, f"without the table {section!r}", "one that has it")
    for index in (index for index in range(len(sentences)) if index not in used):
        findings.note(file, f"without the line {shown(sentences[index])}", "one that has it")


def _end_table(findings: Findings, file: str, rows: Iterator[list[str]]) -> None:
    for row in rows:
        findings.note(file, f"without the row {shown(' | '.join(row))}", "one that has it")


def _compare_row(
    findings: Findings, address: str, columns: Sequence[str], found: list[str], expected: list[str] | None
) -> None:
    if expected is None:
        findings.note(address, shown(" | ".join(found)), "not there: an unknown row")
    elif len(found) != len(expected):
        findings.note(address, f"{len(found)} cells", f"{len(expected)} cells")
    else:
        for column, one, other in zip(columns, found, expected, strict=True):
            findings.compare(f"{address}#{column}", one, other)


def _compare_sentence(
    findings: Findings, address: str, line: str, sentences: Sequence[str], used: set[int]
) -> None:
    plain = _plain(line)
    for index, sentence in enumerate(sentences):
        if plain == sentence and index not in used:
            findings.values += 1
            used.add(index)
            return
    if not _FIGURES.search(line):
        return
    # The nearest in wording says best what is wrong.
    nearest = max(sentences, key=lambda sentence: _common_start(plain, sentence))
    if _common_start(plain, nearest) >= _ALIKE:
        used.add(sentences.index(nearest))
        findings.note(address, *shown_apart(plain, nearest))
    else:
        findings.note(address, shown(plain), "not there: an unknown line")


_ALIKE = 8


def _common_start(one: str, other: str) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _overall(run: PlainRun, means: Means) -> list[list[str]]:
    errors, shares = counts.errors_by_language(run), counts.rates(run)
    common = {row.participant: row.mean_penalty for row in means.rows(common=True)}
    table = [
        [
            "#",
            "Participant",
            "Mean penalty",
            "Common cells",
            "Coverage",
            "Critical / major / minor",
            "Missed",
            "Misused",
        ]
    ]
    for row in means.best_first():
        by_severity = [
            sum(n for key, n in errors.items() if (key[1], key[2]) == (row.participant, severity))
            for severity in SEVERITIES
        ]
        table.append(
            [
                _rank(row, means.rows()),
                _name(run, row),
                _mean(row.mean_penalty),
                _mean(common[row.participant]),
                f"{row.samples}/{row.expected}",
                " / ".join(map(str, by_severity)),
                _percent(shares[row.participant]["missed_required_context_rate"]),
                _percent(shares[row.participant]["misused_context_rate"]),
            ]
        )
    return table


def _sliced(run: PlainRun, means: Means, column: str) -> list[list[str]]:
    rows = {(str(row.key[0]), row.participant): row for row in means.rows(column)}
    names = run.design.languages if column == "language" else ("use", "ignore")
    names = tuple(name for name in names if (name, 0) in rows)
    table = [["Participant", *map(one_line, names)]]
    for best in means.best_first():
        of_mine = [rows[name, best.participant] for name in names]
        table.append([_name(run, best), *(f"{_mean(row.mean_penalty)} ({row.samples})" for row in of_mine)])
    return table


def _sentences(run: PlainRun, means: Means, said: Printed) -> list[str]:
    """The lines outside of tables that hold a figure, a name or a signature, without Markdown's escapes."""
    shared, read = counts.shared_requests(run), reading(run)
    whole, ok = len(run.cells), counts.total(run, "ok")
    spans = ", ".join(f"{number} {name}" for name, number in read["spans"].items()) or "none"
    rounds = ", ".join(
        f"{cells} cells {number} {'round' if number == 1 else 'rounds'}"
        for number, cells in counts.rounds(run).items()
    )
    return [
        f"# Leaderboard: {one_line(run.design.run_name)}",
        f"Mean cell penalty; lower is better. Judge backend `{_code(said.judge_backend)}`, model "
        f"`{_code(said.judge_model)}`, reasoning effort {one_line(said.reasoning_effort)}, scoring scheme "
        f"`{run.design.scheme}`.",
        *([f"Judge: {one_line(said.judge_description)}."] if said.judge_description else []),
        f"`{_code(said.short)}`",
        *([f"`{_code(said.long)}`"] if said.has_long else []),
        "Ranked by the mean over a participant's own ok cells; equal means share a rank, and with incomplete "
        "coverage the common cells are the fair comparison. Coverage is validly judged of expected cells. "
        f"Common-cell means are over the {len(means.common)} (item, language) pairs that are validly judged "
        "for every participant. Missed is the share of `missed_required_context` where the item needs its "
        "context; misused the share of `misused_context` where it does not.",
        f"- Benchmark valid: **{'yes' if ok == whole else 'no'}**. Expected cells {whole}; ok {ok}; judge "
        f"failed {counts.total(run, 'judge_failed')}; translation failed "
        f"{counts.total(run, 'translation_failed')}; translation missing "
        f"{counts.total(run, 'translation_missing')}.",
        f"- Answers read: {read['valid']} valid of {read['answers']} ({run.design.mode} reading); "
        f"{read['repaired']} repaired; {read['contradictorySections']} with `no-error` beside an error.",
        f"- Error spans: {spans}.",
        f"- {shared.cells} cells share {shared.requests} identical requests, and so one verdict each.",
        "- Rounds of asking, as answers that strict reading refuses are asked for again: "
        f"{rounds or 'not recorded'}.",
    ]


def _rank(row: Row, rows: Sequence[Row]) -> str:
    mean = row.mean_penalty
    if mean is None:
        return "-"
    return str(1 + sum(other.mean_penalty is not None and other.mean_penalty < mean for other in rows))


def _name(run: PlainRun, row: Row) -> str:
    return one_line(run.design.systems[row.participant].display_name)


def _mean(value: Fraction | None) -> str:
    return "n/a" if value is None else f"{float(value):.3f}"


def _percent(value: Fraction | None) -> str:
    return "n/a" if value is None else f"{100 * float(value):.1f} %"


def _code(value: str) -> str:
    return one_line(value).replace("`", "'")


def _cells(line: str) -> list[str]:
    """The cells of a table row. A bar inside of a text is escaped, so no space stands before it."""
    return [_plain(cell) for cell in line.removeprefix("| ").removesuffix(" |").split(" | ")]


def _plain(text: str) -> str:
    """Markdown without its escapes; a code span stands for itself."""
    return _ESCAPE.sub(lambda found: found[1] or found[2], text)


_ESCAPE = re.compile(r"(`[^`]*`)|\\([\\`*_{}\[\]<>()#+!|~&-])")
