"""Compare what ``ReaderRecords`` counts with what independent readers fail on, for many drawn pairs in one scan.

The readers are Avro's Java library (Spark's copy), the Python package ``jsonschema``, and Protocol Buffers' Python
runtime. Records are in a real broker, and schemas of writers in a real registry.
"""

from __future__ import annotations

import io
import json
import random
import struct
import subprocess
import urllib.error
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyspark
from confluent_kafka import Producer
from google.protobuf import message as protobuf_message
from jsonschema.validators import Draft202012Validator, validator_for
from kafka.admin import NewTopic

from tests.campaigns.readability.drawn_schemas import Pair, draw_pairs, message_types
from tests.support.java_programs import compiled
from tests.support.registry import register_schema
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.readability import Readability, SchemaScan, UnreadablePartition
from topicwarden.model.subject import RegisteredSchema
from topicwarden.toolchain import Toolchain

SINGLE = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
    "log.retention.ms": "-1",
}
PARTITIONS = 2
PAIRS_OF_A_TOPIC = 20
BEFORE, ONLY_NEW = "unreadable before, too", "readable only with the new schema"
_START = 1_700_000_000_000

Readable = tuple[bool | None, bool | None]
"""Whether a value can be read by the schema of its writer, and with the new one; None if that needs too much memory."""


@dataclass(frozen=True)
class Record:
    """A committed record: the bytes that it has as its key or value (``part``), and its place."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    part: str
    data: bytes


@dataclass
class Drawn:
    """A pair with its subject and place."""

    number: int
    pair: Pair
    topic: str
    part: str
    id: int = -1
    readable: dict[bytes, Readable] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        return f"subject-{self.number}"

    def scan(self) -> SchemaScan:
        """Return the scan with the new schema."""
        return SchemaScan(self.topic, self.part, self.subject, RegisteredSchema(self.pair.new_format, self.pair.new))


@contextmanager
def reference_reader(java: Path, scratch: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield a JVM with ``ReferenceReader``, which has none of our classes."""
    jars = str(Path(pyspark.__file__).parent / "jars" / "*")
    classes = compiled(java, Path(__file__).with_name("ReferenceReader.java"), jars)
    command = [str(java), "-Xmx512m", "-cp", f"{classes}:{jars}", "ReferenceReader"]
    with (scratch / "reference.log").open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@contextmanager
def broker(tools: Toolchain, folder: Path) -> Iterator[Sandbox]:
    """Yield a running broker that keeps records of any age."""
    with running(Sandbox(folder / "sandbox", tools.java, tools.kafka_jars), 1, SINGLE, heap="512m") as sandbox:
        yield sandbox


