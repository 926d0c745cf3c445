"""Makes all clients of kafka-python: Admin clients, and the consumers and producers of records.

No client of topicwarden creates a topic. With Kafka's default ``auto.create.topics.enable=true``, the metadata request
of a consumer or producer creates a topic that is gone, unless the client forbids it (``allow.auto.create.topics``,
KIP-361). Admin clients send metadata requests that never create topics. The settings of the Java consumers are in
``Connection.for_java``.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError, NodeNotReadyError, UnknownBrokerIdError

from topicwarden.kafka.connect.broker_probe import probe
from topicwarden.kafka.connect.client_internals import advertised_addresses
from topicwarden.kafka.connect.connection import Connection, tls_context
from topicwarden.kafka.connect.remedy_settings import STACK_FILE
from topicwarden.kafka.connect.request_errors import first_line, retry_transient
from topicwarden.kafka.connect.sasl import refused_by_listener, sasl_settings
from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.stack_settings import MOVED_TO

_TIMEOUT_MS = 20_000
_BOOTSTRAP_MS = 10_000
_ONE_SERVER_MS = 5_000
_NO_TOPICS: Final = {"allow_auto_create_topics": False}
_CLIENT_ID: Final = "topicwarden"
"""The ``client.id`` of each client. kafka-python names the thread of a client after it."""
_THREAD: Final = f"kafka-io-{_CLIENT_ID}"
_LIBRARY: Final = "kafka"
_OURS: Final = "topicwarden"


@contextmanager
def open_admin(connection: Connection) -> Iterator[KafkaAdminClient]:
    """Yield an open Admin client; every Kafka error becomes a ``Refusal``.

    A ``RuntimeError`` of the client's own event loop becomes a ``Refusal``, too. A ``RuntimeError`` of the code that
    uses the client is raised unchanged.
    """
    servers = ",".join(connection.bootstrap_servers)
    admin, answering = _open(connection)
    try:
        _refuse_other_cluster(connection, admin, answering)
        yield admin
    except (KafkaError, RuntimeError) as error:
        if not isinstance(error, KafkaError) and not _raised_by_client(error):
            raise
        raise Refusal(f"the Kafka cluster at {servers} stopped answering, or refused: {_reason(error)}") from error
    finally:
        _close(admin)


def _open(connection: Connection) -> tuple[KafkaAdminClient, Sequence[str]]:
    """Return a client that has the cluster's metadata and can reach one of its brokers, or raise Refusal.

    Also return which of the servers answer.
    """
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
    return admin, probed.answering


def _refuse_other_cluster(connection: Connection, admin: KafkaAdminClient, answering: Sequence[str]) -> None:
    """Refuse servers of another cluster than the required one; without that one, servers of different clusters.

    Each client asks one of the servers, by chance, which brokers there are: now of this cluster, then of the other. The
    servers that the brokers of the cluster advertise are its own. Only the others are asked.
    """
    own = advertised_addresses(admin)
    unknown = [server for server in answering if server not in own] if len(answering) > 1 else []
    if not unknown and connection.cluster_id is None:
        return
    reached = retry_transient(lambda: _cluster_id(admin))
    required = connection.cluster_id or reached
    if reached is None or required is None:
        return
    found = {server: _cluster_at(connection, server) for server in (unknown if reached == required else answering)}
    foreign = {server: f"leads to cluster {each}" for server, each in found.items() if each not in (None, required)}
    if reached != required and not foreign:
        foreign = {",".join(answering): f"leads to cluster {reached}"}
    if not foreign:
        return
    remedy = (
        "another program uses the port of a broker: stop it, or let `topicwarden sandbox down` and "
        "`topicwarden sandbox up` choose other ports"
        if connection.sandbox
        else f"name servers of one cluster only in {connection.names.servers}"
    )
    if connection.cluster_id is not None and not connection.sandbox and connection.names is STACK_FILE:
        remedy += f"; if the stack really moved, set {MOVED_TO} to the id of its cluster"
    expected = "the other servers lead to" if connection.cluster_id is None else "the cluster must be"
    raise Refusal(
        f"{connection.source}: {_listed(foreign)}, but {expected} {required}: nothing is read or changed; {remedy}"
    )


def _cluster_id(admin: KafkaAdminClient) -> str | None:
    answered: str | None = admin.describe_cluster()["cluster_id"]
    return answered


def _cluster_at(connection: Connection, server: str) -> str | None:
    """Return the id of the cluster that answers at ``server``; None if none does, or if it has no id."""
    settings = client_settings(connection, [server]) | {"bootstrap_timeout_ms": _ONE_SERVER_MS}
    try:
        admin = KafkaAdminClient(**settings)
    except (KafkaError, OSError, ValueError):
        return None
    try:
        return _cluster_id(admin)
    except KafkaError:
        return None
    finally:
        _close(admin)


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


def new_consumer(connection: Connection, **settings: Any) -> KafkaConsumer:
    """Return a consumer of the cluster. Raises KafkaError, OSError or ValueError."""
    return KafkaConsumer(**client_settings(connection, connection.bootstrap_servers), **settings, **_NO_TOPICS)


def new_producer(connection: Connection, **settings: Any) -> KafkaProducer:
    """Return a producer to the cluster. Raises KafkaError, OSError or ValueError."""
    return KafkaProducer(**client_settings(connection, connection.bootstrap_servers), **settings, **_NO_TOPICS)


@contextmanager
def connected(servers: Sequence[str], **settings: Any) -> Iterator[KafkaAdminClient]:
    """Yield an Admin client of plaintext listeners, such as those of the sandbox. Raises KafkaError or OSError."""
    with KafkaAdminClient(bootstrap_servers=list(servers), **settings) as admin:
        yield admin


def client_settings(connection: Connection, servers: Sequence[str]) -> dict[str, Any]:
    """Return the settings that all clients of kafka-python share: address, TLS, SASL and timeouts; mute their logs."""
    mute_own_clients()
    settings: dict[str, Any] = {
        "bootstrap_servers": list(servers),
        "security_protocol": connection.security_protocol,
        "client_id": _CLIENT_ID,
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
    return first_line(error)


class _OwnClients(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not ((record.threadName or "").startswith(_THREAD) or _called_by_us())


_FILTER: Final = _OwnClients()


def mute_own_clients() -> None:
    """Keep the log lines of topicwarden's own clients out of the log of the program that calls topicwarden.

    An error of a client becomes a ``Refusal``, so its log lines would only repeat it. The lines of clients that the
    calling program opens itself are left alone, as are the levels and handlers of every logger. Each logger of
    kafka-python that exists gets the filter, because a filter does not apply to the loggers below it.
    """
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == _LIBRARY:
            logging.getLogger(name).addFilter(_FILTER)


def _called_by_us() -> bool:
    """Return whether topicwarden called the code of kafka-python that logs."""
    client_seen = False
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        client_seen = client_seen or package == _LIBRARY
        if client_seen and package not in (_LIBRARY, *sys.stdlib_module_names):
            return package == _OURS
    return False
