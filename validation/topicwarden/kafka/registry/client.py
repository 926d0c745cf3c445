"""Requests to a Schema Registry with Confluent's REST API, over TLS and with credentials as the stack declares."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final
from urllib.parse import quote, urlencode, urljoin, urlsplit

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, Timeout
from urllib3.exceptions import HTTPError, ReadTimeoutError

from topicwarden.kafka.registry.registry_error import (
    SETTING,
    RegistryError,
    answer_reason,
    failure_reason,
    lost_connection,
    message_text,
    timeout_reason,
)
from topicwarden.model.units import SIZE
from topicwarden.specs.stacks.client_tls import client_context
from topicwarden.specs.stacks.http_url import server_of
from topicwarden.specs.stacks.limited_connections import limited
from topicwarden.specs.stacks.registry_settings import RegistrySettings

TIMEOUT_S: Final = 10.0
"""How long one request may take, with connection, TLS handshake, and the whole answer."""
MAX_BYTES: Final = 16 << 20
"""The largest answer. A schema of 5 MB is larger as JSON in JSON."""
CONNECTIONS: Final = 8
"""How many requests one client sends at the same time."""

_RETRIES: Final = 4
_PAUSE_S: Final = 0.25
"""The pause before the first retry; each further pause is twice as long."""
_LONGEST_PAUSE_S: Final = 10.0
"""If a registry asks for a longer pause (``Retry-After``), the request fails."""
_MOST_REDIRECTS: Final = 3
_CHUNK: Final = 64 << 10
_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_REDIRECTS: Final = {301, 302, 303, 307, 308}


class RegistryClient:
    """A client of one registry, for several threads, which keeps connections open. Close it, or use it with ``with``.

    All requests of this package have the same effect if they are sent twice, so each of them is sent again after a lost
    connection, after an answer that says that the registry is busy or not available, and once without an answer in
    time if the registry has answered before. Every failure is a ``RegistryError``.
    """

    def __init__(self, settings: RegistrySettings, *, connections: int = CONNECTIONS, timeout_s: float = TIMEOUT_S):
        """Prepare requests to the registry of ``settings``, with at most ``connections`` at the same time."""
        try:
            url = urlsplit(settings.url)
            port = url.port
        except ValueError:
            url, port = urlsplit(""), None
        if url.scheme not in ("http", "https") or not url.hostname:
            raise RegistryError(None, None, f"the Schema Registry has an invalid address; correct url of {SETTING}")
        host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
        self.origin = f"{url.scheme}://{host}" + (f":{port}" if port else "")
        self._path = url.path.rstrip("/")
        self.address = f"{self.origin}{self._path}"
        self.name = f"the Schema Registry at {self.address}"
        self._timeout_s = timeout_s
        self._headers, self._secrets = self._authorization(settings)
        self._anonymous = not self._headers and not settings.certificates.client_cert
        self._headers |= {"Accept": f"{_CONTENT_TYPE}, application/json", "User-Agent": "topicwarden"}
        self._pool = self._connected_pool(settings, host, port, connections)
        self.connections = connections
        self._answers = False

    def __enter__(self) -> RegistryClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def get(self, *path: str, query: Mapping[str, str] | None = None) -> Any:
        """Return the JSON at a path, whose parts are not yet quoted. Raises RegistryError."""
        return self.request("GET", path, query=query)

    def post(self, *path: str, body: Any, query: Mapping[str, str] | None = None, schema: str | None = None) -> Any:
        """Return the JSON that answers a POST of ``body``. ``schema``: its text, which no message contains."""
        return self.request("POST", path, query=query, body=body, schema=schema)

    def put(self, *path: str, body: Any) -> Any:
        """Return the JSON that answers a PUT of ``body``. Raises RegistryError."""
        return self.request("PUT", path, body=body)

    def delete(self, *path: str) -> Any:
        """Return the JSON that answers a DELETE. Raises RegistryError."""
        return self.request("DELETE", path)

    def request(
        self,
        method: str,
        path: Sequence[str],
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        schema: str | None = None,
    ) -> Any:
        """Send a request, again if that may help, and return the JSON of the answer. Raises RegistryError."""
        target = "/".join((self._path, *map(self._quoted, path))) + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        label = f"{method} /{'/'.join(path)}"
        for attempt in range(_RETRIES + 1):
            pause: float | None = _PAUSE_S * 2**attempt
            try:
                status, headers, content = self._sent(method, target, data)
            except HTTPError as error:
                failure = RegistryError(None, None, failure_reason(self.name, error, self._timeout_s))
                # Under load, Apicurio loses an answer in some 20,000: no reason to fail with a registry that answers.
                lost_answer = self._answers and attempt == 0 and isinstance(error, ReadTimeoutError)
                if not lost_connection(error) and not lost_answer:
                    raise failure from error
            else:
                self._answers = True
                if status in (HTTPStatus.OK, HTTPStatus.CREATED):
                    return self._json(status, content)
                failure = self._answer_error(label, status, content, schema)
                if not failure.passing:
                    raise failure
                pause = self._pause(headers.get("Retry-After"), _PAUSE_S * 2**attempt)
            if attempt == _RETRIES or pause is None:
                raise failure
            time.sleep(pause)
        raise AssertionError("the loop returns or raises")

    def unknown_form(self, expected: str) -> RegistryError:
        """Return the error of an answer that is JSON, but not what the API defines: ``expected``."""
        return RegistryError(
            HTTPStatus.OK, None, f"{self.name} answered in an unknown form: expected {expected}; check url of {SETTING}"
        )

    def _authorization(self, settings: RegistrySettings) -> tuple[dict[str, str], tuple[str | None, ...]]:
        """Return the header with the credentials, and all texts that no message may contain."""
        if settings.token is not None:
            if not (settings.token.isascii() and settings.token.isprintable() and " " not in settings.token):
                message = f"token of {SETTING} has white space or a character that HTTP does not allow; correct it"
                raise RegistryError(None, None, message)
            return {"Authorization": f"Bearer {settings.token}"}, (settings.token,)
        if settings.username is None:
            return {}, ()
        pair = base64.b64encode(f"{settings.username}:{settings.password or ''}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}, (settings.password, pair)

    def _connected_pool(
        self, settings: RegistrySettings, host: str, port: int | None, connections: int
    ) -> HTTPConnectionPool:
        timeout = Timeout(connect=self._timeout_s, read=self._timeout_s)
        shared: dict[str, Any] = {"timeout": timeout, "maxsize": connections, "block": True, "retries": False}
        try:
            if not self.origin.startswith("https:"):
                return limited(HTTPConnectionPool(host, port, **shared), self._timeout_s)
            context = client_context(settings.certificates)
            return limited(HTTPSConnectionPool(host, port, ssl_context=context, **shared), self._timeout_s)
        except HTTPError as error:
            raise RegistryError(None, None, failure_reason(self.name, error, self._timeout_s)) from None
        except ValueError as error:
            raise RegistryError(None, None, f"{SETTING}: {error}") from None

    def _quoted(self, part: str) -> str:
        """Return a part of a path. A server would drop ``.`` and ``..``, and ask for another path."""
        if not part.strip("."):
            raise RegistryError(None, None, f'"{part}" cannot be the name of a subject in a URL; choose another name')
        return quote(part, safe="")

    def _sent(self, method: str, target: str, data: bytes | None) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of the answer, after redirects on the same server."""
        headers = self._headers if data is None else {**self._headers, "Content-Type": _CONTENT_TYPE}
        until = time.monotonic() + self._timeout_s
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._pool.urlopen(
                method,
                target,
                body=data,
                headers=headers,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            try:
                content = self._content(response, until)
            except BaseException:
                response.close()
                raise
            finally:
                response.release_conn()
            if response.status not in _REDIRECTS:
                break
            target = self._redirected(method, target, response)
        else:
            raise RegistryError(response.status, None, f"{self.name} redirects in a circle; correct url of {SETTING}")
        return response.status, response.headers, content

    def _content(self, response: BaseHTTPResponse, until: float) -> bytes:
        """Return the body of an answer, which must end in time and within the limit."""
        chunks, size = [], 0
        while chunk := response.read1(_CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BYTES:
                reason = f"{self.name} answered more than {SIZE.text(MAX_BYTES)}; check url of {SETTING}"
                raise RegistryError(response.status, None, reason)
            if time.monotonic() > until:
                raise RegistryError(None, None, timeout_reason(self.name, self._timeout_s))
        return b"".join(chunks)

    def _redirected(self, method: str, target: str, response: BaseHTTPResponse) -> str:
        """Return the new target. Credentials go to no other server, and only 307 and 308 keep a method and a body."""
        try:
            location = urlsplit(urljoin(f"{self.origin}{target}", response.headers.get("Location", "")))
            same = server_of(location) == server_of(urlsplit(self.origin))
        except ValueError:
            same = False
        if not same:
            raise RegistryError(
                response.status,
                None,
                f"{self.name} redirects to another server ({response.status}), which gets no credentials; set url of "
                f"{SETTING} to the registry itself",
            )
        if method != "GET" and response.status not in (307, 308):
            reason = f"{self.name} redirects {method} ({response.status}); set url of {SETTING} to the registry itself"
            raise RegistryError(response.status, None, reason)
        return location.path + (f"?{location.query}" if location.query else "")

    def _json(self, status: int, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            kind = "nothing" if not content.strip() else "HTML" if _is_html(content) else "no JSON"
            reason = f"{self.name} answered {kind}, where its API has JSON; check url of {SETTING}"
            raise RegistryError(status, None, reason) from None

    def _answer_error(self, request: str, status: int, content: bytes, schema: str | None) -> RegistryError:
        code, message = None, ""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            message = "HTML, as from a proxy" if _is_html(content) else ""
        else:
            if isinstance(answer, dict):
                number, text = answer.get("error_code"), answer.get("message")
                code = number if type(number) is int else None
                inner = json.dumps(schema)[1:-1] if schema else None
                message = message_text(text, (schema, inner, *self._secrets)) if isinstance(text, str) else ""
        reason = answer_reason(self.name, request, status, code, message, anonymous=self._anonymous)
        return RegistryError(status, code, reason)

    def _pause(self, retry_after: str | None, planned: float) -> float | None:
        """Return how long to wait before the next attempt; None if the registry asks for too long a pause."""
        if retry_after is None or not retry_after.isascii() or not retry_after.isdigit():
            return planned
        requested = float(retry_after)
        return max(planned, requested) if requested <= _LONGEST_PAUSE_S else None


def _is_html(content: bytes) -> bool:
    return content.lstrip()[:1] == b"<"