class Comparison:
    """Draws pairs, writes their records, and compares results."""

    def __init__(self, seed: str, pairs: int, reference: subprocess.Popen[str]) -> None:
        self._seed, self._reference = seed, reference
        drawn = draw_pairs(seed, pairs)
        self.drawn = []
        for number, pair in enumerate(drawn):
            part = random.Random(f"{seed}/part/{number}").choice(("value", "value", "value", "key"))
            self.drawn.append(Drawn(number, pair, f"readable-{number // PAIRS_OF_A_TOPIC}", part))
        for each in self.drawn:
            self._judge(each)
        self.records: list[Record] = []
        self.subjects: dict[int, set[str]] = defaultdict(set)

    def _judge(self, drawn: Drawn) -> None:
        """Judge the values, and leave out those that need too much memory."""
        pair = drawn.pair
        if pair.format == pair.new_format == "avro":
            readable = self._avro(pair)
        else:
            readable = [_readable(pair, value, self._avro) for value in pair.values]
        drawn.readable = {value: found for value, found in zip(pair.values, readable, strict=True) if None not in found}

    def _avro(self, pair: Pair, reader: str | None = None) -> list[Readable]:
        if json.loads(pair.old) == "bytes":  # consumers get them as they are
            return [(True, True)] * len(pair.values)
        values = [b64encode(value).decode() for value in pair.values]
        assert self._reference.stdin and self._reference.stdout
        request = {"writer": pair.old, "reader": reader or pair.new, "values": values}
        self._reference.stdin.write(json.dumps(request) + "\n")
        self._reference.stdin.flush()
        answer = json.loads(self._reference.stdout.readline())
        if "error" in answer:  # Avro for Java refuses a schema that Avro for Python accepts
            return [(None, None)] * len(values)
        return list(zip(answer["writes"], answer["reads"], strict=True))

    def register(self, url: str) -> None:
        """Register the old schemas."""

        def one(drawn: Drawn) -> int | None:
            try:
                return register_schema(url, drawn.subject, drawn.pair.old, drawn.pair.format.upper())
            except urllib.error.HTTPError:
                return None  # the registry refuses the schema

        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(one, self.drawn))
        for drawn, found in zip(self.drawn, ids, strict=True):
            if found is not None:
                drawn.id = found
                self.subjects[found].add(drawn.subject)
        self.drawn = [drawn for drawn in self.drawn if drawn.id >= 0 and drawn.readable]

    def write(self, servers: Sequence[str]) -> Producer:
        """Write the records, some in aborted transactions; return the producer of a transaction that stays open."""
        draw = random.Random(f"{self._seed}/write")
        topics = sorted({drawn.topic for drawn in self.drawn})
        with connected(servers) as admin:
            admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in topics])
        settings = {"bootstrap.servers": ",".join(servers), "linger.ms": 20, "transaction.timeout.ms": 800_000}
        committed, aborted, plain = (
            Producer({**settings, "transactional.id": "committed"}),
            Producer({**settings, "transactional.id": "aborted"}),
            Producer(settings),
        )
        for producer in (committed, aborted):
            producer.init_transactions(60)
        selected = [(drawn, value) for drawn in self.drawn for value in drawn.readable]
        draw.shuffle(selected)
        for start in range(0, len(selected), 2_000):
            committed.begin_transaction()
            aborted.begin_transaction()
            for drawn, value in selected[start : start + 2_000]:
                data = b"\0" + struct.pack(">I", drawn.id) + value
                chance = draw.random()
                producer = aborted if chance < 0.1 else plain if chance < 0.5 else committed
                self._produce(producer, drawn, data, draw, chance >= 0.1)
                if chance > 0.95:
                    self._produce(plain, drawn, draw.choice((b"{}", b"", b"\0\0\7\xff\xff\0")), draw, True)
            aborted.flush(60)  # an abort drops what was not sent
            committed.commit_transaction(60)
            aborted.abort_transaction(60)
            plain.flush(60)
        aborted.begin_transaction()
        for drawn, value in selected[:500]:
            self._produce(aborted, drawn, b"\0" + struct.pack(">I", drawn.id) + value, draw, False)
        aborted.flush(60)
        return aborted

    def _produce(self, producer: Producer, drawn: Drawn, data: bytes, draw: random.Random, kept: bool) -> None:
        timestamp = _START + draw.randint(0, 10**9)

        def delivered(error: Any, message: Any) -> None:
            assert error is None, error
            if kept:
                self.records.append(
                    Record(drawn.topic, message.partition(), message.offset(), timestamp, drawn.part, data)
                )

        key, value = (data, None) if drawn.part == "key" else (None, data)
        producer.produce(
            drawn.topic, value, key, draw.randrange(PARTITIONS), timestamp=timestamp, on_delivery=delivered
        )
        producer.poll(0)

    def copy_records(self, servers: Sequence[str], drawn: Drawn, topic: str) -> None:
        """Write the records of a pair to another topic."""
        producer = Producer({"bootstrap.servers": ",".join(servers)})
        for value in drawn.readable:
            data = b"\0" + struct.pack(">I", drawn.id) + value
            key, of_value = (data, None) if drawn.part == "key" else (None, data)
            producer.produce(topic, of_value, key)
        producer.flush(60)

    def expected(self) -> list[Readability]:
        """Return what the independent readers find, for each pair."""
        by_topic: dict[str, list[Record]] = defaultdict(list)
        for record in self.records:
            by_topic[record.topic].append(record)
        by_subject = {drawn.subject: drawn for drawn in self.drawn}
        return [self._expected(drawn, by_topic[drawn.topic], by_subject) for drawn in self.drawn]

    def _expected(self, drawn: Drawn, records: Sequence[Record], by_subject: dict[str, Drawn]) -> Readability:
        unreadable: dict[int, list[Record]] = defaultdict(list)
        unaffected = only_new = 0
        for record in records:
            if record.part != drawn.part:
                continue
            known = len(record.data) >= 5 and record.data[0] == 0
            id_ = struct.unpack(">I", record.data[1:5])[0] if known else -1
            if drawn.subject not in self.subjects.get(id_, ()):
                unaffected += 1
                continue
            value = record.data[5:]
            if value not in drawn.readable:  # of another pair with the same schema of the writer
                pair = Pair(drawn.pair.format, drawn.pair.old, drawn.pair.new, drawn.pair.new_format, (value,))
                other = Drawn(-1, pair, drawn.topic, drawn.part)
                self._judge(other)
                drawn.readable |= other.readable
            before, after = drawn.readable[value]
            if not before:
                unaffected += not after
                only_new += bool(after)  # damaged in a part that the new schema skips
            elif not after:
                unreadable[record.partition].append(record)
        partitions = tuple(
            UnreadablePartition(
                partition,
                len(found),
                min(each.offset for each in found),
                max(each.offset for each in found),
                max(each.timestamp for each in found),
            )
            for partition, found in sorted(unreadable.items())
        )
        count = len(records)
        return Readability(
            drawn.topic, drawn.part, count, count, partitions, unaffected={BEFORE: unaffected, ONLY_NEW: only_new}
        )


