"""Imports point one way, modules stay small, and what is public is described: read from the source text."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from pipeline.cli import COMMANDS, cli

ROOT = Path(__file__).parents[2]
LARGEST_MODULE = 400


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(path): path for path in sorted((ROOT / "pipeline").rglob("*.py"))}


@cache
def imported(module: str) -> frozenset[str]:
    """The full names a module imports, at its top or inside of a function, for types or for real."""
    path = MODULES[module]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            found.add(str(node.module))
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


# Packages inside of an area that stand on a layer of their own.
INNER = {"lineage.verify"}


def area(name: str) -> str:
    """``pipeline.scoring.schemes`` -> ``scoring``; ``json.decoder`` -> ``json``."""
    parts = name.split(".")
    if parts[0] == "pipeline" and ".".join(parts[1:3]) in INNER:
        return ".".join(parts[1:3])
    return parts[1] if parts[0] == "pipeline" and len(parts) > 1 else parts[0]


# DESIGN.md: cli -> stages -> (scoring, reporting, lineage, judges) -> (annotation, tables, dataset,
# requests) -> errors. `published` stands beside the stages' parts. An area may import itself and what
# its row names; reporting may import lineage and scoring, lineage scoring, and scoring neither;
# scoring reads tables.
GROUND = {"errors", "canonical", "vocabulary", "layout", "csv_text"}
EDGE = GROUND | {"jsonl", "validation"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "vocabulary": set(),
    "layout": set(),
    "csv_text": set(),
    "canonical": {"errors"},
    "jsonl": {"errors"},
    "validation": {"errors"},
    "dataset": EDGE,
    "yaml_file": EDGE,
    "profiles": EDGE | {"yaml_file"},
    "config": EDGE | {"dataset", "yaml_file"},
    "translations": EDGE | {"dataset", "config"},
    "prompts": EDGE | {"dataset"},
    "requests": EDGE,
    "answers": EDGE,
    "annotation": GROUND,
    "tables": EDGE | {"annotation", "dataset"},
    "scoring": GROUND | {"tables"},
    "judges": EDGE
    | {"annotation", "yaml_file", "answers", "config", "dataset", "profiles", "prompts", "requests"},
    # Lineage reads everything that a run was made from, and renders requests again.
    "lineage": EDGE
    | {"pipeline", "scoring", "tables", "annotation", "answers", "dataset", "judges"}
    | {"profiles", "prompts", "yaml_file"},
    "reporting": GROUND | {"lineage", "scoring"},
}
_PARTS = set(ALLOWED)
ALLOWED["published"] = _PARTS - {
    "judges",
    "config",
    "profiles",
    "prompts",
    "requests",
    "answers",
    "translations",
}
# Stands above all that makes a run, and does without what it checks.
ALLOWED["lineage.verify"] = (_PARTS | {"published"}) - {"scoring", "reporting"}
ALLOWED["stages"] = _PARTS | {"published"}
ALLOWED["commands"] = ALLOWED["stages"] | {"stages", "lineage.verify"}
ALLOWED["cli"] = {"pipeline", "errors", "commands"}
ALLOWED["__main__"] = {"cli"}
ALLOWED["pipeline"] = set()

# Outside libraries that an area must do without: annotation reads text, scoring knows no file
# format, reporting computes no number, the command line starts fast.
FORBIDDEN: dict[str, set[str]] = {
    "annotation": {"duckdb", "polars", "pydantic", "requests", "csv"},
    "scoring": {"json", "csv", "pydantic", "requests", "ruamel", "rich"},
    "reporting": {"duckdb", "polars", "statistics", "math", "requests"},
    "lineage": {"duckdb", "polars", "requests"},
    "tables": {"requests"},
    "cli": {"duckdb", "polars", "pydantic", "requests", "rich", "ruamel", "dvc"},
}


@pytest.mark.parametrize("module", MODULES)
def test_arrows_point_one_way(module: str) -> None:
    here = area(module)
    assert here in ALLOWED, f"{module} has no place among the layers; give it one here and in docs"
    inside = {area(name) for name in imported(module) if name.split(".")[0] == "pipeline" and name in MODULES}
    inside.discard("pipeline" if "pipeline.__version__" not in imported(module) else "")
    assert inside - {here} - ALLOWED[here] == set()


@pytest.mark.parametrize("module", MODULES)
def test_forbidden_libraries(module: str) -> None:
    assert not {area(name) for name in imported(module)} & FORBIDDEN.get(area(module), set())


def test_the_layers_have_no_circle() -> None:
    """An area that is allowed to import another is not reachable from it."""

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        queue = [start]
        while queue:
            new = ALLOWED[queue.pop()] - seen
            seen |= new
            queue += new
        return seen

    assert [name for name in ALLOWED if name in reachable(name)] == []


def test_one_stage_knows_no_other() -> None:
    stages = {name for name in MODULES if name.startswith("pipeline.stages.")}
    assert len(stages) == 6
    for name in stages:
        assert not imported(name) & stages


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_small(module: str) -> None:
    lines = len(MODULES[module].read_text(encoding="utf-8").splitlines())
    assert lines <= LARGEST_MODULE, "holds two things; split it"


@pytest.mark.parametrize("module", MODULES)
def test_what_is_public_has_a_docstring(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the module says what it is"
    public = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
    ]
    assert [node.name for node in public if ast.get_docstring(node) is None] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_under_its_name(name: str) -> None:
    command = cli.commands.get(name) or cli.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    assert command.name == name
