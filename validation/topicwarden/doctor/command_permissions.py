"""The Kafka permissions that each command needs, why, and what is lost without each one.

``docs/permissions.md`` is generated from this table, ``topicwarden doctor`` compares the user's permissions with it,
and a test takes away each permission on a real cluster and compares the result with its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from topicwarden.audit.checks import CHECKS
from topicwarden.audit.evidence import Counts, SettingsOrContents


class Resource(StrEnum):
    """Types of resources in Kafka's ACLs (``org.apache.kafka.common.resource.ResourceType``)."""

    TOPIC = "Topic"
    CLUSTER = "Cluster"
    GROUP = "Group"


class Operation(StrEnum):
    """Operations of Kafka's ACLs (``org.apache.kafka.common.acl.AclOperation``)."""

    READ = "Read"
    CREATE = "Create"
    DELETE = "Delete"
    ALTER = "Alter"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    ALTER_CONFIGS = "AlterConfigs"


@dataclass(frozen=True)
class KafkaPermission:
    """An operation on a type of resource."""

    operation: Operation
    resource: Resource

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource}"


class Effect(StrEnum):
    """The effect of a missing permission on a command."""

    REFUSED = "refused"
    """The command, or the change of the topic, is refused, and the message names the permission."""
    LESS_PRECISE = "less precise"
    """The command runs. Numbers become upper bounds, and the report names the permission."""
    LEFT_OUT = "left out"
    """The command runs without the topics, because Kafka does not show them."""
    UNDECIDABLE = "undecidable"
    """The command runs, and the checks report ``undecidable`` with the permission."""


class RequiredFor(StrEnum):
    """The topics for which a command needs a permission on topics."""

    EVERY = "every topic"
    NEW = "topics that do not exist yet"
    DELETABLE = "topics whose YAML allows `delete` or `recreate`"


@dataclass(frozen=True)
class RequiredPermission:
    """A permission that a command needs. ``affected``: consequences of a plan, or checks of an audit, that miss it."""

    permission: KafkaPermission
    reason: str
    effect: Effect
    lost: str
    affected: tuple[str, ...] = ()
    topics: RequiredFor = RequiredFor.EVERY


SEE_TOPICS: Final = KafkaPermission(Operation.DESCRIBE, Resource.TOPIC)
SEE_SETTINGS: Final = KafkaPermission(Operation.DESCRIBE_CONFIGS, Resource.TOPIC)
READ_RECORDS: Final = KafkaPermission(Operation.READ, Resource.TOPIC)
CREATE_TOPICS: Final = KafkaPermission(Operation.CREATE, Resource.TOPIC)
ADD_PARTITIONS: Final = KafkaPermission(Operation.ALTER, Resource.TOPIC)
CHANGE_SETTINGS: Final = KafkaPermission(Operation.ALTER_CONFIGS, Resource.TOPIC)
DELETE_TOPICS: Final = KafkaPermission(Operation.DELETE, Resource.TOPIC)
SEE_CLUSTER: Final = KafkaPermission(Operation.DESCRIBE, Resource.CLUSTER)
SEE_BROKER_SETTINGS: Final = KafkaPermission(Operation.DESCRIBE_CONFIGS, Resource.CLUSTER)
MOVE_REPLICAS: Final = KafkaPermission(Operation.ALTER, Resource.CLUSTER)
THROTTLE_BROKERS: Final = KafkaPermission(Operation.ALTER_CONFIGS, Resource.CLUSTER)
SEE_GROUPS: Final = KafkaPermission(Operation.DESCRIBE, Resource.GROUP)

_LOSES_RECORDS_OF_GROUPS = ("destroyed", "earlier-roll", "more-partitions", "retention-cut", "tombstones")

PLAN: Final = (
    RequiredPermission(
        SEE_TOPICS,
        "whether a topic exists, its partitions, replicas and offsets",
        Effect.REFUSED,
        "every change of a topic that the user cannot see",
        ("unseen",),
    ),
    RequiredPermission(
        SEE_SETTINGS,
        "the settings in force, and which of them were changed by hand",
        Effect.REFUSED,
        "every change of a topic whose settings the user cannot see",
        ("unseen",),
    ),
    RequiredPermission(
        READ_RECORDS,
        "keys and sizes of the newest records, to predict compaction, moved keys and refused batches",
        Effect.LESS_PRECISE,
        "all records count as affected, and moved keys are estimated",
        ("compaction", "max-message", "more-partitions", "tombstones"),
    ),
    RequiredPermission(
        SEE_CLUSTER,
        "all consumer groups, the sizes of logs, and reassignments in progress",
        Effect.LESS_PRECISE,
        "groups may be missing in the plan, and bytes are unknown",
        _LOSES_RECORDS_OF_GROUPS,
    ),
    RequiredPermission(
        SEE_BROKER_SETTINGS,
        "the brokers' defaults for settings that a topic does not set",
        Effect.REFUSED,
        "a change that leaves a setting to the brokers",
        ("unseen",),
    ),
    RequiredPermission(
        SEE_GROUPS,
        "which consumer groups have not read the records that a change removes",
        Effect.LESS_PRECISE,
        "groups are missing in the plan",
        _LOSES_RECORDS_OF_GROUPS,
    ),
)

UP: Final = (
    *PLAN,
    RequiredPermission(
        CREATE_TOPICS,
        "to create topics; Create on Cluster does the same",
        Effect.REFUSED,
        "new topics; all other changes are deployed",
        topics=RequiredFor.NEW,
    ),
    RequiredPermission(CHANGE_SETTINGS, "to change settings", Effect.REFUSED, "changed settings; the rest is deployed"),
    RequiredPermission(ADD_PARTITIONS, "to add partitions", Effect.REFUSED, "added partitions; the rest is deployed"),
    RequiredPermission(
        DELETE_TOPICS,
        "to delete topics whose YAML allowed it",
        Effect.REFUSED,
        "deletions; all other changes are deployed",
        topics=RequiredFor.DELETABLE,
    ),
)

