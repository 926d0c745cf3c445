"""Reject access that the stack's Kafka version or managed service does not support.

[docs/services.md](services.md) says which services have no ACLs, SCRAM users or quotas in Kafka's protocol, and how
many ACLs a cluster can have. Settings of groups are compared with those of `topicwarden:kafkaVersion`.

Example: `access-service: {max_acls: 1000}`
Remedy: remove the access for the stack, such as `stacks: {prod: {users: }}` in a file of its own.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.configs import group_definitions, group_variants
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kafka_facts.services.profile import Fact, ServiceProfile
from topicwarden.model.access import DeclaredAccess
from topicwarden.model.message_text import counted
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
    service = PROFILES[brokers.profile]
    limits = service.access
    first = min((sources[0] for sources in access.acls.values()), key=lambda source: source.location, default=None)
    if first and limits.no_acls:
        yield AccessViolation(first.location, _unsupported("ACLs", service, limits.no_acls), first.topic)
    elif first:
        yield from _too_many(access, settings, service)
    if limits.no_users:
        message = _unsupported("SCRAM users", service, limits.no_users)
        yield from (AccessViolation(location, message) for _, location in access.users.values())
    if single := limits.one_mechanism:
        for (user, mechanism), (_, location) in access.users.items():
            if mechanism == "SCRAM-SHA-512" and (user, "SCRAM-SHA-256") in access.users:
                message = f"{user} has two mechanisms on {service.title}: {single.text} ({single.source}); choose one"
                yield AccessViolation(location, message)
    for rates, location in access.quotas.values():
        if limits.no_quotas:
            yield AccessViolation(location, _unsupported("quotas", service, limits.no_quotas))
        elif limits.quota_keys and (unknown := rates.keys() - limits.quota_keys[0]):
            message = f"{service.title} has no quota {', '.join(sorted(unknown))} ({limits.quota_keys[1]}); remove it"
            yield AccessViolation(location, message)
    yield from _group_settings(access, brokers)


def _too_many(access: DeclaredAccess, settings: Settings, service: ServiceProfile) -> Iterable[AccessViolation]:
    most, source = (settings.max_acls, "") if settings.max_acls is not None else (None, "")
    if most is None and service.access.most_acls:
        number, fact = service.access.most_acls
        most, source = number, f" on {service.title} ({fact.source})"
    if most is not None and len(access.acls) > most:
        last = max((sources[0] for sources in access.acls.values()), key=lambda source: source.location)
        message = f"expected at most {counted(most, 'ACL')}{source}, got {len(access.acls):,}; use prefixes"
        yield AccessViolation(last.location, message, last.topic)


def _unsupported(what: str, service: ServiceProfile, fact: Fact) -> str:
    return f"{service.title} does not manage {what} with Kafka's protocol: {fact.text} ({fact.source})"


def _group_settings(access: DeclaredAccess, brokers: BrokerSettings) -> Iterable[AccessViolation]:
    known = group_definitions(brokers.kafka)
    for group, (settings, location) in access.group_configs.items():
        for name, value in settings.items():
            if name not in known:
                since = group_variants(name)[0].since
                message = f"Kafka {brokers.kafka} has no group configuration {name}, which Kafka {since} introduced"
                yield AccessViolation(location, f"{group}: {message}; unset it for this stack")
            elif problem := known[name].problem(value):
                yield AccessViolation(location, f"{group}: {name} on Kafka {brokers.kafka}: {problem}")
