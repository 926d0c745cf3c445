"""Limit the time until a server answers: a timeout of a socket only limits the time between two bytes."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from http.client import HTTPException
from typing import Any

from urllib3 import HTTPConnectionPool


def limited(pool: HTTPConnectionPool, timeout_s: float) -> HTTPConnectionPool:
    """Return ``pool``, whose answers must then begin in ``timeout_s`` seconds, also if they come byte by byte.

    A late answer raises TimeoutError, which urllib3 reports as a ReadTimeoutError. Their bodies are not limited.
    """
    pool.ConnectionCls = _limited(pool.ConnectionCls, timeout_s)
    return pool


def _limited(base: type[Any], timeout_s: float) -> type[Any]:
    """Return a class of connections whose answers must begin in time, also if the server sends one byte a second."""

    class Limited(base):  # type: ignore[misc]
        def getresponse(self) -> Any:
            late = threading.Event()
            timer = threading.Timer(timeout_s, _shut_down, (self.sock, late))
            timer.daemon = True
            timer.start()
            try:
                response = super().getresponse()
            except (OSError, HTTPException):
                if not late.is_set():
                    raise
            finally:
                timer.cancel()
            if late.is_set():
                raise TimeoutError
            return response

    return Limited


def _shut_down(connection: socket.socket, late: threading.Event) -> None:
    late.set()
    with suppress(OSError):  # it is closed already
        connection.shutdown(socket.SHUT_RDWR)
