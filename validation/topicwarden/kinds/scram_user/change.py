"""SCRAM users as entries of access: by name and mechanism. Kafka never returns a password."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from topicwarden.kinds.difference import AccessComparison, AccessPart, row
from topicwarden.model.access import DeployedAccess, LiveAccess, Part, ScramUser
from topicwarden.model.change_terms import AccessKind, Action

if TYPE_CHECKING:
    from topicwarden.model.planned_change import AccessItem

USERS: Final[Part[tuple[str, str], ScramUser]] = Part("users")
"""By name and mechanism."""


def user_title(key: tuple[str, str]) -> str:
    """Return a credential in words, such as ``SCRAM-SHA-512 credential of user billing``."""
    user, mechanism = key
    return f"{mechanism} credential of user {user}"


def own_passwords(deployed: DeployedAccess, live: LiveAccess) -> frozenset[tuple[str, str]]:
    """Return the credentials whose password is one that a deploy has written, as far as brokers show it.

    One with other iterations than a deploy has written was written by somebody else since, with any password.
    """
    found = live.part(USERS) or {}
    return frozenset(
        key
        for key in deployed.passwords
        if key not in found or found[key].iterations == deployed.iterations.get(key, found[key].iterations)
    )


def _rows(difference: AccessComparison) -> Iterator[AccessItem]:
    own = own_passwords(difference.deployed, difference.live)
    for key, action in difference.of(USERS).items():
        after, location = difference.declared.part(USERS).get(key), difference.declared.location(USERS, key)
        recorded = difference.deployed.part(USERS).get(key)
        before = _text((difference.live.part(USERS) or {}).get(key), recorded, known=key in own)
        yield row(AccessKind.SCRAM_USER, action, row_name(key), location, (before, _text(after, after)))


def row_name(key: tuple[str, str]) -> str:
    """Return the name of a credential in a plan."""
    return "{} ({})".format(*key)


def written_by_others(difference: AccessComparison) -> frozenset[tuple[str, str]]:
    """Return the credentials that only a refresh would replace, with a password that may be another one."""
    found, own = difference.live.part(USERS) or {}, own_passwords(difference.deployed, difference.live)
    drifted = {key for key, action in difference.of(USERS).items() if action is Action.DRIFT and key in found}
    return frozenset(drifted - own)


def _text(user: ScramUser | None, recorded: ScramUser | None, *, known: bool = True) -> str | None:
    """Return the iterations of a user, with the version of the password that Pulumi's state, or the YAML, names.

    ``known``: no one but a deploy has written the password, as far as brokers show it.
    """
    if user is None:
        return None
    password = recorded.password if recorded else None
    version = f", password {password.name} version {password.version}" if password else ""
    version = version if known or not version else ", password not known"
    return f"{user.iterations:,} iterations{version}"


PART = AccessPart(
    AccessKind.SCRAM_USER,
    USERS,
    "users",
    user_title,
    lambda declared, live: declared.iterations == live.iterations,
    _rows,
)
