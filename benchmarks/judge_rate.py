"""How close a live judge run comes to the ideal rate, and how much memory it takes.

    python benchmarks/judge_rate.py [--requests 20000] [--concurrency 64] [--latency 0.2]

The judge stage runs as a process of its own, against a service of its own that answers each call after
the latency. Ideal is concurrency / latency calls a second. The rate is the service's: calls begun from
the first to the last. Exit code 1 if it is below 95 % of the ideal or memory passes 600 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests/support")]

TARGET_SHARE, TARGET_MB = 0.95, 600


class Service:
    """Answers chat completions after ``latency`` seconds; ``GET`` tells when calls began."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._began: list[float] = []
        said = {
            "role": "assistant",
            "content": "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error\n"
            "contextBehavior: used_correctly",
        }
        self._answer = json.dumps(
            {
                "id": "gen-1",
                "model": "served",
                "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
                "usage": {"prompt_tokens": 500, "completion_tokens": 30, "cost": 0.0001},
            }
        ).encode()

    async def serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=512)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET"):
                    self._reply(writer, json.dumps(self._began).encode())
                    continue
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                self._began.append(time.monotonic())
                await asyncio.sleep(self._latency)
                self._reply(writer, self._answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    @staticmethod
    def _reply(writer: asyncio.StreamWriter, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)


def main() -> None:
    """Run it and print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--requests", type=int, default=20_000)
    options.add_argument("--concurrency", type=int, default=64)
    options.add_argument("--latency", type=float, default=0.2)
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        asyncio.run(Service(given.latency).serve())
        return
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", "--latency", str(given.latency)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = server.stdout.readline().strip() if server.stdout else ""
        figures = measure(f"http://127.0.0.1:{port}", given)
    finally:
        server.kill()
    for name, value in figures.items():
        print(f"{name:32} {value:10.2f}")
    sys.exit(figures["share of the ideal"] < TARGET_SHARE or figures["peak memory, MB"] > TARGET_MB)


def measure(base_url: str, given: argparse.Namespace) -> dict[str, float]:
    """Figures of one run of the judge stage against the service."""
    import requests
    from judge_project import make_project

    with tempfile.TemporaryDirectory() as folder:
        project = make_project(
            Path(folder), base_url, given.requests, concurrency=given.concurrency, timeout_seconds=60
        )
        began = time.monotonic()
        done = project.run_for(3600)
        elapsed = time.monotonic() - began
        if done.returncode != 0:
            sys.exit(done.stderr)
    calls: list[Any] = sorted(requests.get(base_url, timeout=60).json())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # the stage; the service runs still
    ideal = given.concurrency / given.latency
    # The first calls of all threads begin at once: they are no part of the pace.
    steady = calls[given.concurrency :]
    rate = (len(steady) - 1) / (steady[-1] - steady[0])
    return {
        "requests": len(calls),
        "ideal rate, 1/s": ideal,
        "rate, 1/s": rate,
        "share of the ideal": rate / ideal,
        "whole stage, s": elapsed,
        "CPU of the stage, ms a request": 1000 * (used.ru_utime + used.ru_stime) / len(calls),
        "peak memory, MB": used.ru_maxrss / 1024,
    }


if __name__ == "__main__":
    main()
