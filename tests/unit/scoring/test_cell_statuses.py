"""How every expected cell ends: the rules of the design's sixth contract, own and imported runs."""

from __future__ import annotations

import pytest
from tiny_run import CLEAN, TinyRun, answer, item

from pipeline.errors import PipelineError

CELL = ("i1", "en", "p1")
NO_SECTION = "Critical:\nno-error\ncontextBehavior: unclear"
NO_LABEL = CLEAN.rsplit("\n", 1)[0]
BAD_CLASS = CLEAN.replace("Minor:\nno-error", 'Minor:\nhumour - "x"')

# what is known of the cell -> status, judge failure, translation failure that the cell keeps
OWN = [
    ("nothing", {}, ("translation_missing", None, None)),
    ("failure", {"failure": "timeout"}, ("translation_failed", None, "timeout")),
    ("translation", {"translation": "Hi."}, ("judge_failed", "unrecorded", None)),
    ("valid answer", {"translation": "Hi.", "answer": CLEAN}, ("ok", None, None)),
    ("answer alone", {"answer": CLEAN}, ("ok", None, None)),
    (
        "failure overtaken by a translation",
        {"failure": "timeout", "translation": "Hi."},
        ("judge_failed", "unrecorded", None),
    ),
    (
        "failed, then translated and judged",
        {"failure": "timeout", "translation": "Hi.", "answer": CLEAN},
        ("ok", None, None),
    ),
    ("failed and answered", {"failure": "timeout", "answer": CLEAN}, ("ok", None, None)),
    (
        "failed and answered in vain",
        {"failure": "timeout", "answer": "Sorry."},
        ("judge_failed", "refusal", None),
    ),
    ("empty", {"translation": "Hi.", "answer": "  \n"}, ("judge_failed", "empty", None)),
    ("refusal", {"translation": "Hi.", "answer": "I'm sorry, I cannot."}, ("judge_failed", "refusal", None)),
    ("truncated", {"translation": "Hi.", "answer": (CLEAN, "length")}, ("judge_failed", "truncated", None)),
    (
        "filtered",
        {"translation": "Hi.", "answer": ("", "content_filter")},
        ("judge_failed", "filtered", None),
    ),
    ("malformed", {"translation": "Hi.", "answer": "Fine!"}, ("judge_failed", "malformed", None)),
    ("unknown class", {"translation": "Hi.", "answer": BAD_CLASS}, ("judge_failed", "unknown_class", None)),
    (
        "missing section",
        {"translation": "Hi.", "answer": NO_SECTION},
        ("judge_failed", "missing_section", None),
    ),
    (
        "missing label",
        {"translation": "Hi.", "answer": NO_LABEL},
        ("judge_failed", "missing_context_behavior", None),
    ),
]

# An imported run that kept no translations: a cell with neither answer nor failure was translated
# and judged, and the judge's answer is lost.
IMPORTED = [
    ("nothing", {}, ("judge_failed", "unrecorded", None)),
    ("failure", {"failure": "timeout"}, ("translation_failed", None, "timeout")),
    ("valid answer", {"answer": CLEAN}, ("ok", None, None)),
    ("failed and answered", {"failure": "timeout", "answer": CLEAN}, ("ok", None, None)),
]


@pytest.mark.parametrize(("known", "expected"), [case[1:] for case in OWN], ids=[case[0] for case in OWN])
def test_own_runs(known: dict[str, str], expected: tuple[str | None, ...]) -> None:
    assert _cell(known, translations_known=True) == expected


@pytest.mark.parametrize(
    ("known", "expected"), [case[1:] for case in IMPORTED], ids=[case[0] for case in IMPORTED]
)
def test_imported_runs(known: dict[str, str], expected: tuple[str | None, ...]) -> None:
    assert _cell(known, translations_known=False) == expected


def _cell(known: dict[str, str], *, translations_known: bool) -> tuple[str | None, ...]:
    run = TinyRun(translations_known=translations_known)
    if "translation" in known:
        run.translations[CELL] = known["translation"]
    if "failure" in known:
        run.failures[CELL] = known["failure"]
        run.history = [(CELL, known["failure"])]
    if "answer" in known:
        run.answers[CELL] = [known["answer"]]
    query = "SELECT status, judge_failure, translation_failure FROM cells"
    with run.tables() as connection:
        (row,) = connection.execute(query).fetchall()
        # Whatever overtook it: that it once failed stays on record.
        failures = connection.execute("SELECT count(*) FROM translation_failures").fetchone()
    assert failures == (len(run.history),)
    return tuple(row)


def test_every_expected_cell_is_there_in_a_stable_order() -> None:
    run = TinyRun(
        items=[item("i2"), item("i1")],
        languages=["ja", "en"],
        participants=["p2", "p1"],
        answers={("i1", "en", "p2"): [CLEAN]},
    )
    query = "SELECT cell_id, item_id, language, participant_id, status FROM cell_list ORDER BY cell_id"
    with run.tables() as connection:
        from pipeline.tables.database import sql_file

        connection.execute(sql_file("views.sql"))
        rows = connection.execute(query).fetchall()
    # Items, then languages, then participants, each in the run's own order.
    names = [(i, lang, p) for i in ("i2", "i1") for lang in ("ja", "en") for p in ("p2", "p1")]
    assert rows == [
        (index, *cell, "ok" if cell == ("i1", "en", "p2") else "translation_missing")
        for index, cell in enumerate(names)
    ]


def test_a_run_is_valid_only_if_every_cell_is_ok() -> None:
    assert TinyRun(answers={CELL: [CLEAN]}).scores().status.benchmark_valid is True
    for incomplete in (TinyRun(), TinyRun(answers={CELL: ["?"]}), TinyRun(failures={CELL: "no"})):
        assert incomplete.scores().status.benchmark_valid is False


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_answers_than_repeats_is_an_error(count: int) -> None:
    run = TinyRun(repeats=2, answers={CELL: [CLEAN] * count})
    with pytest.raises(PipelineError, match=rf"^cell i1 en p1 has {count} answers where 2 belong; run"):
        run.scores()


def test_cells_of_equal_requests_are_counted() -> None:
    cells = [("i1", "en", "p1"), ("i1", "en", "p2"), ("i1", "en", "p3"), ("i1", "en", "p4")]
    run = TinyRun(
        participants=["p1", "p2", "p3", "p4"],
        answers={cell: [CLEAN] for cell in cells},
        request_hashes=dict(zip(cells, ("a" * 64, "b" * 64, "a" * 64, "a" * 64), strict=True)),
    )
    status = run.scores().status
    assert (status.cells_sharing_a_request, status.requests_shared) == (3, 1)


def test_equal_requests_may_have_different_answers() -> None:
    # Imported runs hold such: answers belong to cells, not to requests.
    cells = [("i1", "en", "p1"), ("i1", "en", "p2")]
    run = TinyRun(
        participants=["p1", "p2"],
        answers={cells[0]: [CLEAN], cells[1]: [answer(major=("other",))]},
        request_hashes=dict.fromkeys(cells, "a" * 64),
    )
    assert [row.mean_penalty for row in run.scores().means()] == [0.0, 5.0]
