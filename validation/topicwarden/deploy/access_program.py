"""The program's part about access: what it reads before the deploy, and what it registers with the engine."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from topicwarden.deploy.access_state import WITH_SECRETS, resource_names
from topicwarden.kafka.connect.stack_connection import NO_PULUMI
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kinds.access_resource import AccessBefore, SecretProperty
from topicwarden.kinds.announced_writes import Intent, unfinished_writes
from topicwarden.kinds.group_config.change import requested_groups
from topicwarden.kinds.scram_user.resource import as_refreshed, written_since
from topicwarden.model.access import AccessKey, DeclaredAccess, DeployedAccess
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.problem import Location, Problem
from topicwarden.plan.access_change import ACCESS_PARTS
from topicwarden.plan.consequence_text import shorten


def access_before(
    cluster: Cluster,
    intents: Mapping[str, Intent],
    declared: DeclaredAccess,
    deployed: DeployedAccess,
    *,
    refreshed: bool = False,
) -> AccessBefore:
    """Return the access before the deploy; reads nothing from the cluster if the stack has none.

    ``intents`` are those of earlier deploys. A password that one was about to write when it was killed counts as
    written. ``refreshed``: the engine has read the access into the state first.
    """
    if declared.empty and deployed.empty and not intents:
        return AccessBefore(declared, deployed, refreshed=refreshed)
    live = cluster.access(requested_groups(declared, deployed))
    if refreshed:
        deployed = as_refreshed(deployed, live)
    if not intents:
        # The names of ten thousands of live ACLs take a while.
        return AccessBefore(declared, deployed, live, refreshed=refreshed)
    titles = resource_names(live)
    unfinished = unfinished_writes(
        PlanSection.ACCESS,
        intents,
        declared=resource_names(declared),
        deployed=resource_names(deployed),
        live=titles,
        # Names do not tell their part, so a part that could not be read may have any of them.
        unseen=intents if any(live.part(part.name) is None for part in ACCESS_PARTS) else (),
        title=titles.__getitem__,
    )
    begun = {
        key
        for kind, _ in WITH_SECRETS
        for key in declared.part(kind.part)
        if kind.name(key) in unfinished.intents and kind.name(key) in titles
    }
    since = written_since(deployed, live, intents)
    deployed = replace(
        deployed,
        passwords=deployed.passwords | begun,
        iterations={**deployed.iterations, **{key: number for key, (_, number) in since.items()}},
    )
    announced = dict.fromkeys((name for name, _ in since.values()), Intent.CREATE)
    unfinished = replace(unfinished, intents={**unfinished.intents, **announced})
    return AccessBefore(declared, deployed, live, unfinished, refreshed)


def missing_line(access: AccessBefore, stack: str, *, reverts: bool) -> str:
    """Return a warning about what is declared and in Pulumi's state, but not on the cluster; empty if all is there.

    ``reverts``: the deploy refreshes the state first, so it creates what is missing.
    """
    missing = sorted(
        part.title(key)
        for part in ACCESS_PARTS
        if (live := access.live.part(part.name)) is not None
        for key in access.declared.part(part.name).keys() & access.deployed.part(part.name).keys() - live.keys()
    )
    if not missing:
        return ""
    creates = "this deploy" if reverts else f"`topicwarden up --refresh --stack {stack}`"
    return f"{shorten(missing)}: declared and deployed, but not on the cluster any more; {creates} creates it again"


def secrets(access: DeclaredAccess, stack: str) -> tuple[dict[AccessKey, str], list[Problem]]:
    """Return the secret of each entry that has one from the stack's configuration, and the problems with secrets.

    The mechanisms of a user have the same secret, so the same problem. The last one says how to get ``pulumi``.
    """
    found: dict[AccessKey, str] = {}
    problems: dict[Problem, None] = {}
    for kind, of_kind in WITH_SECRETS:
        for key, value in access.part(kind.part).items():
            secret = _secret(of_kind, value, access.sources(kind.part, key)[0].location, stack)
            if isinstance(secret, Problem):
                problems[secret] = None
            else:
                found[key] = secret
    if problems and shutil.which("pulumi") is None:
        last, _ = problems.popitem()
        problems[replace(last, message=f"{last.message}; {NO_PULUMI}")] = None
    return found, [*problems]


def _secret(kind: SecretProperty, entry: Any, location: Location, stack: str) -> str | Problem:
    word, owner, reference = kind.word, kind.owner(entry), kind.reference(entry)
    if reference is None:
        return Problem(location, f"{owner} has no {word}: name a secret of the stack", word)
    name = reference.name
    namespace, _, key = name.rpartition(":")
    config = pulumi.Config(namespace or None)
    value = config.get(key)
    remedy = f"`pulumi config set --secret {name} --stack {stack}`"
    if not value or not value.strip():
        message = f"the {word} of {owner} is the secret {name}, which stack {stack} does not have: {remedy}"
        return Problem(location, f"{message} sets it", word)
    if not pulumi.runtime.is_config_secret(config.full_key(key)):
        message = f"the {word} of {owner}, {name} of stack {stack}, is not encrypted: {remedy}"
        return Problem(location, f"{message} encrypts it", word)
    return value
