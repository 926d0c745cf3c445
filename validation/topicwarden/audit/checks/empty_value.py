"""No producer wrote an empty value instead of a tombstone.

**fail**: a compacted topic has a value of zero length. Only a null value is a tombstone. An empty value looks like a
deletion to its producer, but compaction keeps it. Only committed records count: the next cleaning removes the records
of aborted transactions.

Example: ``2 records with an empty value in a compacted topic, first at offset 40 of partition 1``; a library turned
null into "".

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.value=true``
prints an empty line; for a tombstone it prints ``null``.

Remedy: write null, not "", to delete a key; send a real tombstone for each of these keys.

Prevent: make the producer's serializer return null for null.

Source: ``DefaultRecord.hasValue``, ``Cleaner.shouldRetainRecord``.
"""

from collections.abc import Iterable
from dataclasses import replace

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import counted_fault, results_of_faults
from topicwarden.audit.evidence import CommittedCounts, LiveSettings


class Required(LiveSettings, CommittedCounts): ...


def applies(subject: LiveSettings) -> bool:
    return subject.compacted


def judge(subject: Required) -> Iterable[CheckResult]:
    empty = {
        partition: counted_fault("empty-value", "empty value", counts.empty_values, counts.first_empty_value, counts)
        for partition, counts in subject.committed.items()
    }
    what, path = "with an empty value in a compacted topic", ("config", "cleanup.policy")
    because = "an empty value is not a tombstone: compaction keeps it as the latest value of the key"
    remedy = "write null, not '', to delete a key; send a real tombstone for each of these keys"
    for result in results_of_faults(empty, what, path, remedy):
        yield replace(result, because=(because, *result.because), relevant_settings=("cleanup.policy",))
