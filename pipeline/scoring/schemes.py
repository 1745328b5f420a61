"""Named scoring schemes: what an error weighs, in tenths, and how an annotation's errors add up."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from pipeline.errors import ConfigError
from pipeline.vocabulary import ERROR_CLASSES, SEVERITIES


@dataclass(frozen=True)
class Scheme:
    """Weights in tenths by (severity, error class), with an optional limit and cap.

    ``max_errors``: only so many of the heaviest errors of an annotation count.
    ``cap_tenths``: the most an annotation's penalty can be.
    """

    name: str
    weights: MappingProxyType[tuple[str, str], int]
    max_errors: int | None = None
    cap_tenths: int | None = None


def _weights(
    by_severity: dict[str, int], exceptions: dict[tuple[str, str], int] | None = None
) -> MappingProxyType[tuple[str, str], int]:
    table = {(severity, name): by_severity[severity] for severity in SEVERITIES for name in ERROR_CLASSES}
    return MappingProxyType(table | (exceptions or {}))


_NON_TRANSLATION_25 = {(severity, "non-translation"): 250 for severity in SEVERITIES}

SCHEMES = MappingProxyType(
    {
        scheme.name: scheme
        for scheme in (
            # The benchmark's published scheme.
            Scheme("context-v1", _weights({"critical": 250, "major": 50, "minor": 10})),
            # GEMBA's mqm utilities (MicrosoftTranslator/GEMBA, gemba/gemba_mqm_utils.py): the first
            # five errors, critical before major before minor; capped at 25; non-translation is
            # always critical.
            Scheme(
                "gemba-upstream",
                _weights({"critical": 250, "major": 50, "minor": 10}, _NON_TRANSLATION_25),
                max_errors=5,
                cap_tenths=250,
            ),
            # Freitag et al. 2021, "Experts, Errors, and Context", table 4: non-translation 25,
            # major 5, minor 1, minor fluency/punctuation 0.1. WMT has no critical severity; it
            # counts as major here.
            Scheme(
                "wmt-mqm",
                _weights(
                    {"critical": 50, "major": 50, "minor": 10},
                    {**_NON_TRANSLATION_25, ("minor", "fluency/punctuation"): 1},
                ),
            ),
        )
    }
)


def scheme_named(name: str) -> Scheme:
    """The scheme of that name.

    Raises:
        ConfigError: there is none; the message lists those there are.
    """
    try:
        return SCHEMES[name]
    except KeyError:
        raise ConfigError(
            f"scoring.scheme {name!r} does not exist; choose from: {', '.join(SCHEMES)}"
        ) from None
