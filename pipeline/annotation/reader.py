"""Read a judge's answer in the form its prompt set asked for."""

from __future__ import annotations

from typing import Literal

from pipeline.annotation.failures import finish_failure
from pipeline.annotation.json_form import read_json
from pipeline.annotation.model import Annotation
from pipeline.annotation.text_form import read_text

Form = Literal["text", "json"]
Mode = Literal["strict", "lenient"]


def read_answer(text: str, *, form: Form, mode: Mode, finish_reason: str | None = None) -> Annotation:
    """Read an answer; every text gives an annotation, whose ``status`` says whether it counts.

    ``finish_reason`` is the service's word of why the answer ended, in any case and provider's dialect: a
    token limit makes it ``truncated`` and a content filter ``filtered``, regardless of the text.

    Raises:
        ValueError: ``form`` or ``mode`` is none of the allowed words.
    """
    if mode not in ("strict", "lenient"):
        raise ValueError(f"mode is {mode!r}; it must be strict or lenient")
    stopped = finish_failure(text, finish_reason)
    if stopped is not None:
        return stopped
    if form == "text":
        return read_text(text, mode)
    if form == "json":
        return read_json(text, mode)
    raise ValueError(f"form is {form!r}; it must be text or json")
