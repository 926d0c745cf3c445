"""The program's part about access: what it reads before the deploy, and what it registers with the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import pulumi

from topicwarden.deploy.access_resources import AccessRegistration
from topicwarden.deploy.access_state import resource_names
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kinds.announced_writes import Intent, UnfinishedWrites, unfinished_writes
from topicwarden.kinds.group_config.change import requested_groups
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.kinds.scram_user.password_writes import password_writes
from topicwarden.kinds.scram_user.resource import RESOURCE as USER
from topicwarden.model.access import (
    WILDCARD,
    Acl,
    DeclaredAccess,
    DeployedAccess,
    LiveAccess,
    PatternType,
    PermissionType,
    ResourceType,
    ScramUser,
)
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.problem import Location, Problem
from topicwarden.plan.access_change import ACCESS_PARTS
from topicwarden.plan.consequence_text import shorten

PASSWORD_RULE: Final = "password"


@dataclass(frozen=True)
class AccessBefore:
    """The declared access, access as deployed and as live before the deploy, and what killed deploys left of it."""

    declared: DeclaredAccess
    deployed: DeployedAccess
    live: LiveAccess = field(default_factory=LiveAccess)
    unfinished: UnfinishedWrites = field(default_factory=partial(UnfinishedWrites, PlanSection.ACCESS))

    def missing(self) -> list[str]:
        """Return what is declared and in Pulumi's state, but not on the cluster, in words."""
        return sorted(
            part.title(key)
            for part in ACCESS_PARTS
            if (live := self.live.part(part.name)) is not None
            for key in self.declared.part(part.name).keys() & self.deployed.part(part.name).keys() - live.keys()
        )

    @property
    def open_without_acl(self) -> bool:
        """True if resources that no ACL matches are open to everyone, or if the brokers do not tell."""
        settings = (self.live.settings or {}).values()
        return not settings or any(each.open_without_acl is not False for each in settings)

    def first_acls(self) -> list[Acl]:
        """Return the new ACLs if resources that no ACL matches may be open to everyone.

        The first ACL of a resource shuts out everyone whom no other one allows, so all of them must come together.
        """
        return sorted(self.declared.acls.keys() - (self.live.acls or frozenset())) if self.open_without_acl else []

    def last_acls(self, topics: Iterable[str]) -> dict[str, Acl]:
        """Return a declared ACL that must be deleted later than each of ``topics``, if topics without ACLs may be open.

        Otherwise a topic that is deleted together with its ACLs would be open to everyone for a moment.
        """
        if not self.open_without_acl:
            return {}
        allowed = sorted(
            acl
            for acl in self.declared.acls
            if acl.resource_type is ResourceType.TOPIC and acl.permission is PermissionType.ALLOW
        )
        literal = {acl.resource_name: acl for acl in allowed if acl.pattern_type is PatternType.LITERAL}
        prefixed = [acl for acl in allowed if acl.pattern_type is PatternType.PREFIXED]
        found = {topic: _matching(topic, literal, prefixed) for topic in topics}
        return {topic: acl for topic, acl in found.items() if acl is not None}

    def registration(self, passwords: Mapping[tuple[str, str], str]) -> AccessRegistration:
        """Return what the engine gets."""
        writes = password_writes(self.declared, self.deployed, self.live, self.unfinished.intents)
        return AccessRegistration(self.declared, passwords, self.deployed, writes, self.first_acls())


def access_before(
    cluster: Cluster, intents: Mapping[str, Intent], declared: DeclaredAccess, deployed: DeployedAccess
) -> AccessBefore:
    """Return the access before the deploy; reads nothing from the cluster if the stack has none.

    ``intents`` are those of earlier deploys. A password that one was about to write when it was killed counts as
    written.
    """
    if declared.empty and deployed.empty and not intents:
        return AccessBefore(declared, deployed)
    live = cluster.access(requested_groups(declared, deployed))
    if not intents:
        return AccessBefore(declared, deployed, live)  # the names of ten thousands of live ACLs take a while
    titles = resource_names(live)
    unfinished = unfinished_writes(
        PlanSection.ACCESS,
        intents,
        declared=resource_names(declared),
        deployed=resource_names(deployed),
        live=titles,
        title=titles.__getitem__,
    )
    begun = {key for key in declared.part(USERS) if USER.name(key) in unfinished.intents}
    deployed = replace(deployed, passwords=deployed.passwords | begun)
    return AccessBefore(declared, deployed, live, unfinished)


def passwords(access: DeclaredAccess, stack: str) -> tuple[dict[tuple[str, str], str], list[Problem]]:
    """Return the password of each user from the stack's configuration, and the problems with the secrets."""
    found: dict[tuple[str, str], str] = {}
    problems = []
    for key, user in access.part(USERS).items():
        password = _password(user, access.sources(USERS, key)[0].location, stack)
        if isinstance(password, Problem):
            problems.append(password)
        else:
            found[key] = password
    return found, problems


def _password(user: ScramUser, location: Location, stack: str) -> str | Problem:
    if user.password is None:
        return Problem(location, f"user {user.name} has no password: name a secret of the stack", PASSWORD_RULE)
    name = user.password.name
    namespace, _, key = name.rpartition(":")
    config = pulumi.Config(namespace or None)
    value = config.get(key)
    remedy = f"`pulumi config set --secret {name} --stack {stack}`"
    if not value or not value.strip():
        message = f"the password of user {user.name} is the secret {name}, which stack {stack} does not have: {remedy}"
        return Problem(location, f"{message} sets it", PASSWORD_RULE)
    if not pulumi.runtime.is_config_secret(config.full_key(key)):
        message = f"the password of user {user.name}, {name} of stack {stack}, is not encrypted: {remedy}"
        return Problem(location, f"{message} encrypts it", PASSWORD_RULE)
    return value


def _matching(topic: str, literal: Mapping[str, Acl], prefixed: Iterable[Acl]) -> Acl | None:
    by_prefix = (acl for acl in prefixed if topic.startswith(acl.resource_name))
    return literal.get(topic) or next(by_prefix, None) or literal.get(WILDCARD)


def missing_line(missing: Sequence[str], stack: str) -> str:
    """Return a warning about access that is declared and deployed, but gone from the cluster."""
    return (
        f"{shorten(missing)}: declared and deployed, but not on the cluster any more; "
        f"`topicwarden up --refresh --stack {stack}` creates it again"
    )
