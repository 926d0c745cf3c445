"""Every value has the format and the schema that the YAML declares.

**fail**: a value that a consumer reading committed sees does not have the declared ``contents: {value: {format: …}}``,
or does not match its ``schema``. Also **fail**: the value has a schema id that is unknown to the Schema Registry, or
that the registry has for another subject. A tombstone has no value, so it is never malformed. **undecidable**, for the
affected records: no registry answered, the schema cannot be used, a header names it (``__value_schema_id``), a rule of
it encrypts the data, or a valid value exceeds the audit's limits. All other records are judged.

Formats are those of Kafka's own serializers (``string``, ``int``, ``long``, ``uuid``, ``bytes``), and JSON, Avro and
Protocol Buffers. These three are plain or, with ``registry: true``, in Confluent's wire format: a zero byte, four bytes
with the schema id, for Protocol Buffers the path of the message, then the data. The registry is asked for the id with
the subject, as by consumers, so that an id of another context is found. If a rule of the schema encrypts fields, the
structure is judged, and no rule for texts. A ``uuid`` is a value that ``UUIDDeserializer`` reads.

JSON is one value in UTF-8, without a byte order mark. Without a schema and expressions there are no limits. With them,
the limits are 1,000 nested arrays and objects, and numbers of 1,000 characters with exponents up to 1,000. JSON Schema
is of draft 4, 6, 7, 2019-09 or 2020-12. Without ``$schema``, a file is of 2020-12 and a schema of the registry of draft
7, as for Confluent's and Apicurio's serializers. Numbers are compared exactly. ``format`` and ``contentEncoding`` are
annotations in every draft, which is the default since 2019-09; use ``pattern`` to assert. Regular expressions are those
of ECMA-262 without lookbehind and without references to groups that may not have matched; a match stops after ten
million steps. Avro values have up to 500 nested values and a million empty items; the Avro schema ``"bytes"`` of a
registry accepts any bytes, because serializers write them with and without their length. Protocol Buffers have up to
100 nested messages.

Example: ``3 records whose value is not json as declared, first at offset 17 of partition 2``, because ``3 × /amount:
expected number, got string ({id: integer, amount: string})``. A finding shows names from the schema, and nothing else
of a record.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.value=true``
prints the value of the finding's offset.

Remedy: find the producer; a consumer that trusts the contract stops at that offset. Skip the record, or correct it with
a later record of the same key. A record that was written by a schema that the declared one cannot read may be right: a
new schema that ``break-readers`` allowed makes all such records a ``fail``.

Prevent: use a serializer that validates; review changes of the schema in pull requests.

Source: ``org.apache.kafka.common.serialization``; RFC 8259; the JSON Schema Test Suite; the specifications of Avro and
Protocol Buffers; the wire format of Confluent's Schema Registry, which Apicurio supports too.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import judge_format
from topicwarden.audit.evidence import CommittedCounts, Live


class Required(CommittedCounts): ...


def applies(subject: Live) -> bool:
    return subject.contents.value.format is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    return judge_format(subject, "value", "find the producer; consumers stop at that offset")
