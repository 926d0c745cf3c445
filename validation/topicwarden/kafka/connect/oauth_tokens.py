"""Access tokens for SASL OAUTHBEARER: by the client credentials grant (RFC 6749, section 4.4), or signed for MSK."""

from __future__ import annotations

import base64
import json
import threading
import time
from functools import cache
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, urlencode
from urllib.request import Request, urlopen

from kafka.net.sasl.oauth import AbstractTokenProvider

from topicwarden.kafka.connect.aws_tokens import token
from topicwarden.kafka.connect.connection import Connection
from topicwarden.stacks.aws_settings import AwsSettings

_TIMEOUT_S: Final = 10.0
_RENEWED_AT: Final = 0.8
"""The share of its lifetime after which a token is renewed, as in Kafka's ``sasl.login.refresh.window.factor``."""
_REFUSED: Final = (400, 401, 403)
"""The answers of HTTP about a client that the endpoint does not accept (RFC 6749, section 5.2)."""
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
                self._renewed_at = time.monotonic() + float(answer.get("expires_in") or _LIFETIME_S) * _RENEWED_AT
            return self._token

    def _request(self) -> dict[str, Any]:
        url, scopes = self._connection.token_url or "", " ".join(self._connection.scopes)
        form = {"grant_type": "client_credentials", **({"scope": scopes} if scopes else {})}
        user = f"{quote_plus(self._connection.username or '')}:{quote_plus(self._connection.password or '')}"
        headers = {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}", "Accept": "application/json"}
        try:
            with urlopen(Request(url, urlencode(form).encode(), headers), timeout=_TIMEOUT_S) as response:
                answer = json.load(response)
        except HTTPError as error:
            error.close()
            remedy = (
                "correct kafka:saslUsername, kafka:saslPassword or kafka:saslOauthScopes"
                if error.code in _REFUSED
                else "run the command again later, or look at the log of this service"
                if error.code >= _OF_SERVER
                else "correct kafka:saslTokenUrl"
            )
            raise NoToken(f"the token endpoint {url} answers HTTP {error.code} {error.reason}; {remedy}") from error
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise NoToken(f"the token endpoint {url} does not answer: {reason}; correct kafka:saslTokenUrl") from error
        except ValueError as error:
            raise NoToken(f"the token endpoint {url} does not answer JSON; correct kafka:saslTokenUrl") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
            raise NoToken(f"the answer of the token endpoint {url} has no access_token; correct kafka:saslTokenUrl")
        return answer


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
