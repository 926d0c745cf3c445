"""SCRAM users as entries of access: by name and mechanism. Kafka never returns a password."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from topicwarden.kinds.difference import AccessComparison, AccessPart, row
from topicwarden.model.access import Part, ScramUser
from topicwarden.model.change_terms import AccessKind

if TYPE_CHECKING:
    from topicwarden.model.planned_change import AccessItem

USERS: Final[Part[tuple[str, str], ScramUser]] = Part("users")
"""By name and mechanism."""


def user_title(key: tuple[str, str]) -> str:
    """Return a credential in words, such as ``SCRAM-SHA-512 credential of user billing``."""
    user, mechanism = key
    return f"{mechanism} credential of user {user}"


def _rows(difference: AccessComparison) -> Iterator[AccessItem]:
    for key, action in difference.of(USERS).items():
        after, location = difference.declared.part(USERS).get(key), difference.declared.location(USERS, key)
        before = _text((difference.live.part(USERS) or {}).get(key), difference.deployed.part(USERS).get(key))
        yield row(AccessKind.SCRAM_USER, action, "{} ({})".format(*key), location, (before, _text(after, after)))


def _text(user: ScramUser | None, recorded: ScramUser | None) -> str | None:
    """Return the iterations of a user, with the version of the password that Pulumi's state, or the YAML, names."""
    if user is None:
        return None
    password = recorded.password if recorded else None
    version = f", password {password.name} version {password.version}" if password else ""
    return f"{user.iterations:,} iterations{version}"


PART = AccessPart(
    AccessKind.SCRAM_USER,
    USERS,
    "users",
    user_title,
    lambda declared, live: declared.iterations == live.iterations,
    _rows,
)
