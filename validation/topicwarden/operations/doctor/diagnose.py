"""The operation of `topicwarden doctor`: what each command and each check can do with what is installed and allowed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from topicwarden import __version__
from topicwarden.audit.access_checks import ACCESS_CHECKS
from topicwarden.audit.checks import CHECKS
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.diagnosis import (
    Ability,
    AbsentApi,
    CheckState,
    ClusterFacts,
    CommandState,
    Diagnosis,
    InstalledPart,
    PermissionState,
    Possession,
    RegistryState,
)
from topicwarden.model.message_text import counted
from topicwarden.model.topic import AllowedChange, Topic
from topicwarden.operations.doctor.command_permissions import COMMANDS
from topicwarden.operations.doctor.permission_states import UserPermissions, permission_states, required_permissions
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.specs.stacks.stack_scope import StackScope

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster_service import BrokerFeatures


@dataclass(frozen=True)
class ApiUse:
    """A use of an API, by Kafka's name of its request, that needs at least ``version``."""

    name: str
    version: int
    commands: tuple[str, ...]
    lost: str


_READERS: Final = ("plan", "up", "rebalance", "audit", "watch", "usage")
_AUDITS: Final = ("audit", "watch")
_GROUPS: Final = ("plan", "up", "audit", "watch", "usage")
_SETTINGS: Final = ("plan", "up", "rebalance", "import", "audit", "watch", "usage", "redrive")

API_USES: Final = (
    ApiUse("DescribeConfigs", 1, _SETTINGS, "no settings can be read"),
    ApiUse("DescribeLogDirs", 0, _READERS, "sizes of logs are unknown"),
    # Older versions list only the brokers that are alive (KIP-1073).
    ApiUse("DescribeCluster", 2, ("rebalance",), "lost brokers count as removed; they keep a throttle they had"),
    ApiUse(
        "ListOffsets", 7, ("audit", "watch"), "the largest timestamp is unknown; checks of retention are undecidable"
    ),
    ApiUse("ListGroups", 0, _GROUPS, "consumer groups are unknown"),
    ApiUse("DescribeGroups", 0, _GROUPS, "members of consumer groups are unknown"),
    ApiUse("OffsetFetch", 0, _GROUPS, "committed offsets of groups are unknown"),
    ApiUse("ListTransactions", 0, ("usage",), "transactional ids are unknown"),
    ApiUse("DescribeProducers", 0, ("usage", "infer"), "producers are unknown"),
    ApiUse("InitProducerId", 0, ("redrive",), "no record can be copied"),
    ApiUse("TxnOffsetCommit", 0, ("redrive",), "no record can be copied"),
    ApiUse("CreateTopics", 0, ("up",), "no topic can be created"),
    ApiUse("DeleteTopics", 0, ("up",), "no topic can be deleted"),
    ApiUse("CreatePartitions", 0, ("up",), "no partition can be added"),
    ApiUse(
        "IncrementalAlterConfigs",
        0,
        ("up", "rebalance"),
        "all settings of a topic are written at once, and rebalance cannot throttle",
    ),
    ApiUse("ListPartitionReassignments", 0, ("rebalance",), "no replica can be moved"),
    ApiUse("AlterPartitionReassignments", 0, ("rebalance",), "no replica can be moved"),
    ApiUse("ElectLeaders", 0, ("rebalance",), "preferred leaders are not elected after a move"),
)
"""What Kafka of every supported line offers, and managed services may lack."""


def missing_apis(offered: Mapping[str, int]) -> Iterator[AbsentApi]:
    """Yield the uses that brokers with the APIs ``offered`` (highest version by name) do not allow."""
    for use in API_USES:
        if offered.get(use.name, -1) < use.version:
            yield AbsentApi(name=use.name, version=use.version, commands=[*use.commands], lost=use.lost)


ALL_COMMANDS: Final = ("check", *COMMANDS)
_DELETING: Final = {AllowedChange.DELETE, AllowedChange.RECREATE}


@dataclass(frozen=True)
class ClusterState:
    """The cluster as its brokers report it, with the permissions of the user."""

    cluster_id: str | None
    brokers: int
    features: BrokerFeatures
    permissions: UserPermissions


def read_cluster_state(connection: Connection, declared: Collection[str], scope: StackScope) -> ClusterState:
    """Return the cluster and the permissions of the user, read in few requests that change nothing.

    ``scope`` has the topics that the stack owns: the permissions on others do not count.

    Raises Refusal if the cluster cannot be reached.
    """
    # Without a stack, this command needs no client, and tells how to install it.
    from topicwarden.kafka.connect.clients import open_admin  # noqa: PLC0415
    from topicwarden.kafka.read.cluster_service import read_broker_features  # noqa: PLC0415
    from topicwarden.kafka.read.user_permissions import (  # noqa: PLC0415
        read_cluster_permissions,
        read_group_permissions,
        read_topic_permissions,
    )

    with open_admin(connection) as admin:
        described = admin.describe_cluster()
        topics = read_topic_permissions(admin, declared, scope)
        permissions = UserPermissions(read_cluster_permissions(admin), topics, read_group_permissions(admin))
        living = [each["broker_id"] for each in described["brokers"] if not each.get("is_fenced")]
        return ClusterState(described["cluster_id"], len(living), read_broker_features(admin, living), permissions)


