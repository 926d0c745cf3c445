"""Failures of requests to a Schema Registry, each as one line that says what is wrong and what to do."""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence
from http.client import IncompleteRead
from typing import Final

from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationValueError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
)

from topicwarden.model.problem import Refusal

SETTING: Final = "topicwarden:schemaRegistry"
_MOST_TEXT: Final = 600
"""The most characters of a registry's own message that are shown."""

_NOT_FOUND: Final = range(40401, 40500)
"""The codes of ``io.confluent.kafka.schemaregistry.rest.exceptions.Errors`` for what is absent."""
NO_SUBJECT: Final = 40401
NOT_IN_MODE: Final = 42205
REFERENCED: Final = 42206
PASSING_CODES: Final = (50002, 50003)
"""A write timed out, or could not be forwarded to the registry's leader: after an election, both work again."""
PASSING_STATUSES: Final = (429, 502, 503, 504)


class RegistryError(Refusal):
    """A request to a Schema Registry that failed.

    ``status`` is that of HTTP; None if there was no complete answer. ``code`` is the ``error_code`` of the answer; None
    if it has none. ``reason`` is one line for users, which is also the message. It
    contains no credential and no schema.
    """

    def __init__(self, status: int | None, code: int | None, reason: str) -> None:
        super().__init__(reason)
        self.status, self.code, self.reason = status, code, reason

    @property
    def absent(self) -> bool:
        """True if the registry itself answered that the subject, version, schema or setting does not exist.

        A proxy, or a server without the API, answers 404 as well, but without such a code.
        """
        return self.status == 404 and self.code in _NOT_FOUND

    @property
    def unreachable(self) -> bool:
        """True if further requests would fail, too: no answer, rejected credentials, or not available."""
        return self.status in (None, 401, *PASSING_STATUSES)

    @property
    def passing(self) -> bool:
        """True if the same request may succeed a short time later."""
        return self.status in PASSING_STATUSES or self.code in PASSING_CODES


def answer_reason(registry: str, request: str, status: int, code: int | None, message: str, *, anonymous: bool) -> str:
    """Return the reason of an answer with an error.

    ``registry`` names the registry, ``request`` the method and path, and ``message`` is the registry's own, already
    without credentials and schemas. ``anonymous`` says that the stack declares no credentials.
    """
    number = f"{status}" if code in (None, status) else f"{status}, code {code}"
    answered = f"{number}: {message}" if message else number
    by_code = {
        42201: f"{registry} cannot use the schema ({answered}); correct the schema or its references",
        42203: f"{registry} does not know the compatibility level ({answered}); choose another level",
        NOT_IN_MODE: f"{registry} does not permit the change in its mode, or in that of the subject ({answered}); "
        "set the mode to READWRITE, or deploy when it is",
        REFERENCED: f"{registry} keeps the subject, because other schemas refer to it ({answered}); "
        "delete these subjects first",
        50001: f"{registry} cannot use its storage ({answered}); see its log",
        50002: f"{registry} did not complete the change in time ({answered}); try again",
        50003: f"{registry} cannot reach its leader ({answered}); try again",
    }
    credentials = f"set username and password, token or clientCert of {SETTING}"
    if not anonymous:
        credentials = f"correct username and password, or token, of {SETTING}"
    by_status = {
        401: f"{registry} {'needs' if anonymous else 'rejects the'} credentials ({answered}); {credentials}",
        403: f"{registry} denies {request} ({answered}); give the user of {SETTING} the permission",
        404: f"{registry} answered {answered}",
        405: f"{registry} does not support {request} ({answered})",
        409: f"{registry} refuses the schema as incompatible ({answered})",
        413: f"{registry} refuses the schema as too large ({answered})",
        429: f"{registry} limits requests and is over its limit ({answered}); try again later",
    }
    if status == 404 and code not in _NOT_FOUND:
        return f"{registry} has no API for {request} ({answered}); correct the path in url of {SETTING}"
    if status in PASSING_STATUSES:
        by_status.setdefault(status, f"{registry} is not available ({answered}); try again when it is")
    other = f"{registry} refuses {request} ({answered})"
    if status >= 500:
        other = f"{registry} failed at {request} ({answered}); see its log"
    return (by_code if code in by_code else by_status).get(code if code in by_code else status, other)


