"""Reads and writes the access of a cluster, many entries with each request.

ACLs (KIP-117, KIP-290), SCRAM credentials (KIP-554), quotas (KIP-546), and settings of groups and client metrics.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType, ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kafka.errors import KafkaError, ResourceNotFoundError
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
)

from topicwarden.kafka.connect.client_internals import send_to_any_broker, send_to_broker
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.request_errors import RequestError, error_of_code, raise_if_refused, request_error
from topicwarden.kafka.read.authorizer_reads import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES, list_acls
from topicwarden.kafka.read.broker_visibility import wait_for_every_broker
from topicwarden.kafka.read.described_configs import own_settings
from topicwarden.kafka.write.admin_session import alter_configs
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.kinds.quota.live import quota_entity, read_quotas
from topicwarden.kinds.scram_user.live import list_users
from topicwarden.model.access import FEWEST_ITERATIONS, Acl

_ONE_BY_ONE: Final = 4
"""ACLs up to which each one is asked for by itself."""


def create_acls(admin: KafkaAdminClient, acls: Collection[Acl]) -> dict[Acl, RequestError]:
    """Create ``acls``; an existing one stays. Return the errors of those that were refused."""
    creations = [CreateAclsRequest.AclCreation(*_numbered(acl)) for acl in acls]
    answer = send_to_any_broker(admin, CreateAclsRequest(creations=creations))
    return {
        acl: error_of_code(result.error_code, result.error_message)
        for acl, result in zip(acls, answer.results, strict=True)
        if result.error_code
    }


def delete_acls(admin: KafkaAdminClient, acls: Collection[Acl]) -> dict[Acl, RequestError]:
    """Delete ``acls``; one that does not exist counts as deleted. Return the errors of those that were refused."""
    filters = [DeleteAclsRequest.DeleteAclsFilter(*_numbered(acl)) for acl in acls]
    answer = send_to_any_broker(admin, DeleteAclsRequest(filters=filters))
    return {
        acl: error_of_code(failed.error_code, failed.error_message)
        for acl, result in zip(acls, answer.filter_results, strict=True)
        for failed in (result, *(result.matching_acls or ()))
        if failed.error_code
    }


def wait_for_acls(admin: KafkaAdminClient, acls: Collection[Acl], *, exist: bool) -> frozenset[Acl]:
    """Wait until every broker has all ``acls``, or none of them; return those for which one is late.

    See ``broker_visibility``.
    """

    def visible(broker: int, pending: Mapping[Acl, None]) -> Collection[Acl]:
        one_by_one = len(pending) <= _ONE_BY_ONE  # a cluster may have ten thousands of others
        existing = (
            {acl for acl in pending if _exists(admin, acl, broker)} if one_by_one else list_acls(admin, broker).acls
        )
        return [acl for acl in pending if (acl in existing) is exist]

    return wait_for_every_broker(admin, dict.fromkeys(acls), visible)


def _exists(admin: KafkaAdminClient, acl: Acl, broker: int) -> bool:
    answer = send_to_broker(admin, DescribeAclsRequest(*_numbered(acl)), broker)
    raise_if_refused(answer)
    return bool(answer.resources)


def _numbered(acl: Acl) -> tuple[int, str, int, str, str, int, int]:
    """Return the fields of ``acl`` with Kafka's numbers, in the order of creations and filters."""
    return (
        RESOURCE_TYPES[acl.resource_type],
        acl.resource_name,
        PATTERN_TYPES[acl.pattern_type],
        acl.principal,
        acl.host,
        OPERATIONS[acl.operation],
        PERMISSIONS[acl.permission],
    )


MECHANISMS: Final = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}


@dataclass(frozen=True)
class Credential:
    """A user's credential for one mechanism."""

    user: str
    mechanism: str


@dataclass(frozen=True)
class Password:
    """The secret of a credential; ``repr`` does not show the password."""

    text: str = field(repr=False)
    iterations: int


def set_password(servers: Sequence[str], user: str, mechanism: str, password: str) -> None:
    """Write the password of a user, and wait until every broker has it. Raises KafkaError if the brokers refuse it."""
    credential = {Credential(user, mechanism): Password(password, FEWEST_ITERATIONS)}
    with connected(servers) as admin:
        for error in write_credentials(admin, credential).values():
            raise error
        wait_for_credentials(admin, credential)


def write_credentials(
    admin: KafkaAdminClient, passwords: Mapping[Credential, Password | None]
) -> dict[Credential, RequestError]:
    """Write each credential; None deletes it, and one that does not exist counts as deleted. Return the errors.

    Kafka accepts a user only once in a request, so ``passwords`` must not have two mechanisms of one user.
    """
    upsertions = [
        UserScramCredentialUpsertion(each.user, MECHANISMS[each.mechanism], password.text, password.iterations)
        for each, password in passwords.items()
        if password is not None
    ]
    deletions = [
        UserScramCredentialDeletion(each.user, MECHANISMS[each.mechanism])
        for each, password in passwords.items()
        if password is None
    ]
    request = AlterUserScramCredentialsRequest(
        deletions=[(each.user, int(each.mechanism)) for each in deletions],
        upsertions=[
            (each.user, int(each.mechanism), each.iterations, each.salt, each.salted_password) for each in upsertions
        ],
    )
    by_user = {each.user: each for each in passwords}
    errors = {}
    for result in send_to_any_broker(admin, request).results:
        credential = by_user[result.user]
        missing = result.error_code == ResourceNotFoundError.errno and passwords[credential] is None
        if result.error_code and not missing:
            errors[credential] = error_of_code(result.error_code, result.error_message)
    return errors


