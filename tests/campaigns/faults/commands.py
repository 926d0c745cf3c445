"""The commands under test: what each one has to do, and whether the cluster, the files and Pulumi's state say so."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kafka.admin import NewTopic
from pydantic import ValidationError

from tests.campaigns.faults.cluster import FaultyCluster
from tests.support.projects import Shell, empty_stack, project_of
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.specs.load import load

RECORDS = 24_000
MOVED_RECORDS = 600
_TOPICS = 20
_DURING_A_FAULT = frozenset({"under-replicated", "min-insync-replicas"})
"""Checks whose `fail` a lost broker proves."""


@dataclass
class Work:
    """A project with something to do for one command, and how to see whether it is done."""

    cluster: FaultyCluster
    project: Project
    shell: Shell
    rounds: int = 0

    arguments: ClassVar[tuple[str, ...]] = ()
    codes: ClassVar[frozenset[int]] = frozenset({0})
    """Exit codes of a run that was not disturbed."""

    def prepare(self) -> None:
        """Make something to do for the next run."""
        self.rounds += 1

    def unfinished(self) -> Iterator[str]:
        """Yield what an undisturbed run has not done, or has left behind."""
        return iter(())

    def wrong(self, output: str) -> Iterator[str]:
        """Yield what is wrong in the output of a disturbed run."""
        return iter(())

    def litter(self) -> Iterator[str]:
        """Yield files that no run may leave behind: locks, and files that are half written."""
        state = Path(self.shell.variables["PULUMI_BACKEND_URL"].removeprefix("file://"))
        for lock in (state / ".pulumi" / "locks").rglob("*.json"):
            yield f"a lock: {lock.name}"
        for file in self.project.topics.rglob(".*"):
            yield f"a hidden file: {file.name}"
        for folder in Path(os.environ["TMPDIR"]).glob("topicwarden-*"):
            yield f"a temporary folder: {folder.name}"
        for folder in (self.project.root / "reports", self.project.topics):
            for draft in [*folder.rglob("*.tmp"), *folder.rglob("*.partial")]:
                yield f"a half-written file: {draft.name}"


class Up(Work):
    """Deploy new settings and two new topics."""

    arguments: ClassVar[tuple[str, ...]] = ("up", "--stack", "dev", "--yes")
    prefix: ClassVar[str] = "deployed"

    def prepare(self) -> None:
        super().prepare()
        for name, retention in self._declared().items():
            text = f"{{owner: team, partitions: 2, replication_factor: 2, config: {{retention.ms: {retention}}}}}\n"
            (self.project.topics / f"{name}.yaml").write_text(text, encoding="utf-8")

    def _declared(self) -> Mapping[str, int]:
        topics = _TOPICS + 2 * self.rounds
        return {f"{self.prefix}.t{number}": 86_400_000 + 1_000 * self.rounds for number in range(topics)}

    def unfinished(self) -> Iterator[str]:
        with self.cluster.session() as session:
            live = session.cluster.snapshot(extents=False).topics
        for name, retention in self._declared().items():
            seen = live[name].own_config.get("retention.ms") if name in live else "no topic"
            if seen != str(retention):
                yield f"{name}: retention.ms is {seen}, expected {retention}"


class Plan(Up):
    """Show changes that nobody deploys."""

    arguments = ("plan", "--stack", "dev", "--format", "json")
    prefix = "planned"

    def unfinished(self) -> Iterator[str]:
        return iter(())


class Rebalance(Work):
    """Move the replicas of a topic with records to or from a third broker."""

    arguments = ("rebalance", "--stack", "dev", "--yes", "--throttle", "1MiB")
    topic = "moved.v1"

    def factor(self) -> int:
        return 3 if self.rounds % 2 else 2

    def prepare(self) -> None:
        super().prepare()
        text = f"{{owner: team, partitions: 6, replication_factor: {self.factor()}, allow: [reduce-replicas]}}\n"
        (self.project.topics / f"{self.topic}.yaml").write_text(text, encoding="utf-8")

    def unfinished(self) -> Iterator[str]:
        with self.cluster.session() as session:
            live = session.cluster.snapshot([self.topic]).topics[self.topic]
            ongoing = session.reassignment.ongoing()
            rates = session.throttle.rates([1, 2, 3])
            lists = session.throttle.lists()[0]
        for state in live.replicas:
            if len(state.replicas) != self.factor():
                yield f"partition {state.partition} has replicas {state.replicas}, expected {self.factor()}"
        if ongoing or rates or lists:
            yield f"left behind: reassignments {list(ongoing)}, throttles {dict(rates)} {sorted(lists)}"
        if sum(extent.end - extent.start for extent in live.extents.values()) != MOVED_RECORDS:
            yield "records are lost"


class Import(Work):
    """Adopt topics that nobody declared, into a new project each time."""

    arguments = ("import", "--stack", "dev", "adopted.*")

    def prepare(self) -> None:
        super().prepare()
        folder = self.cluster.disk / f"import-{self.rounds}"
        self.project = project_of(folder, {}, _settings(self.cluster))
        self.shell = empty_stack(self.project, folder / "state")

    def unfinished(self) -> Iterator[str]:
        done = self.shell.run("pulumi", "stack", "export", "--stack", "dev", "--non-interactive")
        resources = json.loads(done.stdout)["deployment"].get("resources") or ()
        adopted = {str(each.get("id")) for each in resources if each["type"] == "kafka:index/topic:Topic"}
        declared = {topic.name for topic in load(self.project.topics, self.project.root, ["dev"]).topics}
        expected = {f"adopted.t{number}" for number in range(_TOPICS)}
        for kind, found in (("adopted", adopted), ("declared", declared)):
            if found != expected:
                yield f"{kind}: {len(found)} of {len(expected)} topics"


class Audit(Work):
    """Read records slowly enough for a fault to hit the scan. One record is wrong, so that one check fails."""

    arguments = (
        *("audit", "--stack", "dev", "--topics", "audited.*", "--format", "json"),
        *("--rate", "1MiB", "--out", "reports"),
    )
    codes = frozenset({1})

    def wrong(self, output: str) -> Iterator[str]:
        try:
            report = AuditReport.model_validate_json(output)
        except ValidationError as error:
            yield f"no report on standard output: {error}"
            return
        fails = {(one.topic, one.check) for one in report.findings if one.verdict is Verdict.FAIL}
        for topic, check in sorted(fails - {("audited.v1", "value-schema")}):
            if check not in _DURING_A_FAULT:
                yield f"a false fail: {check} of {topic}"

    def unfinished(self) -> Iterator[str]:
        report = AuditReport.model_validate_json((self.project.root / "reports/report.json").read_text())
        found = {(one.topic, one.check): one for one in report.findings}
        if found["audited.v1", "value-schema"].verdict is not Verdict.FAIL:
            yield "the wrong record was not found"
        yield from self.wrong(report.model_dump_json())
        undecided = [one.check for one in report.findings if one.verdict is Verdict.UNDECIDABLE]
        if undecided or report.coverage != 1 or report.scanned_records != RECORDS:
            yield f"undecided: {undecided}; {report.scanned_records} of {RECORDS} records were read"


COMMANDS: dict[str, type[Work]] = {"plan": Plan, "up": Up, "rebalance": Rebalance, "import": Import, "audit": Audit}


def works(cluster: FaultyCluster, commands: list[str]) -> dict[str, Work]:
    """Create the topics and the projects for ``commands``, and run each command once, undisturbed."""
    _create_topics(cluster)
    prepared = {}
    for name in commands:
        files = {"audited.v1.yaml": _AUDITED} if name == "audit" else {}
        if name == "rebalance":
            files = {"moved.v1.yaml": "{owner: team, partitions: 6, replication_factor: 2}\n"}
        project = project_of(cluster.disk / name, files, _settings(cluster))
        work = COMMANDS[name](cluster, project, empty_stack(project, cluster.disk / f"{name}-state"))
        if name in ("plan", "up", "rebalance"):
            if name != "rebalance":
                work.prepare()
            done = work.shell.topicwarden("up", "--stack", "dev", "--yes")
            if done.returncode:
                raise Refusal(f"the first `up` for {name} failed: {done.stdout}{done.stderr}")
        if isinstance(work, Rebalance):
            with writing(cluster.direct) as writer:
                for number in range(MOVED_RECORDS):
                    writer.send(work.topic, f"k{number}", _noise(number, 8_000))
        prepared[name] = work
    return prepared


_AUDITED = """\
{owner: team, partitions: 6, replication_factor: 3, config: {cleanup.policy: compact, segment.ms: 7d},
 contents: {key: {required: true, partitioner: murmur2}, value: {format: json}, headers: {required: []}}}
"""


def _settings(cluster: FaultyCluster) -> str:
    return json.dumps({"config": {"kafka:bootstrapServers": list(cluster.servers), "kafka:tlsEnabled": False}}) + "\n"


def _create_topics(cluster: FaultyCluster) -> None:
    compacted = {"cleanup.policy": "compact", "segment.ms": str(7 * 86_400_000)}
    adopted = [NewTopic(f"adopted.t{number}", 2, 2) for number in range(_TOPICS)]
    with connected(cluster.direct) as admin:
        admin.create_topics([NewTopic("audited.v1", 6, 3, topic_configs=compacted), *adopted])
    with writing(cluster.direct) as writer:
        for number in range(RECORDS):
            value = "wrong" if number == 7_000 else json.dumps({"n": number, "text": _noise(number, 200)})
            writer.send("audited.v1", f"k{number % 5_000}", value)


def _noise(number: int, size: int) -> str:
    """Return text that does not compress."""
    return hashlib.shake_128(str(number).encode()).hexdigest(size)
