"""Backend ``openai-compatible``: OpenRouter live, vLLM, llama.cpp's server, Ollama, LM Studio."""

from __future__ import annotations

import email.utils
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pipeline.answers import Attempt
from pipeline.errors import ConfigError
from pipeline.judges.base import FindSecret, GiveUp, Messages, RetryLater, Uncertain
from pipeline.judges.openai_wire import read_response, request_body
from pipeline.profiles import HttpTransport, JudgeProfile
from pipeline.requests import JudgeRequest

if TYPE_CHECKING:  # imported where it is used: rendering needs the body only
    import requests

NAME = "openai-compatible"
MAX_BODY_BYTES = 32 << 20
CONNECT_SECONDS = 10.0
_BLOCK = 1 << 16
_RETRIED_STATUSES = frozenset({408, 409, 429})


class OpenAICompatible:
    """``POST {base_url}{path}`` with the request's canonical bytes."""

    def __init__(self, profile: JudgeProfile, find_secret: FindSecret) -> None:
        transport = profile.transport_as(HttpTransport)
        try:
            address = urlsplit(transport.base_url)
            port = f":{address.port}" if address.port else ""
        except ValueError:
            raise ConfigError("transport.base_url of the judge profile is no URL; correct it") from None
        self._url = transport.base_url.rstrip("/") + transport.path
        self._origin = f"{address.scheme}://{address.hostname}{port}"
        self._timeout = transport.timeout_seconds
        self._key_name = transport.api_key_env
        self._key = find_secret(transport.api_key_env) if transport.api_key_env else None
        self._model = profile.request.model
        self._local = threading.local()
        self._sessions: list[requests.Session] = []

    @staticmethod
    def body(profile: JudgeProfile, messages: Messages, seed: int) -> dict[str, Any]:
        """See ``Backend.body``."""
        return request_body(profile, messages, seed)

    def send(self, request: JudgeRequest) -> Attempt:
        """See ``Backend.send``."""
        import requests

        try:
            with self._session().post(
                self._url,
                data=request.body_bytes,
                timeout=(min(CONNECT_SECONDS, self._timeout), self._timeout),
                allow_redirects=False,
                stream=True,
            ) as response:
                status, headers = response.status_code, response.headers
                raw = self._read(response)
        except requests.exceptions.SSLError:
            raise GiveUp(
                f"{self._origin} has no certificate this machine trusts; correct transport.base_url"
            ) from None
        except requests.exceptions.ConnectTimeout:
            raise RetryLater(f"{self._origin} did not accept a connection in time") from None
        except requests.exceptions.Timeout:
            raise Uncertain(f"no answer within {self._timeout:g} s (transport.timeout_seconds)") from None
        except requests.exceptions.ConnectionError as error:
            if _refused(error):
                raise RetryLater(
                    f"cannot connect to {self._origin}; is the service running and transport.base_url right?"
                ) from None
            raise Uncertain("the connection broke before the answer was complete") from None
        except requests.exceptions.InvalidURL:
            raise GiveUp(f"{self._origin} is no address; correct transport.base_url") from None
        except requests.exceptions.RequestException as error:
            raise Uncertain(f"the answer could not be received ({type(error).__name__})") from None
        if self._key is not None:
            raw = self._key.redact(raw)
        attempt, problem = read_response(NAME, status, raw)
        if problem is None:
            return attempt
        if 200 <= status < 300:
            raise RetryLater(problem, attempt)
        if status in _RETRIED_STATUSES or status >= 500:
            raise RetryLater(problem, attempt, retry_after(headers.get("Retry-After"), time.time()))
        raise GiveUp(f"{self._origin} answered {problem}; {self._cure(status)}", attempt)

    def close(self) -> None:
        """See ``Backend.close``."""
        for session in self._sessions:
            session.close()

    def _session(self) -> requests.Session:
        """One session a thread: ``requests`` does not promise that threads can share one."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            import requests

            session = requests.Session()
            session.headers.update(
                {
                    "Content-Type": "application/json",
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                }
            )
            # A callable, so that no login of ~/.netrc takes the place of the profile's key.
            session.auth = self._authorise
            self._local.session = session
            self._sessions.append(session)
        return session

    def _authorise(self, prepared: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key is not None:
            prepared.headers["Authorization"] = f"Bearer {self._key.reveal()}"
        return prepared

    def _read(self, response: requests.Response) -> bytes:
        """The whole body, bounded in size and, as the socket's time-out restarts with every byte, in time."""
        import requests
        import urllib3

        deadline = time.monotonic() + self._timeout
        body = bytearray()
        try:
            while block := response.raw.read1(_BLOCK, decode_content=True):
                body += block
                if len(body) > MAX_BODY_BYTES or time.monotonic() > deadline:
                    break
            else:
                return bytes(body)
        except urllib3.exceptions.ReadTimeoutError:
            raise requests.exceptions.Timeout from None
        except (urllib3.exceptions.HTTPError, OSError):
            raise requests.exceptions.ConnectionError from None
        if len(body) > MAX_BODY_BYTES:
            raise Uncertain(f"an answer of more than {MAX_BODY_BYTES >> 20} MiB; it was not kept")
        raise requests.exceptions.Timeout

    def _cure(self, status: int) -> str:
        key = f"the key in {self._key_name}" if self._key_name else "transport.api_key_env (none is named)"
        if 300 <= status < 400:
            return "redirects are not followed: put the final address into transport.base_url"
        return {
            401: f"check {key}",
            402: "the account has no credit left: top it up, then run again",
            403: f"check what {key} is allowed to use, and whether the service refuses the content",
            404: f"check transport.base_url, transport.path and the model name {self._model!r}",
        }.get(status, "the service does not take this request: correct the judge profile")


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait by a ``Retry-After`` header (seconds or an HTTP date), None if it says nothing."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.fromtimestamp(now, UTC)).total_seconds())


def _refused(error: BaseException) -> bool:
    """Whether the connection was never made, so that the service cannot have seen the request."""
    import urllib3

    reason = error.args[0] if error.args else None
    reason = getattr(reason, "reason", reason)
    return isinstance(reason, urllib3.exceptions.NewConnectionError)
