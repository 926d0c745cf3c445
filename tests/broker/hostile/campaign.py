"""Audit hostile records and registries, and look for what must not be in any output."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from confluent_kafka import Producer
from kafka.admin import NewTopic

from tests.broker.hostile import registry
from tests.broker.hostile.records import FILES, SECRET, fill
from tests.support.hostile_texts import commands, forbidden
from tests.support.projects import BIN, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.kafka.write.config_admin import connected
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import AuditOptions, auditing

LIMIT_S = 600.0
_REGISTRY_TOPIC = "registry"


@dataclass
class HostileAudit:
    """The result of one audit of hostile records; ``trouble`` is empty if it is as it must be."""

    records: int
    seconds: float
    peak_mib: int
    """The most memory that Spark's JVM has used."""
    verdicts: dict[str, int]
    trouble: list[str] = field(default_factory=list)


@contextmanager
def hostile_project(folder: Path) -> Iterator[Project]:
    """Run a broker, and yield a project with the declarations of all hostile topics."""
    with own_cache(folder):
        files = FILES | {
            f"{_REGISTRY_TOPIC}.yaml": "{owner: team, partitions: 1, replication_factor: 1, contents: {value: "
            "{format: avro, registry: true}}}\n"
        }
        project = project_of(folder / "project", files)
        single = {"offsets.topic.replication.factor": "1", "message.max.bytes": str(20 << 20)}
        with running(sandbox_of(project), 1, single, heap="1g"):
            yield project


def audit_records(project: Project, count: int, seed: int, bomb_mib: int) -> HostileAudit:
    """Write hostile records and audit them with the command, in GitHub Actions."""
    servers = sandbox_of(project).bootstrap_servers
    written = fill(servers, count, seed, bomb_mib)
    topics = ["--topics", "hostile.*", "--topics", "neighbour"]
    command = [str(BIN / "topicwarden"), "audit", "--stack", "dev", *topics, "--out", "reports", "--history", "none"]
    began = time.monotonic()
    with (project.root / "out").open("w") as out, (project.root / "err").open("w") as err:
        process = subprocess.Popen(
            command, cwd=project.root, env={**os.environ, "GITHUB_ACTIONS": "true"}, stdout=out, stderr=err
        )
    peaks: list[int] = []
    watching = threading.Thread(target=_watch, args=(process, peaks), daemon=True)
    watching.start()
    code = process.wait(LIMIT_S)
    watching.join()
    seconds = time.monotonic() - began
    texts = {name: (project.root / name).read_text(encoding="utf-8") for name in ("out", "err")}
    if code not in (0, 1):
        return HostileAudit(written, seconds, max(peaks), {}, [f"exit code {code}: {texts['err'][-800:]}"])
    texts |= {file.name: file.read_text(encoding="utf-8") for file in (project.root / "reports").iterdir()}
    report = AuditReport.model_validate_json(texts["report.json"])
    verdicts = {verdict.value: number for verdict, number in report.counts().items()}
    return HostileAudit(written, seconds, max(peaks), verdicts, [*_leaks(texts), *_unjudged(report, written)])


def _leaks(texts: dict[str, str]) -> Iterator[str]:
    for name, text in texts.items():
        if SECRET in text:
            yield f"{name} contains a part of a record"
        if found := forbidden(text):
            yield f"{name} contains {found}"
        if name in ("out", "err") and (lines := commands(text)):
            yield f"{name} contains commands: {lines}"
        if "<script>alert" in text and name not in ("out", "report.json", "report.prom", "report.sarif"):
            yield f"{name} contains a script"


def _unjudged(report: AuditReport, written: int) -> Iterator[str]:
    found = {(one.topic, one.check): one for one in report.findings}
    neighbour = found["neighbour", "value-schema"]
    if (neighbour.verdict, neighbour.evidence.get("records")) != (Verdict.FAIL, 1):
        yield f"the neighbour was not judged: {neighbour}"
    unread = [note for note in report.notes if "were not judged" in note]
    if report.scanned_records != written and not unread:
        yield f"{report.scanned_records} of {written} records were read, without a reason"
    if any("hostile.json" in note or "hostile.avro" in note or "hostile.keys" in note for note in unread):
        yield f"partitions could not be read: {unread}"


def _watch(process: subprocess.Popen[bytes], peaks: list[int]) -> None:
    peaks.append(0)
    while process.poll() is None:
        try:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for child in children:
                status = Path(f"/proc/{child}/status").read_text()
                if "VmHWM" in status:
                    peaks.append(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
        except OSError:
            pass
        time.sleep(0.5)


def audit_with_registry(project: Project, kind: str) -> tuple[float, list[str]]:
    """Audit 50 records with different schema ids while the registry answers in the way ``kind``.

    Return the seconds that this took, and what is wrong.
    """
    settings = yaml.safe_load((project.stacks / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    with registry.answering(kind) as url:
        settings["config"]["topicwarden:schemaRegistry"] = {"url": url, "username": "u", "password": SECRET}
        (project.stacks / "Pulumi.registered.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        began = time.monotonic()
        with auditing(project, "registered", options=AuditOptions(history="none")) as audit:
            report = audit((_REGISTRY_TOPIC,))
        seconds = time.monotonic() - began
    expected = registry.ANSWERS[kind][1]
    found = [one for one in report.of_topic(_REGISTRY_TOPIC) if one.check == "value-schema"]
    text = report.model_dump_json()
    trouble = [] if SECRET not in text else ["the password is in the report"]
    if expected and [one.verdict for one in found] != [Verdict.UNDECIDABLE]:
        trouble.append(f"expected undecidable, got {[(one.verdict.value, one.because) for one in found]}")
    if expected and not any(expected in reason for one in found for reason in one.because):
        trouble.append(f"expected {expected!r}, got {[one.because for one in found]}")
    return seconds, trouble


def fill_registry_topic(project: Project) -> None:
    """Write 50 records in Confluent's format, each with another schema id."""
    servers = sandbox_of(project).bootstrap_servers
    with connected(servers) as admin:
        admin.create_topics([NewTopic(_REGISTRY_TOPIC, 1, 1)])
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    for number in range(50):
        producer.produce(_REGISTRY_TOPIC, b"\0" + (number * 40_000_000 + 1).to_bytes(4, "big") + b"\x02")
    producer.flush(30)
