"""Change topics at random between audits, and compare ``--since last`` with a full audit, number by number.

Each round changes some topics or none: appends, deleted records, recreated topics, more partitions, elected leaders, a
killed broker, a killed audit. Each partition has two replicas, which are cleaned independently. The cleaner and
retention run meanwhile. A full audit before and after shows whether the cluster stayed the same; if it did, the audit
of new records in between must report the same. All three have the same history: the full audits have copies.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import NewPartitions, NewTopic
from kafka.errors import KafkaError
from kafka.protocol.admin import ElectionType

from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport, TopicFacts
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

OVERRIDES = {"log.cleaner.backoff.ms": "300", "log.retention.check.interval.ms": "1000"}
_CLEANED = {"segment.ms": "500", "min.cleanable.dirty.ratio": "0.0", "delete.retention.ms": "2000"}
CONFIGS = {
    "r.events": {"cleanup.policy": "delete"},
    "r.keyed": {"cleanup.policy": "delete", "segment.ms": "500"},
    "r.compacted": {"cleanup.policy": "compact", **_CLEANED},
    "r.quiet": {"cleanup.policy": "compact"},
    "r.both": {"cleanup.policy": "compact,delete", **_CLEANED},
    "r.scattered": {"cleanup.policy": "compact", **_CLEANED},
    "r.misplaced": {"cleanup.policy": "delete", "segment.ms": "500"},
    "x.expiring": {"cleanup.policy": "delete", "retention.ms": "8000", "segment.ms": "1000"},
}
FILES = {
    "r.events.yaml": "{partitions: 2, replication_factor: 2, "
    "contents: {value: {format: json}, records: {max_bytes: 90}, arrival: {every: 1d, max: 5}}}",
    "r.keyed.yaml": "{partitions: 2, replication_factor: 2, contents: {key: {required: true, partitioner: murmur2}}}",
    "r.compacted.yaml": "{partitions: 2, replication_factor: 2, config: {cleanup.policy: compact}, "
    "contents: {value: {format: json}}}",
    "r.quiet.yaml": "{partitions: 2, replication_factor: 2, config: {cleanup.policy: compact}, "
    "contents: {value: {format: json}}}",
    "r.misplaced.yaml": "{partitions: 2, replication_factor: 2, contents: {key: {partitioner: murmur2}}}",
}
_BY_HAND = ("r.scattered", "r.misplaced")
"""Topics whose producer selects partitions that no known partitioner explains."""
BROKERS = 2
_TOPICS = ("r.*", "x.*")
_DELETED = ("r.events", "r.keyed", "r.both", "r.misplaced", "x.expiring")
"""Topics whose records can be deleted: not those that are only compacted."""
_HOUR, _DAY = 3_600_000, 86_400_000
_AGES = (0, 0, 0, 3 * _HOUR, 3 * _DAY)
_BY_TIME = {"compaction-lag", "compaction-ratio", "compaction-gap"}
"""Checks whose borders move with the time: only their verdicts are compared."""
_OF_KEYS = {"key-partition", "key-in-several-partitions", "hot-key"}
"""Checks whose evidence does not depend on the time."""


@dataclass
class Tally:
    """The numbers of rounds, and the differences that they found."""

    rounds: int = 0
    compared: int = 0
    without_spark: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{self.rounds} rounds, {self.compared} compared, {self.without_spark} of them without Spark",
            f"actions: {dict(self.actions)}",
            f"read in full: {dict(self.reasons)}",
            f"{len(self.different)} differences",
        ]
        return "\n".join([*lines, *self.different])


class Rounds:
    """Rounds on one cluster with one history, drawn by ``seed``."""

    def __init__(self, project: Project, sandbox: Sandbox, history: str, seed: int) -> None:
        self._project, self._sandbox, self._history = project, sandbox, history
        self._random = random.Random(seed)
        self._sent = 0
        self.tally = Tally()
        with connected(sandbox.bootstrap_servers) as admin:
            for name in CONFIGS:
                _create(admin, name)
        for name in CONFIGS:
            self._append(name, 400)

    def run(self, *actions: str, expiring: bool | None = None) -> None:
        """Run one round, with these actions or random ones.

        ``expiring``: whether to audit the topic whose records expire, too, which needs Spark; by default at random.
        """
        topics = _TOPICS if self._random.choice([True, False]) else _TOPICS[:1]
        if expiring is not None:
            topics = _TOPICS if expiring else _TOPICS[:1]
        for action in actions or self._drawn():
            self.tally.actions[action] += 1
            self._act(action)
        with tempfile.TemporaryDirectory() as folder:
            copies = [Path(folder) / name for name in ("before", "after")]
            for copy in copies:
                if Path(self._history).exists():
                    shutil.copytree(self._history, copy)
            before = self._report(ReadScope.ALL, str(copies[0]), topics)
            with patch("topicwarden.audit.scan.spark_session.spark_session", wraps=spark_session) as start:
                new = self._report(ReadScope.LAST, self._history, topics)
            after = self._report(ReadScope.ALL, str(copies[1]), topics)
        self.tally.rounds += 1
        for note in new.notes:
            self.tally.reasons[note] += 1
        if _compared(before) != _compared(after):
            return
        self.tally.compared += 1
        self.tally.without_spark += not start.called
        expected, found = _compared(after), _compared(new)
        for at in sorted({*expected, *found}):
            if expected.get(at) != found.get(at):
                self.tally.different.append(
                    f"round {self.tally.rounds}, {at}: expected {expected.get(at)}, got {found.get(at)}; {new.notes}"
                )

    def _drawn(self) -> list[str]:
        rare = ["recreate", "grow", "wait", "elect", "kill broker", "kill audit"]
        kinds = ["nothing"] * 6 + ["append"] * 4 + ["delete"] * 2 + rare
        first = self._random.choice(kinds)
        return [first] if first in ("nothing", "wait") else [first, *self._random.choices(kinds[6:12], k=1)]

    def _act(self, action: str) -> None:
        name = self._random.choice(list(CONFIGS))
        acts: dict[str, Callable[[], None]] = {
            "nothing": lambda: None,
            "wait": lambda: time.sleep(3),
            "append": lambda: self._append(name, self._random.choice([1, 5, 200])),
            "delete": lambda: self._delete(self._random.choice(_DELETED)),
            "recreate": lambda: self._recreate(name),
            "grow": lambda: self._grow(name),
            "elect": lambda: self._elect(name),
            "kill broker": self._kill_broker,
            "kill audit": self._kill_audit,
        }
        acts[action]()

    def _append(self, topic: str, records: int) -> None:
        now = int(time.time() * 1000)
        with writing(self._sandbox.bootstrap_servers) as writer:
            for _ in range(records):
                self._sent += 1
                key = None if topic == "r.events" and self._sent % 7 == 0 else f"key-{self._random.randrange(60)}"
                value = self._random.choice(['{"n": 1}', '{"email": 22}', "no JSON", None if key else "{}", "x" * 120])
                age = 0 if topic == "x.expiring" else self._random.choice(_AGES)
                partition = self._random.randrange(2) if topic in _BY_HAND else None
                writer.send(topic, key, value, now - age, partition)

    def _delete(self, topic: str) -> None:
        with connected(self._sandbox.bootstrap_servers) as admin:
            logs = {TopicPartition(topic, each) for each in range(_partitions(admin, topic))}
            ends = _ends(admin, logs)
            with suppress(KafkaError):
                admin.delete_records({at: self._random.randint(0, end) for at, end in ends.items() if end})

    def _recreate(self, topic: str) -> None:
        with connected(self._sandbox.bootstrap_servers) as admin:
            admin.delete_topics([topic])
            time.sleep(0.5)
            _create(admin, topic)
        self._append(topic, 30)

    def _grow(self, topic: str) -> None:
        with connected(self._sandbox.bootstrap_servers) as admin:
            partitions = _partitions(admin, topic)
            if partitions < 4:
                admin.create_partitions({topic: NewPartitions(partitions + 1)})
        time.sleep(0.5)
        self._append(topic, 30)

    def _elect(self, topic: str) -> None:
        """Make the other replica of each partition the leader: prefer that replica, and elect preferred leaders."""
        with connected(self._sandbox.bootstrap_servers) as admin:
            (described,) = admin.describe_topics([topic])
            replicas = {
                TopicPartition(topic, each["partition_index"]): each["replica_nodes"][::-1]
                for each in described["partitions"]
            }
            admin.alter_partition_reassignments(replicas)
            admin.elect_leaders(ElectionType.PREFERRED, [topic], raise_errors=False)
        self._wait_for_replicas()

    def _kill_broker(self) -> None:
        broker = self._random.choice(self._sandbox.status().brokers)
        self._sandbox.kill(broker.id)
        self._sandbox.start(broker.id)
        self._wait_for_replicas()

    def _wait_for_replicas(self) -> None:
        """Wait until each broker says that each partition has a leader, and that no replica is out of sync."""
        deadline = time.monotonic() + 120
        for address in self._sandbox.bootstrap_servers:
            while not _in_sync(address):
                assert time.monotonic() < deadline, "some replicas are out of sync"
                time.sleep(0.3)

    def _kill_audit(self) -> None:
        command = [str(Path(sys.executable).with_name("topicwarden")), "audit", "--stack", "dev", "--since", "last"]
        audit = subprocess.Popen(
            [*command, "--history", self._history],
            cwd=self._project.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with suppress(subprocess.TimeoutExpired):
            audit.wait(self._random.uniform(1, 20))
        audit.send_signal(signal.SIGKILL)
        audit.wait()

    def _report(self, since: ReadScope, history: str, topics: tuple[str, ...]) -> AuditReport:
        with auditing(self._project, "dev", options=AuditOptions(history, since), first=topics) as audited:
            return audited(topics)


def _create(admin: KafkaAdminClient, name: str) -> None:
    for _ in range(50):
        try:
            admin.create_topics([NewTopic(name, 2, BROKERS, topic_configs=CONFIGS[name])])
        except KafkaError:
            time.sleep(0.2)  # its deletion is not complete
        else:
            break
    time.sleep(0.5)


def _in_sync(address: str) -> bool:
    with suppress(KafkaError, Refusal), connected([address]) as admin:
        topics = admin.describe_topics(list(CONFIGS))
        partitions = [each for topic in topics for each in topic["partitions"]]
        return all(each["leader_id"] >= 0 and len(each["isr_nodes"]) == BROKERS for each in partitions)
    return False


def _partitions(admin: KafkaAdminClient, topic: str) -> int:
    (described,) = admin.describe_topics([topic])
    return len(described["partitions"])


def _ends(admin: KafkaAdminClient, logs: set[TopicPartition]) -> dict[TopicPartition, int]:
    from kafka.protocol.consumer import OffsetSpec  # noqa: PLC0415

    found = admin.list_partition_offsets(dict.fromkeys(logs, OffsetSpec.LATEST))
    return {at: result.offset for at, result in found.items()}


def _compared(report: AuditReport) -> dict[str, Any]:
    """Return what two audits of the same log report alike: verdicts, messages and counts, without times and sizes."""
    findings: dict[str, Any] = {}
    for one in report.findings:
        numbers = (one.message, one.partitions) if one.check not in _BY_TIME else ()
        evidence = sorted(one.evidence.items()) if one.check in _OF_KEYS else ()
        findings.setdefault(f"{one.topic} {one.check}", []).append((str(one.verdict), *numbers, *evidence))
    facts = {f"{topic.name} counts": _facts(topic) for topic in report.topics}
    return {at: sorted(found, key=str) for at, found in findings.items()} | facts


def _facts(topic: TopicFacts) -> Any:
    return json.loads(topic.model_dump_json(exclude={"partitions": {"__all__": {"log_bytes"}}}))
