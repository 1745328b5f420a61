"""``leaderboard.md``: the leaderboards for people, each with its signature."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.errors import one_line
from pipeline.lineage.run_signature import signature_of
from pipeline.scoring.leaderboards import MeanRow
from pipeline.scoring.scores import Scores
from pipeline.vocabulary import SEVERITIES

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")


def leaderboard_markdown(scores: Scores) -> str:
    """The overall board best first, then by language and by context expectation, then what is missing."""
    run, signature = scores.run, signature_of(scores)
    parts = [
        f"# Leaderboard: {_text(run.run_name)}",
        f"Mean cell penalty; lower is better. Judge backend `{_code(run.judge_backend)}`, "
        f"model `{_code(run.judge_model)}`, reasoning effort {_text(run.reasoning_effort)}, "
        f"scoring scheme `{scores.scheme}`.",
        *([f"Judge: {_text(run.judge_description)}."] if run.judge_description else []),
        f"`{_code(signature.short())}`",
        f"`{_code(signature.long())}`",
        "## Overall",
        _overall(scores),
        "Ranked by the mean over a participant's own ok cells; equal means share a rank, and with incomplete "
        "coverage the common cells are the fair comparison. "
        "Coverage is validly judged of expected cells. Common-cell means are over the "
        f"{scores.status.common_cells} (item, language) pairs that are validly judged for every participant. "
        "Missed is the share of `missed_required_context` where the item needs its context; misused the "
        "share of `misused_context` where it does not.",
        "## By target language",
        _sliced(scores, scores.means("language"), list(scores.languages)),
        "## By context expectation",
        _sliced(scores, scores.means("context_expectation"), ["use", "ignore"]),
        "Each slice shows mean penalty (validly judged cells).",
        "## Coverage and reading",
        _coverage(scores),
    ]
    return "\n\n".join(parts) + "\n"


def _overall(scores: Scores) -> str:
    common = {row.participant_index: row for row in scores.means(common=True)}
    rows = []
    means = scores.means()
    for row in _best_first(means):
        index = row.participant_index
        severities = [
            sum(
                count
                for (_, owner, severity, _), count in scores.breakdowns.errors.items()
                if owner == index and severity == name
            )
            for name in SEVERITIES
        ]
        rows.append(
            [
                _rank(row, means),
                _text(scores.participants[index].display_name),
                _number(row.mean_penalty),
                _number(common[index].mean_penalty),
                f"{row.samples}/{row.expected}",
                " / ".join(str(count) for count in severities),
                _percent(scores.behavior_rate(index, "use", "missed_required_context")),
                _percent(scores.behavior_rate(index, "ignore", "misused_context")),
            ]
        )
    return _table(
        [
            "#",
            "Participant",
            "Mean penalty",
            "Common cells",
            "Coverage",
            "Critical / major / minor",
            "Missed",
            "Misused",
        ],
        rows,
        numeric_from=2,
    )


def _rank(row: MeanRow, means: Sequence[MeanRow]) -> str:
    """One more than the participants with a lower mean: equal means share a rank. None without a mean."""
    if row.mean_penalty is None:
        return "-"
    return str(1 + sum(m.mean_penalty is not None and m.mean_penalty < row.mean_penalty for m in means))


def _sliced(scores: Scores, means: Sequence[MeanRow], keys: Sequence[str]) -> str:
    cells = {(row.key[0], row.participant_index): row for row in means}
    present = [key for key in keys if any(name == key for name, _ in cells)]
    rows = []
    for overall in _best_first(scores.means()):
        index = overall.participant_index
        rows.append(
            [
                _text(scores.participants[index].display_name),
                *(
                    f"{_number(cells[key, index].mean_penalty)} ({cells[key, index].samples})"
                    for key in present
                ),
            ]
        )
    return _table(["Participant", *(_text(key) for key in present)], rows, numeric_from=1)


def _coverage(scores: Scores) -> str:
    status, reading = scores.status, scores.reading
    lines = [
        f"- Benchmark valid: **{'yes' if status.benchmark_valid else 'no'}**. "
        f"Expected cells {status.total()}; ok {status.total('ok')}; "
        f"judge failed {status.total('judge_failed')}; translation failed "
        f"{status.total('translation_failed')}; translation missing {status.total('translation_missing')}.",
        f"- Answers read: {reading.valid} valid of {reading.answers} ({scores.run.parser_mode} reading); "
        f"{reading.repaired} repaired; {reading.contradictory} with `no-error` beside an error.",
        "- Error spans: "
        + (", ".join(f"{count} {name}" for name, count in reading.spans.items()) or "none")
        + ".",
        f"- {status.cells_sharing_a_request} cells share {status.requests_shared} identical requests, "
        "and so one verdict each.",
        f"- Rounds of asking, as answers that strict reading refuses are asked for again: {_rounds(scores)}.",
    ]
    return "\n".join(lines)


def _rounds(scores: Scores) -> str:
    counts = (
        f"{cells} cells {rounds} {'round' if rounds == 1 else 'rounds'}"
        for rounds, cells in scores.status.rounds
    )
    return ", ".join(counts) or "not recorded"


def _best_first(rows: Sequence[MeanRow]) -> list[MeanRow]:
    return sorted(
        rows, key=lambda row: (row.mean_penalty is None, row.mean_penalty or 0, row.participant_index)
    )


def _table(header: list[str], rows: list[list[str]], *, numeric_from: int) -> str:
    rule = ["---" if index < numeric_from else "---:" for index in range(len(header))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.1f} %"


def _text(value: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", one_line(value))


def _code(value: str) -> str:
    """Text for a code span: one line, and no backtick that would end it."""
    return one_line(value).replace("`", "'")
