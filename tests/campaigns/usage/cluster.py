"""Run brokers that know all types of groups, with a listener of users who may describe only some of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType

from tests.support import maven_jars
from tests.support.restricted_user import PASSWORD, USER, RestrictedCluster, restricted_cluster
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.connection import Connection

VISIBLE: Final = "seen-"
"""The start of the names of groups and transactional ids that the restricted user may describe."""
TRANSACTION_TIMEOUT_MS: Final = 3_000
SHARE_LOCK_MS: Final = 6_000
PRODUCER_EXPIRATION_MS: Final = 30_000

_SETTINGS: Final = {
    "group.consumer.min.session.timeout.ms": "1000",
    "group.share.min.record.lock.duration.ms": str(SHARE_LOCK_MS),
    "group.share.record.lock.duration.ms": str(SHARE_LOCK_MS),
    "group.share.delivery.count.limit": "2",
    "producer.id.expiration.ms": str(PRODUCER_EXPIRATION_MS),
    "producer.id.expiration.check.interval.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    # A partition of Kafka's own topics has no leader while its broker is down.
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


@dataclass(frozen=True)
class UsageCluster:
    """Running brokers: ``admin`` sees everything, ``restricted`` all topics, and groups that begin with ``VISIBLE``."""

    sandbox: Sandbox
    servers: list[str]
    admin: Connection
    restricted: Connection
    folder: Path

    @property
    def bootstrap(self) -> str:
        return ",".join(self.servers)


@contextmanager
def usage_cluster(java: Path, folder: Path, brokers: int) -> Iterator[UsageCluster]:
    """Run ``brokers`` brokers of the newest version with their files in ``folder``."""
    sandbox = Sandbox(folder / "sandbox", java, maven_jars.provide("newest"))
    with restricted_cluster(sandbox, brokers, _SETTINGS) as cluster:
        _grant(cluster)
        yield UsageCluster(
            sandbox,
            cluster.servers,
            Connection(tuple(cluster.servers), tls=False),
            Connection(
                tuple(cluster.user_servers), tls=False, sasl_mechanism="PLAIN", username=USER, password=PASSWORD
            ),
            folder,
        )


def _grant(cluster: RestrictedCluster) -> None:
    described = (ACLOperation.DESCRIBE, ACLOperation.DESCRIBE_CONFIGS, ACLOperation.READ)
    acls = [
        *(_acl(ResourceType.TOPIC, "*", ACLResourcePatternType.LITERAL, each) for each in described),
        _acl(ResourceType.GROUP, VISIBLE, ACLResourcePatternType.PREFIXED, ACLOperation.DESCRIBE),
        _acl(ResourceType.TRANSACTIONAL_ID, VISIBLE, ACLResourcePatternType.PREFIXED, ACLOperation.DESCRIBE),
    ]
    with connected(cluster.servers) as admin:
        admin.create_acls(acls)


def _acl(kind: ResourceType, name: str, pattern: ACLResourcePatternType, operation: ACLOperation) -> ACL:
    return ACL(f"User:{USER}", "*", operation, ACLPermissionType.ALLOW, ResourcePattern(kind, name, pattern))
