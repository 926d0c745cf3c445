"""Define every fault that can be planted, by name: its actions in random variants, and the checks that must find it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tests.campaigns.soundness.compared_faults import COMPARED_FAULTS
from tests.campaigns.soundness.draw import Draw, Fault, Plant, history_of, murmur2_partition, repeats
from tests.campaigns.soundness.scenario import DAY_MS, Configure, Drop, Grow, History, Record, Recreate, Step, Write
from topicwarden.model.contents import (
    Contents,
    HeaderContents,
    KeyContents,
    PartitionContents,
    RecordContents,
    TimestampContents,
    ValueContents,
)
from topicwarden.model.topic import Topic

SCHEMA: Final = {"type": "object", "required": ["n"], "properties": {"n": {"type": "number"}}}
SCHEMA_FILE: Final = "soundness.json"


def _cleaner_off(draw: Draw) -> History:
    ratio = draw.random.choice(("0.0", "0.01", "0.3"))
    topic = draw.topic(1, cleanup_policy=draw.random.choice(("compact", "compact,delete")), retention_ms="-1")
    topic = replace(topic, config={**topic.config, "min.cleanable.dirty.ratio": ratio})
    return history_of(topic, None, *repeats(draw, size=draw.random.choice((100, 2_000))))


def _cleaner_off_lag(draw: Draw) -> History:
    lag = draw.random.choice(("200", "1000"))
    topic = draw.topic(2, cleanup_policy="compact", max_compaction_lag_ms=lag, min_cleanable_dirty_ratio="1.0")
    return history_of(topic, None, *repeats(draw, keys=draw.random.choice((1, 2))))


def uncleanable(draw: Draw) -> History:
    """Return a topic that begins with an aborted transaction. The index of that transaction is corrupted later.

    Until then, a minimum dirty ratio of 1.0 keeps the cleaner away.
    """
    topic = draw.topic(1, cleanup_policy="compact", min_cleanable_dirty_ratio="1.0")
    history = history_of(topic, None, *repeats(draw, size=400))
    expected = {**topic.config, "min.cleanable.dirty.ratio": "0.01"}
    assert history.declared
    return replace(history, declared=replace(history.declared, config=expected))


def _time_stuck(draw: Draw) -> History:
    topic = draw.topic(3, cleanup_policy="delete", retention_ms=draw.random.choice(("200", "1000")))
    return history_of(topic, None, *(Write(draw.records(topic, draw.few())) for _ in range(draw.few())))


def _time_stuck_compacted(draw: Draw) -> History:
    topic = draw.topic(3, cleanup_policy="compact,delete", retention_ms=draw.random.choice(("200", "1000")))
    return history_of(topic, None, *(Write(draw.records(topic, draw.few())) for _ in range(draw.few())))


def _size_stuck(draw: Draw) -> History:
    policy, bound = draw.random.choice(("delete", "compact,delete")), draw.random.choice(("0", "1000", "500000"))
    topic = draw.topic(1, cleanup_policy=policy, retention_bytes=bound, segment_bytes=str(1 << 20), retention_ms="-1")
    number = draw.random.randint(4, 6)
    writes = (Write(draw.records(topic, 6, keys=1_000, value=draw.value(90_000))) for _ in range(number))
    return history_of(topic, None, *writes)


def hung(draw: Draw) -> History:
    """Return a topic for a hanging transaction. The caller begins the transaction separately."""
    return history_of(draw.topic(1, cleanup_policy=draw.random.choice(("delete", "compact"))))


def _blocked(draw: Draw) -> History:
    topic = draw.topic(1, cleanup_policy="delete", retention_ms=draw.random.choice(("200", "2000")))
    ahead = draw.random.choice((60_000, DAY_MS, 400 * DAY_MS))
    first = Write((replace(draw.records(topic, 1)[0], ahead=ahead),))
    return history_of(topic, None, first, *(Write(draw.records(topic, draw.few())) for _ in range(draw.few())))


def _blocked_by_future(draw: Draw) -> History:
    topic = draw.topic(1, cleanup_policy="compact", min_compaction_lag_ms=draw.random.choice(("100", "1000")))
    first = Write((Record(0, b"first", b"{}", ahead=draw.random.choice((60_000, DAY_MS))),))
    return history_of(topic, Contents(timestamps=TimestampContents(max_ahead=1_000)), first, *repeats(draw))


def _keys(draw: Draw, topic: Topic, partition_of: Callable[[bytes], int], share: float = 1.0) -> Iterator[Record]:
    for number in range(draw.random.randint(40, 90)):
        key = f"customer-{number}-{draw.random.random()}".encode()
        other = partition_of(key) if draw.random.random() < share else murmur2_partition(key, topic.partitions)
        yield Record(other, key, draw.value())


def _wrong_partitioner(draw: Draw) -> History:
    topic = draw.topic(6, 2, cleanup_policy=draw.random.choice(("delete", "compact")))
    writes = tuple(_keys(draw, topic, lambda key: zlib.crc32(key) % topic.partitions))
    return history_of(topic, Contents(key=KeyContents(partitioner="murmur2")), Write(writes))


def _mixed_producers(draw: Draw) -> History:
    """Let two services write the same keys with different partitioners."""
    topic = draw.topic(6, 2, cleanup_policy=draw.random.choice(("delete", "compact")), segment_ms="600000")
    one = tuple(_keys(draw, topic, lambda key: zlib.crc32(key) % topic.partitions))
    other = tuple(replace(record, partition=murmur2_partition(record.key or b"", topic.partitions)) for record in one)
    return history_of(topic, Contents(key=KeyContents(partitioner="murmur2")), Write(one), Write(other))


def _scattered(draw: Draw) -> History:
    topic = draw.topic(5, 2, cleanup_policy="compact", segment_ms="600000")
    writes = tuple(_keys(draw, topic, lambda _: draw.random.randrange(topic.partitions)))
    moved = tuple(replace(one, partition=(one.partition + 1) % topic.partitions) for one in writes[: draw.few()])
    return history_of(topic, None, Write(writes), Write(moved))


def _fixed_partition(draw: Draw) -> History:
    """Let a producer always select the last partition of a topic, which no smaller number of partitions has."""
    topic = draw.topic(6, 2)
    writes = tuple(_keys(draw, topic, lambda _: topic.partitions - 1))
    return history_of(topic, Contents(key=KeyContents(partitioner="murmur2")), Write(writes))


def _fixed_partition_among_others(draw: Draw) -> History:
    """Let a producer always select one partition for some keys, among many of a producer that does not."""
    topic = draw.topic(8, 4, cleanup_policy=draw.random.choice(("delete", "compact")), segment_ms="600000")
    partition = draw.random.randrange(topic.partitions // 2, topic.partitions)
    keys = [f"order-{number}-{draw.random.random()}".encode() for number in range(topic.partitions * 150)]
    good = tuple(Record(murmur2_partition(key, topic.partitions), key, b"{}") for key in keys)
    bad = tuple(Record(partition, f"fixed-{number}".encode(), b"{}") for number in range(24))
    history = history_of(topic, Contents(key=KeyContents(partitioner="murmur2")))
    return replace(history, steps=(Step(0, 0.0, Write(draw.among(good, bad))),))


def _keyless_before_compaction(draw: Draw) -> History:
    topic = draw.topic(3, cleanup_policy="delete", segment_ms="600000")
    bad = draw.records(topic, draw.few(), key=None)
    switch = {"cleanup.policy": "compact"}
    before = Write(draw.among(draw.records(topic, 10), bad))
    history = history_of(topic, None, before, Configure(tuple(switch.items())))
    assert history.declared
    return replace(history, declared=replace(history.declared, config={**topic.config, **switch}))


def _empty_values(draw: Draw) -> History:
    topic = draw.topic(3, cleanup_policy="compact")
    bad = draw.records(topic, draw.few(), 99, value=b"")
    return history_of(topic, None, Write(draw.among(draw.records(topic, 10), bad)))


def _drift(draw: Draw) -> History:
    topic = draw.topic(2, cleanup_policy="delete", retention_ms="86400000")
    other = draw.random.choice((("retention.ms", "60000"), ("max.message.bytes", "2000000"), ("segment.ms", "60000")))
    return history_of(topic, None, Configure((other,)))


def _recreated(draw: Draw) -> History:
    topic = draw.topic(3, cleanup_policy=draw.random.choice(("delete", "compact")))
    return history_of(topic, None, Write(draw.records(topic, draw.few())), late=(Recreate(),))


def _missing(draw: Draw) -> History:
    return history_of(draw.topic(2), None, Drop())


def _undeclared(draw: Draw) -> History:
    return replace(history_of(draw.topic(2)), declared=None)


def _partitions_drift(draw: Draw) -> History:
    return history_of(draw.topic(3), None, Grow(draw.few()))


def _replication_drift(draw: Draw) -> History:
    history = history_of(draw.topic(3))
    assert history.declared
    return replace(history, declared=replace(history.declared, replication_factor=draw.random.choice((2, 3))))


def _malformed(contents: Contents, spoil: Callable[[Draw, Record], Record]) -> Plant:
    """Return a plant that writes some malformed records among many well-formed records."""

    def plant(draw: Draw) -> History:
        policy = draw.random.choice(("delete", "compact"))
        topic = draw.topic(4, cleanup_policy=policy, segment_ms="600000", retention_ms="-1")
        bad = tuple(spoil(draw, record) for record in draw.records(topic, draw.few()))
        return history_of(topic, contents, Write(draw.among(draw.records(topic, draw.random.randint(0, 40)), bad)))

    return plant


def _bad_value(draw: Draw, record: Record) -> Record:
    values = (b"no { json", b'{"n": "text"}', b"{}", b"[1]", b"\xff\xfe", b"nul")
    return replace(record, value=draw.random.choice(values))


def _wrong_unit(draw: Draw, record: Record) -> Record:
    now = 1_700_000_000
    return replace(record, stamp=draw.random.choice((now, now * 1_000_000, now * 1_000_000_000)))


def _hot_key(draw: Draw) -> History:
    topic = draw.topic(3, cleanup_policy="delete")
    hot = draw.records(topic, draw.random.randint(30, 60), keys=1)
    return history_of(
        topic, Contents(key=KeyContents(max_share=0.5)), Write(draw.among(hot, draw.records(topic, 10, keys=30)))
    )


def _hot_key_everywhere(draw: Draw) -> History:
    """Write one key to every partition. In each partition, the key's share is below the limit."""
    topic = draw.topic(4, 3, cleanup_policy="delete")
    hot = draw.records(topic, draw.random.randint(60, 90), keys=1)
    spread = tuple(replace(record, partition=number % topic.partitions) for number, record in enumerate(hot))
    return history_of(
        topic, Contents(key=KeyContents(max_share=0.5)), Write(draw.among(spread, draw.records(topic, 10, keys=30)))
    )


