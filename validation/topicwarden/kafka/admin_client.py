"""Opens Kafka's Admin client with the connection settings of a stack."""

from __future__ import annotations

import logging
import ssl
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from topicwarden.kafka.connection import Connection
from topicwarden.model.problem import Refusal

_TIMEOUT_MS = 20_000

# Without a handler, Python prints the warnings of kafka-python to standard error, where Pulumi shows them as errors.
logging.getLogger("kafka").addHandler(logging.NullHandler())


@contextmanager
def open_admin(connection: Connection) -> Iterator[KafkaAdminClient]:
    """Yield an open Admin client; every Kafka error becomes a ``Refusal``.

    A ``RuntimeError`` of the client's own event loop becomes a ``Refusal``, too. A ``RuntimeError`` of the code that
    uses the client is raised unchanged.
    """
    servers = ",".join(connection.bootstrap_servers)
    try:
        admin = KafkaAdminClient(**_client_settings(connection))
    except (KafkaError, OSError, ValueError) as error:
        raise Refusal(
            f"no Kafka cluster answers at {servers}: {_reason(error)}; is it running and reachable?"
        ) from error
    try:
        yield admin
    except (KafkaError, RuntimeError) as error:
        if not isinstance(error, KafkaError) and not _raised_by_client(error):
            raise
        raise Refusal(f"the Kafka cluster at {servers} stopped answering, or refused: {_reason(error)}") from error
    finally:
        with suppress(KafkaError, OSError, RuntimeError):  # the requests have succeeded already
            admin.close()


def _client_settings(connection: Connection) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap_servers": list(connection.bootstrap_servers),
        "security_protocol": connection.security_protocol,
        "client_id": "topicwarden",
        "request_timeout_ms": _TIMEOUT_MS,
        "bootstrap_timeout_ms": _TIMEOUT_MS // 2,
    }
    if connection.tls:
        context = ssl.create_default_context(cadata=connection.ca_cert)
        if not connection.verify_tls:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        settings["ssl_context"] = context
    if connection.sasl_mechanism:
        settings |= {
            "sasl_mechanism": connection.sasl_mechanism,
            "sasl_plain_username": connection.username,
            "sasl_plain_password": connection.password,
        }
    return settings


def _raised_by_client(error: BaseException) -> bool:
    """Return whether the client itself raised ``error``."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and str(frames[-1][0].f_globals.get("__name__", "")).partition(".")[0] in ("kafka", "asyncio")


def _reason(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
