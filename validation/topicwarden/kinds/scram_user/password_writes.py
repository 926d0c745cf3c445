"""Decides whose password a deploy writes: Kafka never returns one, so that of somebody else must not be replaced."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from topicwarden.kinds.scram_user.change import USERS
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
    existing, before = live.part(USERS), deployed.part(USERS)
    for key, user in declared.part(USERS).items():
        adopts, replaceable = _adopts(key, user, deployed, live, begun), _replaceable(key, declared)
        created = existing is not None and key not in {*existing, *before}
        rewritten = not adopts and before.get(key) != user and replaceable
        adopted |= {key} if adopts else set()
        written |= {key} if key in deployed.passwords or created or rewritten else set()
        exists = existing is None or key in existing
        protected |= {key} if key not in deployed.passwords and exists and not replaceable else set()
    return PasswordWrites(frozenset(adopted), frozenset(written), frozenset(protected))


def _adopts(
    key: tuple[str, str], user: ScramUser, deployed: DeployedAccess, live: LiveAccess, begun: Container[str]
) -> bool:
    found = (live.part(USERS) or {}).get(key)
    # A killed deploy may have written another version of the password.
    begins = key in deployed.part(USERS) or RESOURCE.name(key) in begun
    return not begins and found is not None and found.iterations == user.iterations


def _replaceable(key: tuple[str, str], declared: DeclaredAccess) -> bool:
    return any(
        AllowedChange.REPLACE_CREDENTIAL in allowed_on(declared.allow.get(home, ()), today())
        for home in declared.homes[key]
    )
