"""Audit records that are made to harm their readers, and hostile registries; look for what must not be in any output.

Each record has a text that no output may contain.
"""

from __future__ import annotations

import os
import random
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from confluent_kafka import Producer
from kafka.admin import NewTopic

from tests.campaigns.hostile import registry
from tests.support.clients import commit
from tests.support.hostile_texts import HOSTILE, commands, forbidden
from tests.support.projects import BIN, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

SECRET: Final = "s3cr3t-of-a-record"
MIB: Final = 1 << 20
FILES: Final = {
    "hostile/hostile.json.yaml": """\
{owner: "<script>alert(1)</script>", description: "\\e[31mred\\n::error::planted", partitions: 3, replication_factor: 1,
 config: {max.message.bytes: 20MiB}, contents: {
 key: {format: string}, value: {format: json, schema: any.json}, headers: {required: [trace-id]},
 expressions: [{id: small, require: 'size(value) < 100', message: "::error::planted </script>"}]}}
""",
    "hostile/any.json": '{"type": "object", "additionalProperties": {"type": "string"}}',
    "hostile/hostile.avro.yaml": """\
{owner: team, partitions: 1, replication_factor: 1, config: {max.message.bytes: 20MiB}, contents: {
 value: {format: avro, schema: node.avsc}}}
""",
    "hostile/node.avsc": '{"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]}',
    "hostile/hostile.keys.yaml": """\
{owner: team, partitions: 2, replication_factor: 1, config: {cleanup.policy: compact, max.message.bytes: 20MiB},
 contents: {key: {partitioner: murmur2}}}
""",
    "hostile/hostile.bombs.yaml": """\
{owner: team, partitions: 2, replication_factor: 1, config: {max.message.bytes: 20MiB}, contents: {
 value: {format: json}}}
""",
    "neighbour.yaml": "{owner: team, partitions: 1, replication_factor: 1, contents: {value: {format: json}}}\n",
}
"""The declarations, by path in ``topics/``. The texts in them are hostile, too."""

_TOPICS: Final = {"hostile.json": 3, "hostile.avro": 1, "hostile.keys": 2, "hostile.bombs": 2, "neighbour": 1}


@dataclass(frozen=True)
class Hostile:
    """A record by its parts."""

    value: bytes | None = b"{}"
    key: bytes | None = b"k"
    headers: list[tuple[str, str | bytes | None]] = field(default_factory=list)


def _deep(chance: random.Random) -> Hostile:
    depth = chance.choice((999, 1_001, 100_000))
    return Hostile(b'{"a":' * depth + b'"' + SECRET.encode() + b'"' + b"}" * depth)


def _text(chance: random.Random) -> Hostile:
    text = chance.choice(HOSTILE).encode("utf-8", "surrogatepass") + SECRET.encode()
    return Hostile(b'{"' + text + b'": 1}', text, [(chance.choice(HOSTILE).encode("ascii", "ignore").decode(), text)])


def _bytes(chance: random.Random) -> Hostile:
    return Hostile(chance.randbytes(chance.randrange(200)), chance.randbytes(chance.randrange(200)))


KINDS: Final[dict[str, Callable[[random.Random], Hostile]]] = {
    "a key of 1 MB": lambda chance: Hostile(key=SECRET.encode() + chance.randbytes(MIB)),
    "a value of 4 MB": lambda chance: Hostile(b'{"a": "' + b"x" * 4 * MIB + b'"}'),
    "invalid UTF-8": lambda chance: Hostile(b'{"\xff\xfe": "\xc0\x80"}', b"\xff\xfe\xed\xa0\x80"),
    "deep JSON": _deep,
    "10,000 headers": lambda chance: Hostile(headers=[(f"h{number}", b"x") for number in range(10_000)]),
    "one header 10,000 times": lambda chance: Hostile(headers=[("trace-id", None)] * 10_000),
    "10,000 properties": lambda chance: Hostile(
        b"{" + b",".join(b'"%s%d": %d' % (SECRET.encode(), number, number) for number in range(10_000)) + b"}"
    ),
    "a number of 100,000 digits": lambda chance: Hostile(b'{"a": ' + b"9" * 100_000 + b"}"),
    "hostile texts": _text,
    "random bytes": _bytes,
    "a long chain in Avro": lambda chance: Hostile(b"\x02" * chance.choice((900, 100_000)) + b"\x00"),
    "a huge length in Avro": lambda chance: Hostile(b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f" + SECRET.encode()),
    "Confluent's frame": lambda chance: Hostile(b"\0" + struct.pack(">i", chance.randrange(-(2**31), 2**31)) + b"x"),
    "nothing": lambda chance: Hostile(None, None),
    "an empty key and value": lambda chance: Hostile(b"", b""),
}


def fill(servers: Sequence[str], count: int, seed: int, bomb_mib: int) -> int:
    """Write ``count`` hostile records to random topics, and bombs of ``bomb_mib``; return the number of all records.

    Every kind is written at least once.
    """
    chance = random.Random(seed)
    with connected(servers) as admin:
        for name, partitions in _TOPICS.items():
            settings = {"max.message.bytes": str(20 * MIB)}
            settings |= {"cleanup.policy": "compact"} if name == "hostile.keys" else {}
            admin.create_topics([NewTopic(name, partitions, 1, topic_configs=settings)])
    kinds = [*KINDS, *chance.choices(list(KINDS), k=max(0, count - len(KINDS)))]
    written = 0
    producer = _producer(servers)
    for kind in kinds:
        record = KINDS[kind](chance)
        topic = chance.choice(("hostile.json", "hostile.avro", "hostile.keys"))
        key = record.key if topic != "hostile.keys" or record.key is not None else b"k"
        producer.produce(topic, record.value, key, headers=record.headers)
        written += 1
        producer.flush(60) if written % 50 == 0 else producer.poll(0)
    for value in (b"{}", SECRET.encode(), b"{}"):
        producer.produce("neighbour", value)
    producer.flush(60)
    written += 3 + _bombs(servers, bomb_mib)
    for number, text in enumerate(HOSTILE):
        name = text.encode("utf-8", "ignore").decode().replace("\0", "") + str(number)
        commit(servers, name, {("hostile.json", 0): 0})
    return written


def _producer(servers: Sequence[str], **more: Any) -> Producer:
    return Producer(
        {"bootstrap.servers": ",".join(servers), "message.max.bytes": 1_000_000_000, "log_level": 0, **more}
    )


def _bombs(servers: Sequence[str], mib: int) -> int:
    """Write one record of ``mib`` MiB, and a batch of as many records of 1 MiB; both are small on the broker."""
    producer = _producer(servers, **{"compression.type": "zstd", "linger.ms": 2_000, "batch.size": 2_000_000_000})
    producer.produce("hostile.bombs", bytes(mib * MIB), partition=0)
    producer.flush(120)
    zeros = bytes(MIB)
    for _ in range(mib):
        producer.produce("hostile.bombs", zeros, partition=1)
    producer.flush(120)
    producer.produce("hostile.bombs", b"{}", partition=0)
    producer.flush(60)
    return mib + 2


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
