"""Records have keys if the topic needs keys.

**fail**: a compacted topic has a record without a key. Brokers refuse such writes (``INVALID_RECORD``), so the record
was written before the topic was compacted, and the next cleaning removes it silently. Also **fail**: a record has no
key, and the YAML says ``contents: {key: {required: true}}``. Only committed records count: consumers do not see the
records of aborted transactions.

Example: ``3 records without a key in a compacted topic, first at offset 7 of partition 0``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.key=true`` prints
``null``.

Remedy: copy the records out now if they are needed; find the producer that sends no key.

Prevent: declare ``contents.key.required``, and set the key in a library that all producers share.

Source: ``LogValidator.validateKey``, ``Cleaner.shouldRetainRecord``; KAFKA-4808.
"""

from collections.abc import Iterable
from dataclasses import replace

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import counted_fault, results_of_faults
from topicwarden.audit.evidence import CommittedCounts, SettingsOrContents


class Required(SettingsOrContents, CommittedCounts): ...


_COMPACTED: tuple[str, ...] = ("config", "cleanup.policy")
_REQUIRED: tuple[str, ...] = ("contents", "key", "required")


def applies(subject: SettingsOrContents) -> bool:
    return subject.compacted or bool(subject.contents.key.required)


def judge(subject: Required) -> Iterable[CheckResult]:
    keyless = {
        partition: counted_fault("null-key", "without a key", counts.null_keys, counts.first_null_key, counts)
        for partition, counts in subject.committed.items()
    }
    because: tuple[str, ...] = ()
    relevant = () if subject.contents.key.required else ("cleanup.policy",)
    if subject.compacted:
        what, path = "without a key in a compacted topic", _COMPACTED
        because = ("written before the topic was compacted; the next cleaning removes them",)
        remedy = "copy the records out now if they are needed, or set cleanup.policy=delete before the cleaner runs"
    else:
        what, path = "without a key, although keys are required", _REQUIRED
        remedy = "find the producer that sends no key"
    for result in results_of_faults(keyless, what, path, remedy):
        yield replace(result, because=(*because, *result.because), relevant_settings=relevant)
