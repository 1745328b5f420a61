"""``dvc.yaml`` against the code: what a stage imports, it depends on; what seal lists is what there is."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pipeline import vocabulary
from pipeline.config import TRANSLATIONS_ROOT, Params
from pipeline.profiles import PROMPT_SET_ROOTS
from pipeline.stages import seal

ROOT = Path(__file__).parents[2]
NAMES = ["render", "judge", "parse", "score", "report", "seal"]


def _yaml(name: str) -> Any:
    return YAML(typ="safe", pure=True).load((ROOT / name).read_text(encoding="utf-8"))


PARAMS = _yaml("params.yaml")
STAGES: dict[str, Any] = _yaml("dvc.yaml")["stages"]


def filled(text: str) -> str:
    """``${judge.profile}`` -> its value in ``params.yaml``, as DVC fills it in."""

    def value(match: re.Match[str]) -> str:
        found = PARAMS
        for key in match[1].split("."):
            found = found[key]
        return str(found)

    return re.sub(r"\$\{([\w.]+)\}", value, text)


def paths(stage: str, *kinds: str) -> list[str]:
    """The paths a stage lists under ``deps``, ``outs``, ``metrics``, with or without options."""
    entries = [entry for kind in kinds for entry in STAGES[stage].get(kind, [])]
    return [filled(entry if isinstance(entry, str) else next(iter(entry))) for entry in entries]


def module_file(name: str) -> str | None:
    """``pipeline.tables.build`` -> its file below the root, if there is such a module."""
    bare = Path(*name.split("."))
    for candidate in (bare.with_suffix(".py"), bare / "__init__.py"):
        if (ROOT / candidate).is_file():
            return candidate.as_posix()
    return None


@cache
def imports_of(file: str) -> frozenset[str]:
    """The files of this package that a file imports, wherever in it, with the packages above them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update({str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)})
    inside = {name for name in names if name.split(".")[0] == "pipeline"}
    inside |= {name.rpartition(".")[0] for name in inside}
    return frozenset(found for name in inside if name and (found := module_file(name)))


# Every stage imports these two; they hold a docstring and the version, as a test below says.
PLAIN = {"pipeline/__init__.py", "pipeline/stages/__init__.py"}


def closure(stage: str) -> set[str]:
    """The files of this package that running a stage can load, with the SQL that stands beside them."""
    seen: set[str] = set()
    queue = [f"pipeline/stages/{stage}.py"]
    while queue:
        file = queue.pop()
        if file not in seen:
            seen.add(file)
            queue += imports_of(file)
    folders = {(ROOT / file).parent for file in seen - PLAIN}
    sql = {path.relative_to(ROOT).as_posix() for folder in folders for path in folder.glob("*.sql")}
    return (seen | sql) - PLAIN


def covers(dep: str, file: str) -> bool:
    return file == dep or file.startswith(f"{dep}/")


def test_the_stages_in_their_order() -> None:
    assert list(STAGES) == NAMES


def test_packages_above_the_stages_do_nothing() -> None:
    for file in PLAIN:
        body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        assert all(isinstance(node, ast.Expr | ast.Assign) for node in body)


@pytest.mark.parametrize("stage", NAMES)
def test_command(stage: str) -> None:
    assert STAGES[stage]["cmd"] == f"python -m pipeline {stage}"


@pytest.mark.parametrize("stage", NAMES)
def test_code_a_stage_imports_is_a_dependency(stage: str) -> None:
    deps = paths(stage, "deps")
    assert [file for file in sorted(closure(stage)) if not any(covers(dep, file) for dep in deps)] == []


@pytest.mark.parametrize("stage", NAMES)
def test_code_a_stage_depends_on_is_imported(stage: str) -> None:
    code = [dep for dep in paths(stage, "deps") if dep.startswith("pipeline")]
    assert [dep for dep in code if not any(covers(dep, file) for file in closure(stage))] == []


@pytest.mark.parametrize("stage", NAMES)
def test_every_dependency_is_there_or_made_before(stage: str) -> None:
    made = [out for before in NAMES[: NAMES.index(stage)] for out in paths(before, "outs", "metrics")]
    for dep in paths(stage, "deps"):
        assert dep in made or (ROOT / dep).exists()
    assert len(paths(stage, "deps")) == len(set(paths(stage, "deps")))


def test_params_named_are_there() -> None:
    for stage in NAMES:
        for name in STAGES[stage].get("params", []):
            filled(f"${{{name}}}")  # KeyError for a name that is none
    assert set(PARAMS) <= set(Params.model_fields)


