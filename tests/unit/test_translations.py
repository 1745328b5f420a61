"""A participant's translations: what is read, passed over, refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_project import lines, put

from pipeline.errors import TranslationError
from pipeline.translations import Translations, read_translations

ITEMS = {"one", "two"}
LANGUAGES = ["en", "zh-Hans"]


def row(item: Any = "one", language: Any = "en", **rest: Any) -> dict[str, Any]:
    return {"item_id": item, "target_language": language, **(rest or {"translation": "Hello."})}


def read(tmp_path: Path, *rows: dict[str, Any]) -> Translations:
    return read_translations(put(tmp_path / "t.jsonl", lines(*rows)), ITEMS, LANGUAGES)


def test_texts_and_failures_by_cell(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        row("two", "zh-Hans", translation=" 你好 \n"),
        row("one", "en", translation="Hello."),
        row("two", "en", failure="timed out", translation=None),
        row("one", "ja", translation="こんにちは。"),  # not a language of the run: passed over
        row("one", "ja", translation="もう一度"),
    )
    assert found.texts == {("two", "zh-Hans"): " 你好 \n", ("one", "en"): "Hello."}
    assert found.failures == {("two", "en"): "timed out"}


def test_an_empty_file_is_a_participant_that_gave_nothing(tmp_path: Path) -> None:
    assert read(tmp_path) == Translations({}, {})


EITHER = "give either translation or failure"
# (second line of the file, how the message goes on after the file's name)
ERRORS: list[tuple[dict[str, Any], list[str]]] = [
    (row("three"), [":2: item_id: ", "'three' is not in the dataset", "remove the line"]),
    (row("One"), [":2: item_id: ", "'One' is not in the dataset"]),
    (row("three", "ja"), [":2: item_id: ", "'three' is not in the dataset"]),
    (row("a\nerror: forged"), [":2: item_id: "]),
    (row("one"), [":2: ", "stand at line 1 already"]),
    (row("one", failure="broke"), [":2: ", "stand at line 1 already"]),
    (row("two", "EN"), [":2: target_language: ", "'EN' is spelled 'en' in params.yaml"]),
    (row("two", "zh-hans"), [":2: target_language: ", "'zh-hans' is spelled 'zh-Hans'"]),
    (row("two", "zh_Hans"), [":2: target_language: ", "BCP-47"]),
    (row("two", ""), [":2: target_language: ", "BCP-47"]),
    (row("two", translation="x", failure="y"), [":2: ", EITHER]),
    (row("two", translation=None, failure=None), [":2: ", EITHER]),
    ({"item_id": "two", "target_language": "en"}, [":2: ", EITHER]),
    (row("two", translation=""), [":2: translation: ", "empty or blank"]),
    (row("two", translation=" \n\u3000"), [":2: translation: ", "empty or blank"]),
    (row("two", failure=""), [":2: failure: ", "empty or blank"]),
    (row("two", translation=5), [":2: translation: ", "string", "found 5"]),
    (row(2), [":2: item_id: ", "string"]),
    ({"target_language": "en", "translation": "x"}, [":2: item_id: missing; add it"]),
    (row("two", translaton="x"), [":2: translaton: unknown key; did you mean 'translation'?"]),
    (row("two", translation="x", participant="p"), [":2: participant: unknown key; "]),
]


@pytest.mark.parametrize(("second", "expected"), ERRORS)
def test_refusals(tmp_path: Path, second: dict[str, Any], expected: list[str]) -> None:
    with pytest.raises(TranslationError) as caught:
        read(tmp_path, row("one"), second)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(f"{tmp_path / 't.jsonl'}{expected[0]}")
    for words in expected:
        assert words in message


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TranslationError, match=r"no such file; check the path$"):
        read_translations(tmp_path / "none.jsonl", ITEMS, LANGUAGES)


def test_lone_surrogate(tmp_path: Path) -> None:
    put(tmp_path / "t.jsonl", '{"item_id": "one", "target_language": "en", "translation": "\\ud800"}\n')
    with pytest.raises(TranslationError, match=":1: not valid JSON: half of a surrogate pair"):
        read_translations(tmp_path / "t.jsonl", ITEMS, LANGUAGES)
