"""The annotation: what is left of a judge's answer once it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.vocabulary import JUDGE_FAILURES

OK: Final = "ok"
# `unrecorded` is the failure of imported runs that kept no answer; no reader ever gives it.
ANNOTATION_STATUSES: Final = (OK, *(failure for failure in JUDGE_FAILURES if failure != "unrecorded"))


@dataclass(frozen=True, slots=True)
class AnnotationError:
    """One MQM error.

    ``severity`` and ``error_class`` are of the closed lists in ``pipeline.vocabulary``. ``span`` is the
    judge's quotation of the translation, verbatim and not located; it is None only in the JSON form, which
    alone has ``source_span`` (quotation of the source) and ``explanation``.
    """

    severity: str
    error_class: str
    span: str | None
    source_span: str | None = None
    explanation: str | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """A judge's answer as it was read.

    ``status`` is one of ``ANNOTATION_STATUSES``. Where it is ``ok``, ``reason`` is None, ``errors`` stand in
    the answer's order, ``context_behavior`` is one of the five labels (None only where the JSON form did not
    require it), ``repairs`` names the lenient repairs used, and ``contradictory`` says that a severity has
    both ``no-error`` and an error. For a failure, ``reason`` is one line that begins with the status and
    names the place, and everything else is empty.
    """

    status: str
    reason: str | None
    errors: tuple[AnnotationError, ...]
    context_behavior: str | None
    repairs: tuple[str, ...]
    contradictory: bool
