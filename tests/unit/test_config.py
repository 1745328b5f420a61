"""``params.yaml``, ``participants.yaml`` and judge profiles: what is refused, and how it is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_project import JUDGE, PARAMS, PARTICIPANTS, PROFILE, make_tiny_project, put

from pipeline.config import language_label, read_params, read_participants
from pipeline.errors import ConfigError
from pipeline.profiles import read_profile

SECRET = "sk-or-v1-0123456789abcdef"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_tiny_project(tmp_path / "project")


def edited(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def read(project: Path, file: str) -> Any:
    if file == "params.yaml":
        return read_params(project / file)
    if file == "data/participants.yaml":
        return read_participants(project / file, ["zzsystem-a", "zzsystem-b"])
    return read_profile(project, "tiny-judge")


def refusal(project: Path, file: str, text: str) -> str:
    """What is said about ``file`` holding ``text``: one line, after the file's name."""
    put(project / file, text)
    with pytest.raises(ConfigError) as caught:
        read(project, file)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(f"{project / file}:")
    return message.removeprefix(f"{project / file}:")


def test_the_tiny_project_is_read(project: Path) -> None:
    params = read_params(project / "params.yaml")
    assert (params.languages, params.participants, params.seed) == (["en"], ["zzsystem-a", "zzsystem-b"], 7)
    profile = read_profile(project, "tiny-judge")
    assert (profile.request.model, profile.transport.concurrency) == ("tiny-model", 4)
    participants = read_participants(project / "data/participants.yaml", ["zzsystem-b", "zzsystem-a"])
    assert list(participants) == ["zzsystem-b", "zzsystem-a"]  # in the order asked for


# (text replaced, its replacement, field named, words of the message)
PARAMS_ERRORS: list[tuple[str, str, str, list[str]]] = [
    ("seed: 7", "sed: 7", "sed", ["unknown key", "did you mean 'seed'?"]),
    ("profile: tiny-judge", "profil: tiny-judge", "judge.profil", ["did you mean 'profile'?"]),
    ("run_name: tiny", "run_nam: tiny", "run_nam", ["did you mean 'run_name'?", "allowed: run_name, "]),
    ("run_name: tiny\n", "", "run_name", ["missing; add it"]),
    ("run_name: tiny", "run_name: ../tiny", "run_name", ["letters, digits"]),
    ("run_name: tiny", "run_name: 2026", "run_name", ["string", "2026"]),
    ("offline: true", "offline: 'yes'", "judge.offline", ["boolean", "'yes'"]),
    ("repeats: 1", "repeats: 0", "judge.repeats", ["greater than or equal to 1"]),
    ("repeats: 1", "repeats: 1.5", "judge.repeats", ["integer", "1.5"]),
    ("repeats: 1", "repeats: true", "judge.repeats", ["integer", "True"]),
    ("repeats: 1", "repeats: '1'", "judge.repeats", ["integer", "'1'"]),
    ("profile: tiny-judge", "profile: ../tiny-judge", "judge.profile", ["letters, digits"]),
    ("profile: tiny-judge", "profile: null", "judge.profile", ["string", "None"]),
    ("mode: strict", "mode: loose", "parser.mode", ["'strict'", "'lenient'", "'loose'"]),
    ("parser: {mode: strict}", "parser: strict", "parser", ["'strict'"]),
    ("[en]", "[]", "languages", ["at least 1"]),
    ("[en]", "en", "languages", ["list", "'en'"]),
    ("[en]", "[en, en]", "languages", ["twice"]),
    ("[en]", "[zh-Hans, zh-hans]", "languages", ["twice", "one spelling"]),
    ("[en]", "[zh_Hans]", "languages.0", ["BCP-47", "'zh_Hans'"]),
    ("[en]", "['']", "languages.0", ["BCP-47"]),
    ("[en]", "[true]", "languages.0", ["string", "True"]),
    ("[zzsystem-a, zzsystem-b]", "[zzsystem-a, zzsystem-a]", "participants", ["twice"]),
    ("[zzsystem-a, zzsystem-b]", "[a/b]", "participants.0", ["letters, digits"]),
    ("seed: 7", "seed: -1", "seed", ["greater than or equal to 0"]),
    ("seed: 7", "seed: 2147483648", "seed", ["less than 2147483648"]),
    ("seed: 7", "seed: 0x" + "f" * 5000, "seed", ["less than 2147483648"]),
    ("seed: 7", "seed: 2026-08-01", "seed", ["integer"]),
    ("seed: 7", "seed: [" + "x, " * 5000 + "x]", "seed", ["integer", "..."]),
]


