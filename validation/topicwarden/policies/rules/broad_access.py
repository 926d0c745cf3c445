"""Warn about access that almost everyone has, or that is almost everything.

- An ACL that allows `User:*` allows every principal, also those without authentication. `User:ANONYMOUS` is every
  client without authentication.
- Write, Create, Delete, Alter or `All` on the topic `*` is about all topics, also those of other teams and of Kafka.
- `All` on the cluster includes Alter, which allows to change every ACL.

Remedy: name the principals and the topics. For a public topic, waive the rule with the reason.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    WILDCARD,
    Acl,
    DeclaredAccess,
    Operation,
    PermissionType,
    ResourceType,
)
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AccessViolation, AdviceSettings

_CHANGING: Final = (Operation.ALL, Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.ALTER)

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()


def judge_access(
    access: DeclaredAccess, topics: Sequence[Topic], settings: Settings, brokers: BrokerSettings
) -> Iterable[AccessViolation]:
    for acl, sources in access.acls.items():
        if acl.permission is PermissionType.ALLOW and (reason := _reason(acl)):
            yield from (AccessViolation(each.location, f"{acl}: {reason}", each.topic) for each in sources)


def _reason(acl: Acl) -> str | None:
    if acl.principal == ANY_PRINCIPAL:
        return "User:* is every principal, also clients without authentication; name the principals"
    if acl.principal == "User:ANONYMOUS":
        return "User:ANONYMOUS is every client without authentication; name the principals"
    if acl.resource_type is ResourceType.TOPIC and acl.resource_name == WILDCARD and acl.operation in _CHANGING:
        return "this is about all topics of the cluster; name the topics, or their prefix"
    if acl.resource_type is ResourceType.CLUSTER and acl.operation is Operation.ALL:
        return "this allows to change every ACL, and to act as a broker; name the operations"
    return None
