"""Takes access from the fields of another tool's file: ACLs, SCRAM users and quotas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import chain
from typing import Any, Final, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from topicwarden.extensions.interchange.convert.source_file import UnreadFields, shown_value
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.topic_values import take_number
from topicwarden.kinds.quota.change import QUOTAS, quota_title
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.kinds.quota.spec import QuotaSpec
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import (
    CLUSTER_NAME,
    FEWEST_ITERATIONS,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    ScramUser,
)
from topicwarden.model.message_text import did_you_mean, kind_of
from topicwarden.model.problem import Location
from topicwarden.specs.validation_errors import first_message
from topicwarden.specs.yaml_nodes import KeyPath

ANY_USER: Final = f"User:{WILDCARD}"
Word = TypeVar("Word", bound=StrEnum)
QUOTA_KEYS: Final = {
    "producerByteRate": "producer_byte_rate",
    "consumerByteRate": "consumer_byte_rate",
    "requestPercentage": "request_percentage",
    "controllerMutationRate": "controller_mutation_rate",
    "connectionCreationRate": "connection_creation_rate",
}
"""Kafka's keys of quotas by their names in camel case."""
_RATES: Final[Mapping[str, TypeAdapter[Any]]] = {
    key: TypeAdapter(cast(Any, QuotaSpec.model_fields[key].annotation)) for key in QUOTA_KEYS.values()
}


def take_word(
    fields: UnreadFields, path: KeyPath, words: type[Word], reader: TopicReader, default: Word | None = None
) -> Word | None:
    """Take one of Kafka's words in any spelling, such as ``DESCRIBE_CONFIGS``; report another value."""
    value, location = fields.take(path)
    if value is None and default is not None:
        return default
    found = word(value, words)
    if found is None:
        choices = [each.value for each in words]
        hint = did_you_mean(str(value), choices) or f"; expected one of {', '.join(choices)}"
        reader.add_problem(location, f"{path[-1]}: unknown word {shown_value(value)}{hint}", "value")
    return found


def word(value: Any, words: type[Word]) -> Word | None:
    """Return the word that ``value`` is, in any spelling; None if it is none."""
    letters = str(value).replace("_", "").replace("-", "").lower()
    if words is PatternType and letters == "prefix":
        letters = "prefixed"
    return next((each for each in words if each.value.lower() == letters), None)


def take_text(fields: UnreadFields, path: KeyPath, reader: TopicReader, default: str | None = None) -> str | None:
    """Take the text at ``path``; report a value that is missing or not text."""
    value, location = fields.take(path)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or not value:
        reader.add_problem(location, f"{path[-1]}: expected text, got {shown_value(value)}", "value")
        return None
    return value


def take_acls(
    fields: UnreadFields,
    reader: TopicReader,
    *,
    principal: str | None,
    host: KeyPath,
    operations: list[KeyPath],
    permission: KeyPath,
    kind: KeyPath,
    name: KeyPath,
    pattern: KeyPath,
) -> None:
    """Add one ACL for each of ``operations``, whose parts are at these paths."""
    resource_type = take_word(fields, kind, ResourceType, reader)
    if resource_type is ResourceType.CLUSTER:
        fields.take(name)
        resource_name: str | None = CLUSTER_NAME
    else:
        resource_name = take_text(fields, name, reader)
    of_pattern = take_word(fields, pattern, PatternType, reader, PatternType.LITERAL)
    allowed = take_word(fields, permission, PermissionType, reader, PermissionType.ALLOW)
    from_host = take_text(fields, host, reader, WILDCARD)
    if not operations:
        message = "operations: expected at least one operation, got none; add one, or remove this ACL"
        reader.add_problem(fields.document.at(kind[:-1]), message, "missing")
    for path in operations:
        operation = take_word(fields, path, Operation, reader)
        if principal and from_host and operation and allowed and resource_type and resource_name and of_pattern:
            acl = Acl(principal, from_host, operation, allowed, resource_type, resource_name, of_pattern)
            reader.add_acls([acl], fields.peek(path)[1])