def diagnose(
    stack: str | None,
    parts: Sequence[InstalledPart],
    state: ClusterState | None,
    topics: Collection[Topic] = (),
    *,
    commands: Collection[str] = ALL_COMMANDS,
    errors: int = 0,
    access: bool = False,
    registry: RegistryState | None = None,
) -> Diagnosis:
    """Return what ``commands`` can do.

    ``state`` is that of the stack's cluster, ``topics`` are its declared topics, and ``errors`` is the number of errors
    that `topicwarden check` reports, which prevent every other command. ``access`` says whether the stack declares
    access. ``registry`` is the stack's Schema Registry.
    """
    needed_parts = [part for part in parts if not {*part.commands}.isdisjoint(commands)]
    if state is None:
        return Diagnosis(
            topicwarden=__version__,
            stack=stack,
            commands=[_command(name, needed_parts, (), ()) for name in commands],
            parts=[*parts],
        )
    deletable = [topic.name for topic in topics if {each.change for each in topic.allow} & _DELETING]
    names = [topic.name for topic in topics]
    permissions = list(permission_states(state.permissions, names, deletable, commands, access=access))
    unusable = registry if registry and registry.problem else None
    apis = [api for api in missing_apis(state.features.apis) if not {*api.commands}.isdisjoint(commands)]
    return Diagnosis(
        topicwarden=__version__,
        stack=stack,
        commands=[
            _command(name, needed_parts, apis, permissions, errors=errors if name != "check" else 0, registry=unusable)
            for name in commands
        ],
        parts=[*parts],
        cluster=_facts(state),
        registry=registry,
        missing_apis=apis,
        permissions=permissions,
        checks=len(_checks(access)) if "audit" in commands else 0,
        undecidable=list(_undecidable(permissions, access=access)) if "audit" in commands else [],
    )


def _facts(state: ClusterState) -> ClusterFacts:
    visible = state.permissions.topics
    return ClusterFacts(
        cluster_id=state.cluster_id,
        kafka=state.features.kafka,
        mode=state.features.mode,
        features=dict(sorted(state.features.features.items())),
        brokers=state.brokers,
        topics=len(visible.operations.keys() - visible.missing),
        groups=len(state.permissions.groups.groups),
    )


def _command(
    name: str,
    parts: Sequence[InstalledPart],
    apis: Sequence[AbsentApi],
    permissions: Sequence[PermissionState],
    *,
    errors: int = 0,
    registry: RegistryState | None = None,
) -> CommandState:
    lacking = [f"{part.name} is missing" for part in parts if name in part.commands and part.version is None]
    if errors:
        lacking.append(f"`topicwarden check` reports {counted(errors, 'error')}")
    limits = [f"the brokers lack {api.name}, version {api.version}: {api.lost}" for api in apis if name in api.commands]
    limits += [
        f"{permission.permission} is missing{permission.extent}; {permission.lost[name]}"
        for permission in permissions
        if permission.state is Possession.MISSING and name in permission.commands
    ]
    if registry and name in registry.commands:
        limits.append(registry.problem)
    ability = Ability.UNABLE if lacking else Ability.LIMITED if limits else Ability.READY
    return CommandState(command=name, ability=ability, reasons=[*lacking, *limits])


def _checks(access: bool) -> list[str]:
    return [*CHECKS, *(ACCESS_CHECKS if access else ())]


def _undecidable(permissions: Sequence[PermissionState], *, access: bool) -> Iterator[CheckState]:
    """Yield the checks that miss a permission, at least for some topics."""
    affected = {str(each.permission): each.affected for each in required_permissions("audit", access=access)}
    missing = [
        permission
        for permission in permissions
        if permission.state is Possession.MISSING and "audit" in permission.commands
    ]
    for check in _checks(access):
        reasons = [
            f"{permission.permission}{permission.extent}"
            for permission in missing
            if check in affected.get(permission.permission, ())
        ]
        if reasons:
            yield CheckState(check=check, reasons=reasons)


def registry_state(settings: RegistrySettings, commands: Sequence[str]) -> RegistryState:
    """Return the state of a registry that ``commands`` need, read with three requests that change nothing."""
    # Without a registry, this command needs no client.
    from topicwarden.kafka.registry.client import RegistryClient  # noqa: PLC0415
    from topicwarden.kafka.registry.read import read_registry, subject_names  # noqa: PLC0415
    from topicwarden.kafka.registry.registry_error import RegistryError  # noqa: PLC0415

    try:
        with RegistryClient(settings) as client:
            subjects = len(subject_names(client))
            found = read_registry(client, ())
            if found.error:
                return RegistryState(url=client.address, commands=[*commands], subjects=subjects, problem=found.error)
            level = found.compatibility.value if found.compatibility else None
            return RegistryState(
                url=client.address, commands=[*commands], subjects=subjects, mode=found.mode, compatibility=level
            )
    except RegistryError as error:
        return RegistryState(commands=[*commands], problem=error.reason)
