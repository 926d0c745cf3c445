"""What consequences are computed from: asked for by each, and read from the cluster for all topics at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from topicwarden.kafka.cluster import Cluster
from topicwarden.kafka.consumer_groups import ConsumerGroup
from topicwarden.kafka.newest_records import NewestRecords
from topicwarden.kafka.snapshot import LiveTopic, PartitionExtent, Snapshot
from topicwarden.plan.placement.replica_placement import ReplicaPlacement
from topicwarden.plan.topic_change import TopicChange

MAX_TOPICS_READ = 50
"""Topics whose newest records are read for one plan."""

FIRST = 0
"""Asked as a time, it yields a partition's first record."""


@dataclass(frozen=True)
class RequiredEvidence:
    """What one consequence needs to see of a change: the first records stamped at or after some times (ms since the
    epoch), the consumer groups, the newest records, the newest batches, or where the log begins on its leader's disk.
    """

    times: frozenset[int] = frozenset()
    groups: bool = False
    newest_records: bool = False
    batches: bool = False
    local: bool = False

    def __or__(self, other: RequiredEvidence) -> RequiredEvidence:
        return RequiredEvidence(
            self.times | other.times,
            self.groups or other.groups,
            self.newest_records or other.newest_records,
            self.batches or other.batches,
            self.local or other.local,
        )


@dataclass(frozen=True)
class PlanEvidence:
    """What the cluster said of one change.

    ``first_at`` has, by time and partition, offset and timestamp of the first record stamped at or after the time.
    ``tail`` is None where the newest records may not be read, or were not.
    """

    snapshot: Snapshot
    placement: ReplicaPlacement = field(default_factory=ReplicaPlacement)
    created: tuple[str, ...] = ()
    """The topics that the same deploy creates."""
    first_at: Mapping[int, Mapping[int, tuple[int, int]]] = field(default_factory=dict)
    groups: tuple[ConsumerGroup, ...] = ()
    share_groups: tuple[str, ...] = ()
    """Share groups of the cluster of which no broker told what they read, by name."""
    groups_complete: bool = True
    """Whether this user may see all consumer groups."""
    newest_records: NewestRecords | None = None
    largest_batches: Mapping[int, int] = field(default_factory=dict)
    local_starts: Mapping[int, int] = field(default_factory=dict)
    """By partition: the first offset on the leader's own disk, where the brokers tell."""

    @property
    def now(self) -> int:
        return self.snapshot.taken_at

    def below(self, live: LiveTopic, time: int) -> dict[int, int]:
        """For each partition that holds anything: the offset before which every record is older than ``time``."""
        found = self.first_at.get(time, {})
        return {
            partition: found[partition][0] if partition in found else extent.end
            for partition, extent in live.extents.items()
            if extent.start < extent.end
        }


def gather(cluster: Cluster, snapshot: Snapshot, asked: Mapping[str, RequiredEvidence]) -> dict[str, PlanEvidence]:
    """The evidence for each topic of ``asked``: a bounded number of requests, however many topics there are."""
    live = {name: snapshot.topics[name] for name in asked if name in snapshot.topics}
    first_at = _first_at(cluster, live, asked)
    with_groups = [name for name in live if asked[name].groups]
    groups = cluster.groups(with_groups) if with_groups else ()
    unknown = tuple(group.name for group in groups if group.share and not group.offsets)
    local = [name for name in live if asked[name].local]
    tiers = cluster.local_starts([(name, partition) for name in local for partition in filled(live[name])])
    complete = snapshot.cluster_described and not any(group.hidden for group in groups)
    newest_records = cluster.newest_records(
        {name: live[name] for name in [name for name in live if asked[name].newest_records][:MAX_TOPICS_READ]}
    )
    batches: dict[str, dict[int, int]] = {}
    sizes = cluster.largest_batches(snapshot, [name for name in live if asked[name].batches])
    for (name, partition), size in sizes.items():
        batches.setdefault(name, {})[partition] = size
    return {
        name: PlanEvidence(
            snapshot,
            first_at=first_at.get(name, {}),
            groups=tuple(group for group in groups if name in group.topics) if asked[name].groups else (),
            share_groups=unknown if asked[name].groups else (),
            groups_complete=complete,
            newest_records=newest_records.get(name),
            largest_batches=batches.get(name, {}),
            local_starts={partition: at for (topic, partition), at in tiers.items() if topic == name},
        )
        for name in asked
    }


def _first_at(
    cluster: Cluster, live: Mapping[str, LiveTopic], asked: Mapping[str, RequiredEvidence]
) -> dict[str, dict[int, dict[int, tuple[int, int]]]]:
    """By topic, time and partition. A request carries one time a partition, so that a round asks one of each topic."""
    queues = {name: sorted(asked[name].times) for name in live}
    found: dict[str, dict[int, dict[int, tuple[int, int]]]] = {}
    for number in range(max(map(len, queues.values()), default=0)):
        now = {name: times[number] for name, times in queues.items() if number < len(times)}
        answers = cluster.first_offsets_at(
            {(name, partition): time for name, time in now.items() for partition in filled(live[name])}
        )
        for name, time in now.items():
            found.setdefault(name, {})[time] = {}
        for (name, partition), at in answers.items():
            found[name][now[name]][partition] = at
    return found


def filled(live: LiveTopic) -> dict[int, PartitionExtent]:
    """The partitions that hold anything."""
    return {partition: extent for partition, extent in live.extents.items() if extent.start < extent.end}


def merged(needs: Iterable[RequiredEvidence]) -> RequiredEvidence:
    """Everything that any of ``needs`` needs."""
    total = RequiredEvidence()
    for one in needs:
        total |= one
    return total


def changed(change: TopicChange, setting: str) -> bool:
    """Whether a configuration will have another value in force."""
    before, after = change.before, change.after
    return before is not None and after is not None and before.config.get(setting) != after.config.get(setting)
