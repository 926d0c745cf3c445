"""Decides whose password a deploy writes: Kafka never returns one, so that of somebody else must not be replaced."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from topicwarden.kinds.scram_user.resource import RESOURCE
from topicwarden.model.access import DeclaredAccess, DeployedAccess, LiveAccess, ScramUser
from topicwarden.model.timestamps import today
from topicwarden.model.topic import AllowedChange, allowed_on


@dataclass(frozen=True)
class PasswordWrites:
    """The declared users by what a deploy does with their passwords; each one by name and mechanism.

    - ``adopted``: users that exist as declared. Their passwords stay as they are until their version changes.
    - ``written``: users whose password this deploy, or an earlier one, has written.
    - ``protected``: users that exist with a password of somebody else, which no file allows to replace.
    """

    adopted: frozenset[tuple[str, str]] = frozenset()
    written: frozenset[tuple[str, str]] = frozenset()
    protected: frozenset[tuple[str, str]] = frozenset()


NO_WRITES: Final = PasswordWrites()


def password_writes(
    declared: DeclaredAccess, deployed: DeployedAccess, live: LiveAccess, begun: Container[str]
) -> PasswordWrites:
    """Return whose password a deploy writes. ``begun`` are the resources that a killed deploy was about to write."""
    adopted, written, protected = set(), set(), set()
    for key, (user, _) in declared.users.items():
        adopts, replaceable = _adopts(key, user, deployed, live, begun), _replaceable(key, declared)
        created = live.users is not None and key not in {*live.users, *deployed.users}
        rewritten = not adopts and deployed.users.get(key) != user and replaceable
        adopted |= {key} if adopts else set()
        written |= {key} if key in deployed.passwords or created or rewritten else set()
        exists = live.users is None or key in live.users
        protected |= {key} if key not in deployed.passwords and exists and not replaceable else set()
    return PasswordWrites(frozenset(adopted), frozenset(written), frozenset(protected))


def _adopts(
    key: tuple[str, str], user: ScramUser, deployed: DeployedAccess, live: LiveAccess, begun: Container[str]
) -> bool:
    found = (live.users or {}).get(key)
    # A killed deploy may have written another version of the password.
    begins = key in deployed.users or RESOURCE.name(key) in begun
    return not begins and found is not None and found.iterations == user.iterations


def _replaceable(key: tuple[str, str], declared: DeclaredAccess) -> bool:
    return any(
        AllowedChange.REPLACE_CREDENTIAL in allowed_on(declared.allow.get(home, ()), today())
        for home in declared.homes[key]
    )
