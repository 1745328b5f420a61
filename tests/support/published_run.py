"""A small run in the published form, with texts of its own and reports computed by hand.

| cell               | alpha                                     | beta                                   |
| ------------------ | ----------------------------------------- | -------------------------------------- |
| needs-context, en  | one major, 5; missed_required_context     | none, 0; used_correctly                |
| needs-context, ja  | two minor, 2; used_correctly              | could not be translated                |
| no-context, en     | none, 0; ignored_irrelevant_context       | one critical, 25; misused_context      |
| no-context, ja     | the judge failed: nothing recorded        | one minor, 1; misused_context          |

beta's failure to translate needs-context into English was overtaken by a later answer.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.cli import main

RUN = "own-run"
ITEMS = ("needs-context", "no-context")
Json = dict[str, Any]

_NO_ERROR = "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error\ncontextBehavior: "
ANSWERS = {
    ("needs-context", "en", "alpha"): (
        'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "it"\nMinor:\nno-error\n'
        "contextBehavior: missed_required_context"
    ),
    ("needs-context", "en", "beta"): _NO_ERROR + "used_correctly",
    ("needs-context", "ja", "alpha"): (
        'Critical:\nno-error\nMajor:\nno-error\nMinor:\nstyle/awkward - "あれ"\nstyle/awkward - "です"\n'
        "contextBehavior: used_correctly"
    ),
    ("no-context", "en", "alpha"): _NO_ERROR + "ignored_irrelevant_context",
    ("no-context", "en", "beta"): (
        'Critical:\naccuracy/omission - "now"\nMajor:\nno-error\nMinor:\nno-error\n'
        "contextBehavior: misused_context"
    ),
    ("no-context", "ja", "beta"): (
        'Critical:\nno-error\nMajor:\nno-error\nMinor:\nfluency/punctuation - "。"\n'
        "contextBehavior: misused_context"
    ),
}
FAILURES = [("needs-context", "en", "beta"), ("needs-context", "ja", "beta")]


def key(cell: tuple[str, str, str]) -> str:
    """A cell's stable key."""
    return "::".join((RUN, *cell))


def _row(participant: str, **values: Any) -> Json:
    return {
        "participant_id": participant,
        "participant_display_name": f"System {participant.title()}",
        **values,
    }


def _board(alpha: tuple[float | None, int, int], beta: tuple[float | None, int, int]) -> list[Json]:
    return [
        _row(name, mean_penalty=mean, samples=samples, failed_samples=failed)
        for name, (mean, samples, failed) in (("alpha", alpha), ("beta", beta))
    ]


def _common(alpha: float | None, beta: float | None, samples: int) -> list[Json]:
    return [
        _row("alpha", mean_penalty=alpha, samples=samples),
        _row("beta", mean_penalty=beta, samples=samples),
    ]


_SEVERITIES = {
    "en": {"alpha": (0, 1, 0), "beta": (1, 0, 0)},
    "ja": {"alpha": (0, 0, 2), "beta": (0, 0, 1)},
}
SEVERITIES = {
    language: {
        name: dict(zip(("critical", "major", "minor"), counts, strict=True)) for name, counts in board.items()
    }
    for language, board in _SEVERITIES.items()
}
CLASSES = {
    "en": {"alpha": {"accuracy/mistranslation": 1}, "beta": {"accuracy/omission": 1}},
    "ja": {"alpha": {"style/awkward": 2}, "beta": {"fluency/punctuation": 1}},
}
FAILED: dict[str, list[Json]] = {
    "en": [],
    "ja": [_row("alpha", source_id="no-context", stable_key=key(("no-context", "ja", "alpha")))],
}
# alpha: en (5 + 0) / 2, ja 2 / 1.  beta: en (0 + 25) / 2, ja 1 / 1.
BY_LANGUAGE = {
    "en": _board((2.5, 2, 0), (12.5, 2, 0)),
    "ja": _board((2, 1, 1), (1, 1, 0)),
}
REPORTS: dict[str, Any] = {
    # alpha (5 + 2 + 0) / 3, beta (0 + 25 + 1) / 3
    "summary-overall.penalty": [_row("alpha", mean_penalty=7 / 3), _row("beta", mean_penalty=26 / 3)],
    # Common are the two English cells.
    "summary-overall.penalty.common-cell": _common(2.5, 12.5, 2),
    # en 0 and 1, ja 1 and 0
    "summary-overall.normalized": [
        _row("alpha", normalized_macro_mean_penalty=0.5),
        _row("beta", normalized_macro_mean_penalty=0.5),
    ],
    "leaderboard.by-language": {
        language: {
            "leaderboard": BY_LANGUAGE[language],
            "severityBreakdown": SEVERITIES[language],
            "errorClassBreakdown": CLASSES[language],
            "failures": FAILED[language],
        }
        for language in ("en", "ja")
    },
    "leaderboard.by-language.common-cell": {
        "en": _common(2.5, 12.5, 2),
        "ja": _common(None, None, 0),
    },
    "leaderboard.by-context-expectation": {
        "use": _board((3.5, 2, 0), (0, 1, 0)),  # (5 + 2) / 2, 0 / 1
        "ignore": _board((0, 1, 1), (13, 2, 0)),  # 0 / 1, (25 + 1) / 2
    },
    "leaderboard.by-context-expectation.common-cell": {
        "use": _common(5, 0, 1),
        "ignore": _common(0, 25, 1),
    },
    # needs-context has two turns of two speakers, no-context one of one.
    "leaderboard.by-context-turn-count": {
        "2": _board((3.5, 2, 0), (0, 1, 0)),
        "1": _board((0, 1, 1), (13, 2, 0)),
    },
    "leaderboard.by-context-turn-count-and-speaker-mode": {
        "2::dyadic": _board((3.5, 2, 0), (0, 1, 0)),
        "1::single": _board((0, 1, 1), (13, 2, 0)),
    },
    "context-behavior.counts": {
        "alpha": {
            "used_correctly": 1,
            "missed_required_context": 1,
            "ignored_irrelevant_context": 1,
            "misused_context": 0,
            "unclear": 0,
        },
        "beta": {
            "used_correctly": 1,
            "missed_required_context": 0,
            "ignored_irrelevant_context": 0,
            "misused_context": 2,
            "unclear": 0,
        },
    },
    # alpha: one of two cells that need context, none of one that does not; beta: 0 of 1, 2 of 2.
    "context-behavior.rates": {
        "alpha": {"missed_required_context_rate": 0.5, "misused_context_rate": 0},
        "beta": {"missed_required_context_rate": 0, "misused_context_rate": 1},
    },
    "severity-breakdown.by-language": SEVERITIES,
    "error-class-breakdown.by-language": CLASSES,
    "failed-samples.by-language": FAILED,
    "run-status": {
        "benchmarkValid": False,
        "totalExpected": 8,
        "totalNormalized": 7,
        "translationFailureHistoricalCount": 2,
        "translationFailureUnresolvedCount": 1,
        "commonCellCount": 2,
        "judgeFailureRatesByParticipantLanguage": {
            "alpha::en": {"ok": 2, "failed": 0},
            "alpha::ja": {"ok": 1, "failed": 1},
            "beta::en": {"ok": 2, "failed": 0},
            "beta::ja": {"ok": 1, "failed": 0},
        },
    },
}


