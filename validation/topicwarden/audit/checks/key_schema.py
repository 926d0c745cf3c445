"""Every key has the format and the schema that the YAML declares.

**fail**: a key that a consumer reading committed sees does not have the declared ``contents: {key: {format: …}}``, or
does not match its ``schema``. Also **fail**: the key has a schema id that is unknown to the Schema Registry, or that
the registry has for another subject. **undecidable**, for the affected records: no registry answered, the schema cannot
be used, a header names it (``__key_schema_id``), a rule of it encrypts the data, or a valid key exceeds the audit's
limits. ``null-key`` reports records without a key.

``value-schema`` describes formats and limits. Compaction and joins compare the bytes of keys: a key in two encodings is
two keys.

Example: ``12 records whose key is not uuid as declared, first at offset 0 of partition 1``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.key=true`` prints
the key of the finding's offset.

Remedy: find the producer, and check its key serializer.

Prevent: use a serializer that validates; review changes of the schema in pull requests.

Source: ``org.apache.kafka.common.serialization`` (``StringDeserializer``, ``UUIDDeserializer``, …); Confluent's wire
format.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import judge_format
from topicwarden.audit.evidence import CommittedCounts, Live


class Required(CommittedCounts): ...


def applies(subject: Live) -> bool:
    return subject.contents.key.format is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    return judge_format(subject, "key", "find the producer, and check its key serializer")