@pytest.mark.parametrize(("old", "new", "field", "words"), PARAMS_ERRORS)
def test_params(project: Path, old: str, new: str, field: str, words: list[str]) -> None:
    said = refusal(project, "params.yaml", edited(PARAMS, old, new))
    assert said.startswith(f" {field}: ")
    assert len(said) < 400
    for word in words:
        assert word in said


ESCAPES = [
    "../items.jsonl",
    "data/../../items.jsonl",
    "data/..",
    "/etc/passwd",
    '"data\\\\items.jsonl"',
    '"C:\\\\items.jsonl"',
    '""',
    '"data/\\0.jsonl"',
    '"data/a\\nb.jsonl"',
]


@pytest.mark.parametrize("path", ESCAPES)
def test_paths_stay_inside_of_the_project(project: Path, path: str) -> None:
    for file, text, old, field in (
        ("params.yaml", PARAMS, "data/datasets/tiny/items.jsonl", "dataset"),
        ("data/participants.yaml", PARTICIPANTS, "data/translations/a.jsonl", "translations"),
        (PROFILE, JUDGE, "data/judge-prompts/gemba-mqm-context-v1", "prompt_set"),
    ):
        said = refusal(project, file, edited(text, old, path))
        assert said.startswith(f" {field}: must be a path inside the project, written with '/'")


@pytest.mark.parametrize(
    ("file", "text", "old", "new", "expected"),
    [
        # dvc.yaml names these folders as dependencies; a file elsewhere would change unseen.
        (
            "data/participants.yaml",
            PARTICIPANTS,
            "data/translations/a.jsonl",
            "data/a.jsonl",
            " translations: must be a file inside data/translations/",
        ),
        (
            PROFILE,
            JUDGE,
            "data/judge-prompts/gemba-mqm-context-v1",
            "data/judge-prompts-of-mine",
            " prompt_set: must be inside one of: data/judge-prompts, ",
        ),
    ],
)
def test_files_stand_where_dvc_looks(
    project: Path, file: str, text: str, old: str, new: str, expected: str
) -> None:
    assert refusal(project, file, edited(text, old, new)).startswith(expected)


PARTICIPANT_ERRORS: list[tuple[str, str, list[str]]] = [
    (
        "display_name: zzDisplay A",
        "displayname: zzDisplay A",
        ["displayname", "did you mean 'display_name'?"],
    ),
    ("provider: zzprovider, model: zzmodel-a", "model: zzmodel-a", ["provider: missing; add it"]),
    ("model: zzmodel-a", "model: 4", ["model", "string", "found 4"]),
    ("display_name: zzDisplay A", "display_name: ''", ["display_name", "at least 1 character"]),
    ("model: zzmodel-a", "model: zzmodel-a, provenance: none", ["provenance", "dictionary"]),
]


@pytest.mark.parametrize(("old", "new", "words"), PARTICIPANT_ERRORS)
def test_participants(project: Path, old: str, new: str, words: list[str]) -> None:
    said = refusal(project, "data/participants.yaml", edited(PARTICIPANTS, old, new))
    for word in [*words, "participant 'zzsystem-a'"]:
        assert word in said


