"""OpenRouter's Batch API on 127.0.0.1: keeps jobs in memory, answers them, and misbehaves when told to.

    with FakeOpenRouterBatch("reset after accepting") as service:
        ...                        # POST service.base_url + "/v1/batches"
        service.charged[digest]    # how often the body with that SHA-256 was answered (and so paid for)

From a command line: ``python tests/support/fake_openrouter_batch.py --port 8093 [--fault NAME]``.
A fault befalls the first ``times`` calls, jobs or job ends that it can befall.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import rfc8785
from fake_openai import Drop, Reply, _Server, as_json, completion

# What befalls a submission; those "after accepting" keep the job.
SUBMIT_FAULTS = {
    "400 on submit": lambda reply: _refusal(400),
    "401 on submit": lambda reply: _refusal(401),
    "402 on submit": lambda reply: _refusal(402),
    "403 on submit": lambda reply: _refusal(403),
    "404 on submit": lambda reply: _refusal(404),
    "413 on submit": lambda reply: _refusal(413),
    "429 on submit": lambda reply: _refusal(429),
    "429 with Retry-After on submit": lambda reply: _refusal(429, Retry_After="1"),
    "500 on submit": lambda reply: _refusal(500),
    "500 after accepting": lambda reply: _refusal(500),
    "HTML 502 on submit": lambda reply: _page(502),
    "HTML 502 after accepting": lambda reply: _page(502),
    "time-out on submit": lambda reply: Reply(200, b"{}", delay=3.0),
    "time-out after accepting": lambda reply: Reply(200, b"{}", delay=3.0),
    "reset before the answer": lambda reply: Drop(),
    "reset after accepting": lambda reply: Drop(),
    "truncated JSON after accepting": lambda reply: Reply(202, reply.body[:20]),
    "cut body after accepting": lambda reply: Reply(202, reply.body, cut=20),
    "empty body after accepting": lambda reply: Reply(202, b""),
    "error inside HTTP 200 on submit": lambda reply: as_json({"error": {"message": "no"}}),
    "white space before the submit answer": lambda reply: Reply(202, b"  \n \n" + reply.body),
}
POLL_FAULTS = {
    "401 on poll": lambda reply: _refusal(401),
    "402 on poll": lambda reply: _refusal(402),
    "404 on the first polls": lambda reply: _refusal(404),
    "429 on poll": lambda reply: _refusal(429),
    "429 with Retry-After on poll": lambda reply: _refusal(429, Retry_After="1"),
    "500 on poll": lambda reply: _refusal(500),
    "HTML 502 on poll": lambda reply: _page(502),
    "time-out on poll": lambda reply: Reply(200, b"{}", delay=3.0),
    "reset on poll": lambda reply: Drop(),
    "truncated JSON on poll": lambda reply: Reply(200, reply.body[:20]),
    "cut body on poll": lambda reply: Reply(200, reply.body, cut=20),
    "empty body on poll": lambda reply: Reply(200, b""),
    "error inside HTTP 200 on poll": lambda reply: as_json({"error": {"message": "no"}}),
    "white space before JSON": lambda reply: Reply(200, b" \n" * 99 + reply.body),
    "a status nobody knows": lambda reply: Reply(200, reply.body.replace(b'"status": "', b'"status": "un')),
}
# How a job ends, if not well.
JOB_FAULTS = (
    "job stuck",
    "job failed",
    "job expired with results",
    "job expired without results",
    "job cancelled",
    "results on pages only",
    "results partly inline",
    "results withheld",
)
# What befalls the first line of a job's results.
LINE_FAULTS = (
    "lines missing",
    "lines twice",
    "lines of another job",
    "lines in another order",
    "line with response and error",
    "line with an error",
    "line with a null response",
    "line that is malformed",
    "line with status 429",
    "error in a line's body",
    "null content",
    "length stop",
    "safety stop",
)
FAULTS = (*SUBMIT_FAULTS, *POLL_FAULTS, *JOB_FAULTS, *LINE_FAULTS)


@dataclass
class FakeJob:
    """A job as the service keeps it. ``lines`` are its (custom id, body, digest of the body)."""

    provider_id: str
    model: str
    created_at: int
    lines: list[tuple[str, dict[str, Any], str]]
    status: str = "validating"
    polls: int = 0
    error: str | None = None
    results: list[Any] | None = None
    inline: int | None = None
    withheld: int = 0


class FakeOpenRouterBatch:
    """The running service; leave it as a context manager.

    ``accepted`` and ``charged`` count bodies by the SHA-256 of their RFC 8785 form: lines of jobs that
    were stored, and lines that were answered. ``bad`` holds digests of lines that fail their whole job.
    """

    def __init__(
        self, fault: str | None = None, times: int = 1, polls: int = 2, port: int = 0, limit: int = 5000
    ) -> None:
        if fault is not None and fault not in FAULTS:
            raise ValueError(f"no fault {fault!r}")
        self.fault = fault
        self.left = times
        self.polls = polls
        self.limit = limit
        self.lists = True
        self.names_bad_lines = True
        self.echoes_keys = False
        self.bad: set[str] = set()
        self.jobs: dict[str, FakeJob] = {}
        self.accepted: Counter[str] = Counter()
        self.charged: Counter[str] = Counter()
        self.custom_ids: Counter[str] = Counter()
        self.submissions = 0
        self.authorizations: list[str | None] = []
        self.submitted_keys: list[list[str]] = []
        self._lock = threading.RLock()
        service = self

        class Handler(_Handler):
            owner = service

        self._server = _Server(("127.0.0.1", port), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FakeOpenRouterBatch:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def strikes(self, *names: str) -> bool:
        """Whether one of these faults is the one that was asked for, and is still to befall somebody."""
        with self._lock:
            if self.fault not in names or self.left <= 0:
                return False
            self.left -= 1
            return True

    # The calls.

    def submit(self, raw: bytes) -> Reply | Drop:
        with self._lock:
            self.submissions += 1
            pairs: list[tuple[str, Any]] = json.loads(raw, object_pairs_hook=list)
            order = [name for name, _ in pairs]
            body = json.loads(raw)
            self.submitted_keys.append(order)
            if order[-1] != "requests" or not {"endpoint", "model"} < set(order):
                return _refusal(400)
            fault = next((name for name in SUBMIT_FAULTS if self.strikes(name)), None)
            if len(body["requests"]) > self.limit:
                return _refusal(413)
            if fault is not None and "after accepting" not in fault and "white space" not in fault:
                return SUBMIT_FAULTS[fault](Reply())
            reply = as_json(self._shown(self._store(body)), 202)
        return reply if fault is None else SUBMIT_FAULTS[fault](reply)

    def poll(self, provider_id: str) -> Reply | Drop:
        with self._lock:
            job = self.jobs.get(provider_id)
            if job is None:
                return _refusal(404)
            fault = next((name for name in POLL_FAULTS if self.strikes(name)), None)
            if fault is None or "white space" in fault:
                self._advance(job)
            reply = as_json(self._shown(job))
        return reply if fault is None else POLL_FAULTS[fault](reply)

    def page(self, provider_id: str, cursor: str) -> Reply:
        with self._lock:
            job = self.jobs.get(provider_id)
            if job is None or job.results is None or job.withheld:
                return _refusal(404)
            start = int(cursor or 0)
            rows = job.results[start : start + 2]
            more = start + 2 < len(job.results)
            return as_json(
                {
                    "object": "list",
                    "data": rows,
                    "has_more": more,
                    "next_cursor": str(start + 2) if more else None,
                }
            )

    def listing(self, after: str | None, limit: int) -> Reply:
        with self._lock:
            if not self.lists:
                return _refusal(404)
            rows = [{**self._shown(job), "results": None} for job in reversed(self.jobs.values())]
            names = [row["id"] for row in rows]
            start = names.index(after) + 1 if after in names else 0
            shown = rows[start : start + limit]
            return as_json(
                {
                    "object": "list",
                    "data": shown,
                    "first_id": shown[0]["id"] if shown else None,
                    "last_id": shown[-1]["id"] if shown else None,
                    "has_more": start + limit < len(rows),
                }
            )

    # The jobs.

    def add_foreign(self, model: str, count: int, status: str = "in_progress") -> FakeJob:
        """A job of somebody else in the same workspace."""
        lines = [(f"theirs-{number}", {"n": number}, f"foreign-{number}") for number in range(count)]
        job = FakeJob(f"batch-theirs-{len(self.jobs)}", model, int(time.time()), lines, status)
        self.jobs[job.provider_id] = job
        return job

    def _store(self, body: dict[str, Any]) -> FakeJob:
        lines = [
            (line["custom_id"], line["body"], _digest(line["body"], body.get("provider")))
            for line in body["requests"]
        ]
        provider_id = f"batch-{len(self.jobs) + 1:04d}"
        job = self.jobs[provider_id] = FakeJob(provider_id, body["model"], int(time.time()), lines)
        for name, _, digest in lines:
            self.accepted[digest] += 1
            self.custom_ids[name] += 1
        return job

    def _advance(self, job: FakeJob) -> None:
        """Every poll brings a job one step on."""
        job.withheld = max(0, job.withheld - 1)
        if job.status not in ("validating", "in_progress") or "theirs" in job.provider_id:
            return
        job.polls += 1
        bad = [name for name, _, digest in job.lines if digest in self.bad]
        if job.polls < self.polls or (self.fault == "job stuck" and self.left > 0):
            job.status = "in_progress"
        elif bad or self.strikes("job failed"):
            job.status = "failed"
            named = bad and self.names_bad_lines
            job.error = f"Batch request '{bad[0]}' is invalid" if named else "the provider failed"
        elif self.strikes("job expired without results"):
            job.status = "expired"
        elif self.strikes("job cancelled"):
            job.status = "cancelled"
        elif self.strikes("job expired with results"):
            job.status = "expired"
            job.results = [self._answer(line) for line in job.lines[: len(job.lines) // 2]]
        else:
            job.status = "completed"
            job.results = self._results(job)
            if self.strikes("results on pages only"):
                job.inline = 0
            elif self.strikes("results partly inline"):
                job.inline = 1
            elif self.strikes("results withheld"):
                job.withheld = 2

    def _answer(self, line: tuple[str, dict[str, Any], str]) -> dict[str, Any]:
        name, body, digest = line
        self.charged[digest] += 1
        return _result(name, completion(body))

    def _results(self, job: FakeJob) -> list[Any]:
        first, *others = job.lines
        rest = [self._answer(line) for line in others]
        fault = next((name for name in LINE_FAULTS if self.strikes(name)), None)
        name, body, _ = first
        if fault == "lines missing":
            return rest
        if fault == "line with an error":
            return [{"custom_id": name, "response": None, "error": {"code": 500, "message": "no"}}, *rest]
        if fault == "line with a null response":
            return [{"custom_id": name, "response": None, "error": None}, *rest]
        if fault == "line that is malformed":
            return [{"custom_id": name, "response": {"status_code": "ok", "body": []}}, "what", None, *rest]
        if fault == "line with status 429":
            return [_result(name, {"error": {"message": "busy"}}, 429), *rest]
        if fault == "error in a line's body":
            return [_result(name, {"error": {"message": "busy"}}), *rest]
        if fault == "line with response and error":
            return [{**_result(name, completion(body)), "error": {"message": "both"}}, *rest]
        answered = self._answer(first)
        if fault == "lines twice":
            return [answered, answered, *rest, *rest]
        if fault == "lines of another job":
            return [_result("somebody-elses", completion({"model": "other"})), answered, *rest]
        if fault == "lines in another order":
            return [*reversed(rest), answered]
        stops = {"null content": "stop", "length stop": "length", "safety stop": "content_filter"}
        if fault in stops:
            choice = answered["response"]["body"]["choices"][0]
            choice["finish_reason"] = stops[fault]
            choice["message"]["content"] = "Critic" if fault == "length stop" else None
        return [answered, *rest]

    def _shown(self, job: FakeJob) -> dict[str, Any]:
        ended = job.status in ("completed", "failed", "expired", "cancelled")
        results = job.results if ended else None
        if results is not None and job.inline is not None:
            results = results[: job.inline] or None
        if job.withheld:
            results = None
        return {
            "id": job.provider_id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "model": job.model,
            "completion_window": "24h",
            "status": job.status,
            "created_at": job.created_at,
            "finalized_at": job.created_at + 1 if ended else None,
            "expires_at": None,
            "provider": "fake",
            "request_counts": {
                "total": len(job.lines),
                "completed": len(results or ()),
                "failed": len(job.lines) if job.status == "failed" else 0,
            },
            "usage": None,
            "results": results,
            "error": None if job.error is None else {"message": job.error},
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ClassVar[FakeOpenRouterBatch]

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.owner.authorizations.append(self.headers.get("Authorization"))
        self._send(self.owner.submit(raw) if self.path.endswith("/batches") else _refusal(404))

    def do_GET(self) -> None:
        self.owner.authorizations.append(self.headers.get("Authorization"))
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        words = address.path.split("/batches", 1)[-1].strip("/").split("/")
        if words == [""]:
            self._send(self.owner.listing(query.get("after"), int(query.get("limit", "20"))))
        elif len(words) == 1:
            self._send(self.owner.poll(words[0]))
        else:
            self._send(self.owner.page(words[0], query.get("cursor", "")))

    def _send(self, reply: Reply | Drop) -> None:
        if isinstance(reply, Drop):
            self._hang_up()
            return
        if reply.delay:
            time.sleep(reply.delay)
        if self.owner.echoes_keys:  # as services do with a key they refuse
            key = str(self.headers.get("Authorization")).encode()
            reply = replace(reply, body=reply.body.replace(b"the service says", b"no user has " + key))
            reply = replace(reply, body=reply.body.replace(b"fp-1", key))
        with contextlib.suppress(OSError):  # the client may be gone
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body if reply.cut is None else reply.body[: reply.cut])
            self.wfile.flush()
            if reply.cut is not None:
                self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _result(name: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
    response = {"status_code": status, "request_id": f"request-{name[-6:]}", "body": body}
    return {"id": f"row-{name[-6:]}", "custom_id": name, "response": response, "error": None}


def _digest(body: dict[str, Any], provider: Any) -> str:
    whole = body if provider is None else {**body, "provider": provider}
    return hashlib.sha256(rfc8785.dumps(whole)).hexdigest()


def _refusal(status: int, **headers: str) -> Reply:
    return as_json({"error": {"code": status, "message": f"the service says {status}"}}, status, **headers)


def _page(status: int) -> Reply:
    return Reply(status, b"<html>bad gateway</html>", {"Content-Type": "text/html"})


def main() -> None:
    """Run until Ctrl-C, as the command line says."""
    options = argparse.ArgumentParser(description="A batch service without a judge, on 127.0.0.1.")
    options.add_argument("--port", type=int, default=8093)
    options.add_argument("--fault", choices=FAULTS, help="what goes wrong")
    options.add_argument("--times", type=int, default=1, help="how often it goes wrong")
    options.add_argument("--polls", type=int, default=2, help="how many polls a job takes")
    given = options.parse_args()
    service = FakeOpenRouterBatch(given.fault, given.times, given.polls, given.port)
    with service as running, contextlib.suppress(KeyboardInterrupt):
        print(f"listening on {running.base_url}; Ctrl-C ends it", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
