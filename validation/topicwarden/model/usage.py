"""The use of topics, as observations of a cluster have shown it.

An observation is an audit or a usage report: it sees consumer groups, transactions, producers and log ends at one time.
Times are milliseconds since the epoch, sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

from topicwarden.model.access import Operation, Resource, ResourceType

DAY_MS: Final = 86_400_000


class UseAction(StrEnum):
    """The two ways in which a client uses a topic."""

    READ = "read"
    WRITE = "write"


class UserKind(StrEnum):
    """The kinds of names by which users of topics are known."""

    GROUP = "group"
    """A group with members or committed offsets, of any type."""
    TRANSACTIONAL_ID = "transactional-id"
    """A transactional producer."""
    PRODUCER_ID = "producer-id"
    """A producer with idempotence. Brokers only know its number."""
    PRINCIPAL = "principal"
    """A principal in the authorizer logs of the brokers."""


OPERATIONS: Final = {UseAction.READ: Operation.READ, UseAction.WRITE: Operation.WRITE}
"""The operation that a client needs on the topic, and on the group or transactional id by which it is known."""
ACTIONS: Final = {operation: action for action, operation in OPERATIONS.items()}
NAMED_BY: Final = {
    UserKind.GROUP: ResourceType.GROUP,
    UserKind.TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
}
"""The type of the resource that is the name of a user. Users of other kinds are no resource of Kafka's ACLs."""


@dataclass(frozen=True, order=True)
class Interval:
    """Something happened after the observation at ``after``, and no later than the one at ``until``.

    Both are equal if the time itself is known.
    """

    after: int
    until: int


@dataclass(frozen=True)
class Use:
    """One user of one topic, as observations have shown it.

    - ``first_seen``: the first observation that saw the user at all.
    - ``last``: the last use; None if no observation saw a use, only what an earlier use left: committed offsets that
      did not move.
    - ``active``: the last observation saw it using the topic: members with this topic, or an ongoing transaction.
    - ``group_type``: ``classic``, ``consumer`` (KIP-848), ``share`` (KIP-932) or ``streams`` (KIP-1071); empty if it is
      no group, or if the brokers do not report it.
    - ``hosts``: the addresses that it connected from, as far as they are known.
    - ``moves``: the last two intervals, the oldest first, in which it committed a higher offset or wrote. Unlike
      ``last``, they do not depend on ``active``.
    """

    action: UseAction
    kind: UserKind
    name: str
    first_seen: int
    last: Interval | None = None
    active: bool = False
    group_type: str = ""
    members: int | None = None
    hosts: frozenset[str] = frozenset()
    moves: tuple[Interval, ...] = ()


class UseSample(NamedTuple):
    """A topic at the last observation of one day: the sum of its log ends, and its bytes on all replicas.

    ``replica_bytes`` is None if the brokers did not report all sizes.
    """

    taken_at: int
    log_ends: int
    replica_bytes: int | None


@dataclass(frozen=True)
class TopicUse:
    """The use of one topic, from all observations. A topic that was created again has no earlier ones.

    - ``observed_since`` and ``observed_at``: the first and the last observation.
    - ``last_written``: when log ends last moved; None if no observation saw them move.
    - ``last_read``: when a group last committed or was active; None if no observation saw it.
    - ``users``: who read and wrote, by what they are known by.
    - ``samples``: one for each day, the oldest first.
    - ``complete_since``: every observation at or after this time saw all groups and all producers of the topic; None if
      the last one did not.
    - ``access_unchanged_since``: the first of the observations since which all saw the same declared access of the
      topic and of those who may use it, and, as far as they are visible, the same live ACLs of the topic. A use
      happened under it if ``use.last.after >= access_unchanged_since``.
    - ``access_seen_again``: the second of these observations; None if there is only one.
    - ``groups_complete_since``, ``producers_complete_since``, ``log_ends_complete_since``: as ``complete_since``, for
      each of them alone.
    """

    topic: str
    topic_id: str
    observed_since: int
    observed_at: int
    last_written: Interval | None = None
    last_read: Interval | None = None
    users: tuple[Use, ...] = ()
    samples: tuple[UseSample, ...] = ()
    complete_since: int | None = None
    groups_complete_since: int | None = None
    producers_complete_since: int | None = None
    log_ends_complete_since: int | None = None
    access_unchanged_since: int | None = None
    access_seen_again: int | None = None

    @property
    def active(self) -> bool:
        """True if the last observation saw a user use the topic."""
        return any(user.active for user in self.users)

    @property
    def unused_since(self) -> int:
        """The time (ms) of the first observation since which no observation saw any use; the last one if it did.

        Between this time and ``observed_at``, log ends and committed offsets were equal in every observation.
        """
        uses = [last.until for last in (self.last_written, self.last_read) if last is not None]
        return max([self.observed_since, *uses])

    def under_unchanged_access(self, use: Use) -> bool:
        """Return whether ``use`` happened while observations saw the same declared access of the topic as the last."""
        since = self.access_unchanged_since
        return use.last is not None and since is not None and use.last.after >= since