def test_unknown_participant(project: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_participants(project / "data/participants.yaml", ["zzsystem-a", "zzsystem-c"])
    assert str(caught.value).endswith(
        "no participant 'zzsystem-c', which params.yaml names; add it or choose from: zzsystem-a, zzsystem-b"
    )


def test_unknown_profile(project: Path) -> None:
    put(project / "experiments/judges/another.yaml", JUDGE)
    with pytest.raises(ConfigError) as caught:
        read_profile(project, "tiny-juge")
    assert str(caught.value) == (
        f"{project}/experiments/judges/tiny-juge.yaml: no judge profile 'tiny-juge'; "
        "add the file or choose from: another, tiny-judge"
    )


PROFILE_ERRORS: list[tuple[str, str, str, list[str]]] = [
    ("model: tiny-model", "modle: tiny-model", "request.modle", ["did you mean 'model'?"]),
    ("max_tokens: 400", "max_token: 400", "request.max_token", ["did you mean 'max_tokens'?"]),
    ("  base_url", "  baseurl", "transport.baseurl", ["did you mean 'base_url'?", "allowed: "]),
    ("backend: openai", "bakend: openai", "bakend", ["did you mean 'backend'?"]),
    ("openai-compatible", "telepathy", "backend", ["'openai-compatible'", "'telepathy'"]),
    ("temperature: 0", "temperature: '0'", "request.temperature", ["number", "'0'"]),
    ("temperature: 0", "temperature: true", "request.temperature", ["number", "True"]),
    ("temperature: 0", "temperature: .nan", "request.temperature", ["nan"]),
    ("temperature: 0", "temperature: 2.1", "request.temperature", ["less than or equal to 2"]),
    ("max_tokens: 400", "max_tokens: 0", "request.max_tokens", ["greater than or equal to 1"]),
    ("max_tokens: 400", "max_tokens: 9007199254740993", "request.max_tokens", ["less than or equal to"]),
    ("max_tokens: 400", "max_tokens: 4e2", "request.max_tokens", ["integer"]),
    ("model: tiny-model", "model: ''", "request.model", ["at least 1 character"]),
    ("temperature: 0", "model_file_sha256: ABC", "request.model_file_sha256", ["64 lower-case hex digits"]),
    ("temperature: 0", "reasoning_effort: max", "request.reasoning_effort", ["'low'", "'max'"]),
    ("temperature: 0", "provider: {order: .inf}", "request.provider", ["plain JSON"]),
    ("temperature: 0", "provider: {since: 2026-08-01}", "request.provider", ["plain JSON"]),
    ("temperature: 0", "response_format: {a: {1: b}}", "request.response_format", ["plain JSON"]),
    ("temperature: 0", "response_format: {n: 9007199254740993}", "request.response_format", ["plain JSON"]),
    (
        "  base_url: http://127.0.0.1:9\n",
        "  base_url: http://127.0.0.1:9\n  timeout_seconds: .inf\n",
        "transport.timeout_seconds",
        ["less than or equal to 86400"],
    ),
    (
        "  base_url: http://127.0.0.1:9\n",
        "  base_url: http://127.0.0.1:9\n  concurrency: 0\n",
        "transport.concurrency",
        ["greater than or equal to 1"],
    ),
    (
        "  base_url: http://127.0.0.1:9\n",
        "  base_url: http://127.0.0.1:9\n  path: v1/chat\n",
        "transport.path",
        ["pattern"],
    ),
]


@pytest.mark.parametrize(("old", "new", "field", "words"), PROFILE_ERRORS)
def test_profile(project: Path, old: str, new: str, field: str, words: list[str]) -> None:
    said = refusal(project, PROFILE, edited(JUDGE, old, new))
    assert said.startswith(f" {field}: ")
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"api_key_env: {SECRET}", " transport.api_key_env: must be the NAME of an environment variable"),
        (f"api_key_env: ['{SECRET}']", " transport.api_key_env: must be the NAME of an environment variable"),
        (f"api_key: {SECRET}", " transport.api_key: unknown key; did you mean 'api_key_env'?"),
        (f"api_key_env: A\n  api_key_env: {SECRET}", ' not valid YAML: found duplicate key "api_key_env"'),
    ],
)
def test_a_key_in_a_profile_is_refused_and_not_shown(project: Path, line: str, expected: str) -> None:
    said = refusal(project, PROFILE, f"{JUDGE}  {line}\n")
    assert expected in f" {said.partition(' ')[2]}"
    assert SECRET not in said


@pytest.mark.parametrize(
    "url",
    [
        f"https://user:{SECRET}@example.org",
        f"https://{SECRET}@example.org/v1",
        f"https://example.org/?key={SECRET}",
        f"https://example.org/#{SECRET}",
        f"ftp://example.org/{SECRET}",
        f"{SECRET}",
        f"https://example.org\\@{SECRET}",
        f"['{SECRET}']",
    ],
)
def test_a_url_with_a_key_is_refused_and_not_shown(project: Path, url: str) -> None:
    said = refusal(project, PROFILE, edited(JUDGE, "http://127.0.0.1:9", f"'{url}'" if "#" in url else url))
    assert said.startswith(" transport.base_url: must be http(s)://HOST")
    assert SECRET not in said


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8091", "https://example.org", "https://example.org/api/v1/", "http://[::1]:80/x"],
)
def test_urls(project: Path, url: str) -> None:
    put(project / PROFILE, edited(JUDGE, "http://127.0.0.1:9", f"'{url}'"))
    assert read_profile(project, "tiny-judge").transport.base_url == url


