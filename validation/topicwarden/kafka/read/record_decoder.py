"""Decodes the records of a fetch response: every format of Kafka, with every codec."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from struct import Struct, error
from typing import Any, Final, TypeAlias

import cramjam

MOST_DECOMPRESSED: Final = 128 << 20
"""The most bytes of a decompressed batch: a producer could write one that decompresses to more than the memory."""

Record: TypeAlias = tuple[int, bytes | None, bytes | None]
"""The offset, the key and the value of a record."""

_LENGTH: Final = Struct(">i")
_OVERHEAD: Final = 12
"""Bytes of a batch before those that its length field counts (``Records.LOG_OVERHEAD``)."""
_MAGIC: Final = 16
"""The position of the format version, which all formats share."""
_HEADER: Final = Struct(">qiibIhiqqqhii")
"""``DefaultRecordBatch``, format version 2: base offset, length, leader epoch, magic, checksum, attributes, last offset
delta, two timestamps, producer id, producer epoch, base sequence, number of records."""
_MESSAGE: Final = Struct(">qiIbb")
"""``AbstractLegacyRecordBatch``, format versions 0 and 1: offset, size, checksum, magic, attributes."""
_TIMESTAMP: Final = Struct(">q")
_CODEC, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_XERIAL: Final = b"\x82SNAPPY\x00"
"""Begins what snappy-java, and so Kafka, frames: 16 bytes, then blocks with their lengths."""
_XERIAL_HEADER: Final = 16
_ABORT: Final = b"\x00\x00\x00\x00"
"""The key of the marker at the end of an aborted transaction (``ControlRecordType``)."""


class UnreadableRecords(Exception):
    """A batch is damaged or too large, or its codec is unknown."""


@dataclass(frozen=True)
class RecordBatch:
    """A batch of records, or one message of the formats before Kafka 0.11. ``control`` is true for a marker.

    ``timestamps`` are those of the records in milliseconds, -1 for none. ``log_append_time`` is true if the broker set
    them. ``leader_epoch`` is that of the leader that appended the batch, -1 if the format has none.
    """

    last_offset: int
    records: list[Record]
    producer: int = -1
    transactional: bool = False
    control: bool = False
    timestamps: tuple[int, ...] = ()
    log_append_time: bool = False
    leader_epoch: int = -1

    @property
    def aborts(self) -> bool:
        """True if the batch is the marker that ends an aborted transaction of its producer."""
        return self.control and any(key == _ABORT for _, key, _ in self.records)


def decode(data: bytes) -> Iterator[RecordBatch]:
    """Yield each complete batch in ``data``; the last one of a response may be cut off. Raises UnreadableRecords."""
    try:
        at = 0
        while at + _MAGIC < len(data):
            end = at + _OVERHEAD + int(_LENGTH.unpack_from(data, at + 8)[0])
            if end > len(data):
                return
            if end <= at + _MAGIC:
                raise UnreadableRecords
            yield _batch(data, at, end) if data[at + _MAGIC] >= 2 else _message(data, at, end)
            at = end
    except (error, IndexError, zlib.error, cramjam.DecompressionError) as damage:
        raise UnreadableRecords from damage


def with_delivery(
    batches: Iterable[RecordBatch], aborted_transactions: Iterable[Any]
) -> Iterator[tuple[RecordBatch, bool]]:
    """Yield each of ``batches``, and whether a consumer gets its records.

    Markers are not delivered, and neither are the transactions that the fetch response lists as aborted, which it does
    for a consumer that reads committed (``CompletedFetch.nextFetchedRecord`` of Kafka's consumer).
    """
    begins = deque(sorted((each.first_offset, each.producer_id) for each in aborted_transactions))
    aborted = set[int]()
    for batch in batches:
        while begins and begins[0][0] <= batch.last_offset:
            aborted.add(begins.popleft()[1])
        if batch.aborts:
            aborted.discard(batch.producer)
        yield batch, not batch.control and not (batch.transactional and batch.producer in aborted)


def _batch(data: bytes, at: int, end: int) -> RecordBatch:
    base, _, epoch, _, _, attributes, last, first_time, last_time, producer, _, _, count = _HEADER.unpack_from(data, at)
    content = _decompressed(data[at + _HEADER.size : end], attributes & _CODEC)
    records, differences = list[Record](), list[int]()
    for record, difference in _records(content, base, count):
        records.append(record)
        differences.append(difference)
    by_broker = bool(attributes & _LOG_APPEND_TIME)
    return RecordBatch(
        base + last,
        records,
        producer,
        transactional=bool(attributes & _TRANSACTIONAL),
        control=bool(attributes & _CONTROL),
        timestamps=tuple(last_time if by_broker else first_time + difference for difference in differences),
        log_append_time=by_broker,
        leader_epoch=epoch,
    )


def _records(content: bytes, base: int, count: int) -> Iterator[tuple[Record, int]]:
    """Yield each record, and the difference of its timestamp to the first timestamp of the batch."""
    at = 0
    for _ in range(count):
        length, at = _varint(content, at)
        if length <= 0:
            raise UnreadableRecords
        end = at + length
        difference, at = _varint(content, at + 1)  # after the attributes
        delta, at = _varint(content, at)
        size, at = _varint(content, at)
        key = None if size < 0 else content[at : at + size]
        size, at = _varint(content, at + max(size, 0))
        yield (base + delta, key, None if size < 0 else content[at : at + size]), difference
        at = end  # after the headers
    if at > len(content):
        raise UnreadableRecords


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number in Protocol Buffers' zigzag encoding, and the position after it."""
    byte = data[at]
    at += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at
    number, shift = byte & 0x7F, 7
    while byte >= 0x80:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1), at


