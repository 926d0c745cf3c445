"""Post JSON to a server, limited in time, without redirects. No error and no log has the URL or a credential."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from typing import Final

import urllib3
from urllib3 import BaseHTTPResponse, Retry
from urllib3.exceptions import ConnectTimeoutError, HTTPError, MaxRetryError, NewConnectionError

from topicwarden.specs.stacks.certificate_settings import Certificates
from topicwarden.specs.stacks.client_tls import client_context
from topicwarden.specs.stacks.http_url import split_url
from topicwarden.specs.stacks.limited_connections import limited

TIMEOUT_S: Final = 10.0
"""How long connecting may take, and about how long an answer, whatever the receiver sends."""
LONGEST_RETRY_AFTER_S: Final = 3600
"""The longest pause that a receiver can request."""
THREAD: Final = "webhook-"
"""The beginning of the names of threads that post: nothing that urllib3 logs there is kept, as it has URLs."""
_RETRIES: Final = Retry(total=2, read=False, other=0, backoff_factor=0.2, retry_after_max=LONGEST_RETRY_AFTER_S)
"""Only connecting is repeated at once, because after it the receiver may have got the content."""
_REJECTED: Final = {400, 409, 413, 415, 422}


class WebhookError(Exception):
    """A delivery that failed. The message is a predicate, such as "refused the connection", without URL or credential.

    ``uncertain``: the receiver may have got the content. ``retry_after``: the pause in seconds that it requests.
    """

    def __init__(self, reason: str, *, uncertain: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.uncertain, self.retry_after = uncertain, retry_after


def post(address: str, body: bytes, headers: Mapping[str, str], certificates: Certificates) -> None:
    """Post ``body`` to the URL ``address``. Raises WebhookError.

    Call it in a thread whose name begins with ``THREAD``. Only the status of the answer is read, and ``Retry-After``.
    """
    url = split_url(address)
    if url is None:
        raise WebhookError("has an invalid URL; correct it")
    all_headers = {"Content-Type": "application/json", "User-Agent": "topicwarden", **headers}
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    try:
        context = {"ssl_context": client_context(certificates)} if url.scheme == "https" else {}
    except ValueError as error:
        raise WebhookError(f"cannot be used: {error}") from None
    try:
        with urllib3.connection_from_url(address, timeout=TIMEOUT_S, **context) as pool:
            response = limited(pool, 1.2 * TIMEOUT_S).urlopen(
                "POST",
                target,
                body,
                all_headers,
                _RETRIES,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            response.close()
    except (HTTPError, HTTPException, OSError, ValueError) as error:
        raise _failure(error.reason or error if isinstance(error, MaxRetryError) else error) from None
    if not 200 <= response.status < 300:
        raise _refused(response)


class _NoLogs(logging.Filter):
    """Drops what urllib3 logs in a thread that posts: its messages contain URLs."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.threadName or "").startswith(THREAD)


for _name in ("urllib3.connection", "urllib3.connectionpool", "urllib3.util.retry"):
    logging.getLogger(_name).addFilter(_NoLogs())


def _refused(response: BaseHTTPResponse) -> WebhookError:
    """Return the error for an answer that is no success. After 3xx and 4xx the receiver has not got the content."""
    status = response.status
    try:
        answered = f"answered {status} {HTTPStatus(status).phrase}"
    except ValueError:
        answered = f"answered {status}"
    if status in (401, 403):
        return WebhookError(f"{answered}; correct its credentials")
    if 300 <= status < 400:
        return WebhookError(f"{answered}, a redirect, which is not followed; set its URL to the final address")
    if status in (404, 410):
        return WebhookError(f"{answered}; correct its URL")
    if status in _REJECTED:
        return WebhookError(f"{answered}: it does not accept the content")
    return WebhookError(answered, uncertain=not 400 <= status < 500, retry_after=_pause(response))


def _pause(response: BaseHTTPResponse) -> float:
    try:
        return float(_RETRIES.get_retry_after(response) or 0.0)
    except (HTTPError, ValueError, OverflowError, TypeError):
        return 0.0


def _failure(error: BaseException) -> WebhookError:
    """Return why there was no answer, without the host: urllib3's own messages contain it."""
    cause = _innermost(error)
    connected = not isinstance(error, (NewConnectionError, ConnectTimeoutError, UnicodeError))
    if isinstance(error, ConnectTimeoutError) and not isinstance(error, NewConnectionError):
        return WebhookError("cannot be reached in time")
    reason = next((text for kind, text in _REASONS.items() if isinstance(cause, kind)), None)
    detail = cause.strerror.lower() if isinstance(cause, OSError) and cause.strerror else type(cause).__name__
    return WebhookError(reason or f"cannot be reached ({detail})", uncertain=connected)


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