# (text of the file, how the message goes on after the file's name); the file may be any of the three.
YAML_ERRORS: list[tuple[str, str]] = [
    ("", " must be a YAML mapping with text keys"),
    ("# nothing\n", " must be a YAML mapping with text keys"),
    ("- a\n", " must be a YAML mapping with text keys"),
    ("text\n", " must be a YAML mapping with text keys"),
    ("1: a\n", " must be a YAML mapping with text keys"),
    ("? [a]\n: b\n", " must be a YAML mapping with text keys"),
    ("a: 1\nb: [1,\nc: 'x\n", "4: not valid YAML: "),
    ("a: 1\n\tb: 2\n", "2: not valid YAML: found character '\\t' that cannot start any token"),
    ("a: 1\nb: 2\na: 3\n", '3: not valid YAML: found duplicate key "a"'),
    ("a:\n  b: 2\n  b: 3\n", '3: not valid YAML: found duplicate key "b"'),
    ("---\na: 1\n---\nb: 2\n", "3: not valid YAML: but found another document"),
    ("a: 1\nb: \x01\n", "2: not valid YAML: special characters are not allowed"),
    ("a: 1\nb: 2026-02-30\n", " not valid YAML: day is out of range for month; put text in quotes"),
    ("a: " + "9" * 5000 + "\n", " not valid YAML: "),
    ("a: !!python/object/apply:os.system [ls]\n", "1: tag 'tag:yaml.org,2002:python/object/apply:os.system'"),
    ("a: 1\nb: !!python/name:os.system\n", "2: tag 'tag:yaml.org,2002:python/name:os.system'"),
    ("a: !mine {}\n", "1: tag '!mine'"),
    ("a: !!int x\n", "1: tag 'tag:yaml.org,2002:int'"),
    ("a: !!binary aGk=\n", "1: tag 'tag:yaml.org,2002:binary'"),
    ("a: &x [1]\nb: *x\n", "1: anchor or alias 'x'; write the value out"),
    ("a: &x [*x]\n", "1: anchor or alias 'x'; write the value out"),
    ("a: 1\nb: *x\n", "2: anchor or alias 'x'; write the value out"),
    ("a: " + "[" * 3000 + "\n", "1: nested too deeply to be configuration"),
    ("a:\n  b: '\\ud800'\n  c: \"\\ud800\"\n", "3: half of a surrogate pair; write the whole character"),
    ("\ufeffa: 1\n", "1: starts with a byte-order mark"),
]


@pytest.mark.parametrize("file", ["params.yaml", "data/participants.yaml", PROFILE])
@pytest.mark.parametrize(("text", "expected"), YAML_ERRORS, ids=[str(n) for n in range(len(YAML_ERRORS))])
def test_yaml(project: Path, file: str, text: str, expected: str) -> None:
    assert refusal(project, file, text).startswith(expected)


def test_not_utf8(project: Path) -> None:
    (project / "params.yaml").write_bytes("a: 1\nb: 밥\n".encode("cp949"))
    with pytest.raises(ConfigError, match=r"params.yaml:2: not UTF-8; save the file as UTF-8$"):
        read_params(project / "params.yaml")


@pytest.mark.parametrize("file", ["params.yaml", "data/participants.yaml"])
def test_no_file(project: Path, file: str) -> None:
    (project / file).unlink()
    with pytest.raises(ConfigError, match=r"no such file; check the path$"):
        read(project, file)
    (project / file).mkdir()
    with pytest.raises(ConfigError, match=r"cannot be read .*; check the path$"):
        read(project, file)


@pytest.mark.parametrize("tag", ["no", "on", "yes", "nb-NO", "en", "sr-Latn-RS"])
def test_language_codes_that_look_like_truth_values(project: Path, tag: str) -> None:
    """YAML 1.2, which ruamel.yaml and DVC read, has no truth value but true and false."""
    put(project / "params.yaml", edited(PARAMS, "[en]", f"[{tag}]"))
    assert read_params(project / "params.yaml").languages == [tag]


def test_language_codes_in_a_file_that_asks_for_yaml_1_1(project: Path) -> None:
    said = refusal(project, "params.yaml", "%YAML 1.1\n---\n" + edited(PARAMS, "[en]", "[no]"))
    assert said.startswith(" languages.0: ")


@pytest.mark.parametrize(
    ("tag", "label"),
    [("en", "English"), ("ja", "Japanese"), ("zh-Hans", "Simplified Chinese"), ("pt-BR", "pt-BR")],
)
def test_language_label(tag: str, label: str) -> None:
    assert language_label(tag) == label


def test_identity_leaves_out_what_only_carries_requests(project: Path) -> None:
    before = read_profile(project, "tiny-judge").identity_hash()
    put(
        project / PROFILE,
        "description: another\n"
        + edited(JUDGE, "http://127.0.0.1:9", "https://example.org/v1")
        + "  concurrency: 9\n  timeout_seconds: 1\n  max_tries: 2\n  api_key_env: KEY\n",
    )
    assert read_profile(project, "tiny-judge").identity_hash() == before
    put(project / PROFILE, edited(JUDGE, "temperature: 0", "temperature: 0.5"))
    assert read_profile(project, "tiny-judge").identity_hash() != before
