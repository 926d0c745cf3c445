"""Values are what the YAML says they are.

**fail**: a value that a consumer reading committed sees is not of the declared ``contents: {value: {format: …}}``, or
does not meet its ``schema``, or carries a schema id that the Schema Registry does not know, or knows for another
subject. A tombstone has no value, and so is never malformed. ``undecidable``, for the records concerned, if no registry
answered, if the schema cannot be used, or if a value is legal but beyond the audit's limits; all others are judged.

Formats are those of Kafka's own serializers (``string``, ``int``, ``long``, ``uuid``, ``bytes``) and JSON, Avro and
Protocol Buffers, bare or, with ``registry: true``, in Confluent's wire format: a zero, the schema's id in four bytes,
for Protocol Buffers the path of the message, then the data. A ``uuid`` is what ``UUIDDeserializer`` reads.

JSON is one value in UTF-8, without a byte order mark. Without a schema and expressions there are no limits. With them,
the limits are 1,000 nested arrays and objects, and numbers of 1,000 characters with exponents up to 1,000. JSON Schema
is of draft 4, 6, 7, 2019-09 or 2020-12 (if ``$schema`` is missing). Numbers are compared exactly. ``format`` is an
annotation in every draft, as it is by default since 2019-09: use ``pattern`` to assert. Regular expressions are those
of ECMA-262 without lookbehind; a match is given up after ten million steps. Avro values have up to 500 nested values
and a million empty items; Protocol Buffers have up to 100 nested messages.

Example: ``3 records whose value is not json as declared, first at offset 17 of partition 2``, because ``3 × /amount:
expected number, seen string ({id: integer, amount: string})``. Names are told where the schema has them; nothing else
of a record is.

Remedy: find the producer; a consumer that trusts the contract stops at that offset. Skip, or correct by a later record
of the key.

Source: ``org.apache.kafka.common.serialization``; RFC 8259; the JSON Schema Test Suite; Avro's and Protocol Buffers'
specifications; the wire format of Confluent's Schema Registry, which Apicurio speaks too.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import judge_encoding
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.value_format is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    return judge_encoding(subject, "value", "find the producer; consumers stop at that offset")
