"""TLS of the clients of brokers, the Schema Registry and webhooks, from the certificates of a stack's settings."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from threading import Timer
from typing import Final

from topicwarden.scratch_folder import scratch_folder
from topicwarden.specs.stacks.certificate_settings import Certificates

HANDSHAKE_S: Final = 10.0
"""How long a TLS handshake may take. A frozen server accepts connections, and Python has no limit for all steps."""


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


def client_context(certificates: Certificates, *, verify: bool = True, verify_hosts: bool = True) -> ssl.SSLContext:
    """Return the context for a client with ``certificates``, whose handshakes end after ``HANDSHAKE_S`` seconds.

    Without ``verify``, the client accepts any certificate of a server; without ``verify_hosts``, one of another host
    name. Raises ValueError if OpenSSL refuses the
    certificates or the key, such as a key that is too short.
    """
    try:
        context = ssl.create_default_context(cadata=certificates.ca_cert)
        context.sslsocket_class = _SocketWithDeadline
        context.check_hostname = verify and verify_hosts
        if not verify:
            context.verify_mode = ssl.CERT_NONE
        if certificates.client_cert and certificates.client_key:
            _load(context, certificates.client_cert, certificates.client_key)
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
