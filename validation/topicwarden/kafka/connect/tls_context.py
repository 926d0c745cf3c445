"""The TLS settings of a connection for Python's ``ssl``."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from functools import cache
from threading import Timer
from typing import Final

from topicwarden.kafka.connect.connection import Connection
from topicwarden.scratch_folder import scratch_folder

HANDSHAKE_S: Final = 10.0
"""How long a TLS handshake may take. A frozen broker accepts connections, and kafka-python has no limit of its own."""


class _SocketWithDeadline(ssl.SSLSocket):
    """A socket that is shut down, so that everything that waits for it goes on, if its handshake takes too long."""

    _deadline: Timer | None = None

    def do_handshake(self, block: bool = False) -> None:
        if self._deadline is None:
            self._deadline = Timer(HANDSHAKE_S, self._give_up)
            self._deadline.daemon = True
            self._deadline.start()
        try:
            super().do_handshake(block)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except BaseException:
            self._deadline.cancel()
            raise
        self._deadline.cancel()

    def _give_up(self) -> None:
        with suppress(OSError):  # it is closed already
            socket.socket.shutdown(self, socket.SHUT_RDWR)


@cache
def tls_context(connection: Connection) -> ssl.SSLContext:
    """Return the context for a connection with TLS, whose handshakes end after ``HANDSHAKE_S`` seconds.

    Raises ValueError if OpenSSL refuses the certificates or the key, such as a key that is too short.
    """
    try:
        context = ssl.create_default_context(cadata=connection.ca_cert)
        context.sslsocket_class = _SocketWithDeadline
        if not connection.verify_tls:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if connection.client_cert and connection.client_key:
            _load(context, connection.client_cert, connection.client_key)
    except ssl.SSLError as error:
        raise ValueError(f"OpenSSL refuses the certificates of the settings: {error.reason or error}") from error
    return context


def _load(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Load the client's certificate. OpenSSL only reads files, so it gets one that only this user can read."""
    with scratch_folder() as folder:
        file = folder / "client.pem"
        file.touch(mode=0o600)
        file.write_text(f"{certificate}\n{key}", encoding="ascii")
        context.load_cert_chain(file)
