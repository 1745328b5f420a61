"""Exported tables: loaded back the same, from any folder, whole or not at all, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tiny_run import CLEAN, TinyRun, answer, item

from pipeline.errors import ConfigError, StorageError, TablesError
from pipeline.tables.database import TABLES, connect, export_tables, load_tables

REPOSITORY = Path(__file__).parents[3]
RUN = TinyRun(
    items=[item("i1"), item("i2", "ignore", turns=2, mode="dyadic")],
    participants=["p1", "p2"],
    answers={("i1", "en", "p1"): [answer(minor=("other",), span="Hi")], ("i2", "en", "p1"): [CLEAN]},
    translations={("i1", "en", "p1"): "Hi, Hi"},
    history=[(("i1", "en", "p2"), "timeout")],
    failures={("i1", "en", "p2"): "timeout"},
    attempts=[("a" * 64, 0, 0, True, 1, "b", 200, "stop", "m", 1, 2, None, 3)],
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "tables"
    with RUN.tables() as connection:
        export_tables(connection, folder)
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(exported, tmp_path / "tables"))


def _rows(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[object, ...]]]:
    return {table: connection.execute(f"FROM {table}").fetchall() for table in TABLES}


@pytest.fixture(scope="module")
def rows() -> dict[str, list[tuple[object, ...]]]:
    with RUN.tables() as connection:
        found = _rows(connection)
    assert all(found.values()), "a table without rows would prove nothing"
    return found


def _load(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    with connect() as connection:
        load_tables(connection, folder)
        return _rows(connection)


def test_the_folder_holds_one_file_a_table(exported: Path) -> None:
    names = {path.name for path in exported.iterdir()}
    assert names == {"schema.sql", "load.sql"} | {f"{table}.parquet" for table in TABLES}
    assert not (exported.parent / ".tables").exists()


def test_load_sql_names_bare_files_in_the_order_of_references(exported: Path) -> None:
    assert (exported / "load.sql").read_text().splitlines() == [
        f"COPY {table} FROM '{table}.parquet' (FORMAT 'parquet');" for table in TABLES
    ]
    for name in ("schema.sql", "load.sql"):
        assert str(exported.parent) not in (exported / name).read_text()


def test_loading_gives_the_same_rows_in_the_same_order(
    exported: Path, rows: dict[str, list[tuple[object, ...]]]
) -> None:
    assert _load(exported) == rows


def test_a_moved_folder_can_be_imported_by_duckdb_itself(
    folder: Path, tmp_path: Path, rows: dict[str, list[tuple[object, ...]]]
) -> None:
    moved = folder.rename(tmp_path / "else where")
    with duckdb.connect() as connection:
        connection.execute(f"IMPORT DATABASE '{moved}'")
        assert _rows(connection) == rows


NAMES = [
    "it's a run",
    'a "quoted" run',
    "run[1]",
    "r*n",
    "r?n",
    "빵 집",
    "%20 #1;",
    "x.parquet'' (FORMAT 'csv')",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_folder_name(name: str, tmp_path: Path, rows: dict[str, list[tuple[object, ...]]]) -> None:
    # As a pattern, run[1] is run1 and r*n and r?n are run: what stands there must not be read.
    for other in ("run1", "run"):
        with TinyRun(run_name="another run").tables() as connection:
            export_tables(connection, tmp_path / other / "tables")
    target = tmp_path / name / "tables"
    with RUN.tables() as connection:
        export_tables(connection, target)
    assert (target / "load.sql").read_text().startswith("COPY run FROM 'run.parquet' (")
    assert _load(target) == rows


def test_a_new_export_takes_the_place_of_the_old(folder: Path) -> None:
    (folder / "left-over.parquet").write_text("old")
    with TinyRun(run_name="newer").tables() as connection:
        export_tables(connection, folder)
    assert _load(folder)["run"][0][2] == "newer"
    assert not (folder / "left-over.parquet").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["tables"]


def test_a_failing_export_leaves_the_old_one(folder: Path, rows: dict[str, list[tuple[object, ...]]]) -> None:
    closed = duckdb.connect()
    closed.close()
    with pytest.raises(duckdb.Error):
        export_tables(closed, folder)
    assert _load(folder) == rows
    assert [path.name for path in folder.parent.iterdir()] == ["tables"]


FULL_DISK = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tiny_run import CLEAN, TinyRun
from pipeline.errors import StorageError
from pipeline.tables.database import export_tables
run = TinyRun(answers={("i1", "en", "p1"): ["a" * 100 + CLEAN]})
with run.tables() as connection:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    try:
        export_tables(connection, Path(sys.argv[2]))
    except StorageError as error:
        print(error)
"""


