"""The TLS settings of a connection for Python's ``ssl``."""

from __future__ import annotations

import ssl
from functools import cache

from topicwarden.kafka.connect.connection import Connection
from topicwarden.specs.stacks.certificate_settings import Certificates
from topicwarden.specs.stacks.client_tls import client_context


@cache
def tls_context(connection: Connection) -> ssl.SSLContext:
    """Return the context for a connection with TLS. Raises ValueError as ``client_context`` does."""
    certificates = Certificates(connection.ca_cert, connection.client_cert, connection.client_key)
    return client_context(certificates, verify=connection.verify_tls, verify_hosts=connection.verify_hosts)
