"""A sealed run of eight cells, made by ``dvc repro``, with every fate a cell can have; and how to forge it.

| cell              | zzsystem-a                                | zzsystem-b                          |
| ----------------- | ----------------------------------------- | ----------------------------------- |
| zzitem-1, en      | one major, 5; missed_required_context     | judge failed, refused in two rounds |
| zzitem-1, ja      | one minor, 1; used_correctly              | the same request, the same answer   |
| zzitem-2, en      | none, 0; ignored_irrelevant_context       | could not be translated             |
| zzitem-2, ja      | one critical, 25; the second round        | no translation                      |
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from tiny_project import JUDGE, PARAMS, PROFILE, REPOSITORY, lines, make_tiny_project, put

from pipeline.answers import Answer
from pipeline.canonical import sha256_hex
from pipeline.jsonl import read_json_lines
from pipeline.judges.openai_wire import read_response
from pipeline.stages import parse, render, report, score, seal

ARCHIVED = "experiments/2026-04-gemini-context-v2-archived/judge-prompts"
RECORDED = "data/recorded/tiny-judge.jsonl"
RESPONSES = "data/responses/responses.jsonl"
MANIFEST = "reports/manifest.json"

NO_ERRORS = "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error\ncontextBehavior: "
MAJOR = (
    'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "She"\nMinor:\nno-error\n'
    "contextBehavior: missed_required_context"
)
MINOR = (
    'Critical:\nno-error\nMajor:\nno-error\nMinor:\nfluency/punctuation - "。"\n'
    "contextBehavior: used_correctly"
)
CRITICAL = (
    'Critical:\naccuracy/omission - "船"\nMajor:\nno-error\nMinor:\nno-error\n'
    "contextBehavior: misused_context"
)
# By translation: what the judge said, round by round.
SAID = {
    "She has already left.": [MAJOR],
    "The ship is leaving.": [NO_ERRORS + "ignored_irrelevant_context"],
    "もう帰った。": [MINOR],
    "船が出る。": ["It is fine.", CRITICAL],
    "Already went.": ["Hm.", "Hm, hm."],
}


def make_sealed_project(root: Path) -> Path:
    """Write the project and run ``dvc repro`` in it, from recorded answers."""
    make_tiny_project(root)
    put(root / "params.yaml", PARAMS.replace("languages: [en]", "languages: [en, ja]"))
    put(root / PROFILE, "description: a judge of the tests\n" + JUDGE)
    for name, text in (("a", "もう帰った。"), ("b", "もう帰った。")):
        path = root / f"data/translations/{name}.jsonl"
        more = [{"item_id": "zzitem-1", "target_language": "ja", "translation": text}]
        if name == "a":
            more.append({"item_id": "zzitem-2", "target_language": "ja", "translation": "船が出る。"})
        put(path, path.read_text(encoding="utf-8") + lines(*more))
    for name in ("dvc.yaml", ".dvcignore", "requirements.lock", "data/judge-prices.yaml"):
        shutil.copyfile(REPOSITORY / name, root / name)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("pipeline", ARCHIVED):
        shutil.copytree(REPOSITORY / name, root / name, ignore=ignored)
    render.run(root)
    requests = read_json_lines(root / "data/requests/requests.jsonl", ValueError)  # type: ignore[arg-type]
    answers = [_answer(row["request_hash"], SAID[row["variables"]["translation"]]) for _, row in requests]
    put(root / RECORDED, "".join(answer.line() for answer in answers))
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CTXEVAL_LEDGER": str(root.parent / "no-ledger.sqlite"),
        "DVC_NO_ANALYTICS": "1",
    }
    for command in (["init", "--quiet", "--no-scm"], ["repro", "--quiet"]):
        subprocess.run(
            [sys.executable, "-m", "dvc", *command],
            cwd=root,
            env=environment,
            check=True,
            capture_output=True,
        )
    shutil.rmtree(root / ".dvc")
    return root


def _answer(request_hash: str, texts: list[str]) -> Answer:
    attempts = [read_response("openai-compatible", 200, response_body(text))[0] for text in texts]
    return Answer(request_hash=request_hash, repeat=0, selected=len(texts) - 1, attempts=attempts)


def response_body(text: str, cost: str = "0.00125") -> bytes:
    """A chat completion that says ``text``."""
    body = json.dumps(
        {
            "id": "one",
            "model": "tiny-model",
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "cost": 0},
        },
        ensure_ascii=False,
    )
    return body.replace('"cost": 0', f'"cost": {cost}').encode("utf-8")


def parse_again(root: Path) -> None:
    """Make everything from the tables on again, in this process, from what the project holds now."""
    parse.run(root)
    score_again(root)


def score_again(root: Path) -> None:
    """Make reports and manifest again from the tables."""
    score.run(root)
    report.run(root)
    seal.run(root)


def sealed_line(row: dict[str, Any]) -> str:
    """A line of an answers file with the hash that fits it, as RFC 8785 has it for text and integers."""
    row = {key: value for key, value in row.items() if key != "sha256"}
    form = json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    whole = {**row, "sha256": sha256_hex(form.encode("utf-8"))}
    return json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"


def forge_manifest(root: Path, name: str = MANIFEST) -> None:
    """Rewrite sizes and hashes of the manifest so that they fit the files."""
    document = json.loads((root / name).read_text(encoding="utf-8"))
    for entry in (*document["inputs"], *document["outputs"]):
        data = (root / entry["path"]).read_bytes()
        entry["bytes"], entry["sha256"] = len(data), hashlib.sha256(data).hexdigest()
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, indent=2) + "\n"
    (root / name).write_text(text, encoding="utf-8")


def forge_lock(root: Path) -> None:
    """Rewrite hashes and sizes of ``dvc.lock`` so that they fit the files, the way DVC hashes them."""
    yaml = YAML(typ="safe", pure=True)
    lock = yaml.load((root / "dvc.lock").read_text(encoding="utf-8"))
    for stage in lock["stages"].values():
        for entry in (*stage.get("deps", ()), *stage.get("outs", ())):
            target = root / entry["path"]
            if target.is_dir():
                files = [p for p in target.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
                listing = sorted(
                    (p.relative_to(target).as_posix(), hashlib.md5(p.read_bytes()).hexdigest())  # noqa: S324
                    for p in files
                )
                text = json.dumps([{"md5": md5, "relpath": path} for path, md5 in listing])
                entry["md5"] = hashlib.md5(text.encode()).hexdigest() + ".dir"  # noqa: S324
                entry["size"] = sum(p.stat().st_size for p in files)
                entry["nfiles"] = len(files)
            elif target.is_file():
                entry["md5"] = hashlib.md5(target.read_bytes()).hexdigest()  # noqa: S324
                entry["size"] = target.stat().st_size
    with (root / "dvc.lock").open("w", encoding="utf-8") as out:
        yaml.dump(lock, out)
