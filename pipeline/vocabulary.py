"""The closed lists of the benchmark, each in its stable order."""

from __future__ import annotations

from typing import Final

SEVERITIES: Final = ("critical", "major", "minor")
CONTEXT_BEHAVIORS: Final = (
    "used_correctly",
    "missed_required_context",
    "ignored_irrelevant_context",
    "misused_context",
    "unclear",
)
ERROR_CLASSES: Final = (
    "accuracy/addition",
    "accuracy/mistranslation",
    "accuracy/omission",
    "accuracy/untranslated text",
    "fluency/character encoding",
    "fluency/grammar",
    "fluency/inconsistency",
    "fluency/punctuation",
    "fluency/register",
    "fluency/spelling",
    "style/awkward",
    "terminology/inappropriate for context",
    "terminology/inconsistent use",
    "non-translation",
    "other",
)
CONTEXT_EXPECTATIONS: Final = ("use", "ignore")
SPEAKER_MODES: Final = ("single", "dyadic")
SPEAKER_ROLES: Final = ("self", "other")
CONTEXT_TURN_COUNTS: Final = (1, 2, 3)
PHENOMENA_BY_EXPECTATION: Final = {
    "use": (
        "referent_resolution",
        "ellipsis_completion",
        "sense_disambiguation",
        "pragmatic_intent_resolution",
        "register_carryover",
        "temporal_or_causal_linkage",
    ),
    "ignore": (
        "topic_shift_independence",
        "false_lead_trap",
        "stale_context_resistance",
        "metadata_nonliteral_resistance",
    ),
}
# Why a cell has no annotation although it was judged. `unrecorded` is for imported runs only,
# which did not keep what the judge said.
JUDGE_FAILURES: Final = (
    "empty",
    "refusal",
    "truncated",
    "filtered",
    "malformed",
    "unknown_class",
    "missing_section",
    "missing_context_behavior",
    "unrecorded",
)
CELL_STATUSES: Final = ("ok", "judge_failed", "translation_failed", "translation_missing")
SPAN_LOCATIONS: Final = (
    "exact",
    "ambiguous",
    "normalised",
    "in_source",
    "missing",
    "not_locatable",
)
