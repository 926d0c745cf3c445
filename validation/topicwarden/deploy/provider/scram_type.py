"""``kafka:index/userScramCredential:UserScramCredential``: passwords of users. Kafka stores only a hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topicwarden.deploy.provider.batches import Batches, EngineCalls
from topicwarden.deploy.provider.properties import UNKNOWN, Properties
from topicwarden.deploy.provider.resource_type import Failure, Kind, PropertyType, ResourceType, one_of
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kafka.write.credential_admin import (
    MECHANISMS,
    Credential,
    Password,
    read_credentials,
    wait_for_credentials,
    write_credentials,
)

_BATCH: Final = 1_000
_FEWEST_ITERATIONS: Final = 4096


def _iterations(value: float) -> str | None:
    return None if value >= _FEWEST_ITERATIONS else f"expected at least {_FEWEST_ITERATIONS}, got {value:g}"


def _not_blank(value: str) -> str | None:
    return None if value.strip() else "expected text, got only spaces"


def _one_password(inputs: Properties) -> list[Failure]:
    given = [key for key in ("password", "passwordWo") if inputs.get(key) is not None]
    if len(given) == 1:
        return []
    return [Failure("password", "expected either password or passwordWo, got " + ("both" if given else "neither"))]


SCRAM: Final = ResourceType(
    token="kafka:index/userScramCredential:UserScramCredential",
    properties={
        "username": PropertyType(required=True, replaces=True),
        "scramMechanism": PropertyType(required=True, replaces=True, check=one_of(MECHANISMS)),
        "scramIterations": PropertyType(Kind.NUMBER, default=float(_FEWEST_ITERATIONS), check=_iterations),
        "password": PropertyType(secret=True, check=_not_blank),
        "passwordWo": PropertyType(secret=True, write_only=True, check=_not_blank),
        "passwordWoVersion": PropertyType(),
    },
    id_of=lambda properties: f"{properties['username']}|{properties['scramMechanism']}",
    raw_state=lambda _: {"obj": {}},
    conflicts=_one_password,
)


class Credentials:
    """The SCRAM credentials of one cluster. The id of a credential is ``user|mechanism``.

    An import accepts ``user|mechanism|password`` as well; the password does not stay in the id.
    """

    def __init__(self, session: AdminSession, calls: EngineCalls) -> None:
        self._session = session
        self._writes = Batches(self._write, _BATCH, calls=calls)
        self._reads = Batches[Credential, None, int](lambda _: session.request(read_credentials), _BATCH, calls=calls)

    async def create(self, inputs: Properties) -> None:
        """Write a credential."""
        credential = Credential(inputs["username"], inputs["scramMechanism"])
        await self._writes.submit(credential.user, (credential, _password(inputs)))

    async def update(self, id: str, olds: Properties, news: Properties) -> None:
        """Write the credential again, with another password or number of iterations."""
        await self.create(news)

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the properties of the credential with this id, or None if it does not exist."""
        user, mechanism, *password = id.split("|")
        iterations = await self._reads.submit(Credential(user, mechanism), None)
        if iterations is None:
            return None
        read = {"username": user, "scramMechanism": mechanism, "scramIterations": float(iterations)}
        # Kafka does not give a password back, so the declared one stays.
        declared = declared or ({"password": password[0]} if password else {})
        return {**{key: declared.get(key) for key in ("password", "passwordWoVersion")}, **read}

    async def delete(self, id: str) -> None:
        """Delete the credential with this id; one that does not exist counts as deleted."""
        user, mechanism, *_ = id.split("|")
        await self._writes.submit(user, (Credential(user, mechanism), None))

    def _write(self, writes: Mapping[str, tuple[Credential, Password | None]]) -> Mapping[str, Exception | None]:
        errors = self._session.write(write_credentials, wait_for_credentials, dict(writes.values()))
        return {credential.user: error for credential, error in errors.items()}


def _password(inputs: Properties) -> Password:
    text = inputs.get("password") or inputs["passwordWo"]
    if text == UNKNOWN:
        raise ValueError("the password is not known yet")
    return Password(text, int(inputs.get("scramIterations") or _FEWEST_ITERATIONS))
