"""Send one POST request to a receiver, within a time limit, and return whether to repeat it. No text has the URL."""

from __future__ import annotations

import base64
import logging
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException
from typing import Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from topicwarden.stacks.client_tls import client_context
from topicwarden.stacks.receiver_settings import Receiver, split_url

TIMEOUT_S: Final = 10.0
"""How long connecting may take, and then the request with the head of its answer."""
LONGEST_RETRY_AFTER_S: Final = 3600.0
"""The longest pause that a receiver can request."""


@dataclass(frozen=True)
class PostOutcome:
    """The outcome of a delivery.

    ``error`` is None if the receiver accepted it. Otherwise ``repeat`` says whether another attempt can help, after at
    least ``pause_s`` seconds.
    """

    error: str | None = None
    repeat: bool = False
    pause_s: float = 0.0


@dataclass(frozen=True)
class PostTarget:
    """The server of ``receiver``: ``path`` is appended to the path of its URL, unless the URL ends with it."""

    receiver: Receiver
    path: str = ""

    def post(self, body: bytes, headers: Mapping[str, str]) -> PostOutcome:
        """Send ``body``, and return the outcome. Redirects are not followed."""
        try:
            with _without_logs():
                status, retry_after = self._answer(body, {**_authorization(self.receiver), **headers})
        except (HTTPError, HTTPException, OSError, ValueError) as error:
            return PostOutcome(f"{_failure(error)}; the delivery is repeated", repeat=True)
        if 200 <= status < 300:
            return PostOutcome()
        answered = f"answered {_status_text(status)}"
        if 300 <= status < 400:
            return PostOutcome(
                f"{answered}, a redirect, which is not followed; set url to the final address", repeat=True
            )
        if status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS) or not 400 <= status < 500:
            return PostOutcome(f"{answered}; the delivery is repeated", True, _pause(retry_after))
        return PostOutcome(f"refused a notification, which is lost: it {answered}; check url and credentials")

    def _answer(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, str | None]:
        """Return the status and the header ``Retry-After`` of the answer."""
        url = split_url(self.receiver.url)
        if url is None or url.hostname is None:
            raise ValueError
        if url.scheme == "https":
            context = client_context(self.receiver.certificates)
            connection: HTTPConnection = HTTPSConnection(url.hostname, url.port, timeout=TIMEOUT_S, ssl_context=context)
        else:
            connection = HTTPConnection(url.hostname, url.port, timeout=TIMEOUT_S)
        path = url.path.rstrip("/") if self.path else url.path
        path = path if self.path and path.endswith(self.path) else path + self.path
        target = (path or "/") + (f"?{url.query}" if url.query else "")
        late = threading.Event()
        limit = threading.Timer(TIMEOUT_S, _shut_down, (connection, late))
        limit.daemon = True
        try:
            connection.connect()
            limit.start()
            connection.request("POST", target, body=body, headers=headers, preload_content=False)
            response = connection.getresponse()
            status, retry_after = response.status, response.headers.get("Retry-After")
        except (OSError, HTTPError, HTTPException) as error:
            if late.is_set():
                raise TimeoutError from error
            raise
        finally:
            limit.cancel()
            connection.close()
        if late.is_set():  # a shut down connection ends the headers
            raise TimeoutError
        return status, retry_after


_muted = threading.local()


class _MutedThread(logging.Filter):
    """Drops what urllib3 logs in a thread that delivers: its messages contain URLs."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_muted, "active", False)


_FILTER: Final = _MutedThread()
for _name in ("urllib3.connection", "urllib3.connectionpool", "urllib3.util.retry"):
    logging.getLogger(_name).addFilter(_FILTER)


@contextmanager
def _without_logs() -> Iterator[None]:
    _muted.active = True
    try:
        yield
    finally:
        _muted.active = False


def _authorization(receiver: Receiver) -> dict[str, str]:
    if receiver.token is not None:
        return {"Authorization": f"Bearer {receiver.token}"}
    if receiver.username is None:
        return {}
    pair = base64.b64encode(f"{receiver.username}:{receiver.password or ''}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


def _shut_down(connection: HTTPConnection, late: threading.Event) -> None:
    late.set()
    with suppress(OSError, AttributeError):  # it is closed already
        connection.sock.shutdown(socket.SHUT_RDWR)


def _status_text(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _pause(retry_after: str | None) -> float:
    """Return the seconds that a receiver requests: a number, or a date (RFC 9110, section 10.2.3)."""
    if not retry_after:
        return 0.0
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text)
    else:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return 0.0
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_S)


def _failure(error: BaseException) -> str:
    """Return why there was no answer, without the host: urllib3's own messages contain it."""
    cause = _innermost(error)
    if isinstance(error, ConnectTimeoutError) and not isinstance(error, NewConnectionError):
        return "cannot be reached in time"
    reason = next((text for kind, text in _REASONS.items() if isinstance(cause, kind)), None)
    detail = cause.strerror.lower() if isinstance(cause, OSError) and cause.strerror else type(cause).__name__
    return reason or f"cannot be reached ({detail})"


_REASONS: Final[Mapping[type[BaseException], str]] = {
    ssl.SSLCertVerificationError: "has a certificate that is not trusted",
    ssl.SSLError: "could not agree on TLS",
    socket.gaierror: "has an unknown host name",
    TimeoutError: "did not answer in time",
    ConnectionRefusedError: "refused the connection",
    ConnectionError: "closed the connection without an answer",
    HTTPException: "closed the connection without an answer",
}


def _innermost(error: BaseException) -> BaseException:
    if isinstance(error, TimeoutError):
        return error
    inner = error.__cause__ or next((each for each in reversed(error.args) if isinstance(each, BaseException)), None)
    return error if inner is None else _innermost(inner)
