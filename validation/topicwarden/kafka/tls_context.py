"""The TLS settings of a connection for Python's ``ssl``."""

from __future__ import annotations

import ssl
from functools import cache

from topicwarden.kafka.connection import Connection
from topicwarden.scratch_folder import scratch_folder


@cache
def tls_context(connection: Connection) -> ssl.SSLContext:
    """Return the context for a connection with TLS.

    Raises ValueError if OpenSSL refuses the certificates or the key, such as a key that is too short.
    """
    try:
        context = ssl.create_default_context(cadata=connection.ca_cert)
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
