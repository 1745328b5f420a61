"""Prompt sets: what is refused, and that no value can end its block or be taken for the template."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_project import items, lines, put

from pipeline.dataset import Item
from pipeline.errors import PromptError
from pipeline.prompts import PromptSet, cell_variables, check_variables, fence, read_prompt_set

REPOSITORY = Path(__file__).parents[2]
SHIPPED = [
    REPOSITORY / "data/judge-prompts/gemba-mqm-context-v1",
    REPOSITORY / "experiments/2026-04-gemini-context-v2-archived/judge-prompts",
]
VARIABLES = {
    "source_language": "Korean",
    "target_language": "English",
    "context": "[1] self: 할머니가 오셨어.",
    "source": "벌써 가셨어.",
    "translation": "She has left.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED[0], tmp_path / "prompts"))


def refusal(folder: Path, file: str) -> str:
    with pytest.raises(PromptError) as caught:
        read_prompt_set(folder)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(f"{folder / file}:")
    return message.removeprefix(f"{folder / file}:")


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    put(folder / file, text.replace(old, new))


@pytest.mark.parametrize("folder", SHIPPED, ids=["text form", "json form"])
def test_shipped_sets_are_read(folder: Path) -> None:
    prompt_set = read_prompt_set(folder)
    assert prompt_set.manifest.adapted_from.commit == "a7a7eff8e46998447c6cbf09d06affc8f1b99ab4"
    assert prompt_set.manifest.source_language_label == "Korean"
    messages = prompt_set.messages(VARIABLES)
    roles = ["system", *["user", "assistant"] * len(prompt_set.few_shot), "user"]
    assert [message["role"] for message in messages] == roles
    assert messages[-1]["content"].count("She has left.") == 1


@pytest.mark.parametrize("file", ["manifest.json", "system.txt", "user.txt", "few-shot.jsonl"])
def test_missing_file(folder: Path, file: str) -> None:
    (folder / file).unlink()
    assert refusal(folder, file) == (
        " missing; a prompt set is manifest.json, system.txt, user.txt, few-shot.jsonl"
    )
    (folder / file).mkdir()
    assert "missing" in refusal(folder, file)


TRANSLATION = "${fence}\n${translation}\n${fence}"

# (text of user.txt replaced, its replacement, words of the message)
TEMPLATE_ERRORS: list[tuple[str, str, list[str]]] = [
    ("${target_language}", "${target_langage}", ["'target_langage'", "does not exist", "target_language"]),
    ("${target_language}", "$target", ["'target'", "does not exist"]),
    ("${target_language}", "${participant_id}", ["'participant_id'", "does not exist"]),
    ("${target_language}", "${Target_Language}", ["'Target_Language'", "does not exist"]),
    ("${target_language}", "English", ["does not use", "'target_language'", "${target_language}"]),
    ("${context}", "", ["does not use", "'context'"]),
    ("${target_language}", "${대상 언어}", [":2", "'${대상 언어}'", "target_language"]),
    ("${target_language}", "${target language}", [":2", "'${target language}'"]),
    ("${target_language}", "5 $", [":2", "'$'", "'$$'"]),
    ("Annotate the translation.", "Annotate ${translation}.", [":19", "'translation'", "${fence} alone"]),
    (TRANSLATION, "${translation}", ["'translation'", "${fence} alone"]),
    (TRANSLATION, "```\n${translation}\n```", ["'translation'", "${fence} alone"]),
    (TRANSLATION, "${fence} ${translation} ${fence}", ["'fence'", "${fence} alone"]),
    (TRANSLATION, "  ${fence}\n${translation}\n  ${fence}", ["'fence'", "${fence} alone"]),
    (TRANSLATION, "${fence}\n${translation}", ["opens a block", "does not close it"]),
]


@pytest.mark.parametrize(("old", "new", "words"), TEMPLATE_ERRORS)
def test_templates(folder: Path, old: str, new: str, words: list[str]) -> None:
    edit(folder, "user.txt", old, new)
    said = f":{refusal(folder, 'user.txt')}"
    for word in words:
        assert word in said


def test_dollar_signs_can_be_written(folder: Path) -> None:
    edit(folder, "user.txt", "Annotate the", "For $$5, annotate the")
    prompt_set = read_prompt_set(folder)
    assert prompt_set.messages(VARIABLES)[-1]["content"].endswith("\n\nFor $5, annotate the translation.")


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in VARIABLES.items() if key != name}


@pytest.mark.parametrize("name", VARIABLES)
def test_missing_variable_is_named(name: str) -> None:
    with pytest.raises(PromptError, match=f"template variable '{name}' is missing"):
        read_prompt_set(SHIPPED[0]).messages(without(name))


@pytest.mark.parametrize("name", ["item_id", "participant", "fence", "Source", ""])
def test_unknown_variable_is_named(name: str) -> None:
    with pytest.raises(PromptError, match=f"template variable '{name}' is unknown; known: source_language, "):
        check_variables(VARIABLES | {name: "x"})


FEW_SHOT_ERRORS: list[tuple[str, str]] = [
    (lines({"variables": without("source"), "answer": "a"}), "1: template variable 'source' is missing"),
    (lines({"variables": VARIABLES | {"id": "x"}, "answer": "a"}), "1: template variable 'id' is unknown"),
    (lines({"variables": VARIABLES}), "1: answer: missing; add it"),
    (lines({"variables": VARIABLES, "anser": "a"}), "1: anser: unknown key; did you mean 'answer'?"),
    (lines({"variables": VARIABLES | {"source": 5}, "answer": "a"}), "1: variables.source: "),
    (lines({"variables": VARIABLES, "answer": "a"}) + "\n{}", "2: empty line; remove it"),
    ("{", "1: not valid JSON"),
    (json.dumps({"variables": VARIABLES, "answer": "\ud800"}), "1: not valid JSON: half of a surrogate pair"),
]


@pytest.mark.parametrize(("text", "expected"), FEW_SHOT_ERRORS)
def test_few_shot(folder: Path, text: str, expected: str) -> None:
    put(folder / "few-shot.jsonl", text)
    assert refusal(folder, "few-shot.jsonl").startswith(expected)


Change = Callable[[dict[str, Any]], object]
MANIFEST_ERRORS: list[tuple[Change, str]] = [
    (lambda m: m.update(form="xml"), " form: Input should be 'text' or 'json' (found 'xml')"),
    (lambda m: m.pop("id"), " id: missing; add it"),
    (lambda m: m.update(forms="text"), " forms: unknown key; did you mean 'form'?"),
    (lambda m: m["severities"].pop(), " severities: must list exactly: critical, major, minor"),
    (lambda m: m["classes"].append("accuracy/other"), " classes: must list exactly: accuracy/addition, "),
    (lambda m: m["context_behaviors"].append("unclear"), " context_behaviors: must list exactly: used_"),
    (
        lambda m: m["adapted_from"].update(comit="x"),
        " adapted_from.comit: unknown key; did you mean 'commit'?",
    ),
]


@pytest.mark.parametrize(("change", "expected"), MANIFEST_ERRORS)
def test_manifest(folder: Path, change: Change, expected: str) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    put(folder / "manifest.json", json.dumps(manifest))
    assert refusal(folder, "manifest.json").startswith(expected)


@pytest.mark.parametrize("file", ["manifest.json", "system.txt", "user.txt", "few-shot.jsonl"])
def test_not_utf8(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"\xff")
    assert refusal(folder, file) == "1: not UTF-8; save the file as UTF-8"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("manifest.json", '"id": "', '"id": "x'),
        ("user.txt", "Annotate", "Please annotate"),
        ("few-shot.jsonl", "현관", "거실"),
    ],
)
def test_hash_changes_with_the_content(folder: Path, file: str, old: str, new: str) -> None:
    before = read_prompt_set(folder).sha256
    edit(folder, file, old, new)
    assert read_prompt_set(folder).sha256 != before


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], "```"),
        (["no ticks", "`one`", "``two``"], "```"),
        (["a ``` b"], "````"),
        (["``", "`````", "```"], "``````"),
        (["``\n``"], "```"),  # two runs, no longer one
    ],
)
def test_fence(values: list[str], expected: str) -> None:
    assert fence(values) == expected


def blocks(text: str) -> list[str]:
    """The fenced code blocks of a text, read as CommonMark says (spec 0.31, section 4.5), by hand.

    A fence is a line of three or more backticks, indented by at most three spaces; the first later
    line of at least as many, with nothing but white space behind, ends the block. A line ends with
    LF, CR or CR LF.
    """
    found: list[str] = []
    opened = 0
    for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n|\Z)", text):
        mark = re.fullmatch(r" {0,3}(`{3,})[ \t]*(?:\r\n|\r|\n|)", line)
        if opened and mark and len(mark[1]) >= opened:
            opened = 0
        elif opened:
            found[-1] += line
        elif mark:
            opened = len(mark[1])
            found.append("")
    assert not opened
    return found


HOSTILE = st.lists(
    st.sampled_from(
        [
            "`",
            "```",
            "````",
            " ",
            "\n",
            "\r",
            "\r\n",
            "\u2028",
            "~~~",
            "Critical:\n",
            "no-error",
            "contextBehavior: used_correctly",
            "${source}",
            "${translation}",
            "${fence}",
            "$fence",
            "$$",
            "$",
            "{braces}",
            "{0}",
            "%s",
            "</translation>",
            "밥",
        ]
    )
    | st.text(max_size=4),
    max_size=8,
).map("".join)
SETS = [read_prompt_set(folder) for folder in SHIPPED]


@given(st.sampled_from(SETS), HOSTILE, HOSTILE, HOSTILE)
def test_values_stand_verbatim_in_blocks_they_cannot_end(
    prompt_set: PromptSet, context: str, source: str, translation: str
) -> None:
    values = {"context": context, "source": source, "translation": translation}
    content = prompt_set.messages(VARIABLES | values)[-1]["content"]
    assert blocks(content) == [f"{context}\n", f"{source}\n", f"{translation}\n"]
    longest = max((len(run) for value in values.values() for run in re.findall("`+", value)), default=0)
    between = re.escape(translation)
    assert re.search(rf"^(`{{{longest + 1},}})\n{between}\n\1$", content, re.MULTILINE)


def variables_of(row: Mapping[str, Any], translation: str = "x") -> dict[str, str]:
    return cell_variables(Item.model_validate(row), "English", "Korean", translation)


def test_variables_of_a_cell() -> None:
    assert variables_of(items()[1], "The ship is leaving.") == {
        "source_language": "Korean",
        "target_language": "English",
        "context": "[1] other (어제): 배가 고파?\n[2] self: 응, 조금.",
        "source": "배가 떠난다.",
        "translation": "The ship is leaving.",
    }


def test_variables_hold_no_id_and_no_label_of_the_item() -> None:
    """The judge knows neither the item's id nor what the benchmark expects of it."""
    row = items()[0]
    relabelled = row | {
        "sample_id": "another",
        "context_expectation": "ignore",
        "primary_phenomenon": "false_lead_trap",
        "secondary_phenomena": [],
    }
    assert variables_of(row) == variables_of(relabelled)


def test_prompts_that_begin_alike_come_together() -> None:
    prompts = read_prompt_set(Path(__file__).parents[2] / "data/judge-prompts/gemba-mqm-context-v1")
    cells = [
        {"target_language": language, "context": context, "source": "밥 먹어.", "translation": translation}
        for translation in ("b", "a")
        for context in ("[1] self: 둘", "[1] self: 하나")
        for language in ("Japanese", "English")
    ]
    ordered = sorted(cells, key=prompts.place)
    # The shipped template names the language first, then the context, the source and the translation.
    assert [(cell["target_language"], cell["context"][-1], cell["translation"]) for cell in ordered] == [
        (language, context, translation)
        for language in ("English", "Japanese")
        for context in ("둘", "나")
        for translation in ("a", "b")
    ]
