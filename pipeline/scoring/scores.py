"""Everything that is computed of a run, in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import polars as pl

from pipeline.scoring.breakdowns import Breakdowns, ReadingQuality, count_breakdowns, count_reading
from pipeline.scoring.costs import ModelCost, judge_costs
from pipeline.scoring.leaderboards import MeanRow, mean_rows, normalised_macro_means
from pipeline.scoring.penalties import compute_penalties
from pipeline.scoring.schemes import Scheme
from pipeline.scoring.status import RunStatus, run_status
from pipeline.tables.facts import RunFacts

_RUN = "SELECT * EXCLUDE (only_row) FROM run"
_PARTICIPANTS = (
    "SELECT participant_id, display_name, provider, model FROM participants ORDER BY participant_index"
)
_LANGUAGES = "SELECT language FROM languages ORDER BY language_index"


@dataclass(frozen=True)
class ScoredParticipant:
    """Table ``participants``, in order."""

    participant_id: str
    display_name: str
    provider: str
    model: str


@dataclass(frozen=True)
class Scores:
    """The numbers of a run under one scheme. ``means`` slices on demand."""

    run: RunFacts
    scheme: str
    languages: tuple[str, ...]
    participants: tuple[ScoredParticipant, ...]
    sums: pl.DataFrame
    breakdowns: Breakdowns
    reading: ReadingQuality
    status: RunStatus
    costs: tuple[ModelCost, ...]

    def means(self, *columns: str, common: bool = False) -> list[MeanRow]:
        """Mean penalties by slice columns; see ``leaderboards.mean_rows``."""
        return mean_rows(
            self.sums,
            columns,
            repeats=self.run.repeats,
            participants=len(self.participants),
            common=common,
        )

    def normalised(self) -> list[float | None]:
        """Normalised macro mean per participant; see ``leaderboards.normalised_macro_means``."""
        return normalised_macro_means(self.means("language"), self.languages, len(self.participants))

    def behavior_rate(self, participant_index: int, expectation: str, label: str) -> float | None:
        """Share of a label among the verdicts on ok cells of items that expect ``expectation``."""
        counts = {
            key[2]: count
            for key, count in self.breakdowns.behaviors.items()
            if key[:2] == (participant_index, expectation)
        }
        total = sum(counts.values())
        return counts.get(label, 0) / total if total else None


def score_run(connection: duckdb.DuckDBPyConnection, scheme: Scheme) -> Scores:
    """Compute all scores of the run whose tables are loaded in ``connection``.

    Creates the temporary tables of ``penalties.sql`` there. Penalties are in points (minor 1, major 5,
    critical 25 under ``context-v1``), rates are shares from 0 to 1, costs are in nano-dollars; the
    formulas stand in docs/methodology.md.

    Raises:
        ValueError: table ``run`` is empty.
    """
    sums = compute_penalties(connection, scheme)
    run = connection.execute(_RUN).fetchone()
    if run is None:
        raise ValueError("table run is empty")
    return Scores(
        run=RunFacts(*run),
        scheme=scheme.name,
        languages=tuple(row[0] for row in connection.execute(_LANGUAGES).fetchall()),
        participants=tuple(ScoredParticipant(*row) for row in connection.execute(_PARTICIPANTS).fetchall()),
        sums=sums,
        breakdowns=count_breakdowns(connection),
        reading=count_reading(connection),
        status=run_status(connection),
        costs=judge_costs(connection),
    )
