"""Values are what the YAML says they are.

**fail**: a value that a consumer reading committed sees is not of the declared ``contents: {value: {format: …}}``, or
does not meet its ``schema``, or carries a schema id that the Schema Registry does not know, or knows for another
subject. ``undecidable`` where no registry answered. A tombstone has no value, and so is never malformed.

Formats are those of Kafka's own serializers (``string``, ``int``, ``long``, ``uuid``, ``bytes``) and JSON, Avro and
Protocol Buffers, bare or, with ``registry: true``, in Confluent's wire format: a zero, the schema's id in four bytes,
for Protocol Buffers the path of the message, then the data.

Example: ``3 records whose value is not json as declared, first at offset 17 of partition 2``, because ``3 × /amount:
expected number, seen string ({id: integer, amount: string})``. Names are told where the schema has them; nothing else
of a record is.

Remedy: find the producer; a consumer that trusts the contract stops at that offset. Skip, or correct by a later record
of the key.

Source: ``org.apache.kafka.common.serialization``; the wire format of Confluent's Schema Registry, which Apicurio speaks
too.
"""

from collections.abc import Iterable

from topicwarden.audit.faults import judge_encoding
from topicwarden.audit.subject import Judgement, Subject


def applies(subject: Subject) -> bool:
    return subject.contents.value_format is not None and subject.live is not None


def judge(subject: Subject) -> Iterable[Judgement]:
    return judge_encoding(subject, "value", "find the producer; consumers stop at that offset")
