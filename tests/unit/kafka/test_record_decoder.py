"""Test that every format and codec is decoded. kafka-python and the codecs' own libraries encode the records."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from struct import pack, pack_into

import cramjam
import lz4.frame
import pytest
from kafka.record import MemoryRecordsBuilder

from topicwarden.kafka.read import record_decoder
from topicwarden.kafka.read.record_decoder import RecordBatch, UnreadableRecords, decode

HEADER = 61


def xerial(content: bytes) -> bytes:
    """Return what snappy-java's ``SnappyOutputStream`` writes, in two blocks."""
    half = len(content) // 2
    blocks = [bytes(cramjam.snappy.compress_raw(block)) for block in (content[:half], content[half:])]
    return b"\x82SNAPPY\x00" + pack(">ii", 1, 1) + b"".join(pack(">i", len(block)) + block for block in blocks)


CODECS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "none": (0, bytes),
    "gzip": (1, gzip.compress),
    "snappy": (2, lambda content: bytes(cramjam.snappy.compress_raw(content))),
    "snappy of Java": (2, xerial),
    "lz4": (3, lambda content: bytes(lz4.frame.compress(content, block_linked=False))),
    "zstd": (4, lambda content: bytes(cramjam.zstd.compress(content))),
}


def records(magic: int, entries: list[tuple[bytes | None, bytes | None]], base: int = 0) -> bytearray:
    builder = MemoryRecordsBuilder(magic=magic, compression_type=0, batch_size=1 << 30, offset=base)
    for number, (key, value) in enumerate(entries):
        builder.append(1_700_000_000_000 + number, key, value, [("name", b"v" * (number % 3))] if magic == 2 else [])
    builder.close()
    return bytearray(builder.buffer())


def entries() -> list[tuple[bytes | None, bytes | None]]:
    chance = random.Random(7)
    return [
        (None if number % 5 == 0 else chance.randbytes(number % 90), None if number % 7 == 0 else b"value %d" % number)
        for number in range(300)
    ]


def compressed(batch: bytearray, codec: str) -> bytes:
    """Return the batch of format 2 with its records compressed."""
    number, compress = CODECS[codec]
    header, content = batch[:HEADER], compress(bytes(batch[HEADER:]))
    pack_into(">i", header, 8, HEADER - 12 + len(content))
    pack_into(">h", header, 21, number)
    return bytes(header) + content


def wrapped(magic: int, messages: bytes, codec: str, offset: int) -> bytes:
    """Return a message of the formats 0 and 1 whose value is other messages, compressed."""
    number, compress = CODECS[codec]
    outer = records(magic, [(None, compress(messages))])
    pack_into(">q", outer, 0, offset)
    outer[17] = number
    return bytes(outer)


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_of_each_codec_is_decoded(codec: str) -> None:
    written = entries()
    data = compressed(records(2, written), codec)
    (batch,) = decode(data + data[:40])
    assert batch.records == [(offset, *entry) for offset, entry in enumerate(written)]
    assert (batch.last_offset, batch.control, batch.transactional) == (299, False, False)


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_from_before_kafka_0_11_are_decoded(magic: int) -> None:
    written = entries()
    batches = list(decode(bytes(records(magic, written, base=40))))
    assert [batch.records for batch in batches] == [[(40 + number, *entry)] for number, entry in enumerate(written)]


@pytest.mark.parametrize("codec", ["gzip", "snappy of Java"])
@pytest.mark.parametrize(("magic", "inner"), [(0, 40), (1, 0)])
def test_compressed_messages_have_the_offsets_of_their_format(magic: int, inner: int, codec: str) -> None:
    written = entries()
    last = 40 + len(written) - 1
    (batch,) = decode(wrapped(magic, bytes(records(magic, written, base=inner)), codec, last))
    assert batch.records == [(40 + number, *entry) for number, entry in enumerate(written)]
    assert batch.last_offset == last


TIMES = tuple(1_700_000_000_000 + number for number in range(300))


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_record_has_the_time_of_the_producer_or_of_the_broker(codec: str) -> None:
    batch = records(2, entries())
    pack_into(">i", batch, 12, 9)
    (by_producer,) = decode(compressed(batch, codec))
    assert (by_producer.timestamps, by_producer.log_append_time, by_producer.leader_epoch) == (TIMES, False, 9)
    appended = bytearray(compressed(batch, codec))
    pack_into(">h", appended, 21, CODECS[codec][0] | 0x08)
    pack_into(">q", appended, 35, 1_700_000_999_999)
    (by_broker,) = decode(bytes(appended))
    assert (by_broker.timestamps, by_broker.log_append_time) == ((1_700_000_999_999,) * 300, True)


def test_a_record_without_a_timestamp_has_minus_one() -> None:
    batch = records(2, entries()[:1])
    pack_into(">qq", batch, 27, -1, -1)
    assert next(decode(bytes(batch))).timestamps == (-1,)


@pytest.mark.parametrize(("magic", "times"), [(0, (-1,) * 300), (1, TIMES)])
def test_messages_from_before_kafka_0_11_have_times_since_format_1(magic: int, times: tuple[int, ...]) -> None:
    batches = list(decode(bytes(records(magic, entries()))))
    assert tuple(time for batch in batches for time in batch.timestamps) == times
    assert {batch.leader_epoch for batch in batches} == {-1}
    (inner,) = decode(wrapped(magic, bytes(records(magic, entries())), "gzip", 299))
    assert inner.timestamps == times
    if magic:
        outer = bytearray(wrapped(magic, bytes(records(magic, entries())), "gzip", 299))
        outer[17] |= 0x08
        (appended,) = decode(bytes(outer))
        assert (set(appended.timestamps), appended.log_append_time) == ({TIMES[0]}, True)


def test_a_damaged_batch_is_decoded_or_refused() -> None:
    batch = compressed(records(2, entries()), "zstd")
    chance = random.Random(3)
    refused = 0
    for _ in range(300):
        damaged = bytearray(batch)
        damaged[chance.randrange(16, len(batch))] = chance.randrange(256)
        try:
            list(decode(bytes(damaged)))
        except UnreadableRecords:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize("codec", ["gzip", "snappy", "snappy of Java", "lz4", "zstd"])
def test_a_batch_that_decompresses_to_too_much_is_refused(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_decoder, "MOST_DECOMPRESSED", 10_000)
    record_decoder._buffer.cache_clear()
    batch = compressed(records(2, [(b"k", bytes(12_000))]), codec)
    with pytest.raises(UnreadableRecords):
        list(decode(batch))
    record_decoder._buffer.cache_clear()


def test_markers_end_transactions() -> None:
    (aborted, committed) = (RecordBatch(9, [(9, pack(">hh", 0, kind), b"")], control=True) for kind in (0, 1))
    assert (aborted.aborts, committed.aborts) == (True, False)
    assert not RecordBatch(9, [(9, pack(">hh", 0, 0), b"")]).aborts
