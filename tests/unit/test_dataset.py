"""The dataset reader: what it refuses and how it says so, the two file forms, the fingerprint."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import assume, given
from hypothesis import strategies as st
from tiny_project import items, lines, put

from pipeline.dataset import Dataset, read_dataset
from pipeline.errors import DatasetError

REPOSITORY = Path(__file__).parents[2]
PUBLISHED = Path(os.environ.get("CTXEVAL_PUBLISHED", REPOSITORY.parent / "shared/published"))

Row = dict[str, Any]
Change = Callable[[Row], object]


def refusal(path: Path) -> str:
    """What the reader says, which has to be one printable line that begins with the file."""
    with pytest.raises(DatasetError) as caught:
        read_dataset(path)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(f"{path}:")
    return message.removeprefix(str(path))


def setting(field: str, value: Any) -> Change:
    """A change of one field; ``a.b`` is inside of an object or, by number, of a list."""

    def change(row: Row) -> None:
        *parents, last = field.split(".")
        for part in parents:
            row = row[int(part)] if isinstance(row, list) else row[part]
        row[last] = value

    return change


def dropping(field: str) -> Change:
    return lambda row: row.pop(field)


# (change of the second item, field named, words the message must hold)
FIELD_ERRORS: list[tuple[Change, str, list[str]]] = [
    (setting("context_turn_count", 1), "context_turn_count", ["says 1", "holds 2", "must be equal"]),
    (setting("context_turn_count", 4), "context_turn_count", ["1, 2 or 3", "found 4"]),
    (setting("context_turn_count", 0), "context_turn_count", ["1, 2 or 3"]),
    (setting("context_turn_count", "2"), "context_turn_count", ["1, 2 or 3", "'2'"]),
    (setting("context_turn_count", 2.0), "context_turn_count", ["whole number", "2.0"]),
    (setting("context_turn_count", True), "context_turn_count", ["whole number", "True"]),
    (setting("context_turns", []), "context_turn_count", ["says 2", "holds 0"]),
    (setting("speaker_mode", "single"), "speaker_mode", ["'single'", "'other'", "'dyadic'"]),
    (setting("context_turns.0.speaker_role", "self"), "speaker_mode", ["'dyadic'", "'single'"]),
    (setting("speaker_mode", "trio"), "speaker_mode", ["'single'", "'dyadic'", "'trio'"]),
    (
        setting("current_source.speaker_role", "other"),
        "current_source.speaker_role",
        ["must be 'self'"],
    ),
    (setting("context_turns.1.speaker_role", "me"), "context_turns.1.speaker_role", ["'self'", "'other'"]),
    (setting("context_expectation", "maybe"), "context_expectation", ["'use'", "'ignore'"]),
    (setting("primary_phenomenon", "sarcasm"), "primary_phenomenon", ["'sarcasm'", "false_lead_trap"]),
    (
        setting("primary_phenomenon", "referent_resolution"),  # one of `use` items
        "primary_phenomenon",
        [
            "'ignore'",
            "topic_shift_independence, false_lead_trap, stale_context_resistance, "
            "metadata_nonliteral_resistance",
        ],
    ),
    (setting("current_source.source_text", ""), "current_source.source_text", ["empty or blank"]),
    (setting("current_source.source_text", " \t\u3000\n"), "current_source.source_text", ["blank"]),
    (setting("current_source.source_text", "\u200b\ufeff"), "current_source.source_text", ["blank"]),
    (setting("context_turns.1.source_text", ""), "context_turns.1.source_text", ["empty or blank"]),
    (setting("context_turns.1.relative_time_label", " "), "context_turns.1.relative_time_label", ["blank"]),
    (setting("secondary_phenomena", ["ok", ""]), "secondary_phenomena.1", ["empty or blank"]),
    (setting("secondary_phenomena", "ellipsis"), "secondary_phenomena", ["list", "'ellipsis'"]),
    (setting("current_source.source_text", 5), "current_source.source_text", ["string", "found 5"]),
    (setting("current_source.source_text", None), "current_source.source_text", ["string", "found None"]),
    (setting("current_source", "text"), "current_source", ["'text'"]),
    (setting("context_turns", {}), "context_turns", ["list", "{}"]),
    (setting("sample_id", ""), "sample_id", ["letters, digits"]),
    (setting("sample_id", "../up"), "sample_id", ["letters, digits", "'../up'"]),
    (setting("sample_id", "밥"), "sample_id", ["ASCII"]),
    (setting("sample_id", "a\nerror: forged"), "sample_id", ["letters, digits"]),
    (setting("sample_id", "x" * 201), "sample_id", ["1-200"]),
    (setting("sample_id", "zzitem-1"), "sample_id", ["'zzitem-1'", "1 already", "unique"]),
    (dropping("speaker_mode"), "speaker_mode", ["missing; add it"]),
    (setting("speaker_mod", "dyadic"), "speaker_mod", ["unknown key", "did you mean 'speaker_mode'?"]),
    (setting("context_turns.0.source_txt", "x"), "context_turns.0.source_txt", ["'source_text'"]),
    (
        setting("current_source.line\nbreak", "x"),
        "current_source.line break",
        ["unknown key", "allowed: speaker_role, relative_time_label, source_text"],
    ),
]


@pytest.mark.parametrize(("change", "field", "words"), FIELD_ERRORS)
def test_field_errors(tmp_path: Path, change: Change, field: str, words: list[str]) -> None:
    first, second = items()
    change(second)
    said = refusal(put(tmp_path / "items.jsonl", lines(first, second)))
    assert said.startswith(f":2: {field}: ")
    for word in words:
        assert word in said


def test_misspelt_key_is_named_before_the_key_it_leaves_missing(tmp_path: Path) -> None:
    (row, _) = items()
    row["speaker_mod"] = row.pop("speaker_mode")
    said = refusal(put(tmp_path / "items.jsonl", lines(row)))
    assert said.startswith(":1: speaker_mod: unknown key; did you mean 'speaker_mode'?")


GOOD = lines(items()[0])

# (bytes of the file, how the message goes on after the file's name)
FILE_ERRORS: list[tuple[bytes, str]] = [
    (b"", ": holds no items; a dataset has at least one"),
    (b"\n", ":1: empty line; remove it"),
    (GOOD.encode() + b'{"a": "\xff"}\n', ":2: not UTF-8; save the file as UTF-8"),
    (GOOD.encode("utf-16"), ":1: not UTF-8; save the file as UTF-8"),
    (GOOD.encode("cp949"), ":1: not UTF-8; save the file as UTF-8"),
    (b"\xef\xbb\xbf" + GOOD.encode(), ":1: starts with a byte-order mark; save it as UTF-8 without one"),
    (GOOD.encode() + b"\xef\xbb\xbf{}", ":2: starts with a byte-order mark; save it as UTF-8 without one"),
    (GOOD.encode() + b"\n" + GOOD.encode(), ":2: empty line; remove it"),
    (GOOD.encode() + b" \t\n" + GOOD.encode(), ":2: empty line; remove it"),
    (GOOD.encode()[:-3], ":1: not valid JSON: "),
    (GOOD.encode() + b"{'a': 1}\n", ":2: not valid JSON: "),
    (b"{}{}\n", ":1: not valid JSON: Extra data (column 3)"),
    (b'["a list"]\n', ":1: not a JSON object; each line is one {...}"),
    (b'"text"\n', ":1: not a JSON object; each line is one {...}"),
    (b'{"sample_id": "a", "sample_id": "b"}\n', ":1: not valid JSON: key 'sample_id' stands twice"),
    (b'{"current_source": {"a": 1, "a": 1}}\n', ":1: not valid JSON: key 'a' stands twice"),
    (b'{"context_turn_count": NaN}\n', ":1: not valid JSON: NaN is no JSON number"),
    (b'{"context_turn_count": -Infinity}\n', ":1: not valid JSON: -Infinity is no JSON number"),
    (b'{"context_turn_count": ' + b"9" * 5000 + b"}\n", ":1: not valid JSON: "),
    (b"[" * 100_000 + b"\n", ":1: nested too deeply"),
    (b'{"a":' * 100_000 + b"\n", ":1: nested too deeply"),
    (GOOD.replace("벌써", "\\ud800").encode(), ":1: not valid JSON: half of a surrogate pair"),
    (GOOD.replace("omitted_subject", "\\uDFFF").encode(), ":1: not valid JSON: half of a surrogate pair"),
    (b'{"\\udc00\\ud800": 1}\n', ":1: not valid JSON: half of a surrogate pair"),
]


@pytest.mark.parametrize(("data", "expected"), FILE_ERRORS, ids=[str(n) for n in range(len(FILE_ERRORS))])
def test_file_errors(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(data)
    assert refusal(path).startswith(expected)


@pytest.mark.parametrize("depth", range(100, 1100, 25))
def test_every_depth_of_nesting_is_one_line(tmp_path: Path, depth: int) -> None:
    refusal(put(tmp_path / "items.jsonl", '{"sample_id":' + "[" * depth + "]" * depth + "}\n"))


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.json", "folder.jsonl", "folder.json"])
def test_no_file(tmp_path: Path, name: str) -> None:
    if name.startswith("folder"):
        (tmp_path / name).mkdir()
    assert "check the path" in refusal(tmp_path / name)


def test_whole_characters_written_as_escapes_are_read(tmp_path: Path) -> None:
    path = put(tmp_path / "items.jsonl", GOOD.replace("벌써", "\\ud83d\\ude00"))
    assert read_dataset(path).items[0].current_source.source_text == "\U0001f600 가셨어."


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_last_line_end_and_windows_line_ends(tmp_path: Path, end: str) -> None:
    path = put(tmp_path / "items.jsonl", GOOD.replace("\n", end))
    assert [item.sample_id for item in read_dataset(path).items] == ["zzitem-1"]
    assert read_dataset(path).file_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


# The published form's spelling, by hand.
CAMEL = {
    "sample_id": "sampleId",
    "context_turn_count": "contextTurnCount",
    "speaker_mode": "speakerMode",
    "context_expectation": "contextExpectation",
    "primary_phenomenon": "primaryPhenomenon",
    "secondary_phenomena": "secondaryPhenomena",
    "context_turns": "contextTurns",
    "current_source": "currentSource",
    "speaker_role": "speakerRole",
    "relative_time_label": "relativeTimeLabel",
    "source_text": "sourceText",
}
SNAKE = {camel: snake for snake, camel in CAMEL.items()}


def respelled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): respelled(inner, names) for key, inner in value.items()}
    return [respelled(inner, names) for inner in value] if isinstance(value, list) else value


def published_file(path: Path, *rows: Row) -> Path:
    return put(path, json.dumps(respelled(list(rows), CAMEL), ensure_ascii=False, indent=1))


def test_both_forms_give_the_same_items(tmp_path: Path) -> None:
    project = read_dataset(put(tmp_path / "items.jsonl", lines(*items())))
    published = read_dataset(published_file(tmp_path / "runtime.json", *items()))
    assert published.items == project.items
    assert published.fingerprint == project.fingerprint
    assert published.file_sha256 != project.file_sha256


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (setting("speaker_mode", "single"), "speakerMode: is 'single'"),
        (setting("context_turns.1.source_text", ""), "contextTurns.1.sourceText: is empty"),
        (setting("current_source.speaker_role", "other"), "currentSource.speakerRole: must be 'self'"),
        (setting("sample_id", "zzitem-1"), "sampleId: 'zzitem-1' stands at item 1 already"),
        (dropping("current_source"), "currentSource: missing; add it"),
        (setting("speakerMod", "single"), "speakerMod: unknown key; did you mean 'speakerMode'?"),
    ],
)
def test_published_form_names_item_and_its_own_fields(tmp_path: Path, change: Change, expected: str) -> None:
    first, second = items()
    change(second)
    said = refusal(published_file(tmp_path / "runtime.json", first, second))
    assert said.startswith(f": item 2: {expected}")


def test_published_form_does_not_take_the_other_spelling_beside_its_own(tmp_path: Path) -> None:
    row = respelled(items()[0], CAMEL) | {"sample_id": "another"}
    said = refusal(put(tmp_path / "runtime.json", json.dumps([row])))
    assert said.startswith(": item 1: sample_id: unknown key; did you mean 'sampleId'?")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", ": the published form is a JSON array of items; JSON lines end in .jsonl"),
        ("[]", ": holds no items"),
        ("[1]", ": item 1: "),
        ("[\n{\n]", ":3: not valid JSON: "),
        ("\ufeff[]", ":1: starts with a byte-order mark"),
    ],
)
def test_published_file_errors(tmp_path: Path, text: str, expected: str) -> None:
    assert refusal(put(tmp_path / "runtime.json", text)).startswith(expected)


def dataset_of(*rows: Row, form: str = "project") -> Dataset:
    with tempfile.TemporaryDirectory() as folder:
        if form == "published":
            return read_dataset(published_file(Path(folder) / "items.json", *rows))
        return read_dataset(put(Path(folder) / "items.jsonl", lines(*rows)))


def shuffled(value: Any, draw: st.DataObject) -> Any:
    """The same JSON value with the keys of its objects in any order."""
    if isinstance(value, dict):
        keys = draw.draw(st.permutations(list(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    return [shuffled(inner, draw) for inner in value] if isinstance(value, list) else value


FINGERPRINT = dataset_of(*items()).fingerprint


def test_fingerprint_is_the_hash_of_the_canonical_items() -> None:
    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(inner) for key, inner in value.items() if inner is not None}
        return [bare(inner) for inner in value] if isinstance(value, list) else value

    assert hashlib.sha256(rfc8785.dumps(bare(items()))).hexdigest() == FINGERPRINT


@given(st.data())
def test_fingerprint_ignores_how_the_same_items_are_written(data: st.DataObject) -> None:
    rows = shuffled(items(), data)
    for row in rows:
        for turn in (*row["context_turns"], row["current_source"]):
            if turn["relative_time_label"] is None and data.draw(st.booleans()):
                del turn["relative_time_label"]
        if not row["secondary_phenomena"]:
            match data.draw(st.sampled_from(["absent", "null", "empty"])):
                case "absent":
                    del row["secondary_phenomena"]
                case "null":
                    row["secondary_phenomena"] = None
    form = data.draw(st.sampled_from(["project", "published"]))
    assert dataset_of(*rows, form=form).fingerprint == FINGERPRINT


def test_fingerprint_ignores_spacing_and_escapes(tmp_path: Path) -> None:
    text = "".join(
        json.dumps(row, separators=(" , ", "  : ")) + " \n" for row in items()
    )  # \uXXXX for Korean
    assert read_dataset(put(tmp_path / "items.jsonl", text)).fingerprint == FINGERPRINT


TEXT_FIELDS = [
    "sample_id",
    "context_turns.0.source_text",
    "context_turns.0.relative_time_label",
    "context_turns.1.source_text",
    "context_turns.1.relative_time_label",
    "current_source.source_text",
    "current_source.relative_time_label",
    "secondary_phenomena.0",
]


@given(st.sampled_from(TEXT_FIELDS), st.text(min_size=1, max_size=5), st.booleans())
def test_fingerprint_changes_with_any_text(field: str, text: str, added: bool) -> None:
    def changed(old: str | None) -> str:
        return f"{old or ''}{text}" if added else text

    rows = copy.deepcopy(items())
    place: Any = rows[1]
    *parents, last = field.split(".")
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    if isinstance(place, list):
        place.append(text)
    else:
        assume(changed(place[last]) != place[last])
        place[last] = changed(place[last])
    try:
        dataset = dataset_of(*rows)
    except DatasetError:
        assume(False)  # blank, or an id that is none
    assert dataset.fingerprint != FINGERPRINT


@given(st.permutations(range(5)))
def test_fingerprint_changes_with_the_order_of_items(order: list[int]) -> None:
    rows = [items()[0] | {"sample_id": f"item-{number}"} for number in range(5)]
    same = order == list(range(5))
    assert (dataset_of(*rows).fingerprint == dataset_of(*(rows[n] for n in order)).fingerprint) == same


@pytest.mark.parametrize(
    "change",
    [
        setting("primary_phenomenon", "stale_context_resistance"),
        setting("secondary_phenomena", ["x"]),
        setting("context_turns.1.speaker_role", "other"),
    ],
)
def test_fingerprint_changes_with_labels(change: Change) -> None:
    first, second = items()
    change(second)
    assert dataset_of(first, second).fingerprint != FINGERPRINT


@pytest.mark.published
@pytest.mark.skipif(
    not (PUBLISHED / "dataset/runtime.json").is_file(),
    reason=f"no published dataset in {PUBLISHED.name}/; set CTXEVAL_PUBLISHED to the folder that holds it",
)
def test_published_dataset(tmp_path: Path) -> None:
    """The 216 items of the benchmark, and a snake_case copy; the hash stands in the runs' manifests, too."""
    path = PUBLISHED / "dataset/runtime.json"
    published = read_dataset(path)
    assert len(published.items) == 216
    assert published.file_sha256 == "9ab9e98752155a83cda100fc121f1b952474c82c1a20607887d9eb774855d110"
    rows = respelled(json.loads(path.read_text(encoding="utf-8")), SNAKE)
    project = read_dataset(put(tmp_path / "items.jsonl", lines(*rows)))
    assert project.items == published.items
    assert project.fingerprint == published.fingerprint
    assert [item.model_dump(mode="json") for item in project.items] == rows