def test_data_that_configuration_may_name_is_a_dependency() -> None:
    """Profiles and participants can name files only below folders that the stages depend on."""
    for stage in ("render", "judge", "parse"):
        assert set(PROMPT_SET_ROOTS) <= set(paths(stage, "deps"))
    assert TRANSLATIONS_ROOT in paths("render", "deps")


def test_seal_lists_its_dependencies_and_the_outputs_before_it() -> None:
    made = [out for stage in NAMES[:-1] for out in paths(stage, "outs", "metrics")]
    assert [path.as_posix() for path in seal.OUTPUTS] == made
    inputs = [path.as_posix() for path in seal.inputs()]
    assert len(inputs) == len(set(inputs))
    assert set(inputs) == set(paths("seal", "deps")) - set(made)
    assert set(made) <= set(paths("seal", "deps"))


def test_plots_are_outputs() -> None:
    made = [out for stage in NAMES for out in paths(stage, "outs", "metrics")]
    for plot in _yaml("dvc.yaml")["plots"]:
        assert any(covers(out, next(iter(plot))) for out in made)


# The closed lists of schema.sql: (table, column) -> what DESIGN.md, by way of vocabulary.py, allows.
JUDGED = tuple(kind for kind in vocabulary.JUDGE_FAILURES if kind != "unrecorded")
CHECKS: dict[tuple[str, str], tuple[str, ...]] = {
    ("run", "parser_mode"): ("strict", "lenient"),
    ("run", "annotation_form"): ("text", "json"),
    ("items", "speaker_mode"): vocabulary.SPEAKER_MODES,
    ("items", "context_expectation"): vocabulary.CONTEXT_EXPECTATIONS,
    ("turns", "speaker_role"): vocabulary.SPEAKER_ROLES,
    ("annotations", "status"): ("ok", *JUDGED),
    ("annotations", "context_behavior"): vocabulary.CONTEXT_BEHAVIORS,
    ("annotation_errors", "severity"): vocabulary.SEVERITIES,
    ("annotation_errors", "error_class"): vocabulary.ERROR_CLASSES,
    ("cells", "status"): vocabulary.CELL_STATUSES,
    ("cells", "judge_failure"): vocabulary.JUDGE_FAILURES,
    ("spans", "location"): vocabulary.SPAN_LOCATIONS,
}


def test_schema_checks_are_the_vocabulary() -> None:
    schema = re.sub(r"--.*", "", (ROOT / "pipeline/tables/schema.sql").read_text(encoding="utf-8"))
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for table in re.finditer(r"CREATE TABLE (\w+) \((.*?)\n\);", schema, re.DOTALL):
        for check in re.finditer(r"^ +(\w+) [^,]*?CHECK \(\1 IN \(([^)]*)\)\)", table[2], re.M):
            found[table[1], check[1]] = tuple(re.findall(r"'([^']*)'", check[2]))
    assert found == CHECKS
    counts = re.search(r"context_turn_count BETWEEN (\d) AND (\d)", schema)
    assert counts is not None
    assert tuple(range(int(counts[1]), int(counts[2]) + 1)) == vocabulary.CONTEXT_TURN_COUNTS


# Copied from the design's section "Words", in its order.
WORDS: list[tuple[tuple[str, ...], str]] = [
    (vocabulary.SEVERITIES, "critical, major, minor"),
    (vocabulary.CONTEXT_EXPECTATIONS, "use, ignore"),
    (vocabulary.SPEAKER_MODES, "single, dyadic"),
    (
        vocabulary.CONTEXT_BEHAVIORS,
        "used_correctly, missed_required_context, ignored_irrelevant_context, misused_context, unclear",
    ),
    (
        vocabulary.ERROR_CLASSES,
        "accuracy/addition, accuracy/mistranslation, accuracy/omission, accuracy/untranslated text, "
        "fluency/character encoding, fluency/grammar, fluency/inconsistency, fluency/punctuation, "
        "fluency/register, fluency/spelling, style/awkward, terminology/inappropriate for context, "
        "terminology/inconsistent use, non-translation, other",
    ),
    (
        vocabulary.PHENOMENA_BY_EXPECTATION["use"],
        "referent_resolution, ellipsis_completion, sense_disambiguation, pragmatic_intent_resolution, "
        "register_carryover, temporal_or_causal_linkage",
    ),
    (
        vocabulary.PHENOMENA_BY_EXPECTATION["ignore"],
        "topic_shift_independence, false_lead_trap, stale_context_resistance, metadata_nonliteral_resistance",
    ),
    (vocabulary.CELL_STATUSES, "ok, judge_failed, translation_failed, translation_missing"),
]


@pytest.mark.parametrize(("words", "design"), WORDS, ids=[design[:20] for _, design in WORDS])
def test_vocabulary_is_the_design(words: tuple[str, ...], design: str) -> None:
    assert ", ".join(words) == design
