"""Read the JSON reports of a run into figures."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from pipeline.errors import PublishedRunError
from pipeline.jsonl import read_json
from pipeline.published.report_csv import read_csv_reports
from pipeline.published.report_model import OVERALL, ReportFigures, Row, SliceKey, Totals
from pipeline.validation import validate

# A mean is a double: correct to far more places than this, whatever order it was added up in.
DOUBLE = Fraction(1, 10**12)


class _Edge(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Row(_Edge):
    participant_id: str
    mean_penalty: float | None = Field(allow_inf_nan=False)
    samples: int | None = None
    failed_samples: int | None = None


class _LanguageBoard(_Edge):
    leaderboard: list[_Row]


class _Judged(_Edge):
    ok: int
    failed: int


class _Failed(_Edge):
    participant_id: str


class _Status(_Edge):
    expected: int = Field(alias="totalExpected")
    normalised: int = Field(alias="totalNormalized")
    untranslated: int = Field(alias="translationFailureUnresolvedCount")
    failure_lines: int | None = Field(None, alias="translationFailureHistoricalCount")
    common_cells: int | None = Field(None, alias="commonCellCount")
    judged: dict[str, _Judged] = Field({}, alias="judgeFailureRatesByParticipantLanguage")


class _Cost(_Edge):
    cost: float | None = Field(None, alias="totalCostUsd", allow_inf_nan=False)


class _Phases(_Edge):
    judge: _Cost | None = None


class _Costs(_Edge):
    phases: _Phases | None = Field(None, alias="byPhase")


_Rows = RootModel[list[_Row]]
_Boards = RootModel[dict[str, list[_Row]]]
_LanguageBoards = RootModel[dict[str, _LanguageBoard]]
_Counts = RootModel[dict[str, dict[str, int]]]
_CountsByLanguage = RootModel[dict[str, dict[str, dict[str, int]]]]
_Rates = RootModel[dict[str, dict[str, float | None]]]
_FailedByLanguage = RootModel[dict[str, list[_Failed]]]


def _by(index: int) -> Callable[[str], SliceKey]:
    def key(name: str) -> SliceKey:
        values: list[Any] = list(OVERALL)
        values[index] = name
        return tuple(values)

    return key


def _turns(name: str) -> SliceKey:
    return (None, None, int(name), None, None)


def _turns_and_mode(name: str) -> SliceKey:
    turns, _, mode = name.partition("::")
    return (None, None, int(turns), mode, None)


_BOARDS: dict[str, Callable[[str], SliceKey]] = {
    "leaderboard.by-context-expectation": _by(1),
    "leaderboard.by-context-turn-count": _turns,
    "leaderboard.by-speaker-mode": _by(3),
    "leaderboard.by-context-turn-count-and-speaker-mode": _turns_and_mode,
    "leaderboard.by-primary-phenomenon": _by(4),
}
_COMMON = {
    "leaderboard.by-language.common-cell": _by(0),
    "leaderboard.by-context-expectation.common-cell": _by(1),
}
_OVERALL = ("summary-overall.penalty", "summary-overall.penalty.common-cell", "leaderboard-chart-input")


def read_reports(folder: Path) -> ReportFigures:
    """All figures of the reports in a folder; reports of unknown names are kept as documents only.

    Raises:
        PublishedRunError: a report is broken or not of its form.
    """
    figures = ReportFigures()
    for path in sorted(folder.glob("*.json")):
        document = figures.documents[path.name] = read_json(path, PublishedRunError)
        _read(figures, path, path.name.removesuffix(".json"), document)
    read_csv_reports(folder, figures)
    return figures


def _read(figures: ReportFigures, path: Path, name: str, document: Any) -> None:
    def valid(model: type[Any]) -> Any:
        found = validate(model, document, path, PublishedRunError, by_alias=True)
        return found.root if isinstance(found, RootModel) else found

    if name in _OVERALL:
        _add(figures, path, {"": valid(_Rows)}, lambda _: OVERALL, common=name.endswith("common-cell"))
    elif name in _BOARDS:
        _add(figures, path, valid(_Boards), _BOARDS[name], common=False)
    elif name in _COMMON:
        _add(figures, path, valid(_Boards), _COMMON[name], common=True)
    elif name == "leaderboard.by-language":
        boards = {language: board.leaderboard for language, board in valid(_LanguageBoards).items()}
        _add(figures, path, boards, _by(0), common=False)
    elif name in ("severity-breakdown.by-language", "error-class-breakdown.by-language"):
        counters = figures.severities if name.startswith("severity") else figures.classes
        for language, board in valid(_CountsByLanguage).items():
            counters.update({(participant, language): counts for participant, counts in board.items()})
    elif name == "context-behavior.counts":
        figures.labels = valid(_Counts)
    elif name == "context-behavior.rates":
        figures.rates = {
            participant: {rate: (Fraction(v), DOUBLE) for rate, v in rates.items() if v is not None}
            for participant, rates in valid(_Rates).items()
        }
    elif name == "failed-samples.by-language":
        figures.failed_samples = {
            language: [entry.participant_id for entry in entries]
            for language, entries in valid(_FailedByLanguage).items()
        }
    elif name == "run-status":
        _read_status(figures, path, valid(_Status))
    elif name == "cost-summary":
        phases = valid(_Costs).phases
        cost = phases.judge.cost if phases and phases.judge else None
        figures.judge_cost = None if cost is None else Fraction(str(cost))


def _add(
    figures: ReportFigures,
    path: Path,
    boards: dict[str, list[_Row]],
    key: Callable[[str], SliceKey],
    *,
    common: bool,
) -> None:
    for name, rows in boards.items():
        try:
            place = key(name)
        except ValueError:
            raise PublishedRunError.at(path, "no number of context turns; mend the key", field=name) from None
        figures.rows += [
            Row(
                path.name,
                place,
                common,
                row.participant_id,
                None if row.mean_penalty is None else Fraction(row.mean_penalty),
                DOUBLE,
                row.samples,
                row.failed_samples,
            )
            for row in rows
        ]


def _read_status(figures: ReportFigures, path: Path, status: _Status) -> None:
    figures.totals = Totals(
        status.expected, status.normalised, status.untranslated, status.failure_lines, status.common_cells
    )
    for name, counts in status.judged.items():
        participant, separator, language = name.rpartition("::")
        if not separator:
            raise PublishedRunError.at(path, "is not participant::language; mend the key", field=name)
        figures.judged[participant, language] = (counts.ok, counts.failed)
