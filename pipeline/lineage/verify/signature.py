"""The signature made again, compared wherever it is printed, and with what somebody quoted."""

from __future__ import annotations

import re

from pipeline.errors import SignatureError
from pipeline.layout import MANIFEST
from pipeline.lineage.signature import METRIC, PARTS, Signature, parse_signature
from pipeline.lineage.verify.checks import Check, Findings
from pipeline.lineage.verify.manifest import Manifest

_RUN_ID = re.compile(r"[0-9a-f]{8,64}")


def check_signature(manifest: Manifest, signature: Signature) -> Check:
    """Both forms in the manifest; those in ``leaderboard.md`` are compared with its other figures."""
    findings = Findings()
    name = MANIFEST.as_posix()
    findings.compare(f"{name}#/signature/short", manifest.signature.short, signature.short())
    findings.compare(f"{name}#/signature/long", manifest.signature.long, signature.long())
    return findings.check("signature", signature.short())


def check_expected(expected: str, signature: Signature) -> Check:
    """The run id made again against a run id, its first digits, or a whole signature that was quoted.

    Raises:
        SignatureError: ``expected`` is none of these.
    """
    findings = Findings()
    quoted = check_expected_form(expected)
    if isinstance(quoted, Signature):
        for (short, long, _), found, other in zip(PARTS, signature.values(), quoted.values(), strict=True):
            findings.compare(f"signature {short} ({long})", found, other)
        return findings.check("expected run", f"{len(PARTS)} parts of the quoted signature compared")
    findings.compare("run id", signature.run_id[: len(quoted)], quoted)
    return findings.check("expected run", f"run id {signature.run_id}")


def check_expected_form(expected: str) -> Signature | str:
    """What somebody quoted: a signature, or a run id or its first digits.

    Raises:
        SignatureError: it is none of these.
    """
    wanted = expected.strip().strip("`").strip()
    if wanted.startswith(METRIC):
        return parse_signature(wanted)
    if not _RUN_ID.fullmatch(wanted):
        raise SignatureError(
            f"{wanted[:60]!r} is no run id; give 8 to 64 lower-case hex digits, or a whole signature line"
        )
    return wanted
