"""SCRAM users as YAML, in the scope of a stack, and on hosted services."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kinds.access_converter import AccessConverter, Limit, YamlEntry
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import DeclaredAccess, Operation, ResourceType, ScramUser

if TYPE_CHECKING:
    from topicwarden.specs.stacks.stack_scope import StackScope

_COMMENT: Final = (
    "# Kafka never shows a password. Before the next deploy, write the one that is in use for each user:",
    "# pulumi config set --secret NAME. A deploy keeps the password of a user that exists, until its version changes.",
)


def _yaml(users: Mapping[tuple[str, str], ScramUser]) -> Iterator[YamlEntry]:
    by_name: dict[str, list[ScramUser]] = {}
    for _, user in sorted(users.items()):
        by_name.setdefault(user.name, []).append(user)
    for name, credentials in by_name.items():
        if len({each.iterations for each in credentials}) > 1:
            refused = f"user {name}: its mechanisms have different numbers of iterations"
            yield YamlEntry(USERS, None, name, refused)
            continue
        mechanisms = [each.mechanism for each in credentials]
        password = credentials[0].password
        secret = re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip("0123456789._-") or "user"
        entry = {
            "mechanism": mechanisms[0] if len(mechanisms) == 1 else mechanisms,
            "iterations": credentials[0].iterations,
            "password": {
                "secret": password.name if password else f"{secret}-password",
                "version": password.version if password else 1,
            },
        }
        yield YamlEntry(USERS, entry, name)


def _outside(user: tuple[str, str], scope: StackScope) -> str:
    return "" if scope.owns_principal(f"User:{user[0]}") else f"principals: {', '.join(scope.principals)}"


def _limits(access: DeclaredAccess, brokers: BrokerSettings, _: int | None) -> Iterator[Limit]:
    service = PROFILES[brokers.profile]
    if single := service.access.one_mechanism:
        for user, mechanism in (users := access.part(USERS)):
            if mechanism == "SCRAM-SHA-512" and (user, "SCRAM-SHA-256") in users:
                message = f"{user} has two mechanisms on {service.title}: {single.text} ({single.source}); choose one"
                yield Limit(access.sources(USERS, (user, mechanism))[0], message)


CONVERTER: Final = AccessConverter(
    USERS,
    "SCRAM users",
    (Operation.DESCRIBE, ResourceType.CLUSTER),
    (Operation.ALTER, ResourceType.CLUSTER),
    "scram-user-drift",
    _yaml,
    lambda key: f"user {key[0]}",
    _outside,
    _limits,
    _COMMENT,
)
