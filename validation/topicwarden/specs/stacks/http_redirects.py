"""Redirects of HTTP. By default, urllib sends the credentials of a request to any server that a redirect names."""

from __future__ import annotations

from http.client import HTTPMessage
from typing import IO
from urllib.request import HTTPRedirectHandler, Request

from topicwarden.specs.stacks.http_url import server_of, split_url

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
        if redirected is not None and not _same_server(newurl, req.full_url):
            for name in _CREDENTIALS:
                redirected.remove_header(name)
        return redirected


def _same_server(url: str, other: str) -> bool:
    first, second = split_url(url), split_url(other)
    return first is not None and second is not None and server_of(first) == server_of(second)