DESTROY: Final = (
    RequiredPermission(
        SEE_TOPICS,
        "whether a topic exists, and how many records it has",
        Effect.REFUSED,
        "the deletion of all topics",
        ("unseen",),
    ),
    RequiredPermission(
        SEE_CLUSTER,
        "all consumer groups, and the sizes of logs",
        Effect.LESS_PRECISE,
        "groups may be missing in the plan, and bytes are unknown",
        ("destroyed",),
    ),
    RequiredPermission(
        SEE_GROUPS,
        "which consumer groups read the topics",
        Effect.LESS_PRECISE,
        "groups are missing in the plan",
        ("destroyed",),
    ),
    RequiredPermission(
        DELETE_TOPICS,
        "to delete topics whose YAML allowed it",
        Effect.REFUSED,
        "deletions",
        topics=RequiredFor.DELETABLE,
    ),
)

REFRESH: Final = (
    RequiredPermission(
        SEE_TOPICS,
        "whether a topic exists, and its partitions",
        Effect.REFUSED,
        "the topics that the user cannot see; they stay in the state as they are",
    ),
    RequiredPermission(
        SEE_SETTINGS,
        "the settings of the topics",
        Effect.REFUSED,
        "the topics whose settings the user cannot see; they stay in the state as they are",
    ),
)

REBALANCE: Final = (
    RequiredPermission(SEE_TOPICS, "the replicas of each topic", Effect.REFUSED, "the topics that the user cannot see"),
    RequiredPermission(
        SEE_SETTINGS,
        "to see throttle lists of others, and to remove its own lists afterwards",
        Effect.REFUSED,
        "all moves, unless with `--throttle unlimited`",
    ),
    RequiredPermission(
        CHANGE_SETTINGS, "to set throttle lists", Effect.REFUSED, "all moves, unless with `--throttle unlimited`"
    ),
    RequiredPermission(SEE_CLUSTER, "to list reassignments, and the sizes of logs", Effect.REFUSED, "all moves"),
    RequiredPermission(
        SEE_BROKER_SETTINGS,
        "to see throttle rates of others",
        Effect.REFUSED,
        "all moves, unless with `--throttle unlimited`",
    ),
    RequiredPermission(MOVE_REPLICAS, "to move replicas and to elect leaders", Effect.REFUSED, "all moves"),
    RequiredPermission(
        THROTTLE_BROKERS, "to set throttle rates", Effect.REFUSED, "all moves, unless with `--throttle unlimited`"
    ),
)

IMPORT: Final = (
    RequiredPermission(
        SEE_TOPICS,
        "the topics, their partitions and replicas",
        Effect.LEFT_OUT,
        "hidden topics; the import is refused if the user sees none",
    ),
    RequiredPermission(
        SEE_SETTINGS,
        "the settings to write",
        Effect.REFUSED,
        "topics whose settings the user cannot see; others are imported",
    ),
)

AUDIT: Final = (
    RequiredPermission(
        SEE_TOPICS,
        "whether a topic exists, its partitions, replicas and offsets",
        Effect.UNDECIDABLE,
        "declared topics that the user cannot see; hidden undeclared topics are left out",
        ("topic-missing",),
    ),
    RequiredPermission(
        SEE_SETTINGS,
        "the settings in force",
        Effect.UNDECIDABLE,
        "all checks that depend on settings",
        (
            "config-drift",
            "group-lag",
            "internal-policy",
            *(name for name, check in CHECKS.items() if issubclass(check.Required, SettingsOrContents)),
        ),
    ),
    RequiredPermission(
        READ_RECORDS,
        "the records",
        Effect.UNDECIDABLE,
        "all checks of records",
        (
            *("internal-policy", "internal-replication", "internal-size", "topic-undeclared"),
            *(name for name, check in CHECKS.items() if issubclass(check.Required, Counts)),
        ),
    ),
    RequiredPermission(
        SEE_CLUSTER,
        "all consumer groups, and the sizes of logs",
        Effect.UNDECIDABLE,
        "checks of sizes and groups, and of compaction that is late",
        ("compaction-lag", "compaction-ratio", "group-lag", "internal-size", "retention-size"),
    ),
    RequiredPermission(
        SEE_BROKER_SETTINGS,
        "the brokers' defaults and intervals",
        Effect.UNDECIDABLE,
        "a violation that depends on when brokers delete and compact",
        (
            *("broker-defaults", "compaction-lag", "compaction-ratio", "hung-transaction", "internal-replication"),
            *("retention-size", "retention-time"),
        ),
    ),
    RequiredPermission(
        SEE_GROUPS, "committed offsets and members", Effect.UNDECIDABLE, "checks of groups", ("group-lag",)
    ),
)

COMMANDS: Final[Mapping[str, tuple[RequiredPermission, ...]]] = {
    "plan": PLAN,
    "up": UP,
    "destroy": DESTROY,
    "refresh": REFRESH,
    "rebalance": REBALANCE,
    "import": IMPORT,
    "audit": AUDIT,
}
"""The permissions of each command that connects to a cluster."""

IMPLIED: Final[Mapping[Operation, tuple[Operation, ...]]] = {
    Operation.DESCRIBE: (Operation.READ, Operation.ALTER, Operation.DELETE),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}
"""Operations that Kafka grants with others on the same resource (``StandardAuthorizerData``, ``AclEntry``)."""
