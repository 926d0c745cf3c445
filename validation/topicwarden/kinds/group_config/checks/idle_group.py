"""A consumer group is used.

The check applies with ``idle_groups_after`` in the policy ``usage``, from the time on at which observations go back
that far. It judges groups with committed offsets that are in the scope of the stack, with all their topics, and do not
match ``exempt_groups``.

**fail**: two observations, each ``idle_groups_after`` or longer after the last use, saw no member of the group, and no
observation since that use saw a higher committed offset. All groups were visible all the time. And the group cannot be
a consumer without members that has nothing to read: it had members before, or it has not read committed records that
were written ``idle_groups_after`` ago or earlier. **suspect**: one observation only, so the clock of the machine that
audits may have jumped; the next audit settles it. **undecidable**: a consumer that assigns its partitions itself has no
member, and may commit the same offset again and again, which brokers do not show; or groups were not visible all the
time.

Example: ``group billing-old has not been used for 31 d``; the service was renamed.

Confirm: ``kafka-consumer-groups --describe --group G --state`` prints the state and the members;
``kafka-consumer-groups --describe --group G`` prints the same offsets again.

Remedy: ask the owner of its topics; then delete it with ``kafka-consumer-groups --delete --group G``, or
``kafka-share-groups`` or ``kafka-streams-groups`` by its type, and remove its declaration.

Prevent: delete the group together with the service; do not raise ``offsets.retention.minutes`` for all groups.

Source: KIP-211, ``GroupMetadata.expiredOffsets``: brokers delete the offsets of a group without members after
``offsets.retention.minutes``.
"""

from collections.abc import Iterable

from topicwarden.audit.access_check import AccessResult, AuditedAccess
from topicwarden.kafka_facts.access.roles import NamePattern
from topicwarden.model.access import ResourceType
from topicwarden.model.message_text import counted
from topicwarden.model.timestamps import utc
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.usage import GroupUse
from topicwarden.model.verdict import Verdict
from topicwarden.specs.write.topic_access import flow
from topicwarden.usage.idleness import IdleGroup, deletion_of, idle_group

_SHOWN = 3


def applies(access: AuditedAccess) -> bool:
    period = access.usage.idle_groups_after if access.usage else None
    return period is not None and access.use.observed_ms >= period


def judge(access: AuditedAccess) -> Iterable[AccessResult]:
    policy = access.usage
    period = policy.idle_groups_after if policy else None
    if policy is None or period is None:
        return
    hidden = []
    for name, group in sorted(access.use.groups.items()):
        unread = [topic for topic in group.topics if name in access.unread.get(topic, ())]
        idle = idle_group(group, access.use.topics, access.use.previous, period, unread)
        owned = access.scope.owns_name(ResourceType.GROUP, NamePattern(name)) and all(
            map(access.scope.owns, group.topics)
        )
        if idle is None or not idle.topics or not owned or policy.exempts_group(name):
            continue
        if idle.groups_seen:
            yield _result(group, idle, period)
        else:
            hidden.append(name)
    if hidden:
        yield AccessResult(
            Verdict.UNDECIDABLE,
            f"{counted(len(hidden), 'group')} may be unused, but groups were not visible all the time: "
            f"{', '.join(hidden[:_SHOWN])}{', …' if len(hidden) > _SHOWN else ''}",
            remedy="grant Describe on the Cluster resource, and on all groups",
        )


def _result(group: GroupUse, idle: IdleGroup, period: int) -> AccessResult:
    now, since, names = group.observed_at, group.unused_since, sorted(group.topics)
    late = Verdict.FAIL if idle.again else Verdict.SUSPECT
    return AccessResult(
        late if idle.proof else Verdict.UNDECIDABLE,
        f"{f'{group.group_type} group'.strip()} {group.name} has not been used for {duration_text(now - since)}: no "
        f"member, and no later offset committed, since {utc(since)}",
        because=(
            f"it has offsets of {', '.join(names[:_SHOWN])}{', …' if len(names) > _SHOWN else ''}",
            f"idle_groups_after is {DURATION.text(period)}",
            idle.proof or "it may be a consumer that assigns its partitions itself, and has nothing to read",
            *(() if idle.again or not idle.proof else ("only this observation is so late, and a clock may be wrong",)),
        ),
        remedy=f"if nobody needs it, delete it: `{deletion_of(group)}`; or exempt it in a policy: "
        f"`usage: {{exempt_groups: {flow([group.name])}}}`",
        evidence={
            "group": group.name,
            "type": group.group_type,
            "unused_since": since,
            "unused_ms": now - since,
            "topics": len(names),
        },
    )
