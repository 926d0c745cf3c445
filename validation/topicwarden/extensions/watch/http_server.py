"""Serve pages in memory with waitress: GET and HEAD only, limited in size, time and connections.

The application opens no file and starts nothing: a request selects one of the pages that it was given.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeAlias

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, WSGITask

from topicwarden.extensions.watch.http_access import ListenAddress
from topicwarden.model.problem import Refusal

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

MOST_CONNECTIONS: Final = 16
"""The connections that are served at the same time; further ones wait until one of these ends."""
MOST_REQUEST_BYTES: Final = 16_384
"""The largest request line and headers, together, and the largest body."""
REQUEST_S: Final = 5.0
"""The time in which a whole request must arrive."""
ANSWER_S: Final = 30.0
"""The time in which a client must read the whole answer."""
_THREADS: Final = 4
_IN_MEMORY: Final = 1 << 40
"""The size of an answer, in bytes, from which waitress writes it to a file."""
_OWN_SOCKETS: Final = 2
"""The sockets that waitress counts as connections, but are not: it listens on one, and wakes itself with the other."""
_PLAIN: Final = "text/plain; charset=utf-8"
_NOTHING: Final = "default-src 'none'"
_ALWAYS: Final = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PORT: Final = re.compile(r":[0-9]{1,5}\Z", re.ASCII)


@dataclass(frozen=True)
class ServedPage:
    """An answer. ``policy`` is the Content-Security-Policy, in addition to what holds for all pages.

    A browser requests the page again after ``again_s`` seconds, if this is not None.
    """

    body: bytes
    content_type: str = _PLAIN
    status: HTTPStatus = HTTPStatus.OK
    policy: str = _NOTHING
    again_s: int | None = None

    def headers(self) -> Iterator[tuple[str, str]]:
        """Yield the headers of the answer."""
        yield "Content-Type", self.content_type
        yield "Content-Length", str(len(self.body))
        yield "Content-Security-Policy", f"{self.policy}; {_ALWAYS}"
        yield "X-Content-Type-Options", "nosniff"
        yield "X-Frame-Options", "DENY"
        yield "Referrer-Policy", "no-referrer"
        yield "Cross-Origin-Resource-Policy", "same-origin"
        yield "Cache-Control", "no-store"
        if self.again_s is not None:
            yield "Refresh", str(self.again_s)
        if self.status is HTTPStatus.METHOD_NOT_ALLOWED:
            yield "Allow", "GET, HEAD"
        if self.status is HTTPStatus.UNAUTHORIZED:
            yield "WWW-Authenticate", 'Bearer realm="topicwarden"'


@dataclass(frozen=True)
class PageRequest:
    """A request: its path without the query, its ``Accept`` header, and whether it has the token or needs none."""

    path: str
    accept: str
    authorized: bool


Pages: TypeAlias = Callable[[PageRequest], "ServedPage | None"]
"""A function that returns the page for a request, or None if there is no such page."""

TokenCheck: TypeAlias = Callable[[str], bool]
"""A function that tells whether an ``Authorization`` header has the token."""


@contextmanager
def serving(
    address: ListenAddress,
    pages: Pages,
    has_token: TokenCheck | None = None,
    open_paths: frozenset[str] = frozenset(),
) -> Iterator[ListenAddress]:
    """Serve ``pages`` on ``address`` during the block, and yield the address with its real port.

    With ``has_token``, a request for another path than ``open_paths`` needs the token. Without it, a request must name
    this machine as its host: else a web page could read the report through a name that leads to 127.0.0.1.

    Raises Refusal if the address cannot be used.
    """
    logging.getLogger("waitress").propagate = False  # a request may have a token, or lines that look like ours
    logging.getLogger("waitress").addHandler(logging.NullHandler())
    sockets: dict[int, object] = {}
    settings = Adjustments(
        listen=str(address),
        threads=_THREADS,
        connection_limit=MOST_CONNECTIONS + _OWN_SOCKETS,
        max_request_header_size=MOST_REQUEST_BYTES,
        max_request_body_size=MOST_REQUEST_BYTES,
        outbuf_overflow=_IN_MEMORY,
        outbuf_high_watermark=_IN_MEMORY,
        cleanup_interval=1,
        ident="topicwarden",
    )
    try:
        server = _Server(partial(_answer, pages, has_token, open_paths), map=sockets, adj=settings)
    except OSError as error:
        wasyncore.close_all(sockets)
        raise Refusal(
            f"cannot listen on {address}: {error.strerror}; choose another address or port with --listen"
        ) from error
    thread = threading.Thread(target=server.run, name="watch-http", daemon=True)
    thread.start()
    try:
        yield ListenAddress(address.host, int(server.effective_port))
    finally:
        server.ended = True
        server.pull_trigger()
        thread.join()
        server.task_dispatcher.shutdown()
        wasyncore.close_all(sockets)


class _OneRequestTask(WSGITask):
    """Answers the one request of a connection."""

    def start(self) -> None:
        super().start()
        self.set_close_on_finish()


class _ErrorTask(ErrorTask):
    """Answers with the name of the status only: no part of a hostile request is repeated."""

    def execute(self) -> None:
        page = _page_of(HTTPStatus(self.request.error.code))
        self.status = _status_line(page)
        self.response_headers.extend(page.headers())
        self.set_close_on_finish()
        self.content_length = len(page.body)
        self.write(page.body)


class _Channel(HTTPChannel):
    task_class = _OneRequestTask
    error_task_class = _ErrorTask
    answered = 0.0
    """When the answer was complete; 0 before a request is answered, infinite while it is."""

    def service(self) -> None:
        self.answered = math.inf
        super().service()
        self.answered = time.time()


class _Server(TcpWSGIServer):
    channel_class = _Channel
    ended = False

    def run(self) -> None:
        while not self.ended:
            wasyncore.loop(self.adj.asyncore_loop_timeout, use_poll=True, map=self._map, count=1)

    def maintenance(self, now: float) -> None:
        """Close connections at the end of their time. Waitress closes only idle ones, and so never a slow client."""
        for channel in list(self.active_channels.values()):
            if channel.answered:
                began, limit = channel.answered, ANSWER_S
            else:
                began, limit = channel.creation_time, REQUEST_S
            if not channel.requests and now - began > limit:
                channel.will_close = True


def _answer(
    pages: Pages,
    has_token: TokenCheck | None,
    open_paths: frozenset[str],
    environ: WSGIEnvironment,
    start_response: StartResponse,
) -> Iterable[bytes]:
    """Answer a request: the application, as PEP 3333 defines it."""
    page = _page(pages, has_token, open_paths, environ)
    start_response(_status_line(page), list(page.headers()))
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [page.body]


def _page(
    pages: Pages, has_token: TokenCheck | None, open_paths: frozenset[str], environ: WSGIEnvironment
) -> ServedPage:
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        return _page_of(HTTPStatus.METHOD_NOT_ALLOWED)
    if has_token is None and not _is_loopback(environ.get("HTTP_HOST", "localhost")):  # HTTP/1.0 needs no host
        return _page_of(HTTPStatus.MISDIRECTED_REQUEST)
    authorized = has_token is None or has_token(environ.get("HTTP_AUTHORIZATION", ""))
    path = environ["PATH_INFO"]
    if not authorized and path not in open_paths:
        return _page_of(HTTPStatus.UNAUTHORIZED)
    try:
        found = pages(PageRequest(path, environ.get("HTTP_ACCEPT", ""), authorized))
    except Exception:  # noqa: BLE001 -- the client gets no detail
        return _page_of(HTTPStatus.INTERNAL_SERVER_ERROR)
    return found or _page_of(HTTPStatus.NOT_FOUND)


def _page_of(status: HTTPStatus) -> ServedPage:
    return ServedPage(f"{status.value} {status.phrase}\n".encode(), status=status)


def _status_line(page: ServedPage) -> str:
    return f"{page.status.value} {page.status.phrase}"


def _is_loopback(host: str) -> bool:
    """Return whether a ``Host`` header is a name of the loopback address."""
    name = _PORT.sub("", host.strip().lower())
    try:
        return name == "localhost" or ipaddress.ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
