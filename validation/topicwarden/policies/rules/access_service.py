"""Reject access that the stack's Kafka version or managed service does not support.

[docs/services.md](services.md) says what services do not manage through Kafka's protocol, and how many ACLs a cluster
can have. Settings of groups are compared with those of `topicwarden:kafkaVersion`.

Example: `access-service: {max_acls: 1000}`
Remedy: remove the access for the stack, such as `stacks: {prod: {users: }}` in a file of its own.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kinds.access_converter import converters
from topicwarden.model.access import ACLS, DeclaredAccess
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AccessViolation, RuleSettings


class Settings(RuleSettings):
    max_acls: Annotated[int, Field(strict=True, ge=0)] | None = Field(
        default=None, description="The maximum number of ACLs of the stack; by default, the limit of the service."
    )


ALWAYS = Settings.with_defaults()


def judge_access(
    access: DeclaredAccess, topics: Sequence[Topic], settings: Settings, brokers: BrokerSettings
) -> Iterable[AccessViolation]:
    for kind in converters():
        most = settings.max_acls if kind.part == ACLS else None
        for limit in list(kind.unmanaged(access, brokers)) or kind.limits(access, brokers, most):
            yield AccessViolation(limit.source.location, limit.message, limit.source.topic)