def limited_by(denies: Iterable[Acl], acls: Iterable[Acl]) -> set[Acl]:
    """Return which of ``acls`` allow what ``denies`` can limit: for a principal and a resource of both.

    Operations and hosts are not compared, because a DENY of one operation also denies others (``AclAuthorizer``).
    """
    every: dict[ResourceType, list[Acl]] = defaultdict(list)
    by_principal: dict[tuple[ResourceType, str], list[Acl]] = defaultdict(list)
    for deny in denies:
        every[deny.resource_type].append(deny)
        by_principal[deny.resource_type, deny.principal].append(deny)

    def about(acl: Acl) -> Iterable[Acl]:
        kind = acl.resource_type
        if acl.principal == ANY_USER:
            return every[kind]
        return chain(by_principal[kind, acl.principal], by_principal[kind, ANY_USER])

    return {
        acl
        for acl in acls
        if acl.permission is PermissionType.ALLOW
        and any(_overlap(deny, acl) or _overlap(acl, deny) for deny in about(acl))
    }


def _overlap(one: Acl, other: Acl) -> bool:
    """Return whether the name of ``other`` begins with, or is, a name that ``one`` is about."""
    if one.pattern_type is PatternType.PREFIXED:
        return other.resource_name.startswith(one.resource_name) or other.resource_name == WILDCARD
    return one.resource_name in (other.resource_name, WILDCARD)


def items(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> list[KeyPath]:
    """Return the paths of the items of the list at ``path``; report a value that is not a list."""
    value, location = fields.peek(path)
    if isinstance(value, list):
        if not value:
            fields.take(path)
        return [(*path, index) for index in range(len(value))]
    if value is not None:
        fields.take(path)
        reader.add_problem(location, f"{path[-1]}: expected a list, got {kind_of(value)}", "type")
    return []


def add_user(reader: TopicReader, name: str, mechanism: Any, iterations: Any, location: Location) -> None:
    """Add a user with a SCRAM credential; report another mechanism. The password is not read."""
    spelled = str(mechanism).upper().replace("_", "-")
    if spelled not in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        reader.add_problem(location, f"expected SCRAM-SHA-256 or SCRAM-SHA-512, got {shown_value(mechanism)}", "value")
        return
    if not isinstance(iterations, int) or isinstance(iterations, bool) or iterations < FEWEST_ITERATIONS:
        expected = f"a whole number from {FEWEST_ITERATIONS}"
        reader.add_problem(location, f"iterations: expected {expected}, got {shown_value(iterations)}", "value")
        return
    reader.add_access(USERS, (name, spelled), ScramUser(name, spelled, iterations), location)


def take_quota(
    fields: UnreadFields, path: KeyPath, entity: QuotaEntity, names: Mapping[str, str], reader: TopicReader
) -> None:
    """Take the quota of ``entity`` in the mapping at ``path``; ``names`` are Kafka's keys by those of the file.

    Leave out a rate that Kafka does not accept.
    """
    rates: dict[str, float] = {}
    for name, key in names.items():
        value, location = fields.peek((*path, name))
        if value is None:
            continue
        take_number(fields, (*path, name), reader)
        try:
            rate = float("" if isinstance(value, bool) else value)
        except (TypeError, ValueError):
            reader.add_problem(location, f"{name}: expected a number, got {shown_value(value)}", "value")
            continue
        try:
            _RATES[key].validate_python(int(rate) if rate.is_integer() else rate)
        except ValidationError as error:
            reader.leave_out(location, f"{name} of {quota_title(entity)}", f"not imported: {first_message(error)}")
        else:
            rates[key] = rate
    if rates:
        reader.add_access(QUOTAS, tuple(sorted(entity)), rates, fields.peek(path)[1])
