"""The topics, groups and ACLs that nobody uses, with the change that would remove each. A person decides."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from topicwarden.kafka_facts.access.roles import NamePattern
from topicwarden.model.access import ANY_PRINCIPAL, AccessSource, Acl, Operation, PermissionType, Resource, ResourceType
from topicwarden.model.topic import AllowedChange
from topicwarden.model.units import duration_text
from topicwarden.model.usage import ACTIONS, DAY_MS, GroupUse, TopicUse, UseAction, keeping_offsets
from topicwarden.model.usage_report import Removable, TopicUsage
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.specs.resolve import Declaration
from topicwarden.usage.principals import Principals
from topicwarden.usage.usage_facts import UsageFacts

_TOOLS: Final = {"share": "kafka-share-groups", "streams": "kafka-streams-groups"}
"""The tools that delete groups, by type of the group."""
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
        *_idle_topics(facts, uses, topics, policy),
        *_idle_groups(facts, policy),
        *_unused_access(facts, uses, principals, policy),
    ]
    return sorted(
        found,
        key=lambda each: (-(each.saves_per_month or 0), -(each.frees_bytes or 0), _ORDER.index(each.kind), each.name),
    )


def _idle_topics(
    facts: UsageFacts, uses: Mapping[str, TopicUse], topics: Mapping[str, TopicUsage], policy: UsagePolicy
) -> Iterator[Removable]:
    now, keeping_by_topic = facts.snapshot.taken_at, keeping_offsets(facts.remembered.groups.values())
    for name, use in uses.items():
        if policy.idle_after is None or policy.exempts_topic(name) or name in facts.internal or use.active:
            continue
        logged = max((user.last.until for user in use.users if user.last is not None), default=0)
        since, declaration = max(use.unused_since, logged), facts.declarations.get(name)
        if now - since < policy.idle_after:
            continue
        visible = use.groups_complete_since is not None and use.groups_complete_since <= since
        unseen = "" if visible else "; groups that this user does not see may read it"
        keeping = keeping_by_topic.get(name, ())
        if keeping:
            unseen += f"; group {keeping[0]} has committed offsets, and a consumer with assign() may commit them again"
        yield Removable(
            kind="topic",
            name=name,
            topics=[name],
            proven=visible
            and not keeping
            and not facts.context.observed_by_reading(name)
            and _was_unused_before(facts, [name], since, policy.idle_after),
            reason=f"no write, no commit and no active reader for at least {_days(now - since)}; readers without a "
            f"group cannot be seen{unseen}",
            unused_since=since,
            yaml=[] if declaration is None else _deletion(declaration),
            command="" if declaration else f"kafka-topics --delete --topic {_only(name)}",
            location=None if declaration is None else declaration.locations.own.at(()),
            frees_bytes=topics[name].replica_bytes,
            saves_per_month=_saved(topics[name]),
        )


def _only(topic: str) -> str:
    """Return the argument of ``kafka-topics --topic``, a regular expression, for this topic alone."""
    return shlex.quote(topic.replace(".", r"\."))  # names have no other special character


def _was_unused_before(facts: UsageFacts, topics: Iterable[str], since: int, period: int) -> bool:
    """Return whether the observation before this one also saw no use for ``period`` (ms), so that no clock jumped."""
    before = [facts.remembered.previous.get(topic) for topic in topics]
    return all(each is not None and each.observed_at - since >= period for each in before)


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
    entries, now = _entries_of_groups(facts), facts.snapshot.taken_at
    for name, group in sorted(facts.remembered.groups.items()):
        if policy.idle_groups_after is None or policy.exempts_group(name) or group.active:
            continue
        since = group.unused_since
        if now - since < policy.idle_groups_after or group.observed_at < now or not _of_report(group, facts):
            continue
        yield Removable(
            kind="group",
            name=name,
            topics=sorted(group.topics),
            proven=_had_members(group) and _was_unused_before(facts, group.topics, since, policy.idle_groups_after),
            reason=f"no commit and no member for at least {_days(now - since)}",
            unused_since=since,
            yaml=[
                f"delete its entry in {source.description}, at {source.location}" for source in entries.get(name, ())
            ],
            command=f"{_TOOLS.get(group.group_type, 'kafka-consumer-groups')} --delete --group {shlex.quote(name)}",
            location=next((source.location for source in entries.get(name, ())), None),
        )


def _had_members(group: GroupUse) -> bool:
    """Return whether its last use was by members. A consumer without members may commit the same offset again."""
    return group.last is not None and group.last.after == group.last.until


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
    """Yield the declared access of single topics that no observation and no log shows to be used."""
    if policy.unused_access_after is None:
        return
    now = facts.snapshot.taken_at
    since = now - policy.unused_access_after
    for acl, sources in sorted(facts.context.declared.acls.items()):
        use = uses.get(acl.resource_name)
        if use is None or not _is_grant(acl) or _was_used(acl, use, principals, since):
            continue
        unchanged = use.access_unchanged_since
        if use.observed_since > since or unchanged is None or unchanged > since:
            continue
        for source in sources:
            if source.topic == use.topic:
                yield _unused(acl, source, use.topic, since, facts)


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


def _unused(acl: Acl, source: AccessSource, topic: str, since: int, facts: UsageFacts) -> Removable:
    verb = "reads" if acl.operation is Operation.READ else "writes"
    period = _days(facts.snapshot.taken_at - since)
    why = f"; this is no proof: {facts.incomplete_logs}" if facts.incomplete_logs else ", and in no authorizer log"
    return Removable(
        kind="acl",
        name=str(acl),
        topics=[topic],
        proven=not facts.incomplete_logs,
        reason=f"nothing that {acl.principal} {verb} was seen for {period}{why}",
        unused_since=since,
        yaml=[
            f"delete the entry of {acl.principal} in {source.description}, at {source.location}",
            f"add {AllowedChange.REVOKE_ACCESS.line} to the topic, and deploy",
        ],
        location=source.location,
    )


def _days(period: int) -> str:
    return duration_text(period - period % DAY_MS) if period >= DAY_MS else duration_text(period)
