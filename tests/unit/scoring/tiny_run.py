"""Tiny runs, built the way every run is built: staged inputs, then ``pipeline.tables.build``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import duckdb
import polars as pl

from pipeline.dataset import Dataset, Item, Turn
from pipeline.scoring.schemes import scheme_named
from pipeline.scoring.scores import Scores, score_run
from pipeline.tables.build import ParticipantRow, build, create_staging, insert_design
from pipeline.tables.database import connect, create_schema
from pipeline.tables.facts import RunFacts
from pipeline.tables.frames import insert_frame

_POLARS = {"VARCHAR": pl.String, "INTEGER": pl.Int32, "BIGINT": pl.Int64, "BOOLEAN": pl.Boolean}

Cell = tuple[str, str, str]
"""(item, language, participant)"""


def answer(
    *,
    critical: tuple[str, ...] = (),
    major: tuple[str, ...] = (),
    minor: tuple[str, ...] = (),
    label: str = "used_correctly",
    span: str = "x",
) -> str:
    """A judge's answer in the text form, with errors of the given classes, all on one span."""
    lines = []
    for heading, classes in (("Critical", critical), ("Major", major), ("Minor", minor)):
        lines.append(f"{heading}:")
        lines += [f'{name} - "{span}"' for name in classes] or ["no-error"]
    return "\n".join([*lines, f"contextBehavior: {label}"])


CLEAN = answer()


def item(
    name: str,
    expectation: str = "use",
    turns: int = 1,
    mode: str = "single",
    phenomenon: str = "",
    source: str = "밥 먹었어?",
) -> Item:
    """A dataset item; the phenomenon is the first of its expectation unless given."""
    usual = {"use": "referent_resolution", "ignore": "false_lead_trap"}[expectation]
    first = "other" if mode == "dyadic" else "self"
    return Item(
        sample_id=name,
        context_turn_count=turns,
        speaker_mode=mode,
        context_expectation=expectation,
        primary_phenomenon=phenomenon or usual,
        context_turns=[
            Turn(speaker_role="self" if number else first, source_text=f"말 {number}")
            for number in range(turns)
        ],
        current_source=Turn(speaker_role="self", source_text=source),
    )


@dataclass
class TinyRun:
    """What a run is made from. A cell that stands nowhere here is one nothing is known of.

    ``answers`` holds each cell's texts by repeat; a text may be a pair with its finish reason.
    """

    items: list[Item] = field(default_factory=lambda: [item("i1")])
    languages: list[str] = field(default_factory=lambda: ["en"])
    participants: list[str] = field(default_factory=lambda: ["p1"])
    answers: dict[Cell, list[str | tuple[str, str]]] = field(default_factory=dict)
    translations: dict[Cell, str] = field(default_factory=dict)
    failures: dict[Cell, str] = field(default_factory=dict)
    history: list[tuple[Cell, str]] = field(default_factory=list)
    request_hashes: dict[Cell, str] = field(default_factory=dict)
    attempts: list[tuple[object, ...]] = field(default_factory=list)
    display_names: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    repeats: int = 1
    translations_known: bool = True
    parser_mode: str = "strict"
    form: str = "text"
    run_name: str = "tiny"
    judge_model: str = "model"

    @contextlib.contextmanager
    def tables(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection with the run's tables in it."""
        with connect() as connection:
            create_schema(connection)
            insert_design(
                connection,
                Dataset(tuple(self.items), "d" * 64, "e" * 64),
                self.languages,
                [
                    ParticipantRow(name, self.display_names.get(name, name), "provider", self._model(name))
                    for name in self.participants
                ],
            )
            create_staging(connection)
            self._stage(connection)
            build(connection, self._facts(), translations_known=self.translations_known)
            yield connection

    def scores(self, scheme: str = "context-v1") -> Scores:
        """The run's scores under a named scheme."""
        with self.tables() as connection:
            return score_run(connection, scheme_named(scheme))

    def _model(self, participant: str) -> str:
        return self.models.get(participant, f"model of {participant}")

    def _stage(self, connection: duckdb.DuckDBPyConnection) -> None:
        known = [*self.translations, *self.failures, *self.request_hashes]
        cells = [
            (*cell, self.translations.get(cell), self.failures.get(cell), self.request_hashes.get(cell))
            for cell in dict.fromkeys(known)
        ]
        answers = [
            (*cell, repeat, *(text if isinstance(text, tuple) else (text, None)))
            for cell, texts in self.answers.items()
            for repeat, text in enumerate(texts)
        ]
        history = [(index, *cell, reason) for index, (cell, reason) in enumerate(self.history)]
        for table, rows in (
            ("staged_cells", cells),
            ("staged_answers", answers),
            ("staged_translation_failures", history),
            ("staged_attempts", self.attempts),
        ):
            cursor = connection.execute(f"SELECT * FROM {table}")  # noqa: S608
            columns = {name: _POLARS[str(kind)] for name, kind, *_ in cursor.description or ()}
            frame = pl.DataFrame(rows, schema=columns, orient="row")
            insert_frame(connection, table, frame, order_by="file_row_number")

    def _facts(self) -> RunFacts:
        return RunFacts(
            run_id="a" * 64,
            run_name=self.run_name,
            dataset_fingerprint="d" * 64,
            dataset_sha256="e" * 64,
            prompt_set_id="prompts",
            prompt_set_sha256=None,
            judge_profile=None,
            judge_description="",
            judge_backend="backend",
            judge_model=self.judge_model,
            reasoning_effort="default",
            repeats=self.repeats,
            parser_mode=self.parser_mode,
            annotation_form=self.form,
        )