@dataclass(frozen=True)
class Published:
    """Where a published run and its dataset stand."""

    source: Path
    dataset: Path

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text that stands in one of the run's files."""
        path = self.source / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{name} does not hold {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def add(self, name: str, line: Json) -> None:
        """Add a JSON line to one of the run's files."""
        with (self.source / name).open("a", encoding="utf-8") as out:
            out.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_run(folder: Path) -> Published:
    """Write the run into a new folder."""
    source = folder / "run"
    (source / "reports").mkdir(parents=True)
    manifest = {
        "manifestVersion": 3,
        "runId": RUN,
        "judgePromptSetId": "own-prompts",
        "judgeBackend": "own-backend",
        "judgeModelId": "own/judge",
        "targetLanguages": ["en", "ja"],
        "participants": [
            {
                "participantId": name,
                "displayName": f"System {name.title()}",
                "provider": "own",
                "providerModelId": f"own/{name}",
            }
            for name in ("alpha", "beta")
        ],
    }
    _write(source / "manifest.json", [manifest])
    _write(
        source / "judge-raw.jsonl",
        [
            {
                "stable_key": key(cell),
                "source_id": cell[0],
                "target_language": cell[1],
                "participant_id": cell[2],
                "raw_judge_output": text,
            }
            for cell, text in ANSWERS.items()
        ],
    )
    _write(
        source / "translation-failures.jsonl",
        [{"stable_key": key(c), "error_class": "network", "last_error_summary": "timeout"} for c in FAILURES],
    )
    _write(folder / "dataset.json", [[_item("needs-context"), _item("no-context")]])
    for name, document in REPORTS.items():
        _write(source / "reports" / f"{name}.json", [document])
    return Published(source, folder / "dataset.json")


def _item(name: str) -> Json:
    needed = name == "needs-context"
    turns = [{"speakerRole": "self", "relativeTimeLabel": "1분 전", "sourceText": "그 책 다 읽었어."}]
    if needed:
        turns.insert(0, {"speakerRole": "other", "sourceText": "빌려준 책은 어땠어?"})
    return {
        "sampleId": name,
        "contextTurnCount": len(turns),
        "speakerMode": "dyadic" if needed else "single",
        "contextExpectation": "use" if needed else "ignore",
        "primaryPhenomenon": "referent_resolution" if needed else "false_lead_trap",
        "secondaryPhenomena": [],
        "contextTurns": turns,
        "currentSource": {"speakerRole": "self", "sourceText": "내일 돌려줄게."},
    }


def _write(path: Path, lines: list[Any]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


def pipeline(*arguments: str | Path) -> Outcome:
    """Run ``python -m pipeline ARGUMENTS`` in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["pipeline", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    finally:
        sys.argv = before
    return Outcome(code, out.getvalue(), err.getvalue())


def build(run: Published, out: Path, *options: str) -> Outcome:
    """``published build`` of a run into ``out``."""
    return pipeline("published", "build", run.source, "--dataset", run.dataset, "--out", out, *options)


def refusal(outcome: Outcome) -> str:
    """The message of a command that ended with one line and exit code 1."""
    assert outcome.code == 1, outcome
    assert outcome.err.startswith("error: "), outcome
    assert outcome.err.endswith(" [exit code 1]\n"), outcome
    assert outcome.err.count("\n") == 1, outcome
    return outcome.err.removeprefix("error: ").removesuffix(" [exit code 1]\n")


def tree(folder: Path) -> dict[str, bytes]:
    """Bytes by path of every file in a folder; empty if it is not there."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
