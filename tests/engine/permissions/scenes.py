"""The scenes of the matrix of permissions: a task for each command, and its result without one permission."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.admin import NewTopic as CreatedTopic
from pyspark.sql import SparkSession

from tests.support.clients import commit
from tests.support.projects import Shell, empty_stack, project_of, write_topics
from tests.support.restricted_user import RestrictedCluster, rule
from topicwarden.audit.scan.spark_source import source_of
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.extensions.redrive.redrive_operation import redrive_finding
from topicwarden.kafka_facts.throttle_settings import RATES, REPLICAS
from topicwarden.model.access import Acl, ResourceType
from topicwarden.model.finding import AuditReport
from topicwarden.model.planned_change import PlanReport, Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.operations.audit import AuditFunction, auditing
from topicwarden.operations.doctor.command_permissions import Effect, RequiredPermission
from topicwarden.operations.find_pulumi import engine_of
from topicwarden.operations.infer import infer_stack
from topicwarden.operations.operation_options import AuditOptions, RedriveOptions, UsageOptions
from topicwarden.operations.plan import planned
from topicwarden.operations.usage import usage_topics
from topicwarden.report.audit.formats import json as report_json

DAY_MS = 86_400_000
NAMES = {
    **dict.fromkeys((ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID), "*"),
    ResourceType.CLUSTER: "kafka-cluster",
}
EVERYTHING = [rule("All", resource, name) for resource, name in NAMES.items()]

Permissions = tuple[RequiredPermission, ...]


def rules(permissions: Permissions, without: RequiredPermission | None) -> list[Acl]:
    """Return ACLs that grant ``permissions``, and deny ``without`` also where another permission implies it."""
    granted = [
        rule(each.permission.operation, each.permission.resource, NAMES[each.permission.resource])
        for each in permissions
        if without is None or each.permission != without.permission
    ]
    if without is None:
        return granted
    permission = without.permission
    return [*granted, rule(permission.operation, permission.resource, NAMES[permission.resource], permission="Deny")]


@dataclass(frozen=True)
class Observed:
    """The result of a command: the effect of a missing permission, what missed it, and the messages."""

    effect: Effect | None
    affected: frozenset[str] = frozenset()
    text: str = ""


class Scene(Protocol):
    """A command with something to do, which can run once for each of its rows: with all permissions, or without one."""

    def run(self, row: int) -> Observed:
        """Run the command for the row with this number; row 0 has all permissions."""


def declared(config: str = "", more: str = "", partitions: int = 1, factor: int = 1) -> str:
    return (
        f"{{owner: team, partitions: {partitions}, replication_factor: {factor}, config: {{{config}}}"
        f"{more and f', {more}'}}}\n"
    )


BEFORE = {
    "shrink.v1": declared("retention.ms: 7d"),
    "keys.v1": declared(),
    "compact.v1": declared("cleanup.policy: delete, retention.ms: -1"),
    "unset.v1": declared("retention.ms: 30m"),
    "size.v1": declared("retention.bytes: 1GiB, retention.ms: -1"),
    "batch.v1": declared("max.message.bytes: 1MiB"),
    "tombs.v1": declared("cleanup.policy: compact, delete.retention.ms: 7d"),
    "roll.v1": declared("retention.bytes: 100, segment.ms: 7d"),
    "gone.v1": declared(more="allow: [delete]"),
}
AFTER = {
    "shrink.v1": declared("retention.ms: 1d", "allow: [shrink-retention]"),
    "keys.v1": declared(partitions=2),
    "compact.v1": declared("cleanup.policy: compact, retention.ms: -1", "allow: [compact]"),
    "unset.v1": declared(),
    "size.v1": declared("retention.bytes: 1MiB, retention.ms: -1", "allow: [shrink-retention]"),
    "batch.v1": declared("max.message.bytes: 100"),
    "tombs.v1": declared("cleanup.policy: compact, delete.retention.ms: 1h", "allow: [compact]"),
    "roll.v1": declared("retention.bytes: 100, segment.ms: 1h", "allow: [shrink-retention]"),
    "new.v1": declared(),
}
WRITTEN = {"Create": {"new.v1"}, "Alter": {"keys.v1"}, "Delete": {"gone.v1"}} | {
    "AlterConfigs": AFTER.keys() - {"new.v1", "keys.v1"}
}
"""The topics whose change needs each permission."""


def fill(servers: list[str], prefix: str) -> None:
    """Write records of yesterday into the topics of ``BEFORE``, and commit offsets of a group that lags.

    The producer has idempotence, so brokers remember it.
    """
    producer = Producer({"bootstrap.servers": ",".join(servers), "enable.idempotence": True})
    old = int(time.time() * 1000) - 2 * DAY_MS
    for name in BEFORE:
        for number in range(20):
            value = None if name == "tombs.v1" and number == 0 else b"v"
            producer.produce(f"{prefix}.{name}", value, f"k{number % 7}", timestamp=old + number)
    producer.flush()
    commit(servers, f"{prefix}.reader", {(f"{prefix}.{name}", 0): 3 for name in BEFORE})


@dataclass(frozen=True)
class Deployed:
    """A project whose stack is deployed with all permissions."""

    cluster: RestrictedCluster
    project: Project
    shell: Shell

    def declare(self, prefix: str, files: Mapping[str, str]) -> None:
        for path in self.project.topics.glob(f"{prefix}.*.yaml"):
            path.unlink()
        write_topics(self.project, {f"{prefix}.{name}.yaml": text for name, text in files.items()})

    def deploy(self) -> None:
        with self.cluster.granted(EVERYTHING):
            done = self.shell.in_process("up", "--stack", "dev", "--yes")
            assert done.returncode == 0, done.stdout + done.stderr


def deployed(cluster: RestrictedCluster, folder: Path) -> Deployed:
    project = project_of(folder, {}, cluster.settings)
    return Deployed(cluster, project, empty_stack(project, folder.with_name(f"{folder.name}-state")))


class PlanScene:
    """A plan of all changes of ``AFTER``, compared with the plan that has all permissions."""

    def __init__(self, cluster: RestrictedCluster, folder: Path, permissions: Permissions, rows: Sequence[int]) -> None:
        self._stack = deployed(cluster, folder)
        self._stack.declare("p", BEFORE)
        self._stack.deploy()
        fill(cluster.servers, "p")
        self._stack.declare("p", AFTER)
        self._whole: dict[str, set[str]] = {}

    def run(self, row: int) -> Observed:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self._stack.shell.variables.items():
                patch.setenv(name, value)
            report = planned(engine_of(self._stack.project, "dev"))
        assert report.engine.ran, report.engine.errors
        found = _consequences(report)
        self._whole = self._whole or found
        less = frozenset(kind for kind, texts in found.items() if texts != self._whole.get(kind))
        effect = Effect.REFUSED if report.refused else Effect.LESS_PRECISE if less else None
        refused = frozenset(
            each.kind for plan in report.topics for each in plan.consequences if each.severity is Severity.REFUSED
        )
        return Observed(effect, refused or less, "\n".join(text for texts in found.values() for text in texts))


def _consequences(report: PlanReport) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for plan in report.topics:
        for each in plan.consequences:
            text = "; ".join((plan.topic, each.severity, each.message, *each.because, each.measured, each.remedy))
            found.setdefault(each.kind, set()).add(text)
    return found


class UpScene:
    """A deploy of the changes of ``AFTER`` to topics of its own, for each permission."""

    def __init__(self, cluster: RestrictedCluster, folder: Path, permissions: Permissions, rows: Sequence[int]) -> None:
        self._stack, self._permissions = deployed(cluster, folder), permissions
        for row in rows:
            self._stack.declare(f"u{row}", BEFORE)
        self._stack.deploy()
        for row in rows:
            fill(cluster.servers, f"u{row}")

    def run(self, row: int) -> Observed:
        prefix, required = f"u{row}", self._permissions[row - 1] if row else None
        # A deploy after one that deleted a topic begins with a refresh, which needs other permissions first.
        deletes = required is not None and required.permission.operation == "Delete"
        after = AFTER | ({} if deletes else {"gone.v1": BEFORE["gone.v1"]})
        self._stack.declare(prefix, after)
        done = self._stack.shell.in_process("up", "--stack", "dev", "--yes")
        text = done.stdout + done.stderr
        if not done.returncode:
            less = required is not None and required.effect is Effect.LESS_PRECISE
            return Observed(Effect.LESS_PRECISE if less else None, text=text)
        unseen = frozenset(re.findall(r"error: .*\[(unseen)\]$", text, re.MULTILINE))
        if unseen:
            self._stack.declare(prefix, BEFORE)  # the next row deploys its own changes only
            return Observed(Effect.REFUSED, unseen, text)
        failed = {name.removeprefix(f"{prefix}.") for name in re.findall(r"(\S+): Kafka denies this user", text)}
        assert required is not None
        assert failed == WRITTEN[required.permission.operation], f"expected: the other topics are deployed; {text}"
        unchanged = {name: BEFORE[name] for name in failed & BEFORE.keys()}
        self._stack.declare(prefix, {name: text for name, text in after.items() if name not in failed} | unchanged)
        return Observed(Effect.REFUSED, text=text)


class DestroyScene:
    """A deletion of all topics of a stack, with a stack for each permission."""

    def __init__(self, cluster: RestrictedCluster, folder: Path, permissions: Permissions, rows: Sequence[int]) -> None:
        self._permissions = permissions
        self._stacks = {row: deployed(cluster, folder / str(row)) for row in rows}
        for row, stack in self._stacks.items():
            stack.declare(f"x{row}", {"gone.v1": declared(more="allow: [delete]")})
            stack.deploy()
            commit(cluster.servers, f"x{row}.reader", {(f"x{row}.gone.v1", 0): 0})

    def run(self, row: int) -> Observed:
        done = self._stacks[row].shell.in_process("destroy", "--stack", "dev", "--yes")
        text = done.stdout + done.stderr
        less = row > 0 and self._permissions[row - 1].effect is Effect.LESS_PRECISE
        if not done.returncode:
            return Observed(Effect.LESS_PRECISE if less else None, text=text)
        return Observed(Effect.REFUSED, frozenset(re.findall(r"refused (unseen) ", text)), text)


class RefreshScene:
    """A refresh of a stack with one topic."""

    def __init__(self, cluster: RestrictedCluster, folder: Path, permissions: Permissions, rows: Sequence[int]) -> None:
        self._stack = deployed(cluster, folder)
        self._stack.declare("f", {"kept.v1": declared("retention.ms: 7d")})
        self._stack.deploy()

    def run(self, row: int) -> Observed:
        before = read_stack_state(self._engine())
        done = self._stack.shell.in_process("refresh", "--stack", "dev")
        assert read_stack_state(self._engine()) == before, "nothing was changed by hand"
        return Observed(Effect.REFUSED if done.returncode else None, text=done.stdout + done.stderr)

    def _engine(self) -> PulumiEngine:
        return PulumiEngine(self._stack.project, "dev", self._stack.shell.variables)


class RebalanceScene:
    """A move to a second replica, of one topic for each permission."""

    def __init__(self, cluster: RestrictedCluster, folder: Path, permissions: Permissions, rows: Sequence[int]) -> None:
        self._cluster, self._stack, self._prefix = cluster, deployed(cluster, folder), folder.name
        for row in rows:
            self._stack.declare(f"{self._prefix}{row}", {"moved.v1": declared()})
        self._stack.deploy()

    def run(self, row: int, *options: str) -> Observed:
        topic = f"{self._prefix}{row}.moved.v1"
        self._stack.declare(f"{self._prefix}{row}", {"moved.v1": declared(factor=2)})
        done = self._stack.shell.in_process("rebalance", "--stack", "dev", "--yes", "--topics", topic, *options)
        with KafkaAdminClient(bootstrap_servers=self._cluster.servers) as admin:
            (partition,) = admin.describe_topics([topic])[0]["partitions"]
            assert _throttles(admin, topic) == {}, "no throttle stays behind"
        if not done.returncode:
            assert len(partition["replica_nodes"]) == 2
            return Observed(None, text=done.stdout + done.stderr)
        assert len(partition["replica_nodes"]) == 1, "nothing was moved"
        return Observed(Effect.REFUSED, text=done.stdout + done.stderr)


def _throttles(admin: KafkaAdminClient, topic: str) -> dict[str, str]:
    resources = [ConfigResource(ConfigResourceType.BROKER, str(broker)) for broker in (1, 2)]
    described = admin.describe_configs(
        [*resources, ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all"
    )
    return {
        f"{name} of {setting}": entries[setting]["value"]
        for kind in described.values()
        for name, entries in kind.items()
        for setting in (*RATES, *REPLICAS)
        if entries.get(setting, {}).get("value")
    }


class ImportScene:
    """An import of one topic for each permission."""

    def __init__(self, cluster: RestrictedCluster, folder: Path, permissions: Permissions, rows: Sequence[int]) -> None:
        self._stack = deployed(cluster, folder)
        with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
            admin.create_topics(
                [CreatedTopic(f"i{row}.kept.v1", 1, 1, topic_configs={"retention.ms": "1000000"}) for row in rows]
            )

    def run(self, row: int) -> Observed:
        done = self._stack.shell.in_process("import", "--stack", "dev", f"i{row}.*")
        text = done.stdout + done.stderr
        if not done.returncode:
            assert "1 topic adopted" in text
            return Observed(None, text=text)
        assert not list(self._stack.project.topics.rglob(f"i{row}*"))
        return Observed(Effect.LEFT_OUT if "sees no topic" in text else Effect.REFUSED, text=text)


class UsageScene:
    """A report on the use of one topic, compared with the report that has all permissions."""

    def __init__(self, cluster: RestrictedCluster, folder: Path, permissions: Permissions, rows: Sequence[int]) -> None:
        self._project = project_of(folder, {"n.used.v1.yaml": declared()}, cluster.settings)
        with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
            admin.create_topics([CreatedTopic("n.used.v1", 1, 1)])
        producer = Producer({"bootstrap.servers": ",".join(cluster.servers), "transactional.id": "n-tx"})
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce("n.used.v1", b"v")
        producer.commit_transaction(60)
        commit(cluster.servers, "n.reader", {("n.used.v1", 0): 0})

    def run(self, row: int) -> Observed:
        report = usage_topics(self._project, "dev", ("n.used.v1",), UsageOptions(history="none"))
        text = "\n".join(note for note in report.notes if note.startswith("not visible"))
        if not report.topics:
            return Observed(Effect.LEFT_OUT, text=text)
        (topic,) = report.topics
        complete = [[user.name for user in users] for users in (topic.readers, topic.writers)]
        seen = complete == [["n.reader"], ["n-tx"]] and topic.readers[0].lag_ms is not None
        if not text:
            assert seen and topic.replica_bytes is not None and topic.tiered_bytes == 0, topic
        return Observed(Effect.LESS_PRECISE if text else None, text=text)


class InferScene:
    """The contract of one topic, inferred from its record."""

    def __init__(self, cluster: RestrictedCluster, folder: Path, permissions: Permissions, rows: Sequence[int]) -> None:
        self._project = project_of(folder, {"f.records.v1.yaml": declared()}, cluster.settings)
        with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
            admin.create_topics([CreatedTopic("f.records.v1", 1, 1)])
        producer = Producer({"bootstrap.servers": ",".join(cluster.servers)})
        producer.produce("f.records.v1", b"{}", b"k")
        producer.flush()

    def run(self, row: int) -> Observed:
        try:
            (topic,) = infer_stack(self._project, "dev", ("f.records.v1",)).topics
        except Refusal as refusal:
            return Observed(Effect.LEFT_OUT if "no topic" in str(refusal) else Effect.REFUSED, text=str(refusal))
        failed = topic.inference.failed
        assert failed or topic.inference.inferred is not None
        return Observed(Effect.LEFT_OUT if failed else None, text=topic.inference.unread)


class RedriveScene:
    """A copy of the records of a finding, to a topic of its own for each permission."""

    def __init__(
        self,
        cluster: RestrictedCluster,
        folder: Path,
        permissions: Permissions,
        rows: Sequence[int],
        spark: SparkSession,
    ) -> None:
        source, targets = "w.source.v1", {row: f"w.copies{row}.v1" for row in rows}
        contents = {source: "contents: {value: {format: json}}", **dict.fromkeys(targets.values(), "")}
        files = {f"{name}.yaml": declared(more=more) for name, more in contents.items()}
        self._project, self._targets, self._spark = project_of(folder, files, cluster.settings), targets, spark
        with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
            admin.create_topics([CreatedTopic(name, 1, 1) for name in contents])
        producer = Producer({"bootstrap.servers": ",".join(cluster.servers)})
        for value in (b"{}", b"{", b"["):
            producer.produce(source, value, b"k")
        producer.flush()
        with cluster.granted(EVERYTHING), auditing(self._project, "dev", options=AuditOptions("none")) as audit:
            report = audit((source,))
        (finding,) = (each for each in report.findings if each.check == "value-schema")
        self._finding, self._report = finding.id, folder / "report.json"
        self._report.write_text(report_json(report), encoding="utf-8")

    def run(self, row: int) -> Observed:
        options = RedriveOptions(self._finding, self._targets[row], self._report, execute=True)
        try:
            report = redrive_finding(self._project, "dev", options, spark=source_of(self._spark))
        except Refusal as refusal:
            return Observed(Effect.REFUSED, text=str(refusal))
        assert (report.done, report.records) == (True, 2)
        return Observed(None, text="\n".join(report.remarks))


AUDITED = {
    "expired.v1": declared("retention.ms: 1h", factor=2),
    "lagging.v1": declared(
        "cleanup.policy: compact, segment.ms: 1s, max.compaction.lag.ms: 1s, min.cleanable.dirty.ratio: 0.01",
        factor=2,
    ),
    "large.v1": declared("retention.bytes: 1000, segment.bytes: 1MiB, retention.ms: -1", factor=2),
    "whole.v1": declared(
        "retention.ms: -1",
        "contents: {key: {required: true, format: string, partitioner: murmur2, max_share: 0.9}, "
        "value: {format: json}, headers: {required: [trace]}, "
        "timestamps: {type: CreateTime, max_ahead: 1h, max_late: 7d}, records: {max_bytes: 64KiB}, "
        "partitions: {max_skew: 4.0}, consumers: {max_lag: 30d}, arrival: {max_silence: 1d, every: 1d, max: 1000}, "
        "ordered: [{field: amount}], unique: [{fields: [amount], header: trace}], "
        "references: [{field: amount, topic: whole.v1}], "
        "expressions: [{id: positive, require: value.amount > 0}]}",
        factor=2,
    ),
}
_LIVE = {
    "expired.v1": {"retention.ms": "3600000"},
    "lagging.v1": {
        "cleanup.policy": "compact",
        "segment.ms": "1000",
        "max.compaction.lag.ms": "1000",
        "min.cleanable.dirty.ratio": "0.01",
    },
    "large.v1": {"retention.bytes": "1000", "segment.bytes": "1048576", "retention.ms": "-1"},
    "whole.v1": {"retention.ms": "-1"},
    "undeclared.v1": {},
    "my-offsets": {"cleanup.policy": "compact"},
}


def fill_audited(servers: list[str]) -> None:
    """Create topics about which the checks have something to report, with each record in a batch of its own."""
    old = int(time.time() * 1000) - 2 * DAY_MS
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        admin.create_topics([CreatedTopic(name, 1, 2, topic_configs=config) for name, config in _LIVE.items()])
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    for number in range(12):
        producer.produce("expired.v1", b"v", f"k{number}", timestamp=old + number)
        producer.produce("lagging.v1", b"v", f"k{number % 3}", timestamp=old + number * 10_000)
        producer.produce("whole.v1", b'{"amount": 1}', f"k{number}", headers={"trace": b"1"})
        producer.produce("undeclared.v1", b"v", "k")
        producer.produce("my-offsets", b'{"position":1}', "order-7")
        producer.produce("large.v1", bytes([number]) * 400_000, "k")
        producer.flush()
    commit(servers, "reader", {("expired.v1", 0): 3})


@dataclass
class AuditScene:
    """An audit, compared with the audit that has all permissions."""

    audit: AuditFunction
    whole: dict[tuple[str, str], Verdict] = field(default_factory=dict)

    def run(self, row: int) -> Observed:
        report = self.audit((*AUDITED, "undeclared.v1", "my-offsets", "__consumer_offsets"))
        found = _verdicts(report)
        self.whole = self.whole or found
        wrong = {
            subject: verdict
            for subject, verdict in found.items()
            if verdict is not Verdict.UNDECIDABLE and verdict is not self.whole.get(subject)
        }
        assert wrong == {}, "nothing is concluded from what is not seen"
        lost = frozenset(
            check
            for (topic, check), verdict in found.items()
            if verdict is Verdict.UNDECIDABLE and self.whole.get((topic, check)) is not verdict
        )
        texts = (" ".join((each.message, *each.because, each.remedy)) for each in report.findings if each.check in lost)
        return Observed(Effect.UNDECIDABLE if lost else None, lost, "\n".join(texts))


def _verdicts(report: AuditReport) -> dict[tuple[str, str], Verdict]:
    found: dict[tuple[str, str], Verdict] = {}
    for each in report.findings:
        subject = each.topic, each.check
        found[subject] = min(each.verdict, found.get(subject, each.verdict), key=WORST_FIRST.index)
    return found