def _skewed(draw: Draw) -> History:
    topic = draw.topic(4, 2, cleanup_policy="delete")
    skewed = draw.records(topic, 30, partition=topic.partitions - 1)
    return history_of(topic, Contents(partitions=PartitionContents(max_skew=1.5)), Write(skewed))


def _late(draw: Draw) -> History:
    topic = draw.topic(1, cleanup_policy="delete", retention_ms="-1")
    late = draw.records(topic, draw.few(), ahead=-draw.random.choice((120_000, DAY_MS)))
    return history_of(
        topic, Contents(timestamps=TimestampContents(max_late=60_000)), Write(draw.records(topic, 5)), Write(late)
    )


def _wrong_type(draw: Draw) -> History:
    topic = draw.topic(2, message_timestamp_type="LogAppendTime")
    return history_of(
        topic, Contents(timestamps=TimestampContents(type="CreateTime")), Write(draw.records(topic, draw.few()))
    )


FAULTS: Final[dict[str, Fault]] = {
    "cleaner off": Fault(_cleaner_off, ("compaction-ratio",), stuck=True),
    "cleaner off, max.compaction.lag.ms": Fault(_cleaner_off_lag, ("compaction-lag",), stuck=True),
    "uncleanable partition": Fault(uncleanable, ("compaction-ratio",)),
    "deletion by time stuck": Fault(_time_stuck, ("retention-time",), stuck=True),
    "deletion by time stuck, compacted": Fault(_time_stuck_compacted, ("retention-time",), stuck=True),
    "deletion by size stuck": Fault(_size_stuck, ("retention-size",), stuck=True),
    "deletion blocked by the future": Fault(_blocked, ("retention-blocked",)),
    "cleaner held by the future": Fault(_blocked_by_future, ("timestamp-future",)),
    "hung transaction": Fault(hung, ("hung-transaction",), stuck=True),
    "wrong partitioner": Fault(_wrong_partitioner, ("key-partition",)),
    "fixed partition": Fault(_fixed_partition, ("key-partition",)),
    "fixed partition for some keys": Fault(_fixed_partition_among_others, ("key-partition",)),
    "two kinds of producer": Fault(_mixed_producers, ("key-in-several-partitions",)),
    "keys in several partitions": Fault(_scattered, ("key-in-several-partitions",)),
    "keyless before compaction": Fault(_keyless_before_compaction, ("null-key",)),
    "empty for a tombstone": Fault(_empty_values, ("empty-value",)),
    "setting changed by hand": Fault(_drift, ("config-drift",)),
    "topic created again": Fault(_recreated, ("topic-recreated",)),
    "topic gone": Fault(_missing, ("topic-missing",)),
    "topic of nobody": Fault(_undeclared, ("topic-undeclared",)),
    "partitions added by hand": Fault(_partitions_drift, ("partition-count",)),
    "fewer replicas than declared": Fault(_replication_drift, ("replication-factor",)),
    "value against its schema": Fault(
        _malformed(Contents(value=ValueContents(format="json", schema=SCHEMA_FILE)), _bad_value), ("value-schema",)
    ),
    "key of another type": Fault(
        _malformed(Contents(key=KeyContents(format="string")), lambda draw, record: replace(record, key=b"\xff\xfe")),
        ("key-schema",),
    ),
    "header missing": Fault(
        _malformed(
            Contents(headers=HeaderContents(required=("trace-id",))), lambda draw, record: replace(record, headers=())
        ),
        ("header",),
    ),
    "record too large": Fault(
        _malformed(
            Contents(records=RecordContents(max_bytes=600)), lambda draw, record: replace(record, value=draw.value(900))
        ),
        ("record-size",),
    ),
    "timestamp in another unit": Fault(_malformed(Contents(), _wrong_unit), ("timestamp-unit",)),
    "timestamp in the future": Fault(
        _malformed(
            Contents(timestamps=TimestampContents(max_ahead=1_000)),
            lambda draw, record: replace(record, ahead=draw.random.choice((3_600_000, 90 * DAY_MS))),
        ),
        ("timestamp-future",),
    ),
    "timestamp late": Fault(_late, ("timestamp-late",)),
    "timestamps of another type": Fault(_wrong_type, ("timestamp-type",)),
    "hot key": Fault(_hot_key, ("hot-key",)),
    "hot key in every partition": Fault(_hot_key_everywhere, ("hot-key",)),
    "skewed partitions": Fault(_skewed, ("partition-skew",)),
    **COMPARED_FAULTS,
}
