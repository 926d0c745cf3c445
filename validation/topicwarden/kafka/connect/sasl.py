"""The SASL settings of a connection for kafka-python, and why a broker that answers refuses to authenticate.

A broker closes the connection right after its answer, so clients often report a lost connection instead of the reason.
"""

from __future__ import annotations

import base64
import json
import socket
import struct
import threading
import time
from functools import cache
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote_plus, urlencode
from urllib.request import Request, build_opener

from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.oauth import AbstractTokenProvider

from topicwarden.kafka.connect.aws_tokens import token
from topicwarden.kafka.connect.broker_probe import (
    Unreachable,
    connected,
    request_sasl_authenticate,
    request_sasl_handshake,
)
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.remedy_settings import RemedySettings
from topicwarden.specs.stacks.connection_settings import OAUTHBEARER, AwsSettings
from topicwarden.specs.stacks.http_redirects import NoRedirects

_TIMEOUT_S: Final = 10.0
_RENEWED_AT: Final = 0.8
"""The share of its lifetime after which a token is renewed, as in Kafka's ``sasl.login.refresh.window.factor``."""
_REFUSED: Final = (400, 401, 403)
"""The answers of HTTP about a client that the endpoint does not accept (RFC 6749, section 5.2)."""
_REDIRECTS: Final = range(300, 400)
"""The answers that name another address, which gets no secret."""
_LATER: Final = (408, 425, 429)
_OF_SERVER: Final = 500
_LIFETIME_S: Final = 60.0
"""The lifetime of a token whose endpoint does not tell it."""


class NoToken(Exception):
    """The reason why the token endpoint gives no token, and the remedy."""


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """The tokens of one client; any thread may ask for them."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self._lock = threading.Lock()
        self._token, self._renewed_at = "", 0.0

    def token(self) -> str:
        """Return a token that has not expired. Raises NoToken."""
        with self._lock:
            if time.monotonic() >= self._renewed_at:
                answer = self._request()
                self._token = str(answer["access_token"])
                self._renewed_at = time.monotonic() + _lifetime_s(answer) * _RENEWED_AT
            return self._token

    def _request(self) -> dict[str, Any]:
        names, url, scopes = self._connection.names, self._connection.token_url or "", " ".join(self._connection.scopes)
        form = {"grant_type": "client_credentials", **({"scope": scopes} if scopes else {})}
        user = f"{quote_plus(self._connection.username or '')}:{quote_plus(self._connection.password or '')}"
        headers = {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}", "Accept": "application/json"}
        try:
            request = Request(url, urlencode(form).encode(), headers)
            with build_opener(NoRedirects).open(request, timeout=_TIMEOUT_S) as response:
                answer = json.load(response)
        except HTTPError as error:
            error.close()
            problem = f"the token endpoint {url} answers HTTP {error.code} {error.reason}"
            raise NoToken(f"{problem}; {_remedy(names, error.code)}") from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise NoToken(f"the token endpoint {url} does not answer: {reason}; correct {names.token_url}") from error
        except HTTPException as error:
            problem = f"the answer of the token endpoint {url} is not HTTP, or not complete"
            raise NoToken(f"{problem}; correct {names.token_url}") from error
        except ValueError as error:
            raise NoToken(f"the token endpoint {url} does not answer JSON; correct {names.token_url}") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
            raise NoToken(f"the answer of the token endpoint {url} has no access_token; correct {names.token_url}")
        return answer


def _remedy(names: RemedySettings, status: int) -> str:
    """Return what to do about an error of HTTP."""
    if status in _REFUSED:
        return f"correct {names.client}"
    if status in _LATER or status >= _OF_SERVER:
        return "run the command again later, or look at the log of this service"
    if status in _REDIRECTS:
        return f"set {names.token_url} to the address that it redirects to, if you trust it with the secret"
    return f"correct {names.token_url}"


def _lifetime_s(answer: dict[str, Any]) -> float:
    """Return the lifetime of a token in seconds; ``expires_in`` is a number, or a text with one at some services."""
    try:
        seconds = float(answer.get("expires_in") or _LIFETIME_S)
    except (TypeError, ValueError):
        return _LIFETIME_S
    return seconds if 0 < seconds < float("inf") else _LIFETIME_S


class SignedTokens(AbstractTokenProvider):  # type: ignore[misc]
    """The tokens of an AWS identity, for Amazon MSK; each connection gets a new one."""

    def __init__(self, aws: AwsSettings) -> None:
        super().__init__()
        self._aws = aws

    def token(self) -> str:
        """Return a token that has not expired. Raises NoAwsCredentials."""
        return token(self._aws)


@cache
def tokens_of(connection: Connection) -> ClientCredentials:
    """Return the tokens of ``connection``, which all clients of this process share."""
    return ClientCredentials(connection)


def sasl_name(user: str) -> str:
    """Return a user name as SCRAM sends it (RFC 5802, section 5.1). kafka-python does not escape it, Java does."""
    return user.replace("=", "=3D").replace(",", "=2C")


def sasl_settings(connection: Connection) -> dict[str, Any]:
    """Return the settings of the client and of its SASL mechanisms; empty without SASL."""
    if connection.sasl_mechanism is None:
        return {}
    if connection.sasl_mechanism == OAUTHBEARER:
        provider = SignedTokens(connection.aws) if connection.aws else tokens_of(connection)
        return {"sasl_mechanism": OAUTHBEARER, "sasl_oauth_token_provider": provider}
    scram = connection.sasl_mechanism.startswith("SCRAM-")
    return {
        "sasl_mechanism": connection.sasl_mechanism,
        "sasl_plain_username": sasl_name(connection.username or "") if scram else connection.username,
        "sasl_plain_password": connection.password,
    }


_UNSUPPORTED_MECHANISM, _ILLEGAL_STATE = 33, 34


def refused_by_listener(connection: Connection, address: str) -> str | None:
    """Return why the listener at ``address`` refuses ``connection``; None if it does not, or nothing is known."""
    try:
        with connected(connection, address) as channel:
            error, mechanisms = request_sasl_handshake(channel, connection.sasl_mechanism or "PLAIN")
            offered = ", ".join(sorted(mechanisms))
            if connection.sasl_mechanism is None:
                needed = f"its listener needs SASL ({offered}); set {connection.names.sasl}"
                return needed if error != _ILLEGAL_STATE else None
            if error == _ILLEGAL_STATE:
                return f"its listener has no SASL; remove {connection.names.no_sasl}"
            if error == _UNSUPPORTED_MECHANISM:
                return f"its listener does not offer {connection.sasl_mechanism}, but {offered}"
            return _authentication_error(connection, channel)
    except NoToken as error:
        return str(error)
    except (Unreachable, OSError, ValueError, struct.error):
        pass
    return None


def _authentication_error(connection: Connection, channel: socket.socket) -> str | None:
    mechanism = get_sasl_mechanism(connection.sasl_mechanism)(**sasl_settings(connection))
    while not mechanism.is_done():
        error, message, token = request_sasl_authenticate(channel, mechanism.auth_bytes())
        if error and connection.aws:
            return (
                f"the signed token ({connection.aws}) is refused: {message}; allow kafka-cluster:Connect in its "
                f"policy, and look at {connection.names.region}"
            )
        if error and connection.token_url:
            return f"the token of {connection.token_url} is refused: {message}; look at its audience, issuer and scope"
        if error:
            return (
                f"wrong user name or password ({connection.sasl_mechanism}, user {connection.username!r}): {message}; "
                f"correct {connection.names.user}"
            )
        mechanism.receive(token)
    return None
