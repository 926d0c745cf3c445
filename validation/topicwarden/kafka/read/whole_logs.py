"""Find out whether a log has lost no batch and no record since its first offset, from the headers of its batches.

A consumer sees no records of aborted transactions and no markers, so it cannot tell their offsets from those that the
cleaner has emptied. The batches can: brokers accept only batches with a record at each offset
(``LogValidator.validateBatch``), and append them without a gap. The cleaner removes whole batches, or keeps the first
and last offset of a batch with fewer records (``MemoryRecords.buildRetainedRecordsInto``).
"""

from __future__ import annotations

from typing import Final

from kafka import KafkaAdminClient

from topicwarden.kafka.read.record_batches import LOG_OVERHEAD, MAGIC, batches_from

MOST_BYTES: Final = 256 << 20
"""The most bytes of one log that are fetched for this."""
_LAST_OFFSET_DELTA: Final = slice(23, 27)
_RECORDS: Final = slice(57, 61)


def is_whole(admin: KafkaAdminClient, partition: tuple[str, int], leader: int, end: int) -> bool:
    """Return whether the log has a record or a marker at each offset from 0 to ``end``.

    False if it cannot be seen: batches of more than 32 MiB or from before Kafka 0.11, or more than ``MOST_BYTES``.
    """
    following, fetched = 0, 0
    while following < end:
        data = batches_from(admin, partition, leader, following)
        fetched += len(data)
        first = following
        position = 0
        while position + _RECORDS.stop <= len(data):
            header = data[position : position + _RECORDS.stop]
            records = int.from_bytes(header[_LAST_OFFSET_DELTA], "big", signed=True) + 1
            if header[MAGIC] < 2 or int.from_bytes(header[:8], "big") != following:
                return False
            if int.from_bytes(header[_RECORDS], "big", signed=True) != records:
                return False
            following += records
            position += LOG_OVERHEAD + int.from_bytes(header[8:LOG_OVERHEAD], "big")
        if following == first or fetched > MOST_BYTES:
            return False
    return True
