"""The protocol of a judge backend, and its errors by what the caller can do about them.

    CallFailed
    ├── RetryLater   asking again can succeed; nothing was answered
    ├── Uncertain    asking again can succeed; the service may have done, and charged, the work
    └── GiveUp       asking again cannot succeed, nor can any other request: stop the run

Their messages are one line, name the cure where the user has one, and hold no key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pipeline.answers import Attempt
from pipeline.judges.secrets import Secret
from pipeline.profiles import JudgeProfile
from pipeline.requests import JudgeRequest

Messages = Sequence[dict[str, str]]
FindSecret = Callable[[str], Secret]
"""Gives the secret of a name, or raises ``ConfigError`` that says where to put it."""


class CallFailed(Exception):
    """A request brought no answer. ``attempt`` holds the HTTP response, if there was one."""

    def __init__(self, problem: str, attempt: Attempt | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.attempt = attempt


class RetryLater(CallFailed):
    """Ask again, not before ``retry_after`` seconds if the service named a time."""

    def __init__(
        self, problem: str, attempt: Attempt | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(problem, attempt)
        self.retry_after = retry_after


class Uncertain(CallFailed):
    """The request went out and its answer was lost on the way."""


class GiveUp(CallFailed):
    """The service refuses; the message holds the cure."""


class Backend(Protocol):
    """One way to put requests to a judge. ``send`` is called from several threads at once."""

    def __init__(self, profile: JudgeProfile, find_secret: FindSecret) -> None:
        """Prepare for sending; the network is not touched yet.

        Raises:
            ConfigError: the profile's transport cannot be used, or its key is missing.
        """

    @staticmethod
    def body(profile: JudgeProfile, messages: Messages, seed: int) -> dict[str, Any]:
        """The exact JSON body of a request: it decides the request's hash."""

    def send(self, request: JudgeRequest) -> Attempt:
        """Put a request to the judge once and return its answer, whatever the judge said in it.

        Raises:
            CallFailed: no answer came; the subclass says what can be done.
        """

    def close(self) -> None:
        """Let go of connections."""
