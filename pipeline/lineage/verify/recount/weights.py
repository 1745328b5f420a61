"""Severity weights, transcribed from the table in docs/methodology.md; not those the scoring uses."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pipeline.annotation import AnnotationError
from pipeline.errors import ConfigError

_POINTS = {"critical": 25, "major": 5, "minor": 1}


def penalty(errors: Sequence[AnnotationError], scheme: str) -> Fraction:
    """Penalty points of one verdict under a named scheme.

    Raises:
        ConfigError: there is no such scheme.
    """
    if scheme == "context-v1":
        return sum((Fraction(_POINTS[error.severity]) for error in errors), Fraction(0))
    if scheme == "gemba-upstream":
        # Non-translation is always critical; the five heaviest errors count; at most 25.
        points = [
            25 if error.error_class == "non-translation" else _POINTS[error.severity] for error in errors
        ]
        return Fraction(min(25, sum(sorted(points, reverse=True)[:5])))
    if scheme == "wmt-mqm":
        return sum((_wmt(error) for error in errors), Fraction(0))
    raise ConfigError(
        f"scoring.scheme {scheme!r} does not exist; choose from: context-v1, gemba-upstream, wmt-mqm"
    )


def _wmt(error: AnnotationError) -> Fraction:
    """Non-translation 25 at any severity; minor punctuation 0.1; critical counts as major."""
    if error.error_class == "non-translation":
        return Fraction(25)
    if (error.severity, error.error_class) == ("minor", "fluency/punctuation"):
        return Fraction(1, 10)
    return Fraction({"critical": 5, "major": 5, "minor": 1}[error.severity])
