"""A small HTTP server for pages in memory: GET and HEAD only, limited in size, time and connections.

It opens no file and starts nothing: a request selects one of the pages that it was given.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import ipaddress
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from topicwarden.model.problem import Refusal
from topicwarden.watch.listen_address import ListenAddress

MOST_CONNECTIONS: Final = 16
"""The connections that are served at the same time; a further one is answered with 503 at once."""
MOST_LINE_BYTES: Final = 2_048
"""The longest request line."""
MOST_REQUEST_BYTES: Final = 16_384
"""The largest request line and headers, together."""
REQUEST_S: Final = 5.0
"""The time in which a whole request must arrive."""
ANSWER_S: Final = 30.0
"""The time in which a client must read the whole answer."""
_DISCARDED_BYTES: Final = 65_536
_DISCARD_S: Final = 0.5
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
    try:
        server = _Server(address, pages, has_token, open_paths)
    except OSError as error:
        raise Refusal(
            f"cannot listen on {address}: {error.strerror}; choose another address or port with --listen"
        ) from error
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="watch-http", daemon=True)
    thread.start()
    try:
        yield ListenAddress(address.host, server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 32

    def __init__(
        self, address: ListenAddress, pages: Pages, has_token: TokenCheck | None, open_paths: frozenset[str]
    ) -> None:
        self.address_family = socket.AF_INET6 if address.ipv6 else socket.AF_INET
        self.pages, self.has_token, self.open_paths = pages, has_token, open_paths
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__((address.host, address.port), _Handler)

    def server_bind(self) -> None:
        """Bind the socket, without the look-up of a host name that ``HTTPServer`` does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            with contextlib.suppress(OSError):
                request.settimeout(0)
                request.send(b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 5\r\n\r\n")
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error of one connection: most are clients that have gone."""


class _TooLarge(http.client.HTTPException):
    """Raised for a request of more than ``MOST_REQUEST_BYTES``."""


class _LimitedInput(io.RawIOBase):
    """The bytes of a request, up to ``MOST_REQUEST_BYTES``, within ``REQUEST_S`` seconds from now."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline = time.monotonic() + REQUEST_S
        self._left = MOST_REQUEST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        if self._left <= 0:
            raise _TooLarge
        self._connection.settimeout(remaining)
        read = self._connection.recv_into(memoryview(buffer)[: self._left])
        self._left -= read
        return read


class _Handler(BaseHTTPRequestHandler):
    """Answers one request of a connection, and closes it."""

    server: _Server
    default_request_version = "HTTP/1.0"

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(_LimitedInput(self.connection), 1_024)

    def handle(self) -> None:
        self.requestline = self.command = ""
        self.request_version = self.default_request_version
        try:
            self.raw_requestline = self.rfile.readline(MOST_LINE_BYTES + 1)
            if not self.raw_requestline:
                return
            if len(self.raw_requestline) > MOST_LINE_BYTES:
                self.send_error(HTTPStatus.REQUEST_URI_TOO_LONG)
            elif self.parse_request():  # else it has answered with the error
                self._answer(self._page())
        except TimeoutError:
            self.send_error(HTTPStatus.REQUEST_TIMEOUT)
        self._discard()

    def _page(self) -> ServedPage:
        if self.command not in ("GET", "HEAD"):
            return _page_of(HTTPStatus.METHOD_NOT_ALLOWED)
        server = self.server
        if server.has_token is None and not _names_this_machine(self.headers.get_all("Host", [])):
            return _page_of(HTTPStatus.MISDIRECTED_REQUEST)
        try:
            path = urlsplit(self.path).path
        except ValueError:
            return _page_of(HTTPStatus.BAD_REQUEST)
        authorized = server.has_token is None or server.has_token(self.headers.get("Authorization", ""))
        if not authorized and path not in server.open_paths:
            return _page_of(HTTPStatus.UNAUTHORIZED)
        try:
            found = server.pages(PageRequest(path, self.headers.get("Accept", ""), authorized))
        except Exception:  # noqa: BLE001 -- the client gets no detail
            return _page_of(HTTPStatus.INTERNAL_SERVER_ERROR)
        return found or _page_of(HTTPStatus.NOT_FOUND)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with the name of the status only: no part of a hostile request is repeated."""
        self._answer(_page_of(HTTPStatus(code)))

    def _answer(self, page: ServedPage) -> None:
        self.connection.settimeout(ANSWER_S)
        self.request_version = self.default_request_version  # an answer to HTTP/0.9 would have no headers
        self.send_response(page.status)
        headers = {
            "Content-Type": page.content_type,
            "Content-Length": str(len(page.body)),
            "Content-Security-Policy": f"{page.policy}; {_ALWAYS}",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
            "Connection": "close",
        }
        if page.again_s is not None:
            headers["Refresh"] = str(page.again_s)
        if page.status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD"
        if page.status is HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = 'Bearer realm="topicwarden"'
        for name, value in headers.items():
            self.send_header(name, value)
        with contextlib.suppress(OSError):  # the client has gone, or does not read: it gets no second answer
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(page.body)

    def _discard(self) -> None:
        """Read the rest of the request, within limits: closing a socket with unread bytes discards the answer."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            deadline, left = time.monotonic() + _DISCARD_S, _DISCARDED_BYTES
            while left > 0 and (remaining := deadline - time.monotonic()) > 0:
                self.connection.settimeout(remaining)
                read = len(self.connection.recv(min(left, 8_192)))
                if not read:
                    break
                left -= read

    def version_string(self) -> str:
        """Return the ``Server`` header, without versions."""
        return "topicwarden"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a request may have a token, or lines that look like ours."""


def _page_of(status: HTTPStatus) -> ServedPage:
    return ServedPage(f"{status.value} {status.phrase}\n".encode(), status=status)


def _names_this_machine(hosts: list[str]) -> bool:
    """Return whether each ``Host`` header is a name of the loopback address; clients of HTTP/1.0 send none."""
    return all(map(_is_loopback, hosts))


def _is_loopback(host: str) -> bool:
    name = _PORT.sub("", host.strip().lower())
    try:
        return name == "localhost" or ipaddress.ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