def failure_reason(registry: str, error: HTTPError, timeout_s: float) -> str:
    """Return the reason why there is no complete answer."""
    cause = _cause(error)
    if isinstance(cause, ssl.SSLError):
        problem = (
            _certificate_problem(cause) if isinstance(cause, ssl.SSLCertVerificationError) else _tls_problem(cause)
        )
        return f"{registry} cannot be used with TLS: {problem}"
    if isinstance(error, (NewConnectionError, LocationValueError)):  # the first is a ConnectTimeoutError, too
        return f"{registry} cannot be reached: {_connection_problem(error, cause)} url of {SETTING}"
    if isinstance(error, (ConnectTimeoutError, ReadTimeoutError)):
        return timeout_reason(registry, timeout_s)
    if isinstance(cause, IncompleteRead):
        return f"{registry} closed the connection before the end of its answer; try again"
    if isinstance(cause, ConnectionError):
        return f"{registry} closed the connection without an answer; try again"
    return f"{registry} does not speak HTTP ({type(cause).__name__}); correct url of {SETTING}"


def _connection_problem(error: HTTPError, cause: BaseException) -> str:
    if isinstance(error, LocationValueError):
        return "its host name is invalid; correct"
    if isinstance(error, NameResolutionError):
        return "its host name is unknown; correct"
    detail = cause.strerror if isinstance(cause, OSError) and cause.strerror else "the connection failed"
    return f"{detail[0].lower()}{detail[1:]}; start it, or correct"


def timeout_reason(registry: str, timeout_s: float) -> str:
    """Return the reason of a request that took too long."""
    return f"{registry} did not answer within {timeout_s:g} s; try again, or correct url of {SETTING}"


def lost_connection(error: HTTPError) -> bool:
    """Return whether a server closed an open connection, as servers do with idle ones, and while they restart."""
    return isinstance(error, ProtocolError) and isinstance(_cause(error), (ConnectionError, IncompleteRead))


def _cause(error: BaseException) -> BaseException:
    """Return the innermost exception: urllib3 has it as the cause, the reason or the last argument."""
    inner = error.__cause__ or next((each for each in reversed(error.args) if isinstance(each, BaseException)), None)
    return error if inner is None else _cause(inner)


_EXPIRED, _WRONG_HOST, _UNKNOWN_CAS = 10, (62, 64), (18, 19, 20, 21)
"""OpenSSL's ``X509_V_ERR`` numbers."""


def _certificate_problem(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in _UNKNOWN_CAS:
        return f"its certificate is self-signed or of an unknown CA; set caCert of {SETTING} to the CA's certificate"
    if error.verify_code == _EXPIRED:
        return "its certificate has expired; renew it"
    if error.verify_code in _WRONG_HOST:
        return f"its certificate is for another host name; correct url of {SETTING}, or the certificate"
    return f"its certificate is invalid: {error.verify_message}"


def _tls_problem(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate_problem(error)
    reason = str(error.reason or "")
    if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason:
        return f"it may need a client certificate; set clientCert and clientKey of {SETTING}"
    if "BAD_CERTIFICATE" in reason or "UNKNOWN_CA" in reason:
        return f"it rejects the client's certificate; correct clientCert of {SETTING}"
    if "WRONG_VERSION_NUMBER" in reason or "RECORD_LAYER" in reason or "HTTP" in reason:
        return f"it does not speak TLS; use http:// in url of {SETTING}"
    if not reason or "EOF" in reason:
        return f"it closed the connection; it may need clientCert and clientKey of {SETTING}, or http:// in url"
    return f"{reason.replace('_', ' ').lower()}; check url and clientCert of {SETTING}"


_OLD_SCHEMA: Final = re.compile(r",?\s*\{(?:oldSchema|newSchema): '.*?'\}(?=[,\]}\s]|$)", re.DOTALL)


def message_text(message: str, secrets: Sequence[str | None]) -> str:
    """Return a registry's own message on one line, without ``secrets`` and old schemas, of limited length."""
    text = _OLD_SCHEMA.sub("", message)
    for secret in secrets:
        if secret:
            text = text.replace(secret, "…")
    text = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"
