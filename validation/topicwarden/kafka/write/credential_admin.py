"""Reads and writes SCRAM credentials of users (KIP-554), many with each request."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kafka.errors import ResourceNotFoundError
from kafka.protocol.admin import AlterUserScramCredentialsRequest

from topicwarden.kafka.connect.client_internals import send_to_any_broker
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.request_error import RequestError, error_of_code
from topicwarden.kafka.read.broker_visibility import wait_for_every_broker
from topicwarden.kinds.scram_user.live import list_users
from topicwarden.model.access import FEWEST_ITERATIONS

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
