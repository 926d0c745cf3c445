"""Warn about access that is not enough for what it is for.

- A principal that consumes a topic also needs Read on its group, unless it assigns partitions itself and commits no
  offsets. Without `group`, another declaration must allow it to read a group.
- A transactional id is only of use to a principal that can write to a topic.

Example: `consume: [User:billing]`
Remedy: `consume: [{principal: User:billing, group: billing}]`
"""

from collections.abc import Iterable, Sequence
from typing import Final

from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.access import ANY_PRINCIPAL, DeclaredAccess, Operation, PermissionType, ResourceType
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AccessViolation, AdviceSettings

_READING: Final = (Operation.READ, Operation.ALL)
_WRITING: Final = (Operation.WRITE, Operation.ALL)

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()


def judge_access(
    access: DeclaredAccess, topics: Sequence[Topic], settings: Settings, brokers: BrokerSettings
) -> Iterable[AccessViolation]:
    readers = _allowed(access, ResourceType.GROUP, _READING)
    for topic in topics:
        for grant in topic.access.consume:
            if grant.name is None and not readers & {grant.principal, ANY_PRINCIPAL}:
                (acl,) = roles.consume(topic.name, grant)
                source = next(each for each in access.acls[acl] if each.topic == topic.name)
                message = (
                    f"{grant.principal} consumes without a group, and no ACL allows it to read one; write "
                    f"{{principal: {grant.principal}, group: <group.id>}}"
                )
                yield AccessViolation(source.location, message, topic.name)
    writers = _allowed(access, ResourceType.TOPIC, _WRITING)
    for acl, sources in access.acls.items():
        transactional = acl.resource_type is ResourceType.TRANSACTIONAL_ID and acl.operation in _WRITING
        if transactional and acl.permission is PermissionType.ALLOW and not writers & {acl.principal, ANY_PRINCIPAL}:
            message = f"{acl}: no ACL allows this principal to write to a topic; declare what it produces to"
            yield from (AccessViolation(each.location, message, each.topic) for each in sources)


def _allowed(access: DeclaredAccess, resource_type: ResourceType, operations: Sequence[Operation]) -> set[str]:
    return {
        acl.principal
        for acl in access.acls
        if acl.resource_type is resource_type and acl.operation in operations and acl.permission is PermissionType.ALLOW
    }
