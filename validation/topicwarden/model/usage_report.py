"""The report of ``topicwarden usage``: who reads and writes each topic, what nobody uses, and what topics cost.

These models are the published schema of its JSON (``topicwarden schema usage``). Times are milliseconds since the
epoch, sizes are bytes, costs are in the currency of the policies and for a month of 30 days. Null is unknown, never 0.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.problem import Location
from topicwarden.model.usage import UseAction, UserKind


class UsedBetween(StrictModel):
    """Something happened after the observation at ``after``, and no later than the one at ``until``.

    Both are equal if the time itself is known.
    """

    after: int
    until: int


class TopicUser(StrictModel):
    """One reader or writer of a topic, by what Kafka knows of it."""

    action: UseAction
    kind: UserKind
    name: str = Field(description="The group, the transactional id, the number of the producer, or the principal.")
    group_type: str = Field(
        default="", description="classic, consumer, share or streams; empty if it is no group, or if it is unknown."
    )
    members: int | None = Field(default=None, description="Members that have this topic; null if unknown.")
    active: bool = Field(description="Whether it used the topic when the cluster was read.")
    hosts: list[str] = Field(default=[], description="The addresses that it connected from, as far as they are known.")
    first_seen: int = Field(description="The first observation that saw it.")
    last: UsedBetween | None = Field(
        description="The last use; null if no observation saw a use, only what an earlier use left."
    )
    lag: int | None = Field(
        default=None, description="Offsets that a group has not read on this topic; null if unknown, or for a writer."
    )
    lag_ms: int | None = Field(
        default=None,
        description="Age of the oldest record that a group has not read, by the record's timestamp; null if unknown.",
    )
    expires_at: int | None = Field(
        default=None,
        description="The time from which retention.ms allows brokers to delete a record that the group has not read: "
        "the timestamp of the oldest one plus retention.ms; null if all records are read, if no timestamp is known, or "
        "if records do not expire by time.",
    )
    declared: bool | None = Field(
        description="Whether declared access allows this use; null if the topic declares no access, or if the use "
        "cannot be compared."
    )
    candidates: list[str] | None = Field(
        default=None,
        description="The principals that the ACLs of the cluster allow this use; null if the ACLs are unknown.",
    )


class Growth(StrictModel):
    """Changes per day of a topic between two observations, which are ``over_ms`` apart."""

    over_ms: int
    records_per_day: float = Field(description="Offsets that were written. Transaction markers count as well.")
    replica_bytes_per_day: float | None = Field(
        description="The change of the bytes on all replicas, negative for a topic that shrinks."
    )
    written_bytes_per_day: float | None = Field(
        description="Offsets that were written, times the mean size of a stored offset on the leaders; an estimate."
    )


class UsageCost(StrictModel):
    """The cost for a month of 30 days. A part without a price, or whose amount is unknown, is null."""

    per_month: float | None = Field(description="The sum of the known parts; null if all parts are unknown.")
    storage: float | None = None
    tiered: float | None = None
    written: float | None = None
    read: float | None = None
    unknown: list[str] = Field(default=[], description="Each part that has a price and no amount, with the reason.")


class TopicUsage(StrictModel):
    """One topic of the cluster: who uses it, its size, its growth and its cost."""

    name: str
    domain: str
    owner: str = Field(description="The declared owner; empty if there is none.")
    declared: bool
    topic_id: str
    partitions: int
    replication_factor: int
    replica_bytes: int | None = Field(description="Bytes on the disks of all replicas; null if one is unknown.")
    tiered_bytes: int | None = Field(
        description="Bytes in remote storage (KIP-405); null if the topic uses it, because brokers do not report the "
        "size to clients; 0 if it does not."
    )
    observed_since: int = Field(description="The first observation of this topic.")
    complete_since: int | None = Field(
        description="Since then, every observation saw all groups and producers; null if the last one did not."
    )
    last_written: UsedBetween | None = Field(
        description="When its log ends last moved; null if no observation saw them move."
    )
    last_read: UsedBetween | None = Field(
        description="When a group last committed or was active; null if no observation saw it."
    )
    growth: Growth | None = Field(description="Null until two observations are an hour apart.")
    cost: UsageCost | None = Field(description="Null without `cost:` in the policies of this stack.")
    writers: list[TopicUser]
    readers: list[TopicUser]


class CostShare(StrictModel):
    """The topics of one owner or one domain, or all topics."""

    name: str = Field(description="The owner or the domain; empty for topics without one, and for all topics.")
    topics: int
    replica_bytes: int = Field(description="The sum of the known sizes.")
    unknown_sizes: int = Field(default=0, description="Number of topics whose size is unknown.")
    tiered_bytes: int = Field(default=0, description="The sum of the known sizes in remote storage.")
    unknown_tiered: int = Field(default=0, description="Number of topics whose size in remote storage is unknown.")
    cost_per_month: float | None = Field(description="The sum of the known costs; null without `cost:`.")


class Removable(StrictModel):
    """A topic, a group or an ACL that nobody uses, as far as the observations show. A person decides."""

    kind: Literal["topic", "group", "acl"]
    name: str = Field(description="The topic, the group, or the ACL as text.")
    topics: list[str] = Field(default=[], description="The topics that it is about.")
    proven: bool = Field(
        description="Whether the observations prove it for the whole time; false: only nothing was seen."
    )
    reason: str
    unused_since: int | None = Field(default=None, description="It was unused from this time to this report.")
    yaml: list[str] = Field(default=[], description="The change of the YAML that would remove it, step by step.")
    command: str = Field(default="", description="The command that would remove it, if it is not in the YAML.")
    location: Location | None = Field(default=None, description="The declaration.")
    frees_bytes: int | None = Field(default=None, description="Bytes on all replicas that it would free.")
    saves_per_month: float | None = None


class UndeclaredUse(StrictModel):
    """A use that no declared access allows, and the entry of `access:` that would declare it.

    ``topicwarden usage --write`` writes it if the principal is known exactly.
    """

    topic: str
    action: UseAction
    kind: UserKind
    name: str
    principal: str | None = Field(description="The only principal that can be the user; null if it is not known.")
    candidates: list[str] = Field(description="The principals that it can be, if there are several.")
    access_declared: bool = Field(description="Whether the YAML allows anybody else to read or write the topic.")
    entry: str = Field(description="The entry of the YAML, such as `{principal: User:billing, group: billing}`.")
    location: Location | None = Field(default=None, description="The declaration of the topic; null if it has none.")
    reason: str = Field(default="", description="Why `--write` does not write it; empty if it does.")


class LogRead(StrictModel):
    """The part of one broker's authorizer log that was read."""

    broker: str
    first: int
    last: int
    lines: int
    unreadable: int
    largest_gap_ms: int
    has_grants: bool = Field(description="Whether allowed operations are logged: the logger's level is DEBUG.")


