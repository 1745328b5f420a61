"""Record translations of a dataset: from a model behind an OpenAI-compatible server, or copied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from string import Template

import click
import requests

from pipeline.canonical import json_line, sha256_text, write_lines
from pipeline.config import LANGUAGE_LABELS
from pipeline.dataset import Item, read_dataset
from pipeline.prompts import cell_variables

DATASET = Path("data/datasets/ko-context-dialogue-v1/items.jsonl")
TRANSLATIONS = Path("data/translations")
SOURCE_LANGUAGE = "Korean"
SEED = 7
MAX_TOKENS = 200
TIMEOUT_SECONDS = 300

Row = dict[str, str]
Translate = Callable[[Item, str], Row]


@click.group()
def main() -> None:
    """Write one JSON line per item and target language, in dataset order."""


@main.command()
@click.option("--base-url", required=True, help="Server, up to but without /v1.")
@click.option("--model", required=True, help="Model name the server knows.")
@click.option("--prompt", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True)
@click.option("--history", type=click.Choice(["all", "none"]), required=True, help="Earlier turns shown.")
@click.option("--participant", required=True, help="Participant id; names the file by default.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path))
def model(
    base_url: str, model: str, prompt: Path, history: str, participant: str, output: Path | None
) -> None:
    """Ask a model for every translation, at temperature 0 and a fixed seed."""
    text = prompt.read_text(encoding="utf-8")
    template = Template(text.rstrip("\n"))
    if ("context" in template.get_identifiers()) != (history == "all"):
        raise click.UsageError(f"--history {history} does not fit {prompt}: see whether it uses ${{context}}")

    def translate(item: Item, language: str) -> Row:
        variables = cell_variables(item, LANGUAGE_LABELS[language], SOURCE_LANGUAGE, translation="")
        return _ask(base_url, model, template.substitute(variables))

    _write(translate, output or TRANSLATIONS / f"{participant}.jsonl")
    click.echo(f"{participant}: prompt SHA-256 {sha256_text(text)}")


@main.command("copy-source")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path))
def copy_source(output: Path | None) -> None:
    """Give every source text back untranslated: a floor every system should be above."""
    _write(
        lambda item, _language: {"translation": item.current_source.source_text},
        output or TRANSLATIONS / "copy-source.jsonl",
    )


def _ask(base_url: str, model: str, prompt: str) -> Row:
    """The stripped translation, or why there is none. An HTTP error ends the run: nothing is written."""
    response = requests.post(
        f"{base_url.rstrip('/')}/v1/chat/completions",
        json={
            "model": model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "seed": SEED,
            "max_tokens": MAX_TOKENS,
        },
        timeout=TIMEOUT_SECONDS,
    )
    response.raise_for_status()
    choice = response.json()["choices"][0]
    if choice["finish_reason"] == "length":
        return {"failure": f"cut off at {MAX_TOKENS} tokens"}
    text = (choice["message"]["content"] or "").strip()
    return {"translation": text} if text else {"failure": "empty output"}


def _write(translate: Translate, output: Path) -> None:
    rows: list[Row] = []
    for item in read_dataset(DATASET).items:
        for language in LANGUAGE_LABELS:
            key = {"item_id": item.sample_id, "target_language": language}
            rows.append(key | translate(item, language))
    write_lines(output, map(json_line, rows))
    failures = sum("failure" in row for row in rows)
    click.echo(f"{output}: {len(rows) - failures} translations, {failures} failures")


if __name__ == "__main__":
    main()
