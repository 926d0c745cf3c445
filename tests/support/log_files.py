"""Read record batches, checkpoints and log messages from a broker's files: the test oracle for an audit."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

import cramjam

from topicwarden.extensions.sandbox.scenarios.compaction import checkpoint


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


_HEADER = Struct(">qiibIhiqqqhii")
"""The header of a ``DefaultRecordBatch``, from the base offset to the number of records."""
_LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x08, 0x10, 0x20
_XERIAL = b"\x82SNAPPY\x00"
"""The start of Snappy as Java writes it: 16 bytes, then blocks, each after its length (``SnappyOutputStream``)."""


def _snappy(body: bytes) -> bytes:
    if not body.startswith(_XERIAL):
        return bytes(cramjam.snappy.decompress_raw(body))
    at, blocks = 16, []
    while at < len(body):
        length = int.from_bytes(body[at : at + 4], "big")
        blocks.append(bytes(cramjam.snappy.decompress_raw(body[at + 4 : at + 4 + length])))
        at += 4 + length
    return b"".join(blocks)


_CODECS: Mapping[int, Callable[[bytes], bytes]] = {
    1: lambda body: zlib.decompress(body, wbits=31),
    2: _snappy,
    3: lambda body: bytes(cramjam.lz4.decompress(body)),
    4: lambda body: bytes(cramjam.zstd.decompress(body)),
}
"""The codecs of batches by the last three bits of their attributes (``CompressionType``)."""
_COMMIT = 1
_UNCLEANABLE = re.compile(r"Marking its partition \((\S+)-(\d+)\) as uncleanable")


def log_start_checkpoint(log_dir: Path) -> dict[tuple[str, int], int]:
    """Return the log start offset by topic and partition, for logs where DeleteRecords moved it into a segment.

    Source: ``log-start-offset-checkpoint``, written every ``log.flush.start.offset.checkpoint.interval.ms``.
    """
    return checkpoint(log_dir / "log-start-offset-checkpoint")


def uncleanable(log_dir: Path) -> frozenset[tuple[str, int]]:
    """Return the partitions that the cleaner marked as uncleanable since the broker started.

    Source: ``LogCleaner.CleanerThread``, which logs them. The sandbox keeps the broker's log beside its ``log.dirs``.
    """
    log = log_dir.parent / "server.log"
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    return frozenset((found[1], int(found[2])) for found in _UNCLEANABLE.finditer(text))


@dataclass(frozen=True)
class LogRecord:
    """One record of a segment file; ``headers`` are the header names, ``time`` is in milliseconds."""

    offset: int
    time: int
    key: bytes | None
    value: bytes | None
    headers: tuple[str, ...]


@dataclass(frozen=True)
class LogBatch:
    """A record batch (KIP-98): ``first`` and ``last`` offset, and ``time``, the largest timestamp in milliseconds.

    ``commits`` is None for data. For a transaction marker, it is whether the marker commits. ``size`` is in bytes.
    """

    first: int
    last: int
    size: int
    time: int
    log_append_time: bool
    producer: int
    transactional: bool
    commits: bool | None
    entries: tuple[LogRecord, ...]


def batches(segment: bytes) -> Iterator[LogBatch]:
    """Yield the batches of a segment's ``.log`` file, up to its end or an incomplete batch.

    Source: ``DefaultRecordBatch``, ``DefaultRecord``.
    """
    at = 0
    while at + _HEADER.size <= len(segment):
        first, length, _, _, _, flags, delta, base, latest, producer, _, _, count = _HEADER.unpack_from(segment, at)
        end = at + 12 + length
        if length <= 0 or end > len(segment):
            return
        body = segment[at + _HEADER.size : end]
        if flags & 7 and count:
            body = _CODECS[flags & 7](body)
        appended, control = bool(flags & _LOG_APPEND_TIME), bool(flags & _CONTROL)
        entries = tuple(_entries(body, count, first, base, latest if appended else None))
        yield LogBatch(
            first=first,
            last=first + delta,
            size=end - at,
            time=latest,
            log_append_time=appended,
            producer=producer,
            transactional=bool(flags & _TRANSACTIONAL),
            commits=_commits(entries) if control else None,
            entries=() if control else entries,
        )
        at = end


def _entries(body: bytes, count: int, first: int, base: int, latest: int | None) -> Iterator[LogRecord]:
    at = 0
    for _ in range(count):
        length, at = _varint(body, at)
        end = at + length
        delta, at = _varint(body, at + 1)  # skips the record's attributes byte, which Kafka does not use
        number, at = _varint(body, at)
        key, at = _bytes(body, at)
        value, at = _bytes(body, at)
        current, at = _varint(body, at)
        headers = []
        for _ in range(current):
            name, at = _bytes(body, at)
            _, at = _bytes(body, at)
            headers.append((name or b"").decode())
        yield LogRecord(first + number, base + delta if latest is None else latest, key, value, tuple(headers))
        at = end


def _commits(entries: tuple[LogRecord, ...]) -> bool | None:
    """Return whether a control record commits. Its key is version and type, two bytes each (``ControlRecordType``)."""
    key = entries[0].key if entries else None
    return None if key is None else int.from_bytes(key[2:4], "big") == _COMMIT


def _bytes(body: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(body, at)
    return (None, at) if length < 0 else (body[at : at + length], at + length)


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """Decode a Protocol Buffers zigzag number (``ByteUtils.readVarlong``); return the number and its end position."""
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
