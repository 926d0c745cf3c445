"""Nobody wrote an empty value for a tombstone.

**fail**: a value of zero length in a compacted topic. Only a null value is a tombstone; an empty one looks like a
deletion to whoever wrote it, and stays for ever. Only committed records count: what an aborted transaction wrote goes
with the next cleaning.

Example: ``2 records with an empty value in a compacted topic, first at offset 40 of partition 1``; a library turned
null into "".

Remedy: write null, not "", to delete a key; send a real tombstone for each of these keys.

Source: ``DefaultRecord.hasValue``, ``Cleaner.shouldRetainRecord``.
"""

from collections.abc import Iterable
from dataclasses import replace

from topicwarden.audit.checks.common.content_faults import counted_fault, judge_found
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True, needs_settings=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.compacted


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    empty = {
        partition: counted_fault("empty-value", "empty value", counts.empty_values, counts.first_empty_value, counts)
        for partition, counts in subject.committed.items()
    }
    what, path = "with an empty value in a compacted topic", ("config", "cleanup.policy")
    because = "an empty value is no tombstone: compaction keeps it as the key's latest value"
    remedy = "write null, not '', to delete a key; send a real tombstone for each of these keys"
    for judgement in judge_found(empty, what, path, remedy):
        yield replace(judgement, because=(because, *judgement.because))
