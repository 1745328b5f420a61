"""A signature read back: every line that can be written, and none that cannot."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import SignatureError
from pipeline.lineage.signature import PARTS, Signature, parse_signature

SHORT = (
    "GEMBA-MQM-context|id:01234567|d:89abcdef|p:unrecorded|j:openrouter-batch:google/gemini-3.7-flash%3Abatch"
    "|e:high|r:3|a:strict|w:context-v1|c:70/72|v:0.1.0"
)
LONG = (
    "GEMBA-MQM-context|run:01234567|dataset:89abcdef|prompts:unrecorded"
    "|judge:openrouter-batch:google/gemini-3.7-flash%3Abatch|effort:high|repeats:3|reading:strict"
    "|weights:context-v1|cells:70/72|version:0.1.0"
)
READ = Signature(
    run_id="01234567",
    dataset_fingerprint="89abcdef",
    prompt_set_sha256=None,
    judge_backend="openrouter-batch",
    judge_model="google/gemini-3.7-flash:batch",
    reasoning_effort="high",
    repeats=3,
    parser_mode="strict",
    scheme="context-v1",
    ok_cells=70,
    expected_cells=72,
    version="0.1.0",
)


@pytest.mark.parametrize("line", [SHORT, LONG, f"`{SHORT}`", f"  {LONG}\n", f"\n`{LONG}`\n"])
def test_both_forms(line: str) -> None:
    assert parse_signature(line) == READ


hashes = st.text("0123456789abcdef", min_size=8, max_size=8)
# What UTF-8 can hold: everything but halves of surrogate pairs.
texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30)
numbers = st.integers(0, 10**12)
signatures = st.builds(
    Signature,
    run_id=hashes,
    dataset_fingerprint=hashes,
    prompt_set_sha256=st.none() | hashes,
    judge_backend=texts,
    judge_model=texts,
    reasoning_effort=texts,
    repeats=numbers,
    parser_mode=texts,
    scheme=texts,
    ok_cells=numbers,
    expected_cells=numbers,
    version=texts,
)


@settings(deadline=None)
@given(signatures)
def test_what_is_written_is_read(signature: Signature) -> None:
    for line in (signature.short(), signature.long()):
        assert len(line.splitlines()) == 1
        read = parse_signature(line)
        assert {f.name: getattr(read, f.name) for f in fields(Signature)} == {
            f.name: getattr(signature, f.name) for f in fields(Signature)
        }
    assert parse_signature(signature.long()).short() == signature.short()


@settings(deadline=None)
@given(st.text(max_size=80) | st.builds(lambda t: f"GEMBA-MQM-context|{t}", st.text("id:|%0f/", max_size=60)))
def test_any_other_text_is_an_error_of_one_line(text: str) -> None:
    with pytest.raises(SignatureError) as caught:
        parse_signature(text)
    assert len(str(caught.value).splitlines()) == 1


WRONG = {
    "nothing": ("", "begins with '', not with 'GEMBA-MQM-context'"),
    "another metric": (SHORT.replace("GEMBA-MQM-context", "BLEU"), "begins with 'BLEU'"),
    "a part less": (SHORT.replace("|r:3", ""), "9 parts after GEMBA-MQM-context, not 10"),
    "a part more": (SHORT + "|x:1", "11 parts"),
    "two parts swapped": (
        SHORT.replace("e:high|r:3", "r:3|e:high"),
        "part 'r:3' of the signature must be e:VALUE",
    ),
    "both forms mixed": (SHORT.replace("|r:", "|repeats:"), "must be r:VALUE"),
    "no value": (SHORT.replace("w:context-v1", "w:"), "part 'w:' of the signature must be w:VALUE"),
    "a short run id": (SHORT.replace("01234567", "0123456"), "id:'0123456' of the signature must hold 8 hex"),
    "capital digits": (SHORT.replace("89abcdef", "89ABCDEF"), "must hold 8 hex digits"),
    "an unrecorded run": (SHORT.replace("01234567", "unrecorded"), "must hold 8 hex digits"),
    "no backend": (SHORT.replace("openrouter-batch:", ""), "must be BACKEND:MODEL"),
    "a bare colon": (SHORT.replace("%3A", ":"), "must be BACKEND:MODEL"),
    "a bare percent sign": (
        SHORT.replace("%3A", "%"),
        "part j of the signature is not percent-encoded UTF-8",
    ),
    "not UTF-8": (SHORT.replace("%3A", "%FF"), "is not percent-encoded UTF-8"),
    "repeats in words": (SHORT.replace("r:3", "r:three"), "part r of the signature holds 'three'"),
    "one count": (SHORT.replace("70/72", "70"), "part c of the signature holds ''"),
    "a negative count": (SHORT.replace("70/72", "-1/72"), "part c of the signature holds '-1'"),
    "two lines": (SHORT.replace("high", "hi\ngh"), "a character that does not print"),
    "half a character": (SHORT.replace("high", "\ud800"), "a character that does not print"),
}


@pytest.mark.parametrize("name", WRONG)
def test_malformed(name: str) -> None:
    text, says = WRONG[name]
    with pytest.raises(SignatureError) as caught:
        parse_signature(text)
    assert says in str(caught.value)


def test_parts_are_those_of_the_text() -> None:
    assert [short for short, _, _ in PARTS] == [part.split(":")[0] for part in SHORT.split("|")[1:]]
    assert [long for _, long, _ in PARTS] == [part.split(":")[0] for part in LONG.split("|")[1:]]
