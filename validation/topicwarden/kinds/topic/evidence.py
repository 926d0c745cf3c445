"""The evidence that consequences are computed from, read from the cluster for all topics at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from topicwarden.kafka.read.groups_by_topic import groups_by_topic
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, Snapshot
from topicwarden.plan.placement.replica_placement import ReplicaPlacement
from topicwarden.plan.recent_use import NO_USE, PlannedUse, RecentUse

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster import Cluster
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup
    from topicwarden.kafka.read.newest_records import NewestRecords
    from topicwarden.kafka.read.refused_changes import ValidatedChange
    from topicwarden.kafka.read.use_reads import ClusterUse

MAX_TOPICS_READ = 50
"""Topics whose newest records are read for one plan."""

FIRST = 0
"""A requested time (ms) at which the answer is the first record of a partition."""


@dataclass(frozen=True)
class RequiredEvidence:
    """The evidence that one consequence needs for a change.

    - ``times`` (ms since the epoch): the first record with a timestamp at or after each time, by partition.
    - ``groups``: the consumer groups of the topic.
    - ``newest_records``: the newest records.
    - ``batches``: the sizes of the newest batches.
    - ``local``: the first offset on the leader's own disk.
    - ``use``: who read and wrote the topic in the last days. ``predict`` adds them to consequences that lose records.
    - ``validated``: whether the brokers would refuse this change.
    """

    times: frozenset[int] = frozenset()
    groups: bool = False
    newest_records: bool = False
    batches: bool = False
    local: bool = False
    use: bool = False
    validated: ValidatedChange | None = None

    def __or__(self, other: RequiredEvidence) -> RequiredEvidence:
        return RequiredEvidence(
            self.times | other.times,
            self.groups or other.groups,
            self.newest_records or other.newest_records,
            self.batches or other.batches,
            self.local or other.local,
            self.use or other.use,
            self.validated or other.validated,
        )


@dataclass(frozen=True)
class PlanEvidence:
    """The evidence for one change, as the cluster reported it.

    ``first_at`` has offset and timestamp of the first record with a timestamp at or after a time, by time and
    partition. ``newest_records`` is None if the newest records were not read, or reading them is denied.
    """

    snapshot: Snapshot
    placement: ReplicaPlacement = field(default_factory=ReplicaPlacement)
    created: tuple[str, ...] = ()
    """The topics that the same deploy creates."""
    first_at: Mapping[int, Mapping[int, tuple[int, int]]] = field(default_factory=dict)
    groups: tuple[ConsumerGroup, ...] = ()
    share_groups: tuple[str, ...] = ()
    """Names of share groups whose topics no broker reports."""
    groups_complete: bool = True
    """Whether this user may see all consumer groups."""
    newest_records: NewestRecords | None = None
    largest_batches: Mapping[int, int] = field(default_factory=dict)
    local_starts: Mapping[int, int] = field(default_factory=dict)
    """The first offset on the leader's own disk, by partition; empty if the brokers do not report it."""
    use: RecentUse = NO_USE
    """Who used the topic in the last days."""
    use_remarks: tuple[str, ...] = ()
    """Problems with the history of use."""
    refused: str | None = None
    """Why the brokers would refuse the change; None if they would not, or did not say."""

    @property
    def now(self) -> int:
        """The time of the snapshot, in milliseconds since the epoch."""
        return self.snapshot.taken_at

    def offsets_before(self, live: LiveTopic, time: int) -> dict[int, int]:
        """Return, for each partition with records, the offset before which all records are older than ``time`` (ms)."""
        first_records = self.first_at.get(time, {})
        return {
            partition: first_records[partition][0] if partition in first_records else extent.end
            for partition, extent in live.extents.items()
            if extent.start < extent.end
        }


