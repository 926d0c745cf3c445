"""The Kafka permissions that each command needs, why, and what is lost without each one.

``docs/permissions.md`` is generated from this table, ``topicwarden doctor`` compares the user's permissions with it,
and a test takes away each permission on a real cluster and compares the result with its row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from topicwarden.audit.checks import CHECKS
from topicwarden.audit.evidence import Counts, EveryProducer, GroupLags, SettingsOrContents
from topicwarden.kinds.access_converter import AccessConverter, converters
from topicwarden.model.access import Operation, ResourceType
from topicwarden.model.message_text import enumerated


@dataclass(frozen=True)
class KafkaPermission:
    """An operation on a type of resource."""

    operation: Operation
    resource: ResourceType

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
    TARGET = "the topic of `--to`"


@dataclass(frozen=True)
class RequiredPermission:
    """A permission that a command needs. ``affected``: consequences of a plan, or checks of an audit, that miss it."""

    permission: KafkaPermission
    reason: str
    effect: Effect
    lost: str
    affected: tuple[str, ...] = ()
    topics: RequiredFor = RequiredFor.EVERY


SEE_TOPICS: Final = KafkaPermission(Operation.DESCRIBE, ResourceType.TOPIC)
SEE_SETTINGS: Final = KafkaPermission(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC)
READ_RECORDS: Final = KafkaPermission(Operation.READ, ResourceType.TOPIC)
CREATE_TOPICS: Final = KafkaPermission(Operation.CREATE, ResourceType.TOPIC)
ADD_PARTITIONS: Final = KafkaPermission(Operation.ALTER, ResourceType.TOPIC)
CHANGE_SETTINGS: Final = KafkaPermission(Operation.ALTER_CONFIGS, ResourceType.TOPIC)
DELETE_TOPICS: Final = KafkaPermission(Operation.DELETE, ResourceType.TOPIC)
SEE_CLUSTER: Final = KafkaPermission(Operation.DESCRIBE, ResourceType.CLUSTER)
SEE_BROKER_SETTINGS: Final = KafkaPermission(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
MOVE_REPLICAS: Final = KafkaPermission(Operation.ALTER, ResourceType.CLUSTER)
THROTTLE_BROKERS: Final = KafkaPermission(Operation.ALTER_CONFIGS, ResourceType.CLUSTER)
SEE_GROUPS: Final = KafkaPermission(Operation.DESCRIBE, ResourceType.GROUP)
SEE_TRANSACTIONS: Final = KafkaPermission(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)
WRITE_RECORDS: Final = KafkaPermission(Operation.WRITE, ResourceType.TOPIC)
COMMIT_OFFSETS: Final = KafkaPermission(Operation.READ, ResourceType.GROUP)
USE_TRANSACTIONS: Final = KafkaPermission(Operation.WRITE, ResourceType.TRANSACTIONAL_ID)

_LOSES_RECORDS = ("compaction", "destroyed", "earlier-roll", "retention-cut", "tombstones")
_LOSES_RECORDS_OF_GROUPS = (*_LOSES_RECORDS, "more-partitions")

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
        "keys and sizes of the newest records, to predict compaction, moved keys and refused batches; producers; and "
        "all records of a topic whose schema changes",
        Effect.LESS_PRECISE,
        "all records count as affected, moved keys are estimated, writers are missing in the plan, and nobody knows "
        "which records a new schema cannot read",
        (*_LOSES_RECORDS, "max-message", "more-partitions"),
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
    RequiredPermission(
        SEE_TRANSACTIONS,
        "the names of producers with transactions that wrote the records that a change removes",
        Effect.LESS_PRECISE,
        "producers are known by a number only",
        _LOSES_RECORDS,
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
        READ_RECORDS,
        "which producers wrote the topics",
        Effect.LESS_PRECISE,
        "writers are missing in the plan",
        ("destroyed",),
    ),
    RequiredPermission(
        SEE_TRANSACTIONS,
        "the names of producers with transactions",
        Effect.LESS_PRECISE,
        "producers are known by a number only",
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
            *("group-lag", "internal-policy", "internal-replication", "internal-size", "topic-undeclared"),
            *(name for name, check in CHECKS.items() if issubclass(check.Required, (Counts, GroupLags, EveryProducer))),
        ),
    ),
    RequiredPermission(
        SEE_CLUSTER,
        "all consumer groups, and the sizes of logs",
        Effect.UNDECIDABLE,
        "checks of sizes and groups, and of compaction that is late",
        (
            *("compaction-lag", "compaction-ratio", "group-lag", "idle-topic", "internal-size"),
            *("lag-in-time", "retention-size", "undeclared-consumer"),
        ),
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
        SEE_GROUPS,
        "committed offsets and members",
        Effect.UNDECIDABLE,
        "checks of groups",
        ("group-lag", "idle-topic", "lag-in-time", "undeclared-consumer"),
    ),
)

INFER: Final = (
    RequiredPermission(
        SEE_TOPICS, "the topics, their partitions and offsets", Effect.LEFT_OUT, "topics that the user cannot see"
    ),
    RequiredPermission(
        READ_RECORDS,
        "the records, and the producers of each topic",
        Effect.LEFT_OUT,
        "contracts of topics that the user cannot read",
    ),
)

USAGE: Final = (
    RequiredPermission(
        SEE_TOPICS, "the topics, their replicas and log ends", Effect.LEFT_OUT, "topics that the user cannot see"
    ),
    RequiredPermission(
        SEE_SETTINGS,
        "whether a topic is compacted or uses remote storage",
        Effect.LESS_PRECISE,
        "what producers write, and the size in remote storage, are unknown",
    ),
    RequiredPermission(
        READ_RECORDS,
        "the producers of each topic, and the time of the oldest record that a group has not read",
        Effect.LESS_PRECISE,
        "producers without a transaction in progress, and lag in time, are unknown",
    ),
    RequiredPermission(
        SEE_CLUSTER,
        "all consumer groups, the sizes of logs, and the ACLs",
        Effect.LESS_PRECISE,
        "groups may be missing, and sizes, costs and principals are unknown",
    ),
    RequiredPermission(
        SEE_BROKER_SETTINGS,
        "the settings of the authorizer",
        Effect.LESS_PRECISE,
        "super users, and whether resources without an ACL are open, are unknown",
    ),
    RequiredPermission(
        SEE_GROUPS, "committed offsets and members", Effect.LESS_PRECISE, "groups are missing in the report"
    ),
    RequiredPermission(
        SEE_TRANSACTIONS,
        "the transactional ids of producers",
        Effect.LESS_PRECISE,
        "transactional producers are only known by their number",
    ),
)

REDRIVE: Final = (
    RequiredPermission(
        SEE_TOPICS,
        "the topic of the finding and the topic of `--to`, their partitions and offsets",
        Effect.REFUSED,
        "the redrive",
    ),
    RequiredPermission(SEE_SETTINGS, "whether these topics are compacted", Effect.REFUSED, "the redrive"),
    RequiredPermission(READ_RECORDS, "the records of the finding", Effect.REFUSED, "the redrive"),
    RequiredPermission(
        WRITE_RECORDS,
        "to append the copies",
        Effect.REFUSED,
        "the copies; a dry run needs no Write",
        topics=RequiredFor.TARGET,
    ),
    RequiredPermission(
        COMMIT_OFFSETS, "to record the progress as offsets of a group without members", Effect.REFUSED, "the redrive"
    ),
    RequiredPermission(
        USE_TRANSACTIONS,
        "to append copies and progress in one transaction",
        Effect.REFUSED,
        "the copies; a dry run needs no transaction",
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
    "watch": AUDIT,
    "usage": USAGE,
    "infer": INFER,
    "redrive": REDRIVE,
}
"""The permissions of each command that connects to a cluster."""

_ALSO_SHOWN: Final = {SEE_BROKER_SETTINGS: "settings of the authorizer"}
_ALSO_UNDECIDABLE: Final = {
    SEE_BROKER_SETTINGS: ("authorizer-settings",),
    SEE_CLUSTER: ("acl-without-effect", "undeclared-consumer"),
}
"""What else the permissions to see access show, and the checks of an audit that need it."""


def _access(command: str) -> Iterator[RequiredPermission]:
    """Yield the permissions on access that ``command`` needs, by the permissions of the kinds."""
    for permission, kinds in _by_permission(lambda kind: kind.reads):
        names = [kind.plural for kind in kinds]
        also = [_ALSO_SHOWN[permission]] if permission in _ALSO_SHOWN else []
        shown = enumerated([f"the {name}" for name in (*names, *also)])
        if command in ("plan", "up"):
            lost = f"every change of {enumerated(names)} that the user cannot see; all other changes are planned"
            yield RequiredPermission(permission, shown, Effect.REFUSED, lost, ("access-unseen",))
        elif command == "import":
            shown = enumerated([*(f"the {name}" for name in names), *(["which groups have settings"] if also else [])])
            yield RequiredPermission(
                permission, shown, Effect.LEFT_OUT, f"{enumerated(names)} that the user cannot see"
            )
        else:
            checks = sorted((*_ALSO_UNDECIDABLE.get(permission, ()), *(kind.drift_check for kind in kinds)))
            lost = f"checks of {enumerated([*names, *also])}"
            yield RequiredPermission(permission, shown, Effect.UNDECIDABLE, lost, tuple(checks))
    if command in ("plan", "up"):
        yield RequiredPermission(
            SEE_TRANSACTIONS,
            "which transactional ids are in use",
            Effect.LESS_PRECISE,
            "transactions may be missing in the plan",
            ("access-lost", "first-acl"),
        )
    if command == "up":
        for permission, kinds in _by_permission(lambda kind: kind.writes):
            written = enumerated([kind.plural for kind in kinds])
            lost = f"changes of {written}; the rest is deployed"
            yield RequiredPermission(permission, f"to write {written}", Effect.REFUSED, lost)
    if command in ("audit", "watch"):
        yield RequiredPermission(
            SEE_TRANSACTIONS,
            "the transactional ids of producers",
            Effect.UNDECIDABLE,
            "checks of producers",
            ("undeclared-producer",),
        )


def _by_permission(
    of: Callable[[AccessConverter], tuple[Operation, ResourceType]],
) -> Iterator[tuple[KafkaPermission, list[AccessConverter]]]:
    for permission in dict.fromkeys(map(of, converters())):
        yield KafkaPermission(*permission), [kind for kind in converters() if of(kind) == permission]


ACCESS: Final[Mapping[str, tuple[RequiredPermission, ...]]] = {
    command: tuple(_access(command)) for command in ("plan", "up", "import", "audit", "watch")
}
"""The permissions that a command needs in addition if the stack declares access, and an import with ``--access``."""

IMPLIED: Final[Mapping[Operation, tuple[Operation, ...]]] = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.ALTER, Operation.DELETE),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}
"""Operations that Kafka grants with others on the same resource (``StandardAuthorizerData``, ``AclEntry``)."""
