"""OAuth tokens for Google Cloud, held as a secret that renews itself."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline.judges.base import FindSecret, GiveUp, RetryLater
from pipeline.judges.secrets import Secret
from pipeline.profiles import VertexTransport

if TYPE_CHECKING:  # imported where it is used: no other judge needs it
    from google.auth.credentials import Credentials

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_GCLOUD = ("gcloud", "auth", "print-access-token")
_GCLOUD_SECONDS = 60
_LOGIN = (
    "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS "
    "to a service account file"
)

Fetch = Callable[[], str]


class AccessToken(Secret):
    """A token that is fetched when it is first needed, and again when the service refuses it.

    Every token it ever held is struck out of what is stored. Its methods may be called from any thread.
    """

    __slots__ = ("_fetch", "_held", "_lock")

    def __init__(self, fetch: Fetch) -> None:
        super().__init__("")
        self._fetch = fetch
        self._held: list[str] = []
        self._lock = threading.Lock()

    def reveal(self) -> str:
        """The token, for an HTTP header and nothing else.

        Raises:
            GiveUp: there are no usable credentials; the message says how to get some.
            RetryLater: the token service could not be reached.
        """
        with self._lock:
            token = self._fetch()
            if not token or not all("!" <= character <= "~" for character in token):
                raise GiveUp("the Google credentials gave no token that can be sent; log in again")
            if token not in self._held:
                self._held.append(token)
            return token

    def redact(self, data: bytes) -> bytes:
        """``data`` with every token struck out."""
        for token in self._held:
            data = Secret(token).redact(data)
        return data


class TokenSource:
    """Where tokens come from; ``renew`` makes the next one a new one, and says whether that can be."""

    def __init__(self, transport: VertexTransport, find_secret: FindSecret) -> None:
        self._kind = transport.credentials
        self._given = find_secret(transport.token_env) if self._kind == "token" else None
        self._credentials: Credentials | None = None
        self._token: str | None = None
        self._lock = threading.Lock()

    def fetch(self) -> str:
        """A token that is valid as far as is known here; see ``AccessToken.reveal``."""
        if self._given is not None:
            return self._given.reveal()
        with self._lock:
            if self._kind == "gcloud":
                self._token = self._token or _from_gcloud()
                return self._token
            return self._from_google_auth()

    def renew(self, refused: str) -> bool:
        """Drop the token ``refused``, unless another call was first; False if there can be no other."""
        if self._given is not None:
            return False
        with self._lock:
            if self._token == refused:
                self._token = None
        return True

    def _from_google_auth(self) -> str:
        """The token of the application default credentials, refreshed if it is gone or ran out."""
        import google.auth
        import google.auth.transport.requests
        from google.auth import exceptions

        try:
            if self._credentials is None:
                self._credentials, _ = google.auth.default(scopes=[_SCOPE])
            if self._token is None or not self._credentials.valid:
                self._credentials.refresh(  # type: ignore[no-untyped-call]
                    google.auth.transport.requests.Request()
                )
                self._token = str(self._credentials.token)
        except exceptions.TransportError:
            raise RetryLater("cannot reach Google's token service; is there a network?") from None
        except exceptions.DefaultCredentialsError:
            raise GiveUp(f"no usable Google credentials were found; {_LOGIN}") from None
        except (exceptions.GoogleAuthError, ValueError):  # its text can quote a key file or a token
            raise GiveUp(f"Google refused the credentials; {_LOGIN}") from None
        return self._token


def _from_gcloud() -> str:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            _GCLOUD, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GCLOUD_SECONDS, check=False
        )
    except FileNotFoundError:
        raise GiveUp("no command gcloud; install it, or set transport.credentials: google-auth") from None
    except subprocess.TimeoutExpired:
        raise RetryLater(f"gcloud gave no token within {_GCLOUD_SECONDS} s") from None
    if done.returncode != 0:
        raise GiveUp("gcloud gave no token; run `gcloud auth login`")
    return done.stdout.decode("ascii", "replace").strip()