def gather(
    cluster: Cluster,
    snapshot: Snapshot,
    required: Mapping[str, RequiredEvidence],
    recent: Callable[[Snapshot, ClusterUse], PlannedUse] = lambda snapshot, use: PlannedUse(),
) -> dict[str, PlanEvidence]:
    """Return the evidence for each topic in ``required``, with a bounded number of requests in total.

    ``recent`` returns the recent use of topics, from what brokers report now; it is called only if a change needs it.
    """
    live = {name: snapshot.topics[name] for name in required if name in snapshot.topics}
    first_at = _first_at(cluster, live, required)
    with_groups = [name for name in live if required[name].groups]
    with_use = {name: live[name] for name in live if required[name].use}
    if with_use:
        groups = cluster.groups(live, lambda _: True)
        in_use = replace(snapshot, topics=with_use)
        use = recent(in_use, cluster.use(in_use, groups=groups))
    else:
        groups, use = cluster.groups(with_groups) if with_groups else (), PlannedUse()
    unknown_share_groups = tuple(group.name for group in groups if group.share and not group.offsets)
    local = [name for name in live if required[name].local]
    starts = cluster.local_starts([(name, partition) for name in local for partition in non_empty(live[name])])
    complete = snapshot.cluster_described and not any(group.hidden for group in groups)
    newest_records = cluster.newest_records(
        {name: live[name] for name in [name for name in live if required[name].newest_records][:MAX_TOPICS_READ]}
    )
    sizes = cluster.largest_batches(snapshot, [name for name in live if required[name].batches])
    batches, local_starts = _by_topic(sizes), _by_topic(starts)
    refused = _refused(cluster, snapshot, required)
    groups_of = groups_by_topic(groups)
    return {
        name: PlanEvidence(
            snapshot,
            first_at=first_at.get(name, {}),
            groups=groups_of.get(name, ()) if required[name].groups else (),
            share_groups=unknown_share_groups if required[name].groups else (),
            groups_complete=complete,
            newest_records=newest_records.get(name),
            largest_batches=batches.get(name, {}),
            local_starts=local_starts.get(name, {}),
            use=use.of(name),
            use_remarks=use.remarks,
            refused=refused.get(name),
        )
        for name in required
    }


def _refused(cluster: Cluster, snapshot: Snapshot, required: Mapping[str, RequiredEvidence]) -> Mapping[str, str]:
    """Return why brokers would refuse changes. Other code than Apache Kafka's may not know ``validate_only``."""
    validated = {name: each.validated for name, each in required.items() if each.validated is not None}
    return cluster.refused_changes(validated) if validated and snapshot.service.log.apache else {}


def _by_topic(values: Mapping[tuple[str, int], int]) -> dict[str, dict[int, int]]:
    """Return the values of each (topic, partition), by topic and partition."""
    found: dict[str, dict[int, int]] = {}
    for (name, partition), value in values.items():
        found.setdefault(name, {})[partition] = value
    return found


def _first_at(
    cluster: Cluster, live: Mapping[str, LiveTopic], required: Mapping[str, RequiredEvidence]
) -> dict[str, dict[int, dict[int, tuple[int, int]]]]:
    """Return offset and timestamp of the first records, by topic, time and partition.

    A request has one time per partition, so each round requests one time of each topic.
    """
    queues = {name: sorted(required[name].times) for name in live}
    first_records: dict[str, dict[int, dict[int, tuple[int, int]]]] = {}
    for round_number in range(max(map(len, queues.values()), default=0)):
        requested = {name: times[round_number] for name, times in queues.items() if round_number < len(times)}
        answers = cluster.first_offsets_at(
            {(name, partition): time for name, time in requested.items() for partition in non_empty(live[name])}
        )
        for name, time in requested.items():
            first_records.setdefault(name, {})[time] = {}
        for (name, partition), first in answers.items():
            first_records[name][requested[name]][partition] = first
    return first_records


def non_empty(live: LiveTopic) -> dict[int, PartitionExtent]:
    """Return the partitions that have records."""
    return {partition: extent for partition, extent in live.extents.items() if extent.start < extent.end}


def union(needs: Iterable[RequiredEvidence]) -> RequiredEvidence:
    """Return the union of ``needs``."""
    total = RequiredEvidence()
    for required in needs:
        total |= required
    return total
