"""Records have keys where they need them.

**fail**: a keyless record in a compacted topic. Brokers refuse such writes (``INVALID_RECORD``), so it dates from
before the topic was compacted, and the next cleaning destroys it without a word. Also **fail**: a keyless record where
the YAML says ``contents: {key: {required: true}}``. Only committed records count: nobody reads what an aborted
transaction wrote.

Example: ``3 records without a key in a compacted topic, first at offset 7 of partition 0``.

Remedy: copy them out now if anyone needs them; find the producer that sends no key.

Source: ``LogValidator.validateKey``, ``Cleaner.shouldRetainRecord``; KAFKA-4808.
"""

from collections.abc import Iterable
from dataclasses import replace

from topicwarden.audit.checks.common.content_faults import counted_fault, judge_found
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True, needs_settings=True)
_COMPACTED: tuple[str, ...] = ("config", "cleanup.policy")
_REQUIRED: tuple[str, ...] = ("contents", "key", "required")


def applies(subject: AuditedTopic) -> bool:
    return subject.compacted or subject.contents.key_required


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    keyless = {
        partition: counted_fault("null-key", "without a key", counts.null_keys, counts.first_null_key, counts)
        for partition, counts in subject.committed.items()
    }
    because: tuple[str, ...] = ()
    if subject.compacted:
        what, path = "without a key in a compacted topic", _COMPACTED
        because = ("written before the topic was compacted; the next cleaning destroys them",)
        remedy = "copy them out now if anyone needs them, or set cleanup.policy=delete before the cleaner comes"
    else:
        what, path = "without a key, where a key is required", _REQUIRED
        remedy = "find the producer that sends no key"
    for judgement in judge_found(keyless, what, path, remedy):
        yield replace(judgement, because=(*because, *judgement.because))
