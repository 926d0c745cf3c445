"""The topics, groups and ACLs that nobody uses, with the change that would remove each. A person decides."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from topicwarden.kafka.read.group_lags import unread_groups
from topicwarden.kafka_facts.access.roles import NamePattern
from topicwarden.model.access import ANY_PRINCIPAL, AccessSource, Acl, Operation, PermissionType, Resource, ResourceType
from topicwarden.model.message_text import counted
from topicwarden.model.timestamps import utc
from topicwarden.model.topic import AllowedChange
from topicwarden.model.units import duration_text
from topicwarden.model.usage import ACTIONS, DAY_MS, GroupUse, Interval, TopicUse, UseAction
from topicwarden.model.usage_report import Removable, TopicUsage
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.specs.resolve import Declaration
from topicwarden.usage.idleness import IdleGroup, IdleTopic, deletion_of, idle_group, idle_topic
from topicwarden.usage.principals import Principals
from topicwarden.usage.usage_facts import UsageFacts

_ORDER: Final = ("topic", "group", "acl")


def removable(
    facts: UsageFacts, uses: Mapping[str, TopicUse], topics: Mapping[str, TopicUsage], principals: Principals
) -> list[Removable]:
    """Return what could go by the periods of the policy, what saves most first; nothing without a policy.

    ``uses`` and ``topics`` are those of the report.
    """
    policy = facts.context.policy
    if policy is None:
        return []
    found = [
        *_idle_topics(facts, uses, topics),
        *_idle_groups(facts, policy),
        *_unused_access(facts, uses, principals, policy),
    ]
    return sorted(
        found,
        key=lambda each: (-(each.saves_per_month or 0), -(each.frees_bytes or 0), _ORDER.index(each.kind), each.name),
    )


def _idle_topics(
    facts: UsageFacts, uses: Mapping[str, TopicUse], topics: Mapping[str, TopicUsage]
) -> Iterator[Removable]:
    for name, use in uses.items():
        live, before = facts.snapshot.topics[name], facts.remembered.previous.get(name)
        idle = None if name in facts.internal else idle_topic(live, use, before, facts.context)
        if idle is None:
            continue
        declaration = facts.declarations.get(name)
        yield Removable(
            kind="topic",
            name=name,
            topics=[name],
            proven=idle.proven,
            reason=f"no write, no commit and no active reader for at least {_days(use.observed_at - idle.last_used)}; "
            f"readers without a group cannot be seen{''.join(f'; {each}' for each in _doubts(idle))}",
            unused_since=idle.last_used,
            yaml=[] if declaration is None else _deletion(declaration),
            command="" if declaration else f"kafka-topics --delete --topic {_only(name)}",
            location=None if declaration is None else declaration.locations.own.at(()),
            frees_bytes=topics[name].replica_bytes,
            saves_per_month=_saved(topics[name]),
        )


def _doubts(idle: IdleTopic) -> Iterator[str]:
    """Yield why it is not proven that a topic is idle, as far as another report does not settle it."""
    if not idle.groups_seen:
        yield "groups that this user does not see may read it"
    if idle.unread:
        yield f"the log ends of {counted(len(idle.unread), 'partition')} are not known now"
    if idle.keeping:
        yield f"group {idle.keeping[0]} has committed offsets, and a consumer with assign() may commit them again"


def _only(topic: str) -> str:
    """Return the argument of ``kafka-topics --topic``, a regular expression, for this topic alone."""
    return shlex.quote(topic.replace(".", r"\."))  # names have no other special character


def _saved(topic: TopicUsage) -> float | None:
    """Return what a topic that nobody uses costs: only its storage."""
    parts = [] if topic.cost is None else [topic.cost.storage, topic.cost.tiered]
    known = [part for part in parts if part is not None]
    return round(sum(known), 4) if known else None


def _deletion(declaration: Declaration) -> list[str]:
    file = declaration.locations.own.at(()).file
    steps = [f"delete the declaration of {declaration.topic.name} in {file}, and deploy"]
    if any(each.change == "delete" for each in declaration.topic.allow):
        return steps
    return [f"add {AllowedChange.DELETE.line} to {declaration.topic.name} in {file}, and deploy", *steps]


def _idle_groups(facts: UsageFacts, policy: UsagePolicy) -> Iterator[Removable]:
    period, remembered, entries = policy.idle_groups_after, facts.remembered, _entries_of_groups(facts)
    if period is None:
        return
    for name, group in sorted(remembered.groups.items()):
        lags = [lag for topic in group.topics if (lag := facts.lags.get((name, topic)))]
        unread = [lag.topic for lag in lags if unread_groups([lag])]
        idle = idle_group(group, remembered.topics, remembered.previous, period, unread)
        if idle is None or policy.exempts_group(name) or not _of_report(group, facts):
            continue
        yield Removable(
            kind="group",
            name=name,
            topics=sorted(group.topics),
            proven=idle.proven,
            reason=f"no commit and no member for at least {_days(group.observed_at - group.unused_since)}"
            f"{''.join(f'; {each}' for each in _doubts_of_group(idle))}",
            unused_since=group.unused_since,
            yaml=[
                f"delete its entry in {source.description}, at {source.location}" for source in entries.get(name, ())
            ],
            command=deletion_of(group),
            location=next((source.location for source in entries.get(name, ())), None),
        )


def _doubts_of_group(idle: IdleGroup) -> Iterator[str]:
    """Yield why it is not proven that a group is idle, as far as another report does not settle it."""
    if not idle.topics:
        yield "no topic of it was observed"
    if not idle.groups_seen:
        yield "groups were not visible all the time"
    if not idle.proof:
        yield "it may be a consumer that assigns its partitions itself, and has nothing to read"


def _of_report(group: GroupUse, facts: UsageFacts) -> bool:
    """Return whether the group is of the stack, and all its topics are in the report."""
    if not facts.context.scope.owns_name(ResourceType.GROUP, NamePattern(group.name)):
        return False
    named = [topic for topic in group.topics if topic in facts.snapshot.topics]
    return all(map(facts.selects, named)) if named else not facts.patterns and not facts.context.scope.patterns


def _entries_of_groups(facts: UsageFacts) -> dict[str, list[AccessSource]]:
    """Return the declarations of topics that name each group."""
    found: dict[str, list[AccessSource]] = {}
    for acl, sources in sorted(facts.context.declared.acls.items()):
        if acl.resource_type is ResourceType.GROUP and not acl.is_pattern and acl.operation is Operation.READ:
            found.setdefault(acl.resource_name, []).extend(each for each in sources if each.topic is not None)
    return found


def _unused_access(
    facts: UsageFacts, uses: Mapping[str, TopicUse], principals: Principals, policy: UsagePolicy
) -> Iterator[Removable]:
    """Yield the declared access of single topics that no observation and no log shows to be used.

    Complete logs may end up to a day ago, so they prove it for the period until then.
    """
    if policy.unused_access_after is None:
        return
    until = facts.snapshot.taken_at
    if facts.context.logs is not None and not facts.incomplete_logs:
        until = min([until, *(each.last for each in facts.context.logs.coverage.values())])
    since = until - policy.unused_access_after
    for acl, sources in sorted(facts.context.declared.acls.items()):
        use = uses.get(acl.resource_name)
        if use is None or not _is_grant(acl) or _was_used(acl, use, principals, since):
            continue
        unchanged = use.access_unchanged_since
        if use.observed_since > since or unchanged is None or unchanged > since:
            continue
        for source in sources:
            if source.topic == use.topic:
                yield _unused(acl, source, Interval(since, until), facts)


def _is_grant(acl: Acl) -> bool:
    allows = acl.permission is PermissionType.ALLOW and acl.operation in ACTIONS
    return allows and not acl.is_pattern and acl.resource_type is ResourceType.TOPIC


def _was_used(acl: Acl, use: TopicUse, principals: Principals, since: int) -> bool:
    """Return whether any use since the time ``since`` can be by the principal of the ACL."""
    action = ACTIONS[acl.operation]
    # An ACL allows Describe as well, so any operation of the principal counts.
    for each in principals.context.logged.get(Resource(ResourceType.TOPIC, use.topic), ()):
        if each.allowed and each.last >= since and acl.principal in (ANY_PRINCIPAL, each.principal):
            return True
    for user in use.users:
        recent = user.active or (user.last is not None and user.last.until >= since)
        if user.action is action and recent:
            candidates = principals.candidates(user, use.topic)
            if candidates is None or acl.principal in candidates or ANY_PRINCIPAL in (acl.principal, *candidates):
                return True
    written = use.last_written is not None and use.last_written.until >= since
    # A producer without idempotence has no name, so any principal can be the one that wrote.
    return action is UseAction.WRITE and written


def _unused(acl: Acl, source: AccessSource, period: Interval, facts: UsageFacts) -> Removable:
    verb = "reads" if acl.operation is Operation.READ else "writes"
    proven = f", and in no authorizer log, until {utc(period.until)}"
    why = f"; this is no proof: {facts.incomplete_logs}" if facts.incomplete_logs else proven
    return Removable(
        kind="acl",
        name=str(acl),
        topics=[acl.resource_name],
        proven=not facts.incomplete_logs,
        reason=f"nothing that {acl.principal} {verb} was seen for {_days(period.until - period.after)}{why}",
        unused_since=period.after,
        yaml=[
            f"delete the entry of {acl.principal} in {source.description}, at {source.location}",
            f"add {AllowedChange.REVOKE_ACCESS.line} to the topic, and deploy",
        ],
        location=source.location,
    )


def _days(period: int) -> str:
    return duration_text(period - period % DAY_MS) if period >= DAY_MS else duration_text(period)
