"""``kafka:index/userScramCredential:UserScramCredential``: passwords of users. Kafka stores only a hash."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from topicwarden.kafka.write.access_admin import (
    MECHANISMS,
    Credential,
    Password,
    read_credentials,
    wait_for_credentials,
    write_credentials,
)
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kinds.access_resource import AccessBefore, AccessResource, KindWrites, SecretProperty
from topicwarden.kinds.announced_writes import Announce, announce_writes
from topicwarden.kinds.batches import Batches, EngineCalls
from topicwarden.kinds.properties import UNKNOWN, Properties
from topicwarden.kinds.resource_type import Failure, Kind, PropertyType, PulumiType, one_of
from topicwarden.kinds.scram_user.change import USERS, own_passwords, user_title
from topicwarden.model.access import (
    FEWEST_ITERATIONS,
    DeclaredAccess,
    DeployedAccess,
    LiveAccess,
    ScramUser,
    SecretReference,
)
from topicwarden.model.problem import Refusal
from topicwarden.model.timestamps import today
from topicwarden.model.topic import AllowedChange, allowed_on

SCRAM_TYPE: Final = "kafka:index/userScramCredential:UserScramCredential"
_BETWEEN: Final = "@"
"""Separates the name of a secret and its version in ``passwordWoVersion``."""
_BATCH: Final = 4_000
ITERATIONS: Final = "scramIterations"

PROTECT_CREDENTIALS: Final = "kafka:index:protectCredentials"
"""A function that only this provider has: it takes the credentials that no deploy may write now."""


def user_properties(user: ScramUser) -> dict[str, Any]:
    """Return the properties of the resource of ``user``, without the password."""
    password = {} if user.password is None else {"passwordWoVersion": password_version(user.password)}
    return {
        "username": user.name,
        "scramMechanism": user.mechanism,
        ITERATIONS: float(user.iterations),
        **password,
    }


def password_version(password: SecretReference) -> str:
    """Return a text that changes if another secret, or another version of it, becomes the password."""
    return f"{password.name}{_BETWEEN}{password.version}"


def _user(properties: Mapping[str, Any]) -> ScramUser:
    name, _, version = str(properties.get("passwordWoVersion") or "").partition(_BETWEEN)
    return ScramUser(
        str(properties["username"]),
        str(properties["scramMechanism"]),
        int(properties[ITERATIONS]),
        SecretReference(name, version) if name else None,
    )


def _iterations(value: float) -> str | None:
    return None if value >= FEWEST_ITERATIONS else f"expected at least {FEWEST_ITERATIONS}, got {value:g}"


def _not_blank(value: str) -> str | None:
    return None if value.strip() else "expected text, got only spaces"


def _one_password(inputs: Properties) -> list[Failure]:
    given = [key for key in ("password", "passwordWo") if inputs.get(key) is not None]
    if len(given) == 1:
        return []
    return [Failure("password", "expected either password or passwordWo, got " + ("both" if given else "neither"))]


SCRAM: Final = PulumiType(
    token=SCRAM_TYPE,
    properties={
        "username": PropertyType(required=True, replaces=True),
        "scramMechanism": PropertyType(required=True, replaces=True, check=one_of(MECHANISMS)),
        ITERATIONS: PropertyType(Kind.NUMBER, default=float(FEWEST_ITERATIONS), check=_iterations),
        "password": PropertyType(secret=True, check=_not_blank),
        "passwordWo": PropertyType(secret=True, write_only=True, check=_not_blank),
        "passwordWoVersion": PropertyType(),
    },
    id_of=lambda properties: f"{properties['username']}|{properties['scramMechanism']}",
    raw_state=lambda _: {"obj": {}},
    conflicts=_one_password,
    title=lambda properties: user_title((properties["username"], properties["scramMechanism"])),
    permission="Alter on the cluster",
)


class Credentials:
    """The SCRAM credentials of one cluster. The id of a credential is ``user|mechanism``.

    An import accepts ``user|mechanism|password`` as well; the password does not stay in the id. With
    ``user|mechanism||version`` it takes over a credential whose password stays as it is until the version changes.
    """

    def __init__(self, session: AdminSession, calls: EngineCalls, announce: Announce) -> None:
        self._session, self._announce = session, announce
        self._protected: frozenset[str] = frozenset()
        self._writes = Batches(self._write, _BATCH, calls=calls)
        self._reads = Batches[Credential, None, int](lambda _: session.request(read_credentials), _BATCH, calls=calls)

    def protect(self, ids: Collection[str]) -> None:
        """Refuse to write the credentials with these ids from now on: they exist, with passwords of somebody else."""
        self._protected = frozenset(ids)

    async def create(self, inputs: Properties) -> None:
        """Write a credential."""
        if (id := SCRAM.id_of(inputs)) in self._protected:
            raise Refusal(
                f"no deploy of this stack has written {id} as it is, so a deploy does not replace its password: write "
                f"{AllowedChange.REPLACE_CREDENTIAL.line} into the file below access/ that declares the user"
            )
        credential = Credential(inputs["username"], inputs["scramMechanism"])
        await self._writes.submit(credential.user, (credential, _password(inputs)))

    async def update(self, id: str, olds: Properties, news: Properties) -> None:
        """Write the credential again, with another password or number of iterations."""
        await self.create(news)

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the properties of the credential with this id, or None if it does not exist."""
        user, mechanism, password, version = parsed_credential_id(id)
        iterations = await self._reads.submit(Credential(user, mechanism), None)
        if iterations is None:
            return None
        read = {"username": user, "scramMechanism": mechanism, ITERATIONS: float(iterations)}
        # Kafka does not give a password back, so the declared one stays.
        declared = declared or {"password": password, "passwordWoVersion": version}
        return {**{key: declared.get(key) for key in ("password", "passwordWoVersion")}, **read}

    async def delete(self, id: str, properties: Properties) -> None:
        """Delete the credential with this id; one that does not exist counts as deleted."""
        user, mechanism, _, _ = parsed_credential_id(id)
        await self._writes.submit(user, (Credential(user, mechanism), None))

    def _write(self, writes: Mapping[str, tuple[Credential, Password | None]]) -> Mapping[str, Exception | None]:
        announced: dict[str, dict[str, object]] = {}
        for credential, password in writes.values():
            name = RESOURCE.name((credential.user, credential.mechanism))
            announced[name] = {"": password}
            if password is not None:
                announced[_announced(name, password.iterations)] = {"": password}
        announce_writes(self._announce, announced)
        errors = self._session.write(write_credentials, wait_for_credentials, dict(writes.values()))
        return {credential.user: error for credential, error in errors.items()}


