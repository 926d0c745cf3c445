"""POST requests to one server, limited in time and size, without redirects. No error and no log has the URL."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException
from typing import Final

from urllib3 import BaseHTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from topicwarden.deliveries.delivery_error import DeliveryError
from topicwarden.stacks.certificate_settings import Certificates
from topicwarden.stacks.client_tls import client_context
from topicwarden.stacks.http_url import split_url

TIMEOUT_S: Final = 10.0
"""How long connecting may take, and then the request with its answer."""
MOST_BYTES: Final = 1 << 20
"""The largest answer that is read."""
LONGEST_RETRY_AFTER_S: Final = 3600.0
"""The longest pause that a server can request."""
_DENIED: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_GONE: Final = {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
_REJECTED: Final = {400, 409, 413, 415, 422}
"""The statuses that say that the content is wrong: the same request fails again."""


class RefusedRequest(DeliveryError):
    """The server answered with a status that is no success. ``content`` is its answer."""

    content: bytes = b""


class PostClient:
    """A client of the server with ``url``, for one thread. Every failure is a ``DeliveryError``.

    Its message is a predicate, such as "is not available": the caller knows the name of the server.
    """

    def __init__(self, url: str, certificates: Certificates, headers: Mapping[str, str]) -> None:
        self._url, self._certificates = url, certificates
        self._headers = {"Content-Type": "application/json", "User-Agent": "topicwarden", **headers}
        self._connection: HTTPConnection | None = None

    def post(
        self, body: bytes, path: str = "", headers: Mapping[str, str] | None = None, *, read: bool = False
    ) -> bytes:
        """Send ``body`` and return the answer; without ``read``, only its status counts, and it is not read.

        ``path`` is appended to the path of the URL, unless the URL ends with it. Raises DeliveryError.
        """
        try:
            with _without_logs():
                response, content = self._answer(body, path, {**self._headers, **(headers or {})}, read)
        except (HTTPError, HTTPException, OSError, ValueError) as error:
            self.close()
            raise DeliveryError(_failure(error)) from None
        except DeliveryError:
            self.close()
            raise
        if not read:
            self.close()
        if 200 <= response.status < 300:
            return content
        refused = _refused(response)
        refused.content = content
        raise refused

    def close(self) -> None:
        """Close the connection. The next request opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _answer(self, body: bytes, path: str, headers: Mapping[str, str], read: bool) -> tuple[BaseHTTPResponse, bytes]:
        connection = self._connected()
        late = threading.Event()
        limit = threading.Timer(TIMEOUT_S, _shut_down, (connection, late))
        limit.daemon = True
        limit.start()
        try:
            connection.request(
                "POST", self._target(path), body=body, headers=headers, preload_content=False, decode_content=False
            )
            response = connection.getresponse()
            content = _content(response) if read else b""
        except (OSError, HTTPError, HTTPException) as error:
            if late.is_set():
                raise TimeoutError from error
            raise
        finally:
            limit.cancel()
        if late.is_set():  # a connection that is shut down ends headers and content
            raise TimeoutError
        return response, content

    def _connected(self) -> HTTPConnection:
        if self._connection is not None and self._connection.is_connected:
            return self._connection
        self.close()
        url = split_url(self._url)
        if url is None or url.hostname is None:
            raise DeliveryError("has an invalid URL; correct it")
        if url.scheme == "https":
            try:
                context = client_context(self._certificates)
            except ValueError as error:
                raise DeliveryError(f"cannot be used: {error}") from None
            connection: HTTPConnection = HTTPSConnection(url.hostname, url.port, timeout=TIMEOUT_S, ssl_context=context)
        else:
            connection = HTTPConnection(url.hostname, url.port, timeout=TIMEOUT_S)
        self._connection = connection
        connection.connect()
        return connection

    def _target(self, path: str) -> str:
        url = split_url(self._url)
        base, query = (url.path, url.query) if url else ("", "")
        if path:
            base = base.rstrip("/").removesuffix(path) + path
        return (base or "/") + (f"?{query}" if query else "")


def _content(response: BaseHTTPResponse) -> bytes:
    chunks, size = [], 0
    while chunk := response.read1(64 << 10):
        chunks.append(chunk)
        size += len(chunk)
        if size > MOST_BYTES:
            raise DeliveryError(f"answers more than {MOST_BYTES} bytes; correct its URL")
    return b"".join(chunks)


def _refused(response: BaseHTTPResponse) -> RefusedRequest:
    """Return the error for an answer that is no success."""
    status = response.status
    answered = f"answered {_status_text(status)}"
    if status in _DENIED:
        return RefusedRequest(f"{answered}; correct its credentials")
    if 300 <= status < 400:
        return RefusedRequest(f"{answered}, a redirect, which is not followed; set its URL to the final address")
    if status in _GONE:
        return RefusedRequest(f"{answered}; correct its URL")
    if status in _REJECTED:
        return RefusedRequest(f"{answered}: it does not accept the content", rejected=True)
    return RefusedRequest(answered, retry_after=_pause(response.headers.get("Retry-After")))


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
    """Return the seconds that a server requests: a number, or a date (RFC 9110, section 10.2.3)."""
    if not retry_after:
        return 0.0
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text)
    else:
        try:
            date = parsedate_to_datetime(text)
        except (ValueError, OverflowError):  # of a number that no date has
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