def _readable(pair: Pair, value: bytes, avro: Any) -> Readable:
    one = Pair(pair.format, pair.old, pair.old, pair.format, (value,))
    before = avro(one)[0][0] if pair.format == "avro" else _reads(pair.format, pair.old, pair.old, value)
    if pair.format != pair.new_format:
        return before, False if before is not None else None
    return before, _reads(pair.format, pair.old, pair.new, value)


def _reads(kind: str, old: str, new: str, value: bytes) -> bool | None:
    return _reads_json(new, value) if kind == "json" else _reads_protobuf(old, new, value)


@cache
def _validator(text: str) -> Any:
    schema = json.loads(text)
    return validator_for(schema, default=Draft202012Validator)(schema)


def _reads_json(text: str, value: bytes) -> bool | None:
    try:
        document = json.loads(value.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return bool(_validator(text).is_valid(document))


_types = cache(message_types)


def _reads_protobuf(old: str, new: str, value: bytes) -> bool | None:
    stream = io.BytesIO(value)
    index = 0 if stream.read(1) == b"\0" else stream.read(1)[0] >> 1
    name = list(_types(old))[index]
    kind = _types(new).get(name)
    if kind is None:
        return False
    made = kind()
    try:
        made.ParseFromString(stream.read())
    except protobuf_message.DecodeError:
        return False
    return bool(made.IsInitialized())


def differences(drawn: Sequence[Drawn], expected: Sequence[Readability], found: Sequence[Readability]) -> list[str]:
    """Return a line for each pair whose result differs."""
    return [
        f"{one.subject} ({one.topic} {one.part}) {one.pair.format} {one.pair.old} -> {one.pair.new}\n"
        f"    expected {right}\n    found    {result}\n    {one.readable}"
        for one, right, result in zip(drawn, expected, found, strict=True)
        if not (_same(right, result) or _beyond_limits(right, result))
    ]


def _same(right: Readability, result: Readability) -> bool:
    return (
        (right.partitions, right.retained, right.scanned) == (result.partitions, result.retained, result.scanned)
        and 0 <= sum(result.unaffected.values()) - right.unaffected[BEFORE] <= right.unaffected[ONLY_NEW]
        and not result.undecided
        and result.error is None
    )


def _beyond_limits(right: Readability, result: Readability) -> bool:
    """Return whether damaged records are undecided, because their lengths are beyond the limits of the audit."""
    undecided = sum(result.undecided.values())
    missing = right.unreadable - result.unreadable
    return result.error is None and 0 < undecided <= 2 and 0 <= missing <= undecided


def table(drawn: Sequence[Drawn], found: Sequence[Readability], records: int) -> str:
    """Return the numbers of a comparison."""
    pairs: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    unreadable: Counter[str] = Counter()
    for one, result in zip(drawn, found, strict=True):
        name = one.pair.format if one.pair.format == one.pair.new_format else "another format"
        pairs[name] += 1
        broken[name] += bool(result.unreadable)
        unreadable[name] += result.unreadable
    lines = [
        f"{name:16}{pairs[name]:6} pairs, {broken[name]:5} break readers, {unreadable[name]:6} unreadable records"
        for name in sorted(pairs)
    ]
    undecided = sum(sum(each.undecided.values()) for each in found)
    total = f"{pairs.total()} pairs, {records} committed records, {unreadable.total()} unreadable"
    return "\n".join([*lines, f"{total}, {undecided} undecided (damaged, and beyond the limits of the audit)"])