def test_a_full_disk_is_one_line_and_leaves_the_old_export(
    folder: Path, rows: dict[str, list[tuple[object, ...]]]
) -> None:
    # A limit on file sizes fails a write as a full disk does.
    scoring = Path(__file__).parents[1] / "scoring"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(scoring), str(folder)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith(f"cannot write tables to {folder}: "), done.stderr
    assert done.stdout.count("\n") == 1 and done.stdout.endswith("; make room\n")
    assert _load(folder) == rows
    assert [path.name for path in folder.parent.iterdir()] == ["tables"]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with RUN.tables() as connection:
        with pytest.raises(StorageError, match=r"^cannot write .*file/tables: Not a directory|File exists"):
            export_tables(connection, tmp_path / "file" / "tables")
        with pytest.raises(StorageError, match=r"file is a file where a folder belongs; move it away$"):
            export_tables(connection, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "x"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def _refused(folder: Path) -> str:
    with pytest.raises(TablesError) as caught:
        _load(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["schema.sql", "load.sql", "cells.parquet"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert _refused(folder) == f"{folder / name}: missing; run `dvc repro parse` to make the tables"


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"PAR1PAR1", b"not parquet at all" * 10])
def test_a_file_that_is_no_parquet(folder: Path, damage: bytes) -> None:
    (folder / "cells.parquet").write_bytes(damage)
    assert _refused(folder).startswith(f"{folder}: cannot be loaded (")


def test_a_truncated_file(folder: Path) -> None:
    path = folder / "annotations.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert "cannot be loaded" in _refused(folder)


@pytest.mark.parametrize("step", range(0, 40, 3))
def test_a_flipped_byte_never_gives_a_traceback(folder: Path, step: int) -> None:
    path = folder / "cells.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) * step // 40] ^= 0xFF
    path.write_bytes(data)
    try:
        _load(folder)  # nothing in Parquet's pages guards a value, so some flips go unseen
    except TablesError as error:
        assert "\n" not in str(error)


OTHER_VERSIONS = {
    "a column less": "SELECT * EXCLUDE (request_hash) FROM cells",
    "a column more": "SELECT *, 1 AS more FROM cells",
    "a column renamed": "SELECT * RENAME (request_hash AS hash) FROM cells",
    "columns in another order": "SELECT request_hash, * EXCLUDE (request_hash) FROM cells",
}


@pytest.mark.parametrize("query", OTHER_VERSIONS.values(), ids=OTHER_VERSIONS.keys())
def test_tables_of_another_version(folder: Path, query: str) -> None:
    _rewrite(folder / "cells.parquet", query)
    message = _refused(folder)
    assert message.startswith(f"{folder / 'cells.parquet'}: of another version: its columns are ")
    assert message.endswith("; build the tables anew")


BAD_ROWS = {
    "status": "SELECT * REPLACE ('fine' AS status) FROM cells",
    "duplicates": "SELECT * FROM cells UNION ALL SELECT * FROM cells",
    "reference": "SELECT * REPLACE (99 AS item_index) FROM cells",
    "type": "SELECT * REPLACE ('x' AS item_index) FROM cells",
}


@pytest.mark.parametrize("query", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_rows_that_break_a_constraint(folder: Path, query: str) -> None:
    _rewrite(folder / "cells.parquet", query)
    assert "cannot be loaded" in _refused(folder)


def test_tables_without_a_run(folder: Path) -> None:
    _rewrite(folder / "run.parquet", "SELECT * FROM run WHERE false")
    assert _refused(folder) == f"{folder / 'run.parquet'}: holds no run; build the tables anew"


def test_sql_that_stands_in_the_folder_is_not_run(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim.csv"
    for name in ("load.sql", "schema.sql"):
        (folder / name).write_text(f"COPY (SELECT 1) TO '{victim}';\n")
    _load(folder)
    assert not victim.exists()


def _rewrite(path: Path, query: str) -> None:
    with RUN.tables() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", "９", "9" * 30, "1;SELECT"])
def test_a_wrong_number_of_threads(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXEVAL_THREADS", given)
    with (
        pytest.raises(ConfigError, match=r"^CTXEVAL_THREADS is .*; give a whole number of threads from 1"),
        connect(),
    ):
        pass


def test_threads_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXEVAL_THREADS", "1")
    with connect() as connection:
        assert connection.execute("SELECT current_setting('threads')").fetchone() == (1,)