class UsageReport(StrictModel):
    """The use and the cost of the topics of one stack."""

    schema_version: int = 1
    topicwarden: str = Field(description="The version that made the report.")
    stack: str
    cluster_id: str | None
    taken_at: int = Field(description="When the cluster was read.")
    observed_since: int = Field(description="The first observation of any of these topics.")
    patterns: list[str] = Field(default=[], description="The patterns of the report's topics; empty for all.")
    scope: list[str] = Field(default=[], description="The patterns of the topics that the stack owns; empty for all.")
    currency: str | None = Field(default=None, description="The currency of costs; null without `cost:`.")
    idle_after_ms: int | None = Field(default=None, description="`usage: idle_after` of the policies.")
    idle_groups_after_ms: int | None = Field(default=None, description="`usage: idle_groups_after` of the policies.")
    unused_access_after_ms: int | None = Field(
        default=None, description="`usage: unused_access_after` of the policies."
    )
    topics: list[TopicUsage] = Field(description="The most expensive first, or the largest without `cost:`.")
    total: CostShare
    owners: list[CostShare] = Field(description="By cost, or by size without `cost:`.")
    domains: list[CostShare] = Field(description="By cost, or by size without `cost:`.")
    undeclared: list[UndeclaredUse] = Field(default=[], description="By topic, action and name.")
    removable: list[Removable] = Field(default=[], description="What saves most first.")
    logs: list[LogRead] = Field(default=[], description="The authorizer logs of the brokers, if any were read.")
    notes: list[str] = Field(default=[], description="Limits of this report, such as a missing permission.")