def read_credentials(admin: KafkaAdminClient, broker: int | None = None) -> dict[Credential, int]:
    """Return the number of iterations of every credential that ``broker`` knows; None for any broker."""
    return {Credential(*key): user.iterations for key, user in list_users(admin, broker).items()}


def wait_for_credentials(
    admin: KafkaAdminClient, expected: Mapping[Credential, Password | None]
) -> frozenset[Credential]:
    """Wait until every broker has the credentials; return those for which one is late. See ``broker_visibility``.

    None is a credential that must be gone. Brokers report the number of iterations only, so a change of nothing but the
    password is not waited for.
    """

    def visible(broker: int, pending: Mapping[Credential, Password | None]) -> Collection[Credential]:
        found = read_credentials(admin, broker)
        return [
            credential
            for credential, password in pending.items()
            if found.get(credential) == (password.iterations if password else None)
        ]

    return wait_for_every_broker(admin, expected, visible)


ENTITY_TYPES: Final = ("client-id", "user", "ip")


def alter_quotas(
    admin: KafkaAdminClient, quotas: Mapping[QuotaEntity, Mapping[str, float | None]]
) -> dict[QuotaEntity, RequestError]:
    """Write the quotas of each entity; None removes one. Return the errors of those that were refused."""
    request = AlterClientQuotasRequest(
        entries=[
            AlterClientQuotasRequest.EntryData(
                entity=[
                    AlterClientQuotasRequest.EntryData.EntityData(entity_type=kind, entity_name=name)
                    for kind, name in entity
                ],
                ops=[
                    AlterClientQuotasRequest.EntryData.OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in values.items()
                ],
            )
            for entity, values in quotas.items()
        ],
        validate_only=False,
    )
    answer = send_to_any_broker(admin, request)
    return {
        quota_entity(entry.entity): error_of_code(entry.error_code, entry.error_message)
        for entry in answer.entries
        if entry.error_code
    }


def wait_for_quotas(
    admin: KafkaAdminClient, expected: Mapping[QuotaEntity, Mapping[str, float | None]]
) -> frozenset[QuotaEntity]:
    """Wait until every broker has the quotas; return the entities for which one is late.

    None is a quota that must be gone. See ``broker_visibility``.
    """

    def visible(broker: int, pending: Mapping[QuotaEntity, Mapping[str, float | None]]) -> Collection[QuotaEntity]:
        found = read_quotas(admin, pending, broker)
        return [
            entity
            for entity, values in pending.items()
            if all(found.get(entity, {}).get(key) == value for key, value in values.items())
        ]

    return wait_for_every_broker(admin, expected, visible)


class SettingsAdmin:
    """The settings of all resources of one type: ``GROUP`` or ``CLIENT_METRICS``."""

    def __init__(self, type: ConfigResourceType) -> None:
        self._type = type

    def alter(
        self, admin: KafkaAdminClient, changes: Mapping[str, Mapping[str, str | None]]
    ) -> dict[str, RequestError]:
        """Write the settings of each resource; None removes a setting, and every other setting stays as it is.

        A resource need not exist yet. Return the errors of those that were refused.
        """
        return alter_configs(admin, self._type, changes)

    def read(
        self, admin: KafkaAdminClient, names: Collection[str], broker: int | None = None
    ) -> dict[str, dict[str, str] | RequestError]:
        """Return the settings that are set on each resource itself, as ``broker`` knows them; None for any broker."""
        found = own_settings(admin, self._type, names, broker)
        return {name: request_error(own) if isinstance(own, KafkaError) else own for name, own in found.items()}

    def wait(self, admin: KafkaAdminClient, expected: Mapping[str, Mapping[str, str | None]]) -> frozenset[str]:
        """Wait until every broker has the settings; return the names for which one is late.

        See ``broker_visibility``.
        """

        def visible(broker: int, pending: Mapping[str, Mapping[str, str | None]]) -> Collection[str]:
            found = self.read(admin, pending, broker)
            return [
                name
                for name, settings in pending.items()
                if isinstance(seen := found.get(name), RequestError)
                or all((seen or {}).get(key) == value for key, value in settings.items())
            ]

        return wait_for_every_broker(admin, expected, visible)


GROUP_SETTINGS: Final = SettingsAdmin(ConfigResourceType.GROUP)
CLIENT_METRICS: Final = SettingsAdmin(ConfigResourceType.CLIENT_METRICS)
