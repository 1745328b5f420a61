"""``leaderboard.md`` for runs of hostile names: every table stays a table, no markup gets through."""

from __future__ import annotations

import re

import pytest
from tiny_run import CLEAN, TinyRun, answer

from pipeline.reporting.markdown import leaderboard_markdown

HOSTILE = {
    "pipe": ("a | b", r"a \| b"),
    "backticks": ("```js", r"\`\`\`js"),
    "html": ("<script>alert(1)</script>", r"\<script\>alert\(1\)\</script\>"),
    "image": ("![x](http://e/x.png)", r"\!\[x\]\(http://e/x.png\)"),
    "line ends": ("a\r\n\n| b |\u2028c", r"a \| b \| c"),
    "heading": ("# Title", r"\# Title"),
    "entity": ("&lt;b&gt;", r"\&lt;b\&gt;"),
    "backslash": ("a\\|b", r"a\\\|b"),
    "emphasis": ("*a* _b_ ~c~", r"\*a\* \_b\_ \~c\~"),
    "turns text around": ("a\u202eb", "a b"),
    "terminal colours": ("\x1b[31mred", r"\[31mred"),
}


@pytest.mark.parametrize(("name", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_display_names(name: str, shown: str) -> None:
    text = leaderboard_markdown(_run(name).scores())
    rows = [line for line in text.splitlines() if line.startswith(("| 1 |", "| 2 |"))]
    assert len(rows) == 2
    assert rows[0].startswith(f"| 1 | {shown} | 0.000 |")
    for row in rows:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 9, "eight cells"
    assert len(text.splitlines()) == len(leaderboard_markdown(_run("plain").scores()).splitlines())


@pytest.mark.parametrize(("name", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_names_of_run_and_judge(name: str, shown: str) -> None:
    run = _run("plain")
    run.run_name, run.judge_model = name, name
    text = leaderboard_markdown(run.scores())
    lines = text.splitlines()
    assert lines[0] == f"# Leaderboard: {shown}"
    (judge,) = (line for line in lines if line.startswith("Mean cell penalty; lower is better."))
    assert judge.count("`") == 6, "three code spans"
    signatures = [line for line in lines if line.startswith("`GEMBA-MQM-context|")]
    assert [line.count("`") for line in signatures] == [2, 2], "short and long"
    assert len(lines) == len(leaderboard_markdown(_run("plain").scores()).splitlines())


def test_the_numbers() -> None:
    missed = answer(major=("other",), minor=("other", "other"), label="missed_required_context")
    run = TinyRun(
        participants=["worse", "better", "none"],
        answers={("i1", "en", "worse"): [missed], ("i1", "en", "better"): [CLEAN]},
    )
    text = leaderboard_markdown(run.scores())
    # Best first; who has no mean comes last and gets no zero.
    assert (
        "| 1 | better | 0.000 | n/a | 1/1 | 0 / 0 / 0 | 0.0 % | n/a |\n"
        "| 2 | worse | 7.000 | n/a | 1/1 | 0 / 1 / 2 | 100.0 % | n/a |\n"
        "| - | none | n/a | n/a | 0/1 | 0 / 0 / 0 | n/a | n/a |\n"
    ) in text
    assert "| better | 0.000 (1) |" in text
    assert "- Benchmark valid: **no**. Expected cells 3; ok 2; judge failed 0; translation failed 0; " in text
    assert text.endswith("\n") and not text.endswith("\n\n")


def _run(name: str) -> TinyRun:
    return TinyRun(
        participants=["p1", "p2"],
        display_names={"p1": name, "p2": "other"},
        answers={("i1", "en", "p1"): [CLEAN], ("i1", "en", "p2"): [answer(minor=("other",))]},
    )