def _password(inputs: Properties) -> Password:
    text = inputs.get("password") or inputs["passwordWo"]
    if text == UNKNOWN:
        raise ValueError("the password is not known yet")
    return Password(text, int(inputs.get(ITERATIONS) or FEWEST_ITERATIONS))


def parsed_credential_id(id: str) -> tuple[str, str, str | None, str | None]:
    """Return the user, the mechanism, the password and its version in ``id``; a user's name may contain ``|``."""
    parts = id.split("|")
    at = next((number for number, part in enumerate(parts) if number and part in MECHANISMS), None)
    if at is None:
        raise ValueError(f"the id of a credential is user|mechanism, got {id}")
    password, _, version = "|".join(parts[at + 1 :]).partition("|")
    return "|".join(parts[:at]), parts[at], password or None, version or None


def _announced(name: str, iterations: int) -> str:
    """Return what a deploy announces beside the name of a resource before it writes the credential."""
    return f"{name}{_BETWEEN}{iterations}"


def written_since(
    deployed: DeployedAccess, live: LiveAccess, intents: Collection[str]
) -> dict[tuple[str, str], tuple[str, int]]:
    """Return the iterations that killed deploys, which announced ``intents``, have written, with what they announced.

    The key is that of the credential. The state has another number.
    """
    found = live.part(USERS) or {}
    return {
        key: (announced, found[key].iterations)
        for key, number in deployed.iterations.items()
        if key in found
        and found[key].iterations != number
        and (announced := _announced(RESOURCE.name(key), found[key].iterations)) in intents
    }


def as_refreshed(deployed: DeployedAccess, live: LiveAccess) -> DeployedAccess:
    """Return the access of a state into which the engine has read the credentials. Its file may not have them yet."""
    found = live.part(USERS) or {}
    users = {
        key: replace(user, iterations=found[key].iterations) if key in found else user
        for key, user in deployed.part(USERS).items()
    }
    return replace(deployed, parts={**deployed.parts, USERS: users})


def _writes(access: AccessBefore) -> KindWrites:
    """Return whose password a deploy writes: Kafka never returns one, so that of somebody else must not be replaced.

    Users that exist as declared are taken over; their passwords stay as they are until their version changes. The
    provider refuses to write the password of users that exist with one of somebody else, which no file allows.
    """
    adopted: dict[tuple[str, str], str] = {}
    written: dict[tuple[str, str], int] = {}
    protected = []
    existing, before = access.live.part(USERS), access.deployed.part(USERS)
    ours = own_passwords(access.deployed, access.live)
    for key, user in access.declared.part(USERS).items():
        adopts, replaceable = _adopts(key, user, access), _replaceable(key, access.declared)
        gone = existing is not None and key not in existing
        created = gone and (access.refreshed or before.get(key) != user)
        if adopts:
            adopted[key] = f"{SCRAM.id_of(user_properties(user))}||{user_properties(user)['passwordWoVersion']}"
        if key in ours or created or (not adopts and before.get(key) != user and replaceable):
            written[key] = user.iterations
        if key not in ours and (existing is None or key in existing) and not replaceable:
            protected.append(SCRAM.id_of(user_properties(user)))
    numbers = {key: user.iterations for key, user in (before if existing is None else existing).items()}
    replaced = {
        key: numbers.get(key) if key in ours else None
        for key, iterations in written.items()
        if key in numbers and (key not in ours or numbers[key] != iterations)
    }
    return KindWrites({PROTECT_CREDENTIALS: sorted(protected)}, adopted, written, replaced)


def _adopts(key: tuple[str, str], user: ScramUser, access: AccessBefore) -> bool:
    found = (access.live.part(USERS) or {}).get(key)
    # A killed deploy may have written another version of the password.
    begins = key in access.deployed.part(USERS) or RESOURCE.name(key) in access.unfinished.intents
    return not begins and found is not None and found.iterations == user.iterations


def _replaceable(key: tuple[str, str], declared: DeclaredAccess) -> bool:
    return any(
        AllowedChange.REPLACE_CREDENTIAL in allowed_on(declared.allow.get(home, ()), today())
        for home in declared.homes[key]
    )


RESOURCE: Final = AccessResource(
    USERS,
    (SCRAM,),
    lambda key: key,
    lambda _, user: user_properties(user),
    lambda properties: (str(properties["username"]), str(properties["scramMechanism"])),
    _user,
    lambda target: Credentials(*target.cluster),
    lambda _: AllowedChange.REMOVE_CREDENTIAL,
    functions={PROTECT_CREDENTIALS: Credentials.protect},
    writes=_writes,
    secret=SecretProperty("passwordWo", "password", lambda user: f"user {user.name}", lambda user: user.password),
)
