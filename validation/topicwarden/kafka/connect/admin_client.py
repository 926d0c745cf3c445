"""Opens Kafka's Admin client with the connection settings of a stack."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError, NodeNotReadyError, UnknownBrokerIdError

from topicwarden.kafka.connect.broker_probe import probe
from topicwarden.kafka.connect.client_internals import advertised_addresses
from topicwarden.kafka.connect.client_logs import CLIENT_ID, mute_own_clients
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.sasl import refused_by_listener, sasl_settings
from topicwarden.kafka.connect.tls_context import tls_context
from topicwarden.model.problem import Refusal

_TIMEOUT_MS = 20_000
_BOOTSTRAP_MS = 10_000


@contextmanager
def open_admin(connection: Connection) -> Iterator[KafkaAdminClient]:
    """Yield an open Admin client; every Kafka error becomes a ``Refusal``.

    A ``RuntimeError`` of the client's own event loop becomes a ``Refusal``, too. A ``RuntimeError`` of the code that
    uses the client is raised unchanged.
    """
    servers = ",".join(connection.bootstrap_servers)
    admin = _open(connection)
    try:
        yield admin
    except (KafkaError, RuntimeError) as error:
        if not isinstance(error, KafkaError) and not _raised_by_client(error):
            raise
        raise Refusal(f"the Kafka cluster at {servers} stopped answering, or refused: {_reason(error)}") from error
    finally:
        _close(admin)


def _open(connection: Connection) -> KafkaAdminClient:
    """Return a client that has the cluster's metadata and can reach one of its brokers, or raise Refusal."""
    probed = probe(connection, connection.bootstrap_servers)
    if not probed.answering:
        raise Refusal(f"no Kafka cluster answers at {_listed(probed.failures)}")
    if connection.sasl_mechanism and (cause := refused_by_listener(connection, probed.answering[0])):
        raise Refusal(_refused(connection, cause))
    admin = _bootstrapped(connection, probed.answering)
    advertised = advertised_addresses(admin)
    if advertised and not {*advertised} & {*probed.answering}:
        reachable = probe(connection, advertised)
        if not reachable.answering:
            _close(admin)
            raise Refusal(
                f"the brokers at {','.join(probed.answering)} advertise addresses that do not answer: "
                f"{_listed(reachable.failures)}; or correct advertised.listeners of the brokers"
            )
    return admin


def _bootstrapped(connection: Connection, servers: Sequence[str]) -> KafkaAdminClient:
    """Return a client that has its metadata from one of ``servers``, which have just answered.

    The client chooses one at random, and may have chosen one that has stopped answering since. Then the others are
    tried.
    """
    try:
        return KafkaAdminClient(**client_settings(connection, servers))
    except (KafkaError, OSError, ValueError) as error:
        still_answering = probe(connection, servers).answering
        if still_answering and len(still_answering) < len(servers):
            return _bootstrapped(connection, still_answering)
        cause = refused_by_listener(connection, (still_answering or servers)[0])
        raise Refusal(_refused(connection, cause or _reason(error))) from error


def _refused(connection: Connection, cause: str) -> str:
    return f"the Kafka cluster at {','.join(connection.bootstrap_servers)} refuses the connection: {cause}"


def _listed(failures: Mapping[str, str]) -> str:
    """Return the addresses with the reasons why they do not answer, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for address, reason in sorted(failures.items()):
        by_reason.setdefault(reason, []).append(address)
    return "; ".join(f"{', '.join(addresses)}: {reason}" for reason, addresses in by_reason.items())


def _close(admin: KafkaAdminClient) -> None:
    with suppress(KafkaError, OSError, RuntimeError):  # the requests have succeeded already
        admin.close()


def client_settings(connection: Connection, servers: Sequence[str]) -> dict[str, Any]:
    """Return the settings that all clients of kafka-python share: address, TLS, SASL and timeouts; mute their logs."""
    mute_own_clients()
    settings: dict[str, Any] = {
        "bootstrap_servers": list(servers),
        "security_protocol": connection.security_protocol,
        "client_id": CLIENT_ID,
        "request_timeout_ms": _TIMEOUT_MS,
        "bootstrap_timeout_ms": _BOOTSTRAP_MS,
    }
    if connection.tls:
        settings["ssl_context"] = tls_context(connection)
    return settings | sasl_settings(connection)


def _raised_by_client(error: BaseException) -> bool:
    """Return whether the client itself raised ``error``."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and str(frames[-1][0].f_globals.get("__name__", "")).partition(".")[0] in ("kafka", "asyncio")


def _reason(error: BaseException) -> str:
    if isinstance(error, UnknownBrokerIdError) and error.args:
        return f"broker {error.args[0]} left the cluster during the command; run the command again when it is back"
    if isinstance(error, NodeNotReadyError) and error.args and isinstance(error.args[0], int):
        return f"broker {error.args[0]} does not answer; run the command again when it does"
    return str(error).strip().partition("\n")[0] or type(error).__name__