@dataclass(frozen=True)
class GroupUse:
    """A group in all observations, whatever it reads.

    - ``observed_since`` and ``observed_at``: the first and the last observation that saw it.
    - ``last``: when it last committed or had members; None if no observation saw it.
    - ``active``: the last observation saw members.
    - ``topics``: the topics for which it has committed offsets, or which its members read now.
    """

    name: str
    group_type: str
    observed_since: int
    observed_at: int
    last: Interval | None = None
    active: bool = False
    topics: frozenset[str] = frozenset()

    @property
    def unused_since(self) -> int:
        """The time (ms) of the first observation since which no observation saw any use; the last one if it did."""
        return max(self.observed_since, self.last.until if self.last else 0)

    @property
    def keeps_offsets(self) -> bool:
        """True if brokers may still keep offsets that a consumer commits again and again without a member.

        They delete the offsets of a group without members ``offsets.retention.minutes`` after the last commit, and so
        keep those of a consumer with ``assign()`` that has nothing to read. Share groups have no such consumers.
        """
        return not self.active and self.group_type != "share"


def keeping_offsets(groups: Iterable[GroupUse]) -> dict[str, list[str]]:
    """Return the names of the groups that keep offsets of each topic (``keeps_offsets``), sorted."""
    found: dict[str, list[str]] = {}
    for group in sorted(groups, key=lambda group: group.name):
        for topic in group.topics if group.keeps_offsets else ():
            found.setdefault(topic, []).append(group.name)
    return found


@dataclass(frozen=True)
class LoggedUse:
    """Equal decisions of the authorizers in the logs of the brokers, counted.

    - ``resource``: its name is empty if a broker asked about any resource of the type, which it does for a producer id.
    - ``rule``: the ACL that decided, or another reason, in the words of ``kafka_facts/access/authorizer.py``;
      empty in logs of ``AclAuthorizer``, which do not say it.
    - ``first`` and ``last``: the times of the first and the last of these lines.
    - ``request``: the request, such as ``Produce`` or ``Fetch``. Read on a topic also allows requests that read no
      record: ``DescribeProducers``, ``OffsetCommit`` and ``OffsetDelete``, for example.
    """

    principal: str
    host: str
    operation: Operation
    resource: Resource
    allowed: bool
    rule: str
    first: int
    last: int
    count: int
    request: str = ""


@dataclass(frozen=True)
class LogCoverage:
    """The part of one broker's authorizer log that was read.

    - ``first`` and ``last``: times of lines; both are 0 if no line is readable.
    - ``lines``: all lines but empty ones.
    - ``unreadable``: lines that are cut, damaged, ambiguous or in no known format.
    - ``largest_gap_ms``: the longest time between two lines, exact if it is one hour or longer.
    - ``has_grants``: true if any line is of an allowed operation: brokers only log these at the level DEBUG.
    - ``escaped``: true if the layout of all lines escapes line breaks (JSON). In any other layout, a client that puts
      line breaks into a name, such as a group id, can write lines of its own: what they say is no proof.
    - ``whole``: true if all files of the broker could be read to their ends.
    """

    broker: str
    first: int
    last: int
    lines: int
    unreadable: int
    largest_gap_ms: int
    has_grants: bool
    escaped: bool = False
    whole: bool = True


@dataclass(frozen=True)
class AuthorizerLogs:
    """The authorizer logs of brokers, summarized.

    - ``coverage``: by the name of the broker's folder.
    - ``notes``: problems, for the report.
    - ``left_out``: the number of further ``uses`` of allowed operations, beyond the limit. If it is not 0, the logs do
      not show what was not used.
    - ``time_zone``: of times in lines without a time zone.
    """

    uses: tuple[LoggedUse, ...] = ()
    coverage: Mapping[str, LogCoverage] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: int = 0
    time_zone: str = "UTC"

    @cached_property
    def broker_hosts(self) -> frozenset[str]:
        """The addresses of all brokers in the logs: other brokers allow them ``ClusterAction``."""
        allowed = (each for each in self.uses if each.operation is Operation.CLUSTER_ACTION and each.allowed)
        return frozenset(each.host for each in allowed)