def _message(data: bytes, at: int, end: int) -> RecordBatch:
    """Return one message of the formats 0 and 1. A compressed one has other messages as its value."""
    offset, _, _, magic, attributes = _MESSAGE.unpack_from(data, at)
    timestamp = int(_TIMESTAMP.unpack_from(data, at + _MESSAGE.size)[0]) if magic else -1
    by_broker = bool(magic and attributes & _LOG_APPEND_TIME)
    key, at = _field(data, at + _MESSAGE.size + (_TIMESTAMP.size if magic else 0))
    value, _ = _field(data[:end], at)
    if not attributes & _CODEC:
        return RecordBatch(offset, [(offset, key, value)], timestamps=(timestamp,), log_append_time=by_broker)
    batches = list(decode(_decompressed(value or b"", attributes & _CODEC)))
    inner = [record for batch in batches for record in batch.records]
    times = tuple(timestamp if by_broker else time for batch in batches for time in batch.timestamps)
    # Since format 1, the offsets inside are relative, and that of the outer message is the one of the last record.
    base = offset - inner[-1][0] if magic and inner else 0
    records = [(base + number, key, value) for number, key, value in inner]
    return RecordBatch(offset, records, timestamps=times, log_append_time=by_broker)


def _field(data: bytes, at: int) -> tuple[bytes | None, int]:
    size = int(_LENGTH.unpack_from(data, at)[0])
    at += _LENGTH.size
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def _decompressed(content: bytes, codec: int) -> bytes:
    if codec not in _CODECS:
        raise UnreadableRecords
    return _CODECS[codec](content)


def _gunzip(content: bytes) -> bytes:
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    decompressed = stream.decompress(content, MOST_DECOMPRESSED)
    if not stream.eof:
        raise UnreadableRecords
    return decompressed


def _unsnappy(content: bytes) -> bytes:
    if not content.startswith(_XERIAL):
        return _unsnappy_block(content)
    blocks, at = bytearray(), _XERIAL_HEADER
    while at < len(content):
        block, at = _field(content, at)
        blocks += _unsnappy_block(block or b"")
        if len(blocks) > MOST_DECOMPRESSED:
            raise UnreadableRecords
    return bytes(blocks)


def _unsnappy_block(content: bytes) -> bytes:
    if cramjam.snappy.decompress_raw_len(content) > MOST_DECOMPRESSED:
        raise UnreadableRecords
    return bytes(cramjam.snappy.decompress_raw(content))


def _unlz4(content: bytes) -> bytes:
    return bytes(_buffer()[: cramjam.lz4.decompress_into(content, _buffer().obj)])


def _unzstd(content: bytes) -> bytes:
    return bytes(_buffer()[: cramjam.zstd.decompress_into(content, _buffer().obj)])


@cache
def _buffer() -> memoryview:
    """Return the place for decompressed batches, whose size bounds them. Only used memory is taken from the system."""
    return memoryview(bytearray(MOST_DECOMPRESSED))


_CODECS: Final[Mapping[int, Callable[[bytes], bytes]]] = {0: bytes, 1: _gunzip, 2: _unsnappy, 3: _unlz4, 4: _unzstd}
"""By Kafka's ids (``CompressionType``): none, gzip, snappy, lz4, zstd."""
