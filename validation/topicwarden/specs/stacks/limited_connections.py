"""Limit the time until a server answers: a timeout of a socket only limits the time between two bytes."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from typing import Any

from urllib3 import HTTPConnectionPool


def limited(pool: HTTPConnectionPool, timeout_s: float) -> HTTPConnectionPool:
    """Return ``pool``, whose answers must then begin in ``timeout_s`` seconds, also if they come byte by byte.

    A late answer raises TimeoutError, which urllib3 reports as a ReadTimeoutError. Their bodies are not limited.
    """
    pool.ConnectionCls = _limited(pool.ConnectionCls, _Watchdog(timeout_s))
    return pool


class _Watchdog:
    """Shuts down connections whose answers are late. One thread watches them all: one for each request costs more.

    All answers have the same time, so the first that was awaited is the first that is late.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._awaited: dict[object, tuple[float, socket.socket]] = {}
        self._watching = False

    def begin(self, connection: socket.socket) -> object:
        """Watch ``connection`` until ``end`` is called with the result."""
        answer = object()
        with self._lock:
            self._awaited[answer] = (time.monotonic() + self._timeout_s, connection)
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
        return answer

    def end(self, answer: object) -> bool:
        """Watch the connection no longer; return whether it was shut down."""
        with self._lock:
            return self._awaited.pop(answer, None) is None

    def _watch(self) -> None:
        pause: float | None = self._timeout_s
        while pause is not None:
            time.sleep(pause)  # what is awaited from now on is late only after the next look
            with self._lock:
                pause = self._shut_down_late()
                self._watching = pause is not None

    def _shut_down_late(self) -> float | None:
        """Shut down each late connection; return the seconds until the next may be late, None if none is awaited."""
        for answer, (deadline, connection) in list(self._awaited.items()):
            if (remaining := deadline - time.monotonic()) > 0:
                return remaining
            del self._awaited[answer]
            with suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)
        return None


def _limited(base: type[Any], watchdog: _Watchdog) -> type[Any]:
    """Return a class of connections whose answers must begin in time, also if the server sends one byte a second."""

    class Limited(base):  # type: ignore[misc]
        def getresponse(self) -> Any:
            awaited, late, response = watchdog.begin(self.sock), True, None
            try:
                response = super().getresponse()
            except (OSError, HTTPException):
                if not (late := watchdog.end(awaited)):
                    raise
            except BaseException:
                watchdog.end(awaited)
                raise
            else:
                late = watchdog.end(awaited)
            if late:
                raise TimeoutError
            return response

    return Limited
