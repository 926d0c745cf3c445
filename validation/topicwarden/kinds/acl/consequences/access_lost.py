"""``access-lost``: a consumer group, a transactional id or a producer loses access that it uses now.

Brokers report who uses a resource, but not as which principal. A client is one of the principals that may do all that
the client does. If at least one of these loses a part of it, the client counts as losing it. Neither super users nor
the principal of the stack count as principals of clients.

What a client needs follows from its requests (``client_requests``). A group is a client while it has members, or
committed offsets that brokers still keep.

Exact: members, hosts and lag of groups; states of transactional ids. Not visible: consumers that neither join a group
nor commit, and producers without idempotence; only the newest records show these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from topicwarden.kafka.read.transactions import Transaction
from topicwarden.kafka_facts.access.operations import ClientKind, implied_operations
from topicwarden.model.access import Acl, Operation, Resource, ResourceType
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.timestamps import utc
from topicwarden.model.topic import INTERNAL_TOPICS, AllowedChange
from topicwarden.plan.access_context import AccessContext, acl_reasons, verb
from topicwarden.plan.access_effects import (
    EVERYONE_ELSE,
    DecisionChange,
    Decisions,
    PrincipalEffect,
    principal_name,
    resource_text,
)
from topicwarden.plan.change_guard import ChangeGuard
from topicwarden.plan.consequence_text import shorten

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup

KIND = "access-lost"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "a group with members or committed offsets, a transactional id or a producer loses access",
        (AllowedChange.REVOKE_ACCESS,),
        "the client stops; if several principals may be the client, one that loses access is enough",
    ),
    ChangeGuard(
        "a principal loses access that no visible client uses",
        (),
        "a note; if groups or transactional ids are hidden, as in the row above",
    ),
)
_REMEMBERED_MS = 86_400_000
"""``producer.id.expiration.ms``: for how long a broker remembers a producer (Kafka's default)."""
_INVISIBLE = (
    "consumers that neither join a group nor commit, and producers without idempotence, are not visible to Kafka's "
    "Admin API"
)


@dataclass(frozen=True)
class _Use:
    """An operation on a resource that a client needs."""

    operation: Operation
    resource: Resource


@dataclass(frozen=True)
class _Loss:
    """The uses that each of the principals loses that a client may have; ``keepers`` are the others."""

    losers: Mapping[str, tuple[_Use, ...]]
    keepers: frozenset[str]
    acls: frozenset[Acl]

    @property
    def certain(self) -> bool:
        return len(self.losers) == 1 and not self.keepers


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return the clients that lose access, and the principals that lose access which no visible client uses."""
    used: set[str] = set()
    for group in context.evidence.groups:
        if group.in_use and (loss := _loss_of_group(context, group)):
            used |= loss.losers.keys()
            yield _group(context, group, loss)
    for transaction in context.evidence.transactions:
        if loss := _loss(context, _uses_of_transaction(context, transaction), ()):
            used |= loss.losers.keys()
            yield _transaction(context, transaction, loss)
    for topic in sorted(context.evidence.producers.keys() - context.topics.deleted):
        uses = _uses(ClientKind.PRODUCER, Resource(ResourceType.TOPIC, topic))
        if (loss := _loss(context, uses, ())) and (seen := _writers(context, topic)):
            used |= loss.losers.keys()
            yield _producers(context, topic, seen, loss)
    yield from _unused(context, used)


def _loss_of_group(context: AccessContext, group: ConsumerGroup) -> _Loss | None:
    """Return who loses access that members, or consumers with ``assign()``, need; None if nobody does.

    Members are clients that need all assigned topics. Each other topic with committed offsets may have a client of its
    own.
    """
    kind = (
        ClientKind.CONNECT_WORKER if group.worker else ClientKind.SHARE_CONSUMER if group.share else ClientKind.CONSUMER
    )
    own = Resource(ResourceType.GROUP, group.name)
    assigned = {topic for topic, _ in group.assigned}
    clients = [assigned, *({topic} for topic in sorted(group.topics - assigned))] if assigned else [group.topics]
    found = [
        loss
        for topics in clients
        if (loss := _loss(context, _of_remaining(context, kind, own, topics), group.hosts)) is not None
    ]
    return _joined_losses(found)


def _joined_losses(losses: Sequence[_Loss]) -> _Loss | None:
    """Return one loss for several clients of a group; None without any."""
    if len(losses) < 2:
        return losses[0] if losses else None
    losers: dict[str, tuple[_Use, ...]] = {}
    for loss in losses:
        for principal, uses in loss.losers.items():
            losers[principal] = tuple(dict.fromkeys((*losers.get(principal, ()), *uses)))
    keepers = frozenset(name for loss in losses for name in loss.keepers) - losers.keys()
    return _Loss(losers, keepers, frozenset(acl for loss in losses for acl in loss.acls))


def _of_remaining(context: AccessContext, kind: ClientKind, own: Resource, topics: Collection[str]) -> list[_Use]:
    """Return what the client needs on ``own`` and on each topic that stays. Empty if the deploy deletes all of them."""
    remaining = sorted({*topics} - context.topics.deleted)
    if topics and not remaining:
        return []
    resources = [own, *(Resource(ResourceType.TOPIC, topic) for topic in remaining)]
    return [use for resource in resources for use in _uses(kind, resource)]


def _uses(kind: ClientKind, resource: Resource) -> list[_Use]:
    return [_Use(operation, resource) for operation in kind.operations(resource.type)]


def _uses_of_transaction(context: AccessContext, transaction: Transaction) -> list[_Use]:
    own = Resource(ResourceType.TRANSACTIONAL_ID, transaction.name)
    # The coordinator writes the offsets of a transaction: a producer needs no access to __consumer_offsets.
    topics = {*transaction.topics, *_written_by(context, transaction)} - INTERNAL_TOPICS
    return _of_remaining(context, ClientKind.TRANSACTIONAL_PRODUCER, own, topics)


def _written_by(context: AccessContext, transaction: Transaction) -> dict[str, int]:
    """Return the time (ms) of the last record of the transactional id, by topic."""
    return {
        topic: producers.last_written[transaction.producer_id]
        for topic, producers in context.evidence.producers.items()
        if transaction.producer_id in producers.last_written
    }


def _loss(context: AccessContext, uses: Sequence[_Use], hosts: Collection[str]) -> _Loss | None:
    """Return who loses a part of ``uses``; None if nobody does who had all of them.

    ``hosts`` are the addresses of the client, empty if they are not known.
    """
    decisions = context.decisions
    if not any(decisions.changed_on(use.resource) for use in uses):
        return None
    resources = dict.fromkeys(use.resource for use in uses)
    addresses = hosts or {host for resource in resources for host in decisions.hosts(resource)}
    losers: dict[str, tuple[_Use, ...]] = {}
    keepers: set[str] = set()
    acls: set[Acl] = set()
    for principal in sorted(_may_be(decisions, uses, addresses)):
        lost: set[_Use] = set()
        may = False
        for host in addresses:
            for outcomes in _allowed_before(decisions, principal, uses, host):
                may = True
                lost |= {use for use, outcome in zip(uses, outcomes, strict=True) if outcome.lost}
                deciding = {acl for each in outcomes if each.lost for acl in (each.before.acl, each.after.acl)}
                acls |= {acl for acl in deciding if acl is not None and acl in decisions.changed}
        if may and not lost:
            keepers |= {principal} - {context.own.principal}
        elif revoked := tuple(use for use in uses if use in lost and not decisions.first_acl(use.resource)):
            losers[principal] = revoked  # the rest is ``first-acl``
    if not losers:
        return None
    if not acls:
        acls = {acl for lost_uses in losers.values() for use in lost_uses for acl in decisions.changed_on(use.resource)}
    return _Loss(losers, frozenset(keepers), frozenset(acls))


def _may_be(decisions: Decisions, uses: Sequence[_Use], hosts: Collection[str]) -> set[str]:
    """Return the principals that may have all of ``uses``: those that ACLs name, or everyone else.

    If everyone else may not do one of them, only principals that ACLs on its resource name may, and super users.
    """
    named = {use.resource: decisions.named(use.resource) for use in uses}
    principals = {*chain.from_iterable(named.values()), EVERYONE_ELSE}
    for use in sorted(uses, key=lambda use: len(named[use.resource])):
        if not any(_allowed_before(decisions, EVERYONE_ELSE, [use], host) for host in hosts):
            return principals & (named[use.resource] | decisions.super_users)
    return principals


def _allowed_before(
    decisions: Decisions, principal: str, uses: Sequence[_Use], host: str
) -> list[tuple[DecisionChange, ...]]:
    """Return the outcomes of ``uses`` with each of the authorizer's settings that allows all of them before."""
    by_use = []
    settings = {*range(len(decisions.pairs))}
    for use in uses:
        outcomes = decisions.outcomes(principal, use.operation, use.resource, host)
        settings = {each for each in settings if outcomes[each].before.allowed}
        if not settings:
            return []
        by_use.append(outcomes)
    return [tuple(outcomes[each] for outcomes in by_use) for each in settings]


def _group(context: AccessContext, group: ConsumerGroup, loss: _Loss) -> Consequence:
    name = f"{'share ' if group.share else 'streams ' if group.streams else ''}group {group.name}"
    lag = context.evidence.lag.get(group.name)
    hosts = (f"its members connect from {shorten(sorted(group.hosts))}",) if group.hosts else ()
    client = _Client(
        name,
        group_state(group, lag),
        "members and addresses as the coordinator of the group reports them; lag from committed offsets and log ends",
        {"group": group.name, "members": group.members, "lag": lag},
        hosts,
    )
    return _consequence(context, client, loss)


def group_state(group: ConsumerGroup, lag: int | None) -> str:
    """Return ``active, 12 members, lag 0``, as far as it is known."""
    if not group.active:
        return "no members now, and committed offsets that brokers still keep"
    members = "an unknown number of members" if group.members is None else counted(group.members, "member")
    return f"active, {members}" + ("" if lag is None else f", lag {lag:,}")


def _transaction(context: AccessContext, transaction: Transaction, loss: _Loss) -> Consequence:
    written = _written_by(context, transaction)
    last = max(written.values(), default=-1)
    state = (
        f"in a transaction since {utc(transaction.started)}"
        if transaction.ongoing and transaction.started is not None
        else "in a transaction"
        if transaction.ongoing
        else "not in a transaction now"
    )
    wrote = f", last wrote to {shorten(sorted(written))} at {utc(last)}" if last >= 0 else ""
    client = _Client(
        f"the producer with the transactional id {transaction.name}",
        f"{state}{wrote}",
        "state and topics as the transaction coordinator reports them; brokers remember an id for 7 days after its "
        "last use, unless transactional.id.expiration.ms says otherwise",
        {"transactional_id": transaction.name, "state": transaction.state, "last_written": last if last >= 0 else None},
    )
    return _consequence(context, client, loss)


def _writers(context: AccessContext, topic: str) -> str:
    """Return what is known of producers without a transactional id that write to ``topic``; empty if there are none."""
    producers = context.evidence.producers[topic]
    if producers.missing:
        return f"whether anybody writes is not known: {producers.missing}"
    transactional = {each.producer_id for each in context.evidence.transactions}
    others = {each: time for each, time in producers.last_written.items() if each not in transactional}
    if others:
        return f"{counted(len(others), 'producer')}, the last record at {utc(max(others.values()))}"
    live = context.evidence.topics.get(topic)
    times = [extent.latest_timestamp for extent in live.extents.values() if extent.latest_timestamp] if live else []
    newest, remembered = max(times, default=0), max(producers.last_written.values(), default=0)
    if newest > max(remembered, context.now - _REMEMBERED_MS):
        return f"a producer without idempotence, the newest record of {utc(newest)}"
    return ""


def _producers(context: AccessContext, topic: str, seen: str, loss: _Loss) -> Consequence:
    client = _Client(
        f"producers of {topic}",
        seen,
        "producers that the leaders of the partitions remember, and the timestamps of the newest records",
        {"topic": topic},
    )
    return _consequence(context, client, loss)


@dataclass(frozen=True)
class _Client:
    """A client that loses access: its name, its state, and how they were measured."""

    name: str
    state: str
    measured: str
    evidence: dict[str, int | float | str | None]
    reasons: tuple[str, ...] = ()


def _consequence(context: AccessContext, client: _Client, loss: _Loss) -> Consequence:
    losers = sorted(map(principal_name, loss.losers))
    uses = dict.fromkeys(use for lost in loss.losers.values() for use in lost)
    word, preposition = verb(loss.acls)
    return Consequence(
        kind=KIND,
        severity=context.severity(AllowedChange.REVOKE_ACCESS, loss.acls),
        message=f"{word} {_joined(uses)} {preposition} {shorten(losers)} {'stops' if loss.certain else 'may stop'} "
        f"{client.name}: {client.state}",
        because=[
            *acl_reasons(context, loss.acls),
            *client.reasons,
            *_candidates(loss),
            *(f"there may be other clients: {reason}" for reason in _hidden(context, uses)),
        ],
        measured=client.measured,
        remedy=context.remedy(
            AllowedChange.REVOKE_ACCESS, "keep the access until the client has stopped, or has another one", loss.acls
        ),
        evidence={**client.evidence, "principal": ", ".join(losers)},
        location=context.location(loss.acls),
    )


def _joined(uses: Iterable[_Use]) -> str:
    """Return ``Read on Topic orders, Group billing``: topics first, then groups and transactional ids."""
    by_operation: dict[Operation, list[str]] = {}
    for use in sorted(_not_implied(uses), key=lambda use: (use.resource.type is not ResourceType.TOPIC, use.resource)):
        by_operation.setdefault(use.operation, []).append(resource_text(use.resource))
    return ", ".join(f"{operation} on {shorten(names)}" for operation, names in by_operation.items())


_Need = TypeVar("_Need", _Use, PrincipalEffect)


def _not_implied(lost: Iterable[_Need]) -> list[_Need]:
    """Return ``lost`` without the operations that another lost one on the same resource implies."""
    lost = list(lost)
    implied = {(use.resource, each) for use in lost for each in implied_operations(use.operation, use.resource.type)}
    return [use for use in lost if (use.resource, use.operation) not in implied]


def _candidates(loss: _Loss) -> Iterator[str]:
    if loss.certain:
        return
    losers, keepers = (sorted(map(principal_name, each)) for each in (loss.losers, loss.keepers))
    others = f", or {shorten(keepers)}, who keeps the access" if keepers else ""
    yield (
        f"brokers do not report the principal of a client: it may be {shorten(losers)}, who loses the access{others}"
    )


def _unused(context: AccessContext, used: Collection[str]) -> Iterator[Consequence]:
    """Yield what the other principals lose: refused if something hides whether a client uses it, else a note."""
    by_principal: dict[str, list[PrincipalEffect]] = {}
    for effect in context.effects:
        deleted = effect.resource.type is ResourceType.TOPIC and effect.resource.name in context.topics.deleted
        if effect.gained or deleted or context.decisions.first_acl(effect.resource):
            continue
        if effect.principal not in used:
            by_principal.setdefault(effect.principal, []).append(effect)
    for principal, lost in sorted(by_principal.items()):
        acls = context.responsible(lost)
        word, preposition = verb(acls)
        hidden = _hidden(context, lost)
        visible = all((each.resource.type, each.operation) in _VISIBLE for each in lost)
        unused = Severity.NOTE if visible else Severity.DANGER
        known = "no visible client uses it now" if visible else "brokers do not report whether anybody uses it"
        uses = sorted({effect.text for effect in lost if effect.operation in _CLIENTS}) or sorted(
            {effect.text for effect in lost}
        )
        yield Consequence(
            kind=KIND,
            severity=context.severity(AllowedChange.REVOKE_ACCESS, acls) if hidden else unused,
            message=f"{word} {shorten(uses)} {preposition} {principal_name(principal)}: "
            + ("whether a client uses it now is not known" if hidden else known),
            because=[*acl_reasons(context, acls), *hidden],
            measured=_INVISIBLE,
            remedy=context.remedy(AllowedChange.REVOKE_ACCESS, "grant the missing permission, and plan again", acls)
            if hidden
            else "",
            evidence={"principal": principal, "loses": ", ".join(uses)},
            location=context.location(acls),
        )


_CLIENTS = frozenset({Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER, Operation.ALTER_CONFIGS})
"""Operations whose loss says more than that of the operations that they imply."""


_VISIBLE = frozenset(
    {
        (ResourceType.TOPIC, Operation.READ),
        (ResourceType.TOPIC, Operation.WRITE),
        (ResourceType.TOPIC, Operation.DESCRIBE),
        (ResourceType.GROUP, Operation.READ),
        (ResourceType.GROUP, Operation.DESCRIBE),
        (ResourceType.TRANSACTIONAL_ID, Operation.WRITE),
        (ResourceType.TRANSACTIONAL_ID, Operation.DESCRIBE),
        (ResourceType.CLUSTER, Operation.IDEMPOTENT_WRITE),
    }
)
"""What groups, transactional ids and producers show, with the Describe that it implies."""


def _hidden(context: AccessContext, lost: Iterable[_Need]) -> list[str]:
    """Return why some clients of what is ``lost`` may not be visible."""
    evidence = context.evidence
    kinds = {(each.resource.type, each.operation) for each in _not_implied(lost)}
    reasons = []
    if any(kind is ResourceType.GROUP or (kind, operation) in _READS for kind, operation in kinds):
        reasons.append(evidence.groups_missing)
    if any(kind is ResourceType.TRANSACTIONAL_ID or (kind, operation) in _WRITES for kind, operation in kinds):
        reasons.append(evidence.transactions_missing)
    return [reason for reason in reasons if reason]


_READS = {(ResourceType.TOPIC, each) for each in ClientKind.CONSUMER.operations(ResourceType.TOPIC)}
_WRITES = {(ResourceType.TOPIC, each) for each in ClientKind.PRODUCER.operations(ResourceType.TOPIC)}
