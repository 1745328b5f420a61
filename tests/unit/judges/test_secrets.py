"""Keys: where they come from, and that they do not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.judges.secrets import Secret, find_secret

NAME = "CTXEVAL_TEST_KEY"


@pytest.fixture(autouse=True)
def _not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (f"{NAME}=abc", "abc"),
        (f"export {NAME} = abc", "abc"),
        (f'{NAME}="a=b#c"', "a=b#c"),
        (f"{NAME}='abc'", "abc"),
        (f"# a comment\n\nOTHER=1\n{NAME}=abc\n", "abc"),
        (f"{NAME}=one\n{NAME}=two", "two"),
    ],
)
def test_env_files(tmp_path: Path, line: str, value: str) -> None:
    (tmp_path / ".env").write_text(line, encoding="utf-8")
    assert find_secret(NAME, [tmp_path]).reveal() == value


def test_the_environment_wins_and_then_the_first_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / "none", tmp_path / "one", tmp_path / "two"]
    for folder in folders[1:]:
        folder.mkdir()
        (folder / ".env").write_text(f"{NAME}={folder.name}", encoding="utf-8")
    assert find_secret(NAME, folders).reveal() == "one"
    monkeypatch.setenv(NAME, "  ")
    assert find_secret(NAME, folders).reveal() == "one"
    monkeypatch.setenv(NAME, "environment\n")
    assert find_secret(NAME, folders).reveal() == "environment"


def test_a_missing_key_says_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        find_secret(NAME, [tmp_path, tmp_path / "state"])
    assert f"{NAME} is not set" in str(caught.value)
    assert f"{tmp_path}/.env or {tmp_path}/state/.env" in str(caught.value)


@pytest.mark.parametrize("value", ["sk-a b", "sk-a\nb", "sk-é", "sk-\x7f"])
def test_what_is_no_key_is_refused_without_being_shown(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, value)
    with pytest.raises(ConfigError) as caught:
        find_secret(NAME, [])
    assert NAME in str(caught.value)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("content", [b"sk-secret-alone", b"\xffK=sk-secret-alone"])
def test_a_broken_env_file_is_named_without_its_content(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        find_secret(NAME, [tmp_path])
    assert str(tmp_path / ".env") in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_secret_does_not_show() -> None:
    secret = Secret("sk-secret")
    assert "secret" not in f"{secret} {secret!r} {[secret]}".replace("Secret", "")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'key sk/a"b is wrong', b"key [redacted] is wrong"),
        (rb'{"m":"key sk/a\"b"}', b'{"m":"key [redacted]"}'),
        (rb'{"m":"key sk\/a\"b"}', b'{"m":"key [redacted]"}'),
        (b'\xff sk/a"b', b"\xff [redacted]"),
        (b"nothing", b"nothing"),
    ],
)
def test_a_key_that_a_service_repeats_is_struck_out(data: bytes, expected: bytes) -> None:
    assert Secret('sk/a"b').redact(data) == expected
