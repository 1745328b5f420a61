"""Backend ``openrouter-batch``: the calls of OpenRouter's Batch API, and what each of its refusals means.

A submission that was perhaps accepted is told from one that was not: only the latter may be sent again.
A poll that fails never loses a job: there is nothing to do but to wait.
"""

from __future__ import annotations

import email.utils
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from pipeline.answers import Attempt
from pipeline.judges.base import CallFailed, FindSecret, GiveUp, Messages, RetryLater, Uncertain
from pipeline.judges.http_client import HttpClient, HttpReply
from pipeline.judges.openai_wire import request_body
from pipeline.judges.openrouter_batch_wire import COMPLETED, Batch, Page, batch_of, read_batch, read_page
from pipeline.judges.wire_json import error_text, parse_object
from pipeline.profiles import BatchTransport, JudgeProfile
from pipeline.requests import JudgeRequest

# A finished job of 5,000 lines comes in one response.
_MAX_BODY_BYTES = 512 << 20
_LIST_LIMIT = 100
_MOST_PAGES = 200


class TooLarge(CallFailed):
    """The job was refused for its size: send smaller ones."""


class NoList(CallFailed):
    """The service does not list its batches."""


@dataclass(frozen=True)
class Listing:
    """Batches, newest first, and how far the service's clock is ahead of this machine's, in seconds."""

    batches: list[Batch]
    clock_ahead: float


