"""No record is larger than declared.

**fail**: the key and value of a record that a consumer reading committed sees are together larger than
``contents: {records: {max_bytes: …}}``, uncompressed. ``max.message.bytes`` is a different limit: it applies to the
compressed batch.

Example: ``2 records larger than the declared 64KiB, first at offset 9 of partition 0``.

Confirm: ``kafka-dump-log --deep-iteration --files`` with the segment prints ``keySize`` and ``valueSize`` of each
record.

Remedy: find the producer, or declare the intended size. Store large values outside Kafka, and send their address.

Prevent: declare ``max.message.bytes``, so that brokers refuse larger batches.

Source: ``UnifiedLog.analyzeAndValidateRecords`` for the batch limit (``RecordTooLargeException``).
"""

from collections.abc import Iterable
from dataclasses import replace

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.evidence import CommittedCounts, Live
from topicwarden.model.units import SIZE


class Required(CommittedCounts): ...


def applies(subject: Live) -> bool:
    return subject.contents.records.max_bytes is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    bound = subject.contents.records.max_bytes or 0
    what = f"larger than the declared {SIZE.text(bound)}"
    path, remedy = ("contents", "records", "max_bytes"), "find the producer, or declare the intended size"
    for result in judge_faults(subject, "record-size", what, path, remedy):
        counts = [subject.committed[partition] for partition in result.partitions]
        largest = None if any(each.at_most for each in counts) else max(each.largest_record for each in counts)
        yield replace(result, evidence={**result.evidence, "largest_record": largest, "declared": bound})
