"""Files of one line per cell into the staging tables: read and checked set-wise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import duckdb

from pipeline.errors import PublishedRunError, one_line
from pipeline.jsonl import read_json_lines
from pipeline.published.source import RAW_ANSWERS, TRANSLATIONS, PublishedRun
from pipeline.tables.database import literal_path

# A text column is read as JSON, so that a number in place of a text is seen as one.
_READ_ANSWERS = """
CREATE TEMP TABLE published_lines AS
SELECT
    stable_key, source_id, target_language,
    CASE WHEN starts_with(raw_judge_output, '"') THEN raw_judge_output ->> '$' END AS text,
    split_part(stable_key, '::', 1) AS run_id, split_part(stable_key, '::', 2) AS item_id,
    split_part(stable_key, '::', 3) AS language, split_part(stable_key, '::', 4) AS participant_id
FROM read_json(
    $path, format = 'newline_delimited', columns = {
        stable_key: 'VARCHAR', source_id: 'VARCHAR', target_language: 'VARCHAR', raw_judge_output: 'JSON'})
"""

_READ_TRANSLATIONS = """
CREATE TEMP TABLE published_lines AS
SELECT
    stable_key, source_id, target_language,
    CASE WHEN starts_with(translation, '"') THEN translation ->> '$' END AS text,
    split_part(stable_key, '::', 1) AS run_id, split_part(stable_key, '::', 2) AS item_id,
    split_part(stable_key, '::', 3) AS language, split_part(stable_key, '::', 4) AS participant_id
FROM read_json(
    $path, format = 'newline_delimited', columns = {
        stable_key: 'VARCHAR', source_id: 'VARCHAR', target_language: 'VARCHAR', translation: 'JSON'})
"""

# The first broken line by stable key, with what is wrong; no row where all is well.
_FIRST_PROBLEM = """
SELECT stable_key, problem
FROM (
    SELECT
        stable_key,
        CASE
            WHEN stable_key IS NULL THEN 'a line has no stable_key; each line needs one'
            WHEN stable_key <> concat_ws('::', run_id, item_id, language, participant_id)
                THEN 'is not run::item::language::participant'
            WHEN run_id <> $run_id THEN 'names another run than the manifest'
            WHEN item_index IS NULL THEN 'names an item that the dataset does not hold'
            WHEN language_index IS NULL THEN 'names a language that the manifest does not list'
            WHEN participant_index IS NULL THEN 'names a participant that the manifest does not list'
            WHEN source_id <> item_id OR target_language <> language
                THEN 'disagrees with the source_id or target_language beside it'
            WHEN text IS NULL THEN 'has no ' || $text_field || ', or one that is no text'
        END AS problem
    FROM published_lines
    LEFT JOIN items USING (item_id)
    LEFT JOIN languages USING (language)
    LEFT JOIN participants USING (participant_id)
)
WHERE problem IS NOT NULL
ORDER BY stable_key NULLS FIRST
LIMIT 1
"""

_FIRST_DUPLICATE = """
SELECT stable_key
FROM published_lines
GROUP BY item_id, language, participant_id, stable_key
HAVING count(*) > 1
ORDER BY stable_key
LIMIT 1
"""

_STAGE_ANSWERS = """
INSERT INTO staged_answers
SELECT item_id, language, participant_id, 0, text, NULL FROM published_lines;
DROP TABLE published_lines
"""

_STAGE_TRANSLATIONS = """
INSERT INTO staged_cells
SELECT item_id, language, participant_id, text, NULL, NULL FROM published_lines;
DROP TABLE published_lines
"""


@dataclass(frozen=True)
class Lines:
    """A file of one line per cell: how it is read into ``published_lines``, and staged from there."""

    file: str
    text_field: str
    read: str
    stage: str


ANSWERS = Lines(RAW_ANSWERS, "raw_judge_output", _READ_ANSWERS, _STAGE_ANSWERS)
TRANSLATED = Lines(TRANSLATIONS, "translation", _READ_TRANSLATIONS, _STAGE_TRANSLATIONS)


def stage_lines(connection: duckdb.DuckDBPyConnection, run: PublishedRun, lines: Lines) -> None:
    """Read one of the run's files into its staging table; ``items`` and the like are filled.

    Raises:
        PublishedRunError: names the line that is broken, stands twice, or names what is not there.
    """
    path = run.path(lines.file)
    try:
        connection.execute(lines.read, {"path": literal_path(path)})
    except duckdb.Error as problem:
        _raise_for_broken_line(path)
        detail = one_line(str(problem))[:300]
        raise PublishedRunError.at(path, f"not JSON lines of the published form: {detail}") from problem
    parameters = {"run_id": run.manifest.run_id, "text_field": lines.text_field}
    found = connection.execute(_FIRST_PROBLEM, parameters).fetchone()
    if found:
        _raise_for_line(path, found[0], f"{found[1]}; mend or remove the line")
    found = connection.execute(_FIRST_DUPLICATE).fetchone()
    if found:
        _raise_for_line(path, found[0], "stands twice; remove one of the lines", which=2)
    connection.execute(lines.stage)


def _raise_for_broken_line(path: Path) -> None:
    for _ in read_json_lines(path, PublishedRunError):
        pass


def _raise_for_line(path: Path, key: str | None, problem: str, *, which: int = 1) -> NoReturn:
    """Name the line: set-wise reading is fast but does not count lines, so read again."""
    for line, row in read_json_lines(path, PublishedRunError):
        if row.get("stable_key") == key and (which := which - 1) == 0:
            raise PublishedRunError.at(path, problem, line=line, field=key or "stable_key")
    raise PublishedRunError.at(path, problem, field=key or "stable_key")
