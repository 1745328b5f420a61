"""What stands behind one cell, attempt or recorded failure: every artifact down to file and line.

Each function gives a JSON value. ``at`` is a place: a path relative to the run's root with ``line``
(text files) or ``row`` (tables), both from 1. ``agrees`` says whether what was read, rendered or read
again just now is what the tables hold.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pipeline.annotation import Annotation, read_answer
from pipeline.canonical import sha256_hex, sha256_text
from pipeline.errors import InputError
from pipeline.lineage.manifest import package_sources_hash
from pipeline.lineage.trace.files import RunFiles, relative
from pipeline.lineage.trace.points import points
from pipeline.lineage.trace.run_tables import AttemptRow, Cell, FailureRow, RunTables, Verdict
from pipeline.lineage.trace.sources import Found, Sources

Json = dict[str, Any]

_ATTEMPT_FIELDS = ("backend", "http_status", "finish_reason", "served_model", "usage", "cost_nano_usd")


class Ancestry:
    """Ancestries of a run's units, each looked up once."""

    def __init__(self, files: RunFiles, tables: RunTables, sources: Sources) -> None:
        self._files = files
        self._tables = tables
        self._sources = sources
        self._folder = relative(files.place.root, files.place.tables)
        self._annotations: dict[tuple[str, str | None], Annotation] = {}
        self._items: dict[str, Json] = {}
        self._requests: dict[str, Json] = {}

    def cell(self, cell: Cell) -> Json:
        """Everything behind a cell, whatever became of it."""
        item, language, participant = cell.key
        found: Json = {
            "item_id": item,
            "language": language,
            "participant_id": participant,
            "status": cell.status,
            "at": self._row("cells", cell.row),
            "penalty": points(cell.tenths, self._tables.repeats) if cell.ok else None,
            "verdicts": [self._verdict(cell, verdict) for verdict in cell.verdicts],
        }
        if cell.judge_failure:
            found["judge_failure"] = cell.judge_failure
        if not cell.verdicts and cell.status == "judge_failed":
            found["no_answer"] = self._absent("answer")
        if cell.request_hash is not None:
            found["request"] = self._request(cell.request_hash)
        elif cell.verdicts:
            found["request"] = {"recorded": False, "why": "the run recorded no requests"}
        found["item"] = self._item(cell)
        found["translation"] = self._translation(cell)
        if failures := self._sources.failures(cell.key):
            found["translation_failures"] = [
                {"reason": failure.text, "at": _line(failure)} for failure in failures
            ]
        return found

    def attempt(self, attempt: AttemptRow) -> Json:
        """Everything behind an attempt: its row, the answer's line, the request, the cells it is about."""
        cells = self._tables.by_request.get(attempt.request_hash, [])
        found: Json = {
            "request_hash": attempt.request_hash,
            "repeat": attempt.repeat,
            "attempt": attempt.attempt_index + 1,
            "round": attempt.round_number,
            "served_model": attempt.served_model,
            "prompt_tokens": attempt.prompt_tokens,
            "completion_tokens": attempt.completion_tokens,
            "reasoning_tokens": attempt.reasoning_tokens,
            "cost_nano_usd": attempt.cost_nano_usd,
            "at": self._row("attempts", attempt.row),
            "cells": [list(cell.key) for cell in cells],
            "request": self._request(attempt.request_hash),
        }
        if cells:
            found["answer"] = self._answer(cells[0], attempt.repeat)
        return found

    def failure(self, failure: FailureRow) -> Json:
        """Everything behind a recorded failure to translate: its row and its lines."""
        cell = self._tables.by_key[failure.key]
        return {
            "item_id": failure.key[0],
            "language": failure.key[1],
            "participant_id": failure.key[2],
            "reason": failure.reason,
            "status": cell.status,
            "at": self._row("translation_failures", failure.row),
            "lines": [
                {"reason": found.text, "at": _line(found)}
                for found in self._sources.failures(failure.key)
                if found.text == failure.reason
            ],
            "item": self._item(cell),
        }

    def _verdict(self, cell: Cell, verdict: Verdict) -> Json:
        answer = self._answer(cell, verdict.repeat)
        answer["agrees"] = answer.get("text") == verdict.text
        return {
            "repeat": verdict.repeat,
            "status": verdict.status,
            **({"reason": verdict.reason} if verdict.reason else {}),
            "penalty": points(verdict.tenths) if verdict.status == "ok" else None,
            "limited": verdict.tenths != sum(error.tenths for error in verdict.errors),
            "label": verdict.label,
            "repairs": list(verdict.repairs),
            "errors": [
                {
                    "severity": error.severity,
                    "error_class": error.error_class,
                    "weight": points(error.tenths),
                    "span": error.span,
                    **({"source_span": error.source_span} if error.source_span else {}),
                    **({"explanation": error.explanation} if error.explanation else {}),
                    "span_location": error.location,
                    "at": self._row("annotation_errors", error.row),
                }
                for error in verdict.errors
            ],
            "at": self._row("annotations", verdict.annotation_row),
            "read_again": self._again(self._reads_the_same(verdict)),
            "answer": answer,
        }

    def _again(self, same: bool) -> Json:
        """Whether today's code did the same; None where it did not, and other code made the run."""
        if same or self._same_code:
            return {"agrees": same}
        return {"agrees": None, "why": "other code than today's made the run"}

    @cached_property
    def _same_code(self) -> bool:
        return bool(self._files.manifest.get("package_sources_sha256") == package_sources_hash())

    def _reads_the_same(self, verdict: Verdict) -> bool:
        key = verdict.text, verdict.finish_reason
        if key not in self._annotations:
            run = self._tables.run
            self._annotations[key] = read_answer(
                verdict.text,
                form=run["annotation_form"],
                mode=run["parser_mode"],
                finish_reason=verdict.finish_reason,
            )
        again = self._annotations[key]
        return (
            again.status == verdict.status
            and again.context_behavior == verdict.label
            and again.repairs == verdict.repairs
            and again.contradictory == verdict.contradictory
            and [(e.severity, e.error_class, e.span, e.source_span, e.explanation) for e in again.errors]
            == [(e.severity, e.error_class, e.span, e.source_span, e.explanation) for e in verdict.errors]
        )

    def _answer(self, cell: Cell, repeat: int) -> Json:
        key = cell.key, cell.request_hash, repeat
        found = self._sources.answer(key)
        if found is None:
            return self._absent("answer")
        answer: Json = {"text": found.text, "at": _line(found)}
        if "attempts" in found.value:
            attempts = found.value["attempts"]
            answer["selected_attempt"] = found.value["selected"] + 1
            answer["attempts"] = [_attempt(number, each) for number, each in enumerate(attempts, start=1)]
            answer["sealed"] = {"agrees": found.value["sealed"]}
            recorded = self._sources.recorded(key)
            answer["recorded"] = (
                {"at": _line(recorded), "agrees": recorded.value == found.value}
                if recorded
                else {"why": "not in data/recorded; `python -m pipeline record` puts it there"}
            )
        return answer

    def _request(self, request_hash: str) -> Json:
        if request_hash not in self._requests:
            self._requests[request_hash] = self._looked_up(request_hash)
        return self._requests[request_hash]

    def _looked_up(self, request_hash: str) -> Json:
        found = self._sources.request(request_hash)
        if found is None:
            return {"hash": request_hash, "agrees": False, "why": "not in data/requests/requests.jsonl"}
        request: Json = {"hash": request_hash, "at": _line(found)}
        try:
            rendered = self._sources.rendered(found)
        except (InputError, KeyError, TypeError, ValueError) as problem:
            return request | {"why": f"cannot be rendered by this version: {problem}"}
        return request | {
            "body": rendered.body,
            "rendered_again": {
                "hash": rendered.request_hash,
                **self._again(rendered.request_hash == request_hash),
            },
            "made_from": [{"path": path} for path in rendered.files],
        }

    def _item(self, cell: Cell) -> Json:
        name = cell.key[0]
        if name not in self._items:
            found = self._sources.item(name)
            if found is None:
                self._items[name] = self._absent("item") | {"agrees": False}
            else:
                turns = [
                    {name: turn.get(name) for name in ("speaker_role", "relative_time_label", "source_text")}
                    for turn in found.value["context_turns"]
                ]
                self._items[name] = {
                    "context": turns,
                    "source": found.text,
                    "at": _line(found),
                    "agrees": found.text == cell.source_text,
                }
        return self._items[name]

    def _translation(self, cell: Cell) -> Json:
        found = self._sources.translation(cell.key)
        if found is not None:
            return {"text": found.text, "at": _line(found), "agrees": found.text == cell.translation}
        if cell.status in ("ok", "judge_failed"):
            return {"text": None, "why": "the run kept no translations"}
        failed = cell.translation_failure
        return {"text": None, "why": f"could not be made: {failed}" if failed else "none was made"}

    def _absent(self, what: str) -> Json:
        return {
            "why": "no line about the cell",
            "searched": [{"path": p} for p in self._sources.searched(what)],
        }

    def _row(self, table: str, row: int) -> Json:
        return {"path": f"{self._folder}/{table}.parquet", "row": row}


def _line(found: Found) -> Json:
    return {"path": found.path, "line": found.line}


def _attempt(number: int, attempt: Mapping[str, Any]) -> Json:
    raw = str(attempt.get("raw", ""))
    try:
        body = base64.b64decode(raw, validate=True) if attempt.get("raw_encoding") == "base64" else None
    except ValueError:
        body = None
    return {
        "number": number,
        **{name: attempt.get(name) for name in _ATTEMPT_FIELDS},
        "raw": raw,
        "raw_sha256": sha256_text(raw) if body is None else sha256_hex(body),
    }
