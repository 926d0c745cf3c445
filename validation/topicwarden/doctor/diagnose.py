"""Says what each command and each check of the audit can do, from what is installed, offered and permitted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from topicwarden import __version__
from topicwarden.audit.checks import CHECKS
from topicwarden.doctor.api_uses import missing_apis
from topicwarden.doctor.command_rights import AUDIT, COMMANDS
from topicwarden.doctor.right_states import UserRights, right_states
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.diagnosis import (
    Ability,
    AbsentApi,
    CheckState,
    ClusterFacts,
    CommandState,
    Diagnosis,
    InstalledPart,
    Possession,
    RightState,
)
from topicwarden.model.message_text import counted
from topicwarden.model.topic import Allowance, Topic
from topicwarden.stacks.stack_scope import StackScope

if TYPE_CHECKING:
    from topicwarden.kafka.read.broker_features import BrokerFeatures

ALL_COMMANDS: Final = ("check", *COMMANDS)
_DELETING: Final = {Allowance.DELETE, Allowance.RECREATE}


@dataclass(frozen=True)
class ClusterState:
    """The cluster as its brokers report it, with the rights of the user."""

    cluster_id: str | None
    brokers: int
    features: BrokerFeatures
    rights: UserRights


def read_cluster_state(connection: Connection, declared: Collection[str], scope: StackScope) -> ClusterState:
    """Return the cluster and the rights of the user, read in few requests that change nothing.

    ``scope`` has the topics that the stack owns: the rights on others do not count.

    Raises Refusal if the cluster cannot be reached.
    """
    # Without a stack, this command needs no client, and tells how to install it.
    from topicwarden.kafka.connect.admin_client import open_admin  # noqa: PLC0415
    from topicwarden.kafka.read.broker_features import read_broker_features  # noqa: PLC0415
    from topicwarden.kafka.read.user_rights import (  # noqa: PLC0415
        read_cluster_rights,
        read_group_rights,
        read_topic_rights,
    )

    with open_admin(connection) as admin:
        described = admin.describe_cluster()
        topics = read_topic_rights(admin, declared, scope)
        rights = UserRights(read_cluster_rights(admin), topics, read_group_rights(admin))
        living = [each["broker_id"] for each in described["brokers"] if not each.get("is_fenced")]
        return ClusterState(described["cluster_id"], len(living), read_broker_features(admin, living), rights)


def diagnose(
    stack: str | None,
    parts: Sequence[InstalledPart],
    state: ClusterState | None,
    topics: Collection[Topic] = (),
    *,
    commands: Collection[str] = ALL_COMMANDS,
    errors: int = 0,
) -> Diagnosis:
    """Return what ``commands`` can do.

    ``state`` is that of the stack's cluster, ``topics`` are its declared topics, and ``errors`` is the number of errors
    that `topicwarden check` reports, which prevent every other command.
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
    rights = list(right_states(state.rights, [topic.name for topic in topics], deletable, commands))
    apis = [api for api in missing_apis(state.features.apis) if not {*api.commands}.isdisjoint(commands)]
    return Diagnosis(
        topicwarden=__version__,
        stack=stack,
        commands=[_command(name, needed_parts, apis, rights, errors if name != "check" else 0) for name in commands],
        parts=[*parts],
        cluster=_facts(state),
        missing_apis=apis,
        rights=rights,
        checks=len(CHECKS) if "audit" in commands else 0,
        undecidable=list(_undecidable(rights)) if "audit" in commands else [],
    )


def _facts(state: ClusterState) -> ClusterFacts:
    seen = state.rights.topics
    return ClusterFacts(
        cluster_id=state.cluster_id,
        kafka=state.features.kafka,
        mode=state.features.mode,
        features=dict(sorted(state.features.features.items())),
        brokers=state.brokers,
        topics=len(seen.operations.keys() - seen.missing),
        groups=len(state.rights.groups.groups),
    )


def _command(
    name: str,
    parts: Sequence[InstalledPart],
    apis: Sequence[AbsentApi],
    rights: Sequence[RightState],
    errors: int = 0,
) -> CommandState:
    lacking = [f"{part.name} is missing" for part in parts if name in part.commands and part.version is None]
    if errors:
        lacking.append(f"`topicwarden check` reports {counted(errors, 'error')}")
    limits = [f"the brokers lack {api.name}, version {api.version}: {api.lost}" for api in apis if name in api.commands]
    limits += [
        f"{right.right} is missing{right.extent}; {right.lost[name]}"
        for right in rights
        if right.state is Possession.MISSING and name in right.commands
    ]
    ability = Ability.UNABLE if lacking else Ability.LIMITED if limits else Ability.READY
    return CommandState(command=name, ability=ability, reasons=[*lacking, *limits])


def _undecidable(rights: Sequence[RightState]) -> Iterator[CheckState]:
    """Yield the checks that miss a right, at least for some topics."""
    affected = {str(required.right): required.affected for required in AUDIT}
    missing = [right for right in rights if right.state is Possession.MISSING and "audit" in right.commands]
    for check in CHECKS:
        reasons = [f"{right.right}{right.extent}" for right in missing if check in affected.get(right.right, ())]
        if reasons:
            yield CheckState(check=check, reasons=reasons)
