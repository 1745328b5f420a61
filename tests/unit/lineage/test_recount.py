"""The second path: that it shares nothing with the first, its weights, and its reading of Markdown."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from pipeline.annotation import AnnotationError
from pipeline.errors import ConfigError
from pipeline.lineage.verify.checks import Findings, compare_json, same, shown_apart
from pipeline.lineage.verify.recount.weights import penalty

ROOT = Path(__file__).parents[3]
RECOUNT = ROOT / "pipeline/lineage/verify/recount"
ENGINES = ("duckdb", "polars", "pyarrow", "pandas", "numpy")
FIRST_PATH = ("pipeline.scoring", "pipeline.reporting", "pipeline.tables")


def module_file(name: str) -> Path | None:
    bare = ROOT.joinpath(*name.split("."))
    return next((p for p in (bare.with_suffix(".py"), bare / "__init__.py") if p.is_file()), None)


def closure() -> set[str]:
    """Names of all modules that the second path can import, at its top or inside of a function."""
    seen: set[str] = set()
    queue = [
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for path in RECOUNT.glob("*.py")
    ]
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        path = module_file(name)
        if not name.startswith("pipeline") or path is None:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                queue += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                queue += [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    return seen


def test_the_second_path_shares_no_code_with_the_first() -> None:
    found = closure()
    assert "pipeline.annotation.text_form" in found, "the walk walks"
    forbidden = [name for name in found if name.split(".")[0] in ENGINES or name.startswith(FIRST_PATH)]
    assert forbidden == []


def test_importing_the_second_path_loads_no_engine() -> None:
    names = [f"pipeline.lineage.verify.recount.{path.stem}" for path in RECOUNT.glob("[a-z]*.py")]
    assert len(names) >= 9
    code = f"import {', '.join(names)}, sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "pipeline.lineage.verify.recount.means" in loaded
    assert [name for name in loaded if name.split(".")[0] in ENGINES or name.startswith(FIRST_PATH)] == []


def errors(*pairs: str) -> list[AnnotationError]:
    return [AnnotationError(*pair.split(" ", 1), span="x") for pair in pairs]


NON, DOT, OTHER = "non-translation", "fluency/punctuation", "other"
WEIGHED = [
    # docs/methodology.md, "Penalties"
    ("context-v1", [], 0),
    ("context-v1", [f"minor {DOT}", f"minor {OTHER}", f"major {OTHER}", f"critical {OTHER}"], 1 + 1 + 5 + 25),
    ("context-v1", [f"critical {NON}"] * 3, 75),
    ("context-v1", [f"minor {NON}"], 1),
    ("gemba-upstream", [f"minor {NON}"], 25),
    ("gemba-upstream", [f"minor {OTHER}"] * 7, 5),
    ("gemba-upstream", [f"minor {OTHER}"] * 5 + [f"major {OTHER}"], 5 + 4),
    ("gemba-upstream", [f"critical {OTHER}", f"major {OTHER}"], 25),
    ("wmt-mqm", [f"minor {DOT}"] * 3, Fraction(3, 10)),
    ("wmt-mqm", [f"major {DOT}", f"critical {DOT}"], 5 + 5),
    ("wmt-mqm", [f"minor {NON}", f"critical {OTHER}", f"minor {OTHER}"], 25 + 5 + 1),
]


@pytest.mark.parametrize(("scheme", "pairs", "points"), WEIGHED)
def test_weights(scheme: str, pairs: list[str], points: Fraction) -> None:
    assert penalty(errors(*pairs), scheme) == points


def test_an_unknown_scheme() -> None:
    with pytest.raises(ConfigError, match="choose from: context-v1, gemba-upstream, wmt-mqm"):
        penalty([], "kind")


SAME = [
    (1, 1, True),
    (1, 2, False),
    (1, True, False),
    (True, 1, False),
    (0, False, False),
    (True, True, True),
    (None, None, True),
    (None, 0, False),
    (0, None, False),
    ("1", 1, False),
    (1.0, 1, False),  # a count is written without a point
    (2, Fraction(2), True),
    (0.3333333333333333, Fraction(1, 3), True),
    (0.33333333333333337, Fraction(1, 3), False),  # the next double
    (0.1 + 0.2, Fraction(3, 10), False),
    (10**400, Fraction(1), False),
    ("a", "a", True),
    ([1], [True], True),  # lists are compared by their parts, see below
]


@pytest.mark.parametrize(("found", "expected", "agree"), SAME)
def test_same(found: object, expected: object, agree: bool) -> None:
    assert same(found, expected) is agree


def test_every_value_of_a_document_is_compared_and_none_is_unknown() -> None:
    findings = Findings()
    found = {"a": [1, True, {"b/c": 1}], "more": 2, "~": None}
    compare_json(findings, "f.json", found, {"a": [1, 1, {"b/c": 2}, 3], "~": None, "less": 0})
    assert [difference.line() for difference in findings.differences] == [
        "f.json#/a/1: is true, must be 1",
        "f.json#/a/2/b~1c: is 1, must be 2",
        "f.json#/a/3: is missing, must be 3",
        "f.json#/less: is missing, must be 0",
        "f.json#/more: is 2, must be not there: an unknown value",
    ]
    assert findings.values == 7


def test_long_texts_are_shown_from_where_they_part() -> None:
    one, other = shown_apart("x" * 500 + "one", "x" * 500 + "two")
    assert one == f'"...{"x" * 40}one"'
    assert other == f'"...{"x" * 40}two"'
    assert Counter(map(len, shown_apart("y" * 999, ""))) == Counter({123: 1, 2: 1})
