"""A conversation as one prompt, for judges that have no channel for a system text or for examples."""

from __future__ import annotations

from itertools import pairwise

from pipeline.judges.base import Messages

_EXAMPLES = "Worked examples come first: what is asked, and the answer wanted."
_TASK = (
    "Now answer what follows in the form of the examples. Give the answer alone: no introduction, "
    "no tools, no files."
)
_TASK_ALONE = "Give the answer alone: no introduction, no tools, no files."


def render_prompt(messages: Messages) -> str:
    """System text, examples, then the last message, each under a heading of its own.

    Untrusted text stands in the last message only, in the fences its template put around it. The prompt
    never begins with a slash, which commands take for an instruction to themselves.
    """
    system = [message["content"] for message in messages if message["role"] == "system"]
    turns = [message for message in messages if message["role"] != "system"]
    parts = ["# Instructions", *system]
    pairs = [
        (asked["content"], answered["content"])
        for asked, answered in pairwise(turns)
        if (asked["role"], answered["role"]) == ("user", "assistant")
    ]
    if pairs:
        parts.append(_EXAMPLES)
    for number, (asked, answered) in enumerate(pairs, start=1):
        parts += [f"# Example {number}: asked", asked, f"# Example {number}: answer", answered]
    parts += ["# Task", _TASK if pairs else _TASK_ALONE, turns[-1]["content"]]
    return "\n\n".join(parts)
