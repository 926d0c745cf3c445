"""Predicts who gains and who loses access by a deploy, and the consequences for clients that use it now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kafka_facts.access.authorizer import PROBE_NAME
from topicwarden.kafka_facts.access.operations import SUPPORTED_OPERATIONS, implied_operations
from topicwarden.kinds.group_config.change import requested_groups
from topicwarden.model.access import ACLS, CLUSTER_NAME, DeclaredAccess, LiveAccess, Operation, ResourceType
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import (
    AccessPlan,
    Consequence,
    PrincipalAccess,
    most_severe_first,
)
from topicwarden.model.topic import AllowedChange, allowed_on
from topicwarden.plan.access_change import ACCESS_PARTS, AccessChange, access_change
from topicwarden.plan.access_consequences import ACCESS_CONSEQUENCES, RULE_EVIDENCE
from topicwarden.plan.access_context import AccessContext, OwnClient, StackTopics
from topicwarden.plan.access_effects import EVERYONE_ELSE, Decisions, PrincipalEffect, access_effects, principal_name
from topicwarden.plan.access_evidence import AccessEvidence, gather_access
from topicwarden.plan.earlier_use import EarlierUse
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope


@dataclass(frozen=True)
class AccessPrediction:
    """The plan of access, the allowances that it needs, and what could not be seen.

    ``needed`` has the topic, or the file below ``access/``, that has an allowance.
    """

    plan: AccessPlan
    needed: frozenset[tuple[str, AllowedChange]] = frozenset()
    unseen: tuple[str, ...] = ()


def predict_access(
    cluster: Cluster,
    snapshot: Snapshot,
    declared: DeclaredAccess,
    declarations: Sequence[Declaration],
    deployed: DeployedStack,
    *,
    scope: StackScope = EVERY_TOPIC,
    live: LiveAccess | None = None,
    destroying: bool = False,
    earlier: EarlierUse | None = None,
) -> AccessPrediction | None:
    """Return the change of access; None if the stack neither declares nor has deployed any.

    ``live`` is the access of the cluster; without it, it is read. Who uses it is read only if an ACL changes.
    ``earlier`` has the growth of topics, which only some kinds of access need.
    """
    if declared.empty and deployed.access.empty:
        return None
    live = live or cluster.access(requested_groups(declared, deployed.access))
    change = access_change(declared, deployed.access, live, destroying=destroying)
    visible = live.acls is not None
    evidence = gather_access(cluster, snapshot, change) if visible else AccessEvidence()
    of_rules = {rule: read(cluster, change, earlier, snapshot.cluster_id) for rule, read in RULE_EVIDENCE.items()}
    return judge_access(
        change,
        replace(evidence, of_rules=of_rules),
        stack_topics(declarations, deployed, snapshot),
        own_client(cluster.connection),
        now=snapshot.taken_at,
        scope=scope,
    )


def judge_access(
    change: AccessChange,
    evidence: AccessEvidence,
    topics: StackTopics,
    own: OwnClient,
    *,
    now: int,
    scope: StackScope = EVERY_TOPIC,
) -> AccessPrediction:
    """Return the effects and the consequences of ``change``, as far as ``evidence`` shows them.

    ``now`` is in milliseconds since the epoch.
    """
    today = datetime.fromtimestamp(now / 1000, UTC).date()
    allow = change.deployed.allow if change.destroying else {**change.deployed.allow, **change.declared.allow}
    visible = change.live.acls is not None
    decisions = Decisions(
        change if visible else _without_acls(change),
        _names(change, evidence, topics),
    )
    known = {**evidence.known, ResourceType.TOPIC: {*evidence.known.get(ResourceType.TOPIC, ()), *topics.live}}
    effects = access_effects(decisions, known, _hosts(evidence)) if visible else ()
    context = AccessContext(
        change,
        decisions,
        effects,
        evidence,
        topics,
        {file: allowed_on(words, today) for file, words in allow.items()},
        own,
        scope,
        now,
    )
    consequences = _consequences(context)
    needed = frozenset(context.needed)
    plan = AccessPlan(
        items=change.items,
        principals=principals(effects),
        consequences=most_severe_first(consequences),
        needs=sorted({allowance for _, allowance in needed}),
        unchanged=change.unchanged(),
        foreign=change.foreign(),
    )
    return AccessPrediction(plan, needed, tuple(_unseen(change)))


def _without_acls(change: AccessChange) -> AccessChange:
    return replace(change, declared=replace(change.declared, parts={**change.declared.parts, ACLS: {}}), actions={})


def _hosts(evidence: AccessEvidence) -> frozenset[str]:
    """Return the addresses of all clients that are known."""
    return frozenset(host for group in evidence.groups for host in group.hosts)


def _names(change: AccessChange, evidence: AccessEvidence, topics: StackTopics) -> frozenset[str]:
    """Return the names of all resources that may be judged."""
    return frozenset(
        {
            *(acl.resource_name for acl in change.changed_acls),
            *(name for names in evidence.known.values() for name in names),
            *(name for group in evidence.groups for name in (group.name, *group.topics)),
            *(name for each in evidence.transactions for name in (each.name, *each.topics)),
            *evidence.topics,
            *topics.owners,
            *topics.live,
            CLUSTER_NAME,
            PROBE_NAME,
        }
    )


def _consequences(context: AccessContext) -> list[Consequence]:
    return [consequence for rule in ACCESS_CONSEQUENCES for consequence in rule.evaluate(context)]


def _unseen(change: AccessChange) -> Iterable[str]:
    """Yield the parts of the declared or deployed access that could not be read, with the reason."""
    for part in ACCESS_PARTS:
        concerned = change.declared.part(part.name) or change.deployed.part(part.name)
        if concerned and change.live.part(part.name) is None:
            reason = change.live.missing.get(part.name, "the brokers do not report them")
            yield f"the {part.plural} of the cluster: {reason}"


def stack_topics(declarations: Iterable[Declaration], deployed: DeployedStack, snapshot: Snapshot) -> StackTopics:
    """Return the topics of the stack with what their YAML allows today; a deleted one, what it allowed before."""
    declared = {declaration.topic.name: declaration for declaration in declarations}
    before = {name: allowed_on(allow, snapshot.day) for name, allow in deployed.allow.items()}
    return StackTopics(
        owners={name: declaration.topic.owner for name, declaration in declared.items()},
        locations={name: declaration.locations.at(("access",)) for name, declaration in declared.items()},
        allowed=before | {name: each.topic.allowed(snapshot.day) for name, each in declared.items()},
        live=frozenset(snapshot.topics),
    )


def own_client(connection: Connection) -> OwnClient:
    """Return the principal as which ``connection`` connects, as far as its settings tell it."""
    mechanism = connection.sasl_mechanism
    if mechanism == "PLAIN" or (mechanism or "").startswith("SCRAM"):
        return OwnClient(f"User:{connection.username}", mechanism)
    if mechanism is not None:
        return OwnClient(None, mechanism, f"{mechanism} gets it from a token or a ticket")
    if connection.client_cert is not None:
        return OwnClient(None, None, "it follows from the client certificate and the brokers' rules for it")
    return OwnClient("User:ANONYMOUS")


def principals(effects: Iterable[PrincipalEffect]) -> list[PrincipalAccess]:
    """Return what each principal gains and loses, without what other operations imply."""
    by_principal: dict[str, tuple[list[PrincipalEffect], list[PrincipalEffect]]] = {}
    for effect in effects:
        by_principal.setdefault(effect.principal, ([], []))[0 if effect.gained else 1].append(effect)
    return [
        PrincipalAccess(principal=principal_name(principal), gains=_texts(gains), loses=_texts(loses))
        for principal, (gains, loses) in sorted(
            by_principal.items(), key=lambda each: (each[0] == EVERYONE_ELSE, each[0])
        )
    ]


def _texts(effects: Iterable[PrincipalEffect]) -> list[str]:
    """Return ``Read, Write on Topic orders`` for each resource, sorted."""
    effects = list(effects)
    writes = any((each.resource.type, each.operation) == (ResourceType.TOPIC, Operation.WRITE) for each in effects)
    by_resource: dict[tuple[ResourceType, str], dict[Operation, None]] = {}
    for effect in effects:
        if writes and effect.operation is Operation.IDEMPOTENT_WRITE:
            continue  # Write on a topic includes it (KIP-679)
        key = (effect.resource.type, effect.text.partition(" on ")[2])
        by_resource.setdefault(key, {})[effect.operation] = None
    texts = []
    for (kind, resource), operations in by_resource.items():
        if len(operations) == len(SUPPORTED_OPERATIONS[kind]) > 1:
            texts.append(f"All on {resource}")
            continue
        implied = {other for operation in operations for other in implied_operations(operation, kind)}
        shown = [operation.value for operation in operations if operation not in implied]
        texts.append(f"{', '.join(shown)} on {resource}")
    return sorted(texts)
