"""Keys are what the YAML says they are.

**fail**: a key that a consumer reading committed sees is not of the declared ``contents: {key: {format: …}}``, or
does not meet its ``schema``, or carries a schema id that the Schema Registry does not know, or knows for another
subject. ``undecidable``, for the records concerned, if no registry answered, if the schema cannot be used, or if a key
is legal but beyond the audit's limits. A record without a key is the concern of ``null-key``.

Formats, limits and words are those of ``value-schema``. What compaction and joins go by is the key's bytes: one that is
written in two encodings is two keys.

Example: ``12 records whose key is not uuid as declared, first at offset 0 of partition 1``.

Remedy: find the producer, and its key serializer.

Source: ``org.apache.kafka.common.serialization`` (``StringDeserializer``, ``UUIDDeserializer``, …); Confluent's wire
format.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import judge_encoding
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.key_format is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    return judge_encoding(subject, "key", "find the producer, and its key serializer")
