"""Judge whether topics and groups are idle, for the checks of an audit and for the usage report."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.timestamps import utc
from topicwarden.model.usage import GroupUse, TopicUse
from topicwarden.usage.use_context import UseContext

_TOOLS: Final = {"share": "kafka-share-groups", "streams": "kafka-streams-groups"}
"""The tools that delete groups, by type of the group."""


@dataclass(frozen=True)
class IdleTopic:
    """A topic whose last use is ``idle_after`` or longer ago, as far as it can be seen.

    - ``since``: the first of the observations since which none saw a use; ``last_used`` may be a later line of a log.
    - ``groups_seen``: all groups were visible in all these observations.
    - ``unread``: the partitions whose log end is not known now.
    - ``again``: the observation before this one saw the same, also so late, so that no clock has jumped.
    - ``keeping``: the groups that have committed offsets; a consumer with ``assign()`` may commit them again and again.
    - ``read_by_observer``: logs have reads by the user of audits, which do not count.
    """

    since: int
    last_used: int
    groups_seen: bool
    unread: tuple[int, ...]
    again: bool
    keeping: Sequence[str]
    read_by_observer: bool

    @property
    def proven(self) -> bool:
        seen = self.groups_seen and not self.unread and self.again
        return seen and not self.keeping and not self.read_by_observer


def idle_topic(live: LiveTopic, use: TopicUse, before: TopicUse | None, context: UseContext) -> IdleTopic | None:
    """Return how a topic is idle by the policy of ``context``; None if it is not, or if the policy exempts it.

    ``before`` is its use without the last observation. Whether the topic is internal is not judged.
    """
    name, policy, since = live.topic.name, context.policy, use.unused_since
    if policy is None or policy.idle_after is None or policy.exempts_topic(name) or use.active:
        return None
    last_used = max([since, *(each.last for each in context.used_by_others(name))])
    if use.observed_at - last_used < policy.idle_after:
        return None
    return IdleTopic(
        since,
        last_used,
        _groups_seen(use, since),
        tuple(number for number in range(live.topic.partitions) if number not in live.extents),
        before is not None and before.observed_at - last_used >= policy.idle_after and before.unused_since == since,
        context.keeping_offsets.get(name, ()),
        context.observed_by_reading(name),
    )


@dataclass(frozen=True)
class IdleGroup:
    """A group whose last use is ``idle_groups_after`` or longer ago, as far as it can be seen.

    - ``topics``: the use of its topics; empty if it has none, or if one of them is not visible.
    - ``groups_seen``: all groups were visible in all observations of its topics since its last use.
    - ``again``: an earlier observation was also so late, so that no clock has jumped.
    - ``proof``: why it is no consumer without members that has nothing to read; empty if it may be one.
    """

    topics: Sequence[TopicUse]
    groups_seen: bool
    again: bool
    proof: str

    @property
    def proven(self) -> bool:
        return bool(self.topics) and self.groups_seen and self.again and bool(self.proof)


def idle_group(
    group: GroupUse,
    uses: Mapping[str, TopicUse],
    previous: Mapping[str, TopicUse],
    period: int,
    unread: Collection[str],
) -> IdleGroup | None:
    """Return how a group has been idle for ``period`` (ms); None if it has not.

    - ``uses`` and ``previous``: the use of topics in all observations, and without the last one.
    - ``unread``: the topics in which the group has a record to read.
    """
    since = group.unused_since
    if group.active or group.observed_at - since < period:
        return None
    topics = [uses[name] for name in sorted(group.topics) if name in uses]
    if len(topics) < len(group.topics):
        topics = []
    before = [previous[each.topic].observed_at for each in topics if each.topic in previous]
    return IdleGroup(
        topics,
        all(_groups_seen(each, since) for each in topics),
        bool(before) and min(before) - since >= period,
        _proof(group, topics, period, unread),
    )


def _proof(group: GroupUse, topics: Sequence[TopicUse], period: int, unread: Collection[str]) -> str:
    if group.last is not None and group.last.after == group.last.until:
        return f"it had members at {utc(group.last.until)}, and has none since"
    for each in topics:
        written = each.last_written
        old = written is None or written.until <= group.observed_at - period
        if old and each.topic in unread:
            at = f", the last one by {utc(written.until)}" if written else ""
            return f"it has not read records of {each.topic}, which were written before that{at}"
    return ""


def _groups_seen(use: TopicUse, since: int) -> bool:
    """Return whether all groups were visible in all observations of the topic since the time ``since``."""
    return use.groups_complete_since is not None and use.groups_complete_since <= since


def deletion_of(group: GroupUse) -> str:
    """Return the command that deletes a group. Clients choose its name, so it is quoted."""
    return f"{_TOOLS.get(group.group_type, 'kafka-consumer-groups')} --delete --group {shlex.quote(group.name)}"