class OpenRouterBatch:
    """The service at ``{base_url}{path}``."""

    def __init__(self, profile: JudgeProfile, find_secret: FindSecret) -> None:
        transport = profile.transport_as(BatchTransport)
        key = find_secret(transport.api_key_env) if transport.api_key_env else None
        self._client = HttpClient(transport.base_url, transport.timeout_seconds, key, _MAX_BODY_BYTES)
        self._path = transport.path.rstrip("/")
        self._key_name = transport.api_key_env
        self._model = profile.request.model

    @staticmethod
    def body(profile: JudgeProfile, messages: Messages, seed: int) -> dict[str, Any]:
        """See ``Backend.body``."""
        return request_body(profile, messages, seed)

    def send(self, request: JudgeRequest) -> Attempt:
        """Requests to this backend travel in jobs only (``batch_jobs``)."""
        raise NotImplementedError

    def submit(self, upload: bytes) -> Batch:
        """Hand in a job; the batch that stands for it has its id.

        Raises:
            RetryLater: it was not accepted, and may be sent again.
            Uncertain: it may have been accepted.
            TooLarge: it was not accepted; smaller ones may be.
            GiveUp: it was not accepted, and nor will others be.
        """
        reply = self._client.call("POST", self._path, upload)
        if 200 <= reply.status < 300:
            batch = read_batch(reply.body)
            if batch is None:
                raise Uncertain(f"the submission was answered with HTTP {reply.status} without a batch id")
            return batch
        words = _words(reply)
        if reply.status == 413:
            raise TooLarge(words)
        if reply.status == 429:
            raise RetryLater(words, retry_after=reply.retry_after)
        # A gateway's error says nothing about what stands behind it.
        if reply.status >= 500 or reply.status in (408, 409):
            raise Uncertain(f"the submission was answered with {words}")
        raise GiveUp(f"{self._client.origin} answered {words}; {self._cure(reply.status)}")

    def poll(self, provider_id: str) -> Batch:
        """A job as it is now.

        Raises:
            RetryLater: it cannot be seen now; that says nothing about the job.
            GiveUp: the key is refused.
        """
        reply = self._get(f"{self._path}/{quote(provider_id, safe='')}")
        if 200 <= reply.status < 300:
            batch = read_batch(reply.body)
            if batch is None:
                raise RetryLater(f"a poll was answered with HTTP {reply.status} without a batch")
            if batch.provider_id != provider_id:
                raise RetryLater("a poll was answered with another batch")
            return batch
        raise self._waiting(reply)

    def results(self, batch: Batch) -> tuple[str, ...] | None:
        """The result lines of a batch that has ended; None if it has none.

        They stand in the batch itself, or on pages of their own; both are looked at before a line
        counts as missing.

        Raises:
            RetryLater: they cannot be had now.
            GiveUp: the key is refused.
        """
        rows = batch.results
        if rows is not None and len(rows) >= (batch.total or 0):
            return rows
        paged = self._result_pages(batch.provider_id)
        if rows is None and paged is None:
            if batch.status == COMPLETED:
                raise RetryLater("the job is completed, but its results are withheld")
            return None
        return (*(rows or ()), *(paged or ()))

    def listing(self, since: float) -> Listing:
        """The batches of the key's workspace created at ``since`` (this machine's clock) or later.

        Raises:
            NoList: the service has no such list.
            RetryLater: it cannot be had now.
            GiveUp: the key is refused.
        """
        batches: list[Batch] = []
        cursor, ahead = None, 0.0
        for _ in range(_MOST_PAGES):
            query = {"limit": str(_LIST_LIMIT)} | ({"after": cursor} if cursor else {})
            reply = self._get(f"{self._path}?{urlencode(query)}")
            if reply.status in (400, 404, 405, 422, 501):
                raise NoList(f"the list of batches was answered with {_words(reply)}")
            page = read_page(reply.body, "last_id") if 200 <= reply.status < 300 else None
            if page is None:
                raise self._waiting(reply)
            ahead = _clock_ahead(reply)
            found = [batch for batch in map(batch_of, page.rows) if batch is not None]
            batches += found
            oldest = min((batch.created_at or since for batch in found), default=since)
            if page.cursor is None or page.cursor == cursor or oldest < since + ahead:
                return Listing(batches, ahead)
            cursor = page.cursor
        raise NoList(f"the list of batches has more than {_MOST_PAGES} pages")

    def close(self) -> None:
        """See ``Backend.close``."""
        self._client.close()

    def _get(self, path: str) -> HttpReply:
        try:
            return self._client.call("GET", path)
        except Uncertain as lost:  # a GET does nothing there
            raise RetryLater(lost.problem) from None

    def _result_pages(self, provider_id: str) -> tuple[str, ...] | None:
        rows: list[str] = []
        seen: set[str] = set()
        cursor = ""
        for _ in range(_MOST_PAGES * 10):
            query = f"?{urlencode({'cursor': cursor})}" if cursor else ""
            reply = self._get(f"{self._path}/{quote(provider_id, safe='')}/results{query}")
            if reply.status in (400, 404, 405, 409, 410, 422) and not cursor:
                return None
            page: Page | None = read_page(reply.body, "next_cursor") if reply.status == 200 else None
            if page is None:
                raise self._waiting(reply)
            rows += page.rows
            if page.cursor is None or page.cursor in seen:
                break
            cursor = page.cursor
            seen.add(cursor)
        return tuple(rows)

    def _waiting(self, reply: HttpReply) -> CallFailed:
        """Why a GET brought nothing: only a refused key is worth stopping for."""
        words = _words(reply)
        if reply.status in (401, 403) or 300 <= reply.status < 400:
            return GiveUp(f"{self._client.origin} answered {words}; {self._cure(reply.status)}")
        if reply.status == 402:
            words += " (the account has no credit left: top it up; the job is not lost)"
        return RetryLater(words, retry_after=reply.retry_after)

    def _cure(self, status: int) -> str:
        key = f"the key in {self._key_name}" if self._key_name else "transport.api_key_env (none is named)"
        if 300 <= status < 400:
            return "redirects are not followed: put the final address into transport.base_url"
        return {
            400: f"check the model name {self._model!r} (a batch model ends in ':batch') and the profile",
            401: f"check {key}",
            402: "the account has no credit left: top it up, then run again",
            403: f"check what {key} is allowed to use",
            404: f"check transport.base_url, transport.path and the model name {self._model!r}",
        }.get(status, "the service does not take this job: correct the judge profile")


def _words(reply: HttpReply) -> str:
    document = parse_object(reply.body.lstrip())
    if document is None:
        return f"HTTP {reply.status}"
    error = document.get("error")
    return f"HTTP {reply.status}: {error_text(document if error is None else error)}"


def _clock_ahead(reply: HttpReply) -> float:
    try:
        return email.utils.parsedate_to_datetime(reply.headers["Date"]).timestamp() - time.time()
    except (KeyError, ValueError, TypeError):
        return 0.0
