"""Requests of JSON to a catalogue: limited in time and size, and without redirects, which could get the token."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, Retry, Timeout
from urllib3.exceptions import HTTPError, NameResolutionError, NewConnectionError, SSLError, TimeoutError

from topicwarden.catalogues.delivery_error import DeliveryError
from topicwarden.report.display import one_line
from topicwarden.stacks.catalogue_settings import CatalogueKind, CatalogueSettings
from topicwarden.stacks.client_tls import client_context
from topicwarden.stacks.stack_settings import CATALOGUES

TIMEOUT_S: Final = 10.0
"""The longest time without a byte, and the longest time of an answer."""
MAX_BYTES: Final = 1 << 20
"""The largest answer."""
_MOST_TEXT: Final = 300
"""The most characters of a catalogue's own message that are shown."""
_LABELS: Final = {CatalogueKind.OPENLINEAGE: "the OpenLineage server", CatalogueKind.DATAHUB: "DataHub"}
_REJECTED: Final = {400, 409, 413, 415, 422}
"""The statuses that say that the content is wrong: the same request fails again."""


class CatalogueClient:
    """A client of one catalogue with a URL, which keeps a connection open. Every failure is a ``DeliveryError``."""

    def __init__(self, settings: CatalogueSettings, *, timeout_s: float = TIMEOUT_S) -> None:
        url = urlsplit(settings.url or "")
        self._setting = f"{CATALOGUES}.{settings.name}"
        self._token = settings.token
        self._path = url.path.rstrip("/")
        self._timeout_s = timeout_s
        self.name = f"{_LABELS[settings.kind]} at {url.scheme}://{url.netloc}{self._path}"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "topicwarden"}
        if settings.token:
            self._headers["Authorization"] = f"Bearer {settings.token}"
        limits: dict[str, Any] = {"timeout": Timeout(timeout_s), "maxsize": 1, "retries": Retry(0, redirect=False)}
        host = url.hostname or ""
        self._pool = (
            HTTPSConnectionPool(host, url.port, ssl_context=client_context(settings.certificates), **limits)
            if url.scheme == "https"
            else HTTPConnectionPool(host, url.port, **limits)
        )

    def post(self, path: str, document: Mapping[str, Any]) -> bytes:
        """Send ``document`` to ``path`` below the URL, and return the answer."""
        try:
            response = self._pool.urlopen(
                "POST",
                self._path + path,
                body=json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(),
                headers=self._headers,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            try:
                content = self._content(response)
            except BaseException:
                response.close()
                raise
            finally:
                response.release_conn()
        except HTTPError as error:
            raise DeliveryError(f"{self.name} {_problem(error)} ({self._setting})") from None
        if not 200 <= response.status < 300:
            raise self._refused(response, content)
        return content

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()

    def _content(self, response: BaseHTTPResponse) -> bytes:
        chunks, size, until = [], 0, time.monotonic() + self._timeout_s
        while chunk := response.read1(64 << 10):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BYTES or time.monotonic() > until:
                limit = f"more than {MAX_BYTES} bytes" if size > MAX_BYTES else "too slowly"
                raise DeliveryError(f"{self.name} answers {limit}; correct its URL in {self._setting}")
        return b"".join(chunks)

    def _refused(self, response: BaseHTTPResponse, content: bytes) -> DeliveryError:
        status = response.status
        answered = f"{status}: {text}" if (text := self.shown(content.decode("utf-8", "replace"))) else f"{status}"
        if status in (401, 403):
            remedy = f"correct token of {self._setting}" if self._token else f"set token of {self._setting}"
            return DeliveryError(f"{self.name} denies the request ({answered}); {remedy}")
        if status == 404 or 300 <= status < 400:
            return DeliveryError(f"{self.name} has another address ({answered}); correct its URL in {self._setting}")
        if status in _REJECTED:
            return DeliveryError(f"{self.name} does not accept the content ({answered})", rejected=True)
        requested = response.headers.get("Retry-After", "")
        pause = float(requested) if requested.isascii() and requested.isdigit() and len(requested) < 7 else None
        return DeliveryError(f"{self.name} is not available ({answered})", retry_after=pause)

    def shown(self, text: str) -> str:
        """Return a catalogue's own text on one line, without the token, of limited length; empty for HTML."""
        if text.lstrip().startswith("<"):
            return ""
        line = one_line(text.replace(self._token, "…") if self._token else text)
        return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT]}…"


def _problem(error: HTTPError) -> str:
    cause = getattr(error, "reason", None) or error
    if isinstance(cause, SSLError):
        return "cannot be used with TLS; correct its URL, or caCert"
    if isinstance(cause, NameResolutionError):
        return "has an unknown host name; correct its URL"
    if isinstance(cause, NewConnectionError):
        return "cannot be reached; start it, or correct its URL"
    return "does not answer in time" if isinstance(cause, TimeoutError) else "closes the connection"
