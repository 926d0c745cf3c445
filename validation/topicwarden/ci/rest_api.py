"""Requests to the REST API of GitHub or GitLab, with a token that never leaves the API's host."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from topicwarden.model.problem import Refusal

_TIMEOUT_S: Final = 30.0
_TRANSIENT: Final = frozenset({429, 502, 503, 504})
_PAGE: Final = 100


class _NoRedirects(HTTPRedirectHandler):
    """Makes a redirect an error, because urllib would send the token to the other host."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


class _Unavailable(Refusal):
    """The API did not answer, or answered with a transient error."""


@dataclass(frozen=True)
class RestApi:
    """The API at ``url``. ``headers`` contain the token. ``hint`` says what to do if the API refuses the token."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    hint: str

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield all objects of a list, from the oldest. The list ends with the first empty page."""
        page = 1
        while objects := self.call("GET", f"{path}?per_page={_PAGE}&page={page}&sort=asc"):
            yield from objects
            page += 1

    def call(self, method: str, path: str, content: Mapping[str, str] | None = None) -> Any:
        """Return the answer. Requests that can be repeated are, three times. Raises Refusal with what to do."""
        if method == "POST":  # a repeated POST could create two comments
            return self._call(method, path, content)
        return _retrying(self._call)(method, path, content)

    def _call(self, method: str, path: str, content: Mapping[str, str] | None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        headers = {**self.headers, "Content-Type": "application/json", "User-Agent": "topicwarden"}
        address = f"{self.url.rstrip('/')}{path}"
        try:
            request = Request(address, body, headers, method=method)
            with build_opener(_NoRedirects).open(request, timeout=_TIMEOUT_S) as response:
                return json.load(response)
        except HTTPError as error:
            error.close()
            hint = f"; {self.hint}" if error.code in (401, 403, 404) else ""
            problem = f"{method} {address} answers HTTP {error.code} {error.reason}{hint}"
            raise (_Unavailable if error.code in _TRANSIENT else Refusal)(problem) from error
        except (URLError, HTTPException, OSError) as error:
            raise _Unavailable(f"{method} {address}: no answer: {getattr(error, 'reason', error)}") from error
        except ValueError as error:
            raise Refusal(f"{method} {address}: expected an http(s) address and an answer in JSON: {error}") from error


_retrying = retry(
    retry=retry_if_exception_type(_Unavailable), stop=stop_after_attempt(3), wait=wait_exponential(1), reraise=True
)
