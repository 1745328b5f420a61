"""HTTP calls to a judge service: bounded in time and size, without redirects, with the key struck out.

What goes wrong on the way is told apart by whether the service can have seen the request: that decides
whether it may be sent again (see ``base``).
"""

from __future__ import annotations

import email.utils
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.errors import ConfigError
from pipeline.judges.base import GiveUp, RetryLater, Uncertain
from pipeline.judges.secrets import Secret

if TYPE_CHECKING:  # imported where it is used: rendering needs no network
    import requests

MAX_BODY_BYTES = 32 << 20
CONNECT_SECONDS = 10.0
_BLOCK = 1 << 16


@dataclass(frozen=True)
class HttpReply:
    """A whole HTTP response; the key stands in none of its bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after(self) -> float | None:
        """Seconds the service asks to wait, None if it says nothing."""
        return retry_after(self.headers.get("Retry-After"), time.time())


class HttpClient:
    """Calls to one service at ``base_url`` with an optional bearer key; used from several threads.

    Raises:
        ConfigError: ``base_url`` is no URL.
    """

    def __init__(
        self, base_url: str, timeout_seconds: float, key: Secret | None, max_bytes: int | None = None
    ) -> None:
        try:
            address = urlsplit(base_url)
            port = f":{address.port}" if address.port else ""
        except ValueError:
            raise ConfigError("transport.base_url of the judge profile is no URL; correct it") from None
        self.origin = f"{address.scheme}://{address.hostname}{port}"
        self._base_url = base_url.rstrip("/")
        self._timeout = timeout_seconds
        self._key = key
        self._max_bytes = max_bytes or MAX_BODY_BYTES
        self._local = threading.local()
        self._sessions: list[requests.Session] = []

    def call(self, method: str, path: str, body: bytes | None = None) -> HttpReply:
        """Send once and return whatever response came, of any status.

        Raises:
            RetryLater: no connection was made, so the service has not seen the request.
            Uncertain: the request went out, and no whole response came back.
            GiveUp: the address or its certificate is wrong.
        """
        import requests

        try:
            with self._session().request(
                method,
                self._base_url + path,
                data=body,
                timeout=(min(CONNECT_SECONDS, self._timeout), self._timeout),
                allow_redirects=False,
                stream=True,
            ) as response:
                status, headers = response.status_code, response.headers
                raw = self._read(response)
        except requests.exceptions.SSLError:
            raise GiveUp(
                f"{self.origin} has no certificate this machine trusts; correct transport.base_url"
            ) from None
        except requests.exceptions.ConnectTimeout:
            raise RetryLater(f"{self.origin} did not accept a connection in time") from None
        except requests.exceptions.Timeout:
            raise Uncertain(f"no answer within {self._timeout:g} s (transport.timeout_seconds)") from None
        except requests.exceptions.ConnectionError as error:
            if _refused(error):
                raise RetryLater(
                    f"cannot connect to {self.origin}; is the service running and transport.base_url right?"
                ) from None
            raise Uncertain("the connection broke before the answer was complete") from None
        except requests.exceptions.InvalidURL:
            raise GiveUp(f"{self.origin} is no address; correct transport.base_url") from None
        except requests.exceptions.RequestException as error:
            raise Uncertain(f"the answer could not be received ({type(error).__name__})") from None
        if self._key is not None:
            raw = self._key.redact(raw)
        return HttpReply(status, headers, raw)

    def close(self) -> None:
        """Let go of connections."""
        for session in self._sessions:
            session.close()

    def _session(self) -> requests.Session:
        """One session a thread: ``requests`` does not promise that threads can share one."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            import requests

            session = requests.Session()
            # Proxies and certificates of the environment, looked up once and not for every call.
            found = session.merge_environment_settings(self._base_url, {}, None, None, None)
            session.proxies, session.verify = found["proxies"], found["verify"]
            session.trust_env = False
            session.headers.update(
                {
                    "Content-Type": "application/json",
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                }
            )
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
                if len(body) > self._max_bytes or time.monotonic() > deadline:
                    break
            else:
                return bytes(body)
        except urllib3.exceptions.ReadTimeoutError:
            raise requests.exceptions.Timeout from None
        except (urllib3.exceptions.HTTPError, OSError):
            raise requests.exceptions.ConnectionError from None
        if len(body) > self._max_bytes:
            raise Uncertain(f"an answer of more than {self._max_bytes >> 20} MiB; it was not kept")
        raise requests.exceptions.Timeout


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
