"""No record is larger than declared.

**fail**: key and value together, of a record that a consumer reading committed sees, are larger than
``contents: {records: {max_bytes: …}}``, uncompressed. ``max.message.bytes`` is another bound: of the compressed batch.

Example: ``2 records larger than the declared 65,536 bytes, first at offset 9 of partition 0``.

Remedy: find the producer, or declare the size that is meant. Large values belong in a store, their address in Kafka.

Source: ``UnifiedLog.analyzeAndValidateRecords`` for the bound of a batch (``RecordTooLargeException``).
"""

from collections.abc import Iterable
from dataclasses import replace

from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.record_max_bytes is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    bound = subject.contents.record_max_bytes or 0
    what = f"larger than the declared {bound:,} bytes"
    path, remedy = ("contents", "records", "max_bytes"), "find the producer, or declare the size that is meant"
    for judgement in judge_faults(subject, "record-size", what, path, remedy):
        held = [subject.committed[partition] for partition in judgement.partitions]
        largest = None if any(counts.at_most for counts in held) else max(counts.largest_record for counts in held)
        yield replace(judgement, evidence={**judgement.evidence, "largest_record": largest, "declared": bound})
