"""Build a change of one topic ``t`` and the evidence that a cluster would report, and return what a rule predicts.

The topic is on three brokers with Kafka's own defaults. A rule only gets the evidence that it asks for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.newest_records import NewestRecords
from topicwarden.kafka.read.snapshot import (
    SET_ON_TOPIC,
    LiveTopic,
    LogDirsAnswer,
    PartitionExtent,
    PartitionReplicas,
    Snapshot,
)
from topicwarden.kafka_facts.configs import definitions
from topicwarden.kafka_facts.services import APACHE
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.kinds.topic.change import TopicChange, changes
from topicwarden.kinds.topic.consequences import CONSEQUENCES
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.contents import NO_CONTENTS, Contents
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic, DuplicateResource
from topicwarden.model.planned_change import Consequence
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.plan.placement.replica_placement import ReplicaPlacement
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument

NOW = 1_800_000_000_000
HOUR, DAY = 3_600_000, 86_400_000
DEFAULTS = {name: each.default for name, each in definitions().items() if each.default is not None}
BROKERS = {1: "a", 2: "b", 3: "c"}
FILE = "topics/t.yaml"
NO_OWN_DEFAULTS = {broker: {"broker.id": str(broker)} for broker in BROKERS}
"""The brokers' settings: all brokers have Kafka's defaults."""

PATHS = ((), ("partitions",), ("replication_factor",), ("config",), *(("config", name) for name in definitions()))
DOCUMENT = ParsedDocument(FILE, values={path: (line, 1) for line, path in enumerate(PATHS, 1)})
"""The YAML of the topic: every setting has a line of its own."""

LEADS_TO = {
    "destroyed": ("destroyed", "", "partitions"),
    "duplicate": ("duplicate", ""),
    "adopted": ("foreign", ""),
    "foreign": ("foreign", "config/retention.ms", "config/segment.ms", "partitions"),
    "topic-collision": ("collision", ""),
    "retention-cut": ("retention-cut", "config/retention.ms", "config/retention.bytes"),
    "earlier-roll": ("earlier-roll", "config/{setting}"),
    "compaction": ("compaction", "config/{setting}"),
    "tombstones": ("tombstones", "config/{setting}"),
    "tiered-storage-off": ("tiered-storage-off", "config/{setting}"),
    "remote-copy": ("remote-copy", "config/{setting}"),
    "dead-letters": ("dead-letters", "config/{setting}"),
    "more-partitions": ("more-partitions", "partitions"),
    "replication-factor": ("replication", "replication_factor"),
    "too-few-brokers": ("replication", "partitions"),
    "min-insync": ("min-insync", "config/{setting}"),
    "eligible-leaders": ("eligible-leaders", "config/{setting}"),
    "unclean-election": ("unclean-election", "config/{setting}"),
    "flush": ("flush", "config/{setting}"),
    "decompressed-message": ("decompressed-message", "config/max.decompressed.message.bytes"),
    "recompression": ("recompression", "config/compression.type"),
    "max-message": ("max-message", "config/max.message.bytes"),
    "timestamp-limit": ("timestamps", "config/{setting}"),
    "timestamp-type": ("timestamps", "config/{setting}"),
    "broker-defaults": ("broker-defaults", "config"),
    "fixed-policy": ("fixed-policy", "config/{setting}"),
    "drift": ("drift", "config/{setting}"),
    "missing": ("drift", ""),
    "unseen": ("unseen", "", "config"),
}
"""By kind: its rule, and the settings in the YAML to which it leads. ``{setting}`` is the first word of the message."""


@dataclass(frozen=True)
class Log:
    """A partition: the ages of its records in milliseconds, from offset ``start`` on, and its size."""

    ages: tuple[int, ...] = ()
    start: int = 0
    log_bytes: int | None = 1_000
    in_sync: tuple[int, ...] = (1, 2, 3)
    replicas: tuple[int, ...] = (1, 2, 3)
    has_leader: bool = True
    eligible: tuple[int, ...] = ()

    def extent(self) -> PartitionExtent:
        end = self.start + len(self.ages)
        latest = NOW - min(self.ages) if self.ages else None
        return PartitionExtent(self.start, end, end, latest, None if latest is None else end - 1, self.log_bytes)

    def first_at(self, time: int) -> tuple[int, int] | None:
        """Return offset and timestamp of the first record at or after ``time``; ages decrease from record to record."""
        timestamps = [NOW - age for age in self.ages]
        index = bisect_left(timestamps, time)
        return None if index == len(timestamps) else (self.start + index, timestamps[index])


def hourly(records: int, **log: int | None) -> Log:
    """Return a log with one record per hour; the newest record is an hour old."""
    return replace(Log(tuple(HOUR * age for age in range(records, 0, -1))), **log)  # type: ignore[arg-type]


NO_LEADER = Log(has_leader=False, in_sync=())


@dataclass(frozen=True)
class Scenario:
    """A topic as the YAML declares it, as it was deployed, and as it is on the cluster.

    ``declared`` and ``live`` are the settings of the YAML and of the topic; None means that there is no such topic.
    ``deployed`` are the settings in Pulumi's state: by default those of the topic. ``partitions`` and ``factor`` are
    the declared numbers: by default those of the topic.
    """

    declared: Mapping[str, str] | None
    live: Mapping[str, str] | None
    logs: tuple[Log, ...] = (hourly(10),)
    allow: Collection[AllowedChange] = ()
    partitions: int | None = None
    factor: int | None = None
    deployed: Mapping[str, str] | None = None
    in_state: bool = True
    deployed_partitions: int | None = None
    visible_config: bool = True
    hidden: bool = False
    contents: Contents = NO_CONTENTS
    duplicates: tuple[DuplicateResource, ...] = ()
    broker_configs: Mapping[int, Mapping[str, str]] = field(default_factory=lambda: NO_OWN_DEFAULTS)
    others: Mapping[str, int] | None = None
    """The partitions of other topics of the cluster."""

    groups: tuple[ConsumerGroup, ...] = ()
    groups_complete: bool = True
    newest: NewestRecords | None = None
    batches: Mapping[int, int] | None = None
    local_starts: Mapping[int, int] | None = None
    placement: ReplicaPlacement | None = None
    created: tuple[str, ...] = ()
    service: ServiceProfile = APACHE
    log_dirs: LogDirsAnswer = field(default_factory=LogDirsAnswer)

    def snapshot(self) -> Snapshot:
        live = {"t": self._live(self.live)} if self.live is not None else {}
        for name, partitions in (self.others or {}).items():
            live[name] = LiveTopic(Topic(name, partitions, 3), name, {}, ())
        hidden = frozenset({"t"} if self.hidden else ())
        return Snapshot("c", NOW, BROKERS, self.broker_configs, live, hidden, 0, self.log_dirs, service=self.service)

    def _live(self, config: Mapping[str, str]) -> LiveTopic:
        effective = {**DEFAULTS, **config} if self.visible_config else {}
        sources = {name: SET_ON_TOPIC if name in config else "DEFAULT_CONFIG" for name in effective}
        replicas = tuple(
            PartitionReplicas(number, 1 if log.has_leader else None, log.replicas, log.in_sync, eligible=log.eligible)
            for number, log in enumerate(self.logs)
        )
        extents = {number: log.extent() for number, log in enumerate(self.logs) if log.has_leader}
        factor = len(self.logs[0].replicas)
        return LiveTopic(Topic("t", len(self.logs), factor, effective), "id", sources, replicas, extents)

    def change(self) -> TopicChange:
        """Return what the deploy would change; the topic must differ."""
        (change,) = changes(self._declarations(), self._stack(), self.snapshot())
        return change

    def _declarations(self) -> list[Declaration]:
        if self.declared is None:
            return []
        topic = Topic(
            "t",
            self.partitions or len(self.logs),
            self.factor or len(self.logs[0].replicas),
            self.declared,
            contents=self.contents,
            allow=frozenset(map(Allowance, self.allow)),
        )
        return [Declaration(topic, SettingLocations(DOCUMENT, [(DOCUMENT, ())], {}))]

    def _stack(self) -> DeployedStack:
        duplicates = {"t": self.duplicates} if self.duplicates else {}
        if not self.in_state:
            return DeployedStack(duplicates=duplicates)
        config = self.live or {} if self.deployed is None else self.deployed
        partitions, factor = self.deployed_partitions or len(self.logs), len(self.logs[0].replicas)
        yaml = Topic("t", partitions, factor, config, allow=frozenset(map(Allowance, self.allow)))
        return DeployedStack({"t": DeployedTopic("t", partitions, factor, config, yaml, FILE)}, duplicates=duplicates)

    def evidence(self, required: RequiredEvidence) -> PlanEvidence:
        return PlanEvidence(
            self.snapshot(),
            self.placement or ReplicaPlacement(),
            self.created,
            {
                time: {
                    number: first
                    for number, log in enumerate(self.logs)
                    if log.has_leader and (first := log.first_at(time)) is not None
                }
                for time in required.times
            },
            self.groups if required.groups else (),
            groups_complete=self.groups_complete,
            newest_records=self.newest if required.newest_records else None,
            largest_batches=self.batches or {} if required.batches else {},
            local_starts=self.local_starts or {} if required.local else {},
        )


def predicted(rule: str, scenario: Scenario) -> list[Consequence]:
    """Return the consequences that ``rule`` predicts. Each leads to its line of YAML, if the topic has or had some."""
    module, change = CONSEQUENCES[rule], scenario.change()
    required = module.needs(change, NOW)
    if required is None:
        return []
    found = list(module.evaluate(change, scenario.evidence(required)))
    for consequence in found:
        source, *settings = LEADS_TO[consequence.kind]
        setting = consequence.message.split()[0].replace("the", "cleanup.policy")
        assert source == rule
        assert "/".join(path_of(consequence)) in [each.format(setting=setting) for each in settings]
    return found


def path_of(consequence: Consequence) -> tuple[str, ...]:
    """Return the setting in the YAML to which ``consequence`` leads."""
    assert consequence.location
    assert consequence.location.file == FILE
    return PATHS[consequence.location.line - 1]


def only(rule: str, scenario: Scenario) -> Consequence:
    """Return the one consequence that ``rule`` predicts."""
    (found,) = predicted(rule, scenario)
    return found


def group(name: str, *offsets: int | None, members: int | None = 0, **more: Any) -> ConsumerGroup:
    """Return a group with these committed offsets, from partition 0 on; None where it committed none."""
    committed = {("t", number): offset for number, offset in enumerate(offsets) if offset is not None}
    return ConsumerGroup(name, "Stable", members, committed, frozenset({("t", 0)}), **more)
