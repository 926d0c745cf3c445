"""Assemble the usage report from what observations, declarations and policies say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.access import LiveAccess
from topicwarden.model.message_text import counted
from topicwarden.model.usage import ACTIONS, Interval, LoggedUse, TopicUse, Use, UseAction, UserKind
from topicwarden.model.usage_report import (
    CostShare,
    LogRead,
    TopicUsage,
    TopicUser,
    UsageReport,
    UsedBetween,
)
from topicwarden.usage.cost import cost, growth, replica_bytes, tiered_bytes
from topicwarden.usage.principals import Principals, undeclared_uses
from topicwarden.usage.removable import removable
from topicwarden.usage.usage_facts import UsageFacts
from topicwarden.usage.use_history import too_young


def usage_report(facts: UsageFacts) -> UsageReport:
    """Return the report. Equal facts give equal reports."""
    remembered, context = facts.remembered, facts.context
    policy, logs, principals = context.policy, context.logs, Principals(context)
    uses = {
        name: with_logged(use, context.used_by_others(name))
        for name, use in sorted(remembered.topics.items())
        if name in facts.snapshot.topics and facts.selects(name)
    }
    topics = [_topic(facts, principals, use) for use in uses.values()]
    topics.sort(
        key=lambda topic: (-_cents(topic.cost.per_month if topic.cost else 0), -(topic.replica_bytes or 0), topic.name)
    )
    undeclared = undeclared_uses(uses, principals, facts.declarations)
    return UsageReport(
        topicwarden=facts.version,
        stack=facts.stack,
        cluster_id=facts.snapshot.cluster_id,
        taken_at=facts.snapshot.taken_at,
        observed_since=min((use.observed_since for use in uses.values()), default=facts.snapshot.taken_at),
        patterns=list(facts.patterns),
        scope=list(context.scope.patterns),
        currency=facts.cost_policy.currency if facts.cost_policy else None,
        idle_after_ms=policy.idle_after if policy else None,
        idle_groups_after_ms=policy.idle_groups_after if policy else None,
        unused_access_after_ms=policy.unused_access_after if policy else None,
        topics=topics,
        total=_share("", topics),
        owners=_shares(topics, lambda topic: topic.owner),
        domains=_shares(topics, lambda topic: topic.domain),
        undeclared=list(undeclared),
        removable=removable(facts, uses, {topic.name: topic for topic in topics}, principals),
        logs=[
            LogRead.model_validate(each, from_attributes=True)
            for _, each in sorted((logs.coverage if logs else {}).items())
        ],
        notes=_notes(facts),
    )


def with_logged(use: TopicUse, logged: Iterable[LoggedUse]) -> TopicUse:
    """Return ``use`` with the principals of ``logged``, the uses of the topic in authorizer logs."""
    found: dict[tuple[UseAction, str], Use] = {}
    for each in logged:
        action = ACTIONS[each.operation]
        known = found.get((action, each.principal))
        last = each.last if known is None or known.last is None else max(each.last, known.last.until)
        found[action, each.principal] = Use(
            action,
            UserKind.PRINCIPAL,
            each.principal,
            first_seen=each.first if known is None else min(each.first, known.first_seen),
            last=Interval(last, last),
            hosts=frozenset({each.host}) | (known.hosts if known else frozenset()),
        )
    if not found:
        return use
    return replace(use, users=(*use.users, *(found[key] for key in sorted(found))))


def _topic(facts: UsageFacts, principals: Principals, use: TopicUse) -> TopicUsage:
    live = facts.snapshot.topics[use.topic]
    declaration = facts.declarations.get(use.topic)
    stored, tiered = replica_bytes(live), tiered_bytes(live)
    growing = growth(use.samples, live)
    users = [_user(facts, principals, use.topic, each) for each in use.users]
    users.sort(key=lambda user: (user.declared is not False, not user.active, user.kind, user.name))
    return TopicUsage(
        name=use.topic,
        domain=declaration.topic.domain if declaration else "",
        owner=(declaration.topic.owner or "") if declaration else "",
        declared=declaration is not None,
        topic_id=use.topic_id,
        partitions=len(live.replicas),
        replication_factor=_replication(live),
        replica_bytes=stored,
        tiered_bytes=tiered,
        observed_since=use.observed_since,
        complete_since=use.complete_since,
        last_written=_between(use.last_written),
        last_read=_between(use.last_read),
        growth=growing,
        cost=cost(facts.cost_policy, stored, tiered, growing) if facts.cost_policy else None,
        writers=[user for user in users if user.action is UseAction.WRITE],
        readers=[user for user in users if user.action is UseAction.READ],
    )


def _replication(live: LiveTopic) -> int:
    return max((len(state.replicas) for state in live.replicas), default=0)


def _user(facts: UsageFacts, principals: Principals, topic: str, use: Use) -> TopicUser:
    lag = facts.lags.get((use.name, topic)) if use.kind is UserKind.GROUP else None
    return TopicUser(
        action=use.action,
        kind=use.kind,
        name=use.name,
        group_type=use.group_type,
        members=use.members,
        active=use.active,
        hosts=sorted(use.hosts),
        first_seen=use.first_seen,
        last=_between(use.last),
        lag=None if lag is None else lag.offsets,
        lag_ms=None if lag is None else lag.age_ms(facts.snapshot.taken_at),
        expires_at=None if lag is None else lag.expires_at(facts.snapshot.topics[topic].topic.retention_time),
        declared=principals.declared(use, topic),
        candidates=principals.candidates(use, topic),
    )


def _between(interval: Interval | None) -> UsedBetween | None:
    return None if interval is None else UsedBetween(after=interval.after, until=interval.until)


def _cents(cost: float | None) -> float:
    """Return what topics and shares are sorted by first: their cost in hundredths; equal costs are sorted by bytes."""
    return round(cost or 0, 2)


def _shares(topics: Iterable[TopicUsage], key: Callable[[TopicUsage], str]) -> list[CostShare]:
    by_name: dict[str, list[TopicUsage]] = defaultdict(list)
    for topic in topics:
        by_name[key(topic)].append(topic)
    shares = [_share(name, own) for name, own in by_name.items()]
    return sorted(shares, key=lambda share: (-_cents(share.cost_per_month), -share.replica_bytes, share.name))


def _share(name: str, topics: Sequence[TopicUsage]) -> CostShare:
    costs = [topic.cost.per_month for topic in topics if topic.cost and topic.cost.per_month is not None]
    return CostShare(
        name=name,
        topics=len(topics),
        replica_bytes=sum(topic.replica_bytes or 0 for topic in topics),
        unknown_sizes=sum(topic.replica_bytes is None for topic in topics),
        tiered_bytes=sum(topic.tiered_bytes or 0 for topic in topics),
        unknown_tiered=sum(topic.tiered_bytes is None for topic in topics),
        cost_per_month=round(sum(costs), 4) if costs else None,
    )


def _notes(facts: UsageFacts) -> list[str]:
    hidden = sorted(topic for topic in facts.snapshot.hidden if facts.selects(topic))
    notes = []
    if hidden:
        topics = counted(len(hidden), "declared topic")
        notes.append(f"not visible: {topics} (Describe on Topic): {', '.join(hidden[:5])}")
    notes += [f"not visible: {part}" for part in dict.fromkeys((*facts.missing, *facts.remembered.unseen))]
    notes += [f"not visible: {reason}" for reason in _hidden_access(facts.context.live)]
    notes += [*facts.remembered.notes, *(facts.context.logs.notes if facts.context.logs else ())]
    if facts.context.policy is None:
        notes.append("policies have no usage: block for this stack, so nothing is reported as idle or unused")
    notes += too_young(facts.context.policy, facts.remembered)
    times = [use.observed_since == use.observed_at for use in facts.remembered.topics.values()]
    if times and all(times):
        notes.append("this is the first observation: who wrote and committed shows from the second report on")
    return notes


def _hidden_access(live: LiveAccess | None) -> list[str]:
    return [] if live is None or "acls" not in live.missing else [f"the ACLs ({live.missing['acls']})"]
