"""What a claims file may not say, each with the message that names the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import ConfigError
from pipeline.published.claims.model import read_claims

MEAN = {"function": "mean_penalty"}
COUNT = {"function": "cell_count", "status": "ok"}


def claim(**changes: Any) -> dict[str, Any]:
    base = {"id": "one", "kind": "value", "printed": "1.5", "compute": MEAN | {"participant": "alpha"},
            "printed_in": [{"document": "page", "place": "row 1"}]}  # fmt: skip
    return {name: value for name, value in (base | changes).items() if value is not None}


def read(folder: Path, *claims: dict[str, Any], **changes: Any) -> Any:
    document = {"experiment": "own", "rounding": "half_up", "documents": {"page": {"path": "README.md"}},
                "claims": list(claims)} | changes  # fmt: skip
    path = folder / "claims.json"
    path.write_text(json.dumps(document), "utf-8")
    return read_claims(path, "own", ["alpha", "beta"], ["en", "ja"])


def test_a_good_file(tmp_path: Path) -> None:
    (found,) = read(tmp_path, claim()).claims
    assert found.chain[0].function == "mean_penalty"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown kind": (claim(kind="guess"), "kind"),
    "an unknown function": (claim(compute={"function": "median"}), "compute"),
    "an unknown argument": (claim(compute=MEAN | {"model": "x"}), "model"),
    "no such status": (claim(kind="count", printed="1", compute=COUNT | {"status": "good"}), "status"),
    "turns out of range": (claim(compute=MEAN | {"turns": 4}), "turns"),
    "a text that is no number": (claim(printed="about 1"), "is no printed number"),
    "a count with places": (claim(kind="count", compute=COUNT), "a count is printed as a whole number"),
    "a count of a mean": (claim(kind="count", printed="1"), "a count is computed by cell_count"),
    "a difference that is none": (claim(kind="difference"), "a difference is computed by difference"),
    "an ordering without over": (
        claim(kind="ordering", printed="alpha < beta", compute=MEAN), "needs 'over'"),
    "an ordering of one": (
        claim(kind="ordering", printed="alpha", compute=MEAN, over="participant"), "distinct names"),
    "an ordering with a name twice": (
        claim(kind="ordering", printed="alpha < alpha", compute=MEAN, over="participant"), "distinct names"),
    "over where nothing runs": (
        claim(kind="largest", printed="alpha", over="participant"), "nothing runs"),
    "over on a value": (claim(over="participant"), "'over' has no meaning for a value"),
    "among alone": (claim(kind="bound", printed="< 1", among=["alpha"]), "'among' needs 'over'"),
    "every of one function": (
        claim(kind="every", printed="every", compute=MEAN, over="participant"), "is computed by a list"),
    "a list for a value": (claim(compute=[MEAN, MEAN]), "'every' is computed by a list"),
    "every in other words": (
        claim(kind="every", printed="all", compute=[MEAN, MEAN], over="participant"), "the word every"),
    "a range that is none": (
        claim(kind="range", printed="1", compute=MEAN, over="participant"), "is no range"),
    "a bound that is none": (claim(kind="bound", printed="1"), "is no bound"),
    "an unknown document": (
        claim(printed_in=[{"document": "book", "place": "page 1"}]), "names the document 'book'"),
    "printed nowhere": (claim(printed_in=[]), "printed_in"),
    "an unknown participant": (
        claim(compute=MEAN | {"participant": "gamma"}), "one: names the participant 'gamma'"),
    "an unknown language": (claim(compute=MEAN | {"language": "ko"}), "names the language 'ko'"),
    "an unknown name in an ordering": (
        claim(kind="ordering", printed="alpha < gamma", compute=MEAN, over="participant"), "'gamma'"),
    "an unknown winner": (
        claim(kind="largest", printed="gamma", compute=MEAN, over="participant"), "'gamma'"),
    "an unknown pair": (
        claim(kind="count", printed="1", compute={
            "function": "paired_count", "a": "alpha", "b": "gamma", "outcome": "pairs"}), "'gamma'"),
    "a participant beside a pair": (
        claim(kind="count", printed="1", compute={
            "function": "paired_count", "a": "alpha", "b": "beta", "outcome": "pairs",
            "participant": "alpha"}), "participant"),
    "an id with a space": (claim(id="a claim"), "id"),
}  # fmt: skip


@pytest.mark.parametrize(("one", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(tmp_path: Path, one: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as found:
        read(tmp_path, one)
    assert message in str(found.value)
    assert "claims.json" in str(found.value)
    assert "\n" not in str(found.value)


def test_ids_are_unique(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'one' stands twice"):
        read(tmp_path, claim(), claim())


def test_the_file_is_of_its_experiment(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is of 'other', not of 'own'"):
        read(tmp_path, claim(), experiment="other")
