"""Redirects of HTTP. By default, urllib sends the credentials of a request to any server that a redirect names."""

from __future__ import annotations

from http.client import HTTPMessage
from typing import IO
from urllib.request import HTTPRedirectHandler, Request

from topicwarden.specs.stacks.http_url import split_url

_PORTS = {"http": 80, "https": 443}
_CREDENTIALS = ("Authorization", "Proxy-authorization")  # as urllib spells them; it adds those of a proxy again


class NoRedirects(HTTPRedirectHandler):
    """Makes each redirect an HTTPError."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


class RedirectsWithoutCredentials(HTTPRedirectHandler):
    """Follows redirects; only those to the same server get the credentials of the request."""

    def redirect_request(  # noqa: PLR0917 -- the signature of urllib
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        redirected = super().redirect_request(req, fp, code, msg, headers, newurl)
        if redirected is not None and _server(newurl) not in {_server(req.full_url)} - {None}:
            for name in _CREDENTIALS:
                redirected.remove_header(name)
        return redirected


def _server(url: str) -> tuple[str, str | None, int] | None:
    parts = split_url(url)
    return parts and (parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme])
