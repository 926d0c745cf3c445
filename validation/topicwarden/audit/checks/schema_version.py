"""No record has a schema that was registered after the declared one.

The check applies if a deploy registers the schema of the topic's keys or values, as ``registered-schema`` does. The
schema id in a record, in Confluent's wire format, names its version.

**fail**: a record that a consumer reading committed sees has the id of a version that the subject got after the
declared schema, so nobody has declared this version since. Records with older versions are right: they were written
before the last change. Records that ``key-schema`` and ``value-schema`` report are not reported again: those with an id
that the registry does not know, or does not have for the subject, also because the version was deleted since; and those
that the declared schema cannot read.
**undecidable**: no version of the subject has the declared schema, so it is not known which versions are newer; or a
partition has more than 100 ids, and the others are not counted one by one; or the registry could not be asked.

Example: ``3 records whose value has a newer schema than the declared one, first at offset 17 of partition 2``, because
``3 × version 5 (id 17) of the subject "orders-value"; version 4 has the declared schema``.

Confirm: ``curl $REGISTRY/schemas/ids/17/versions`` prints the subject and the version of the id.

Remedy: find the producer that writes with this version. If the version is right, declare its schema; else set
``auto.register.schemas=false`` in the producer, and deploy it again with the declared schema.

Prevent: let only the deploy write to the registry.

Source: the wire format and the REST API of Confluent's Schema Registry.
"""

from collections.abc import Iterable, Iterator, Mapping

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import results_of_faults
from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.evidence import CommittedCounts, ManagedSubjects
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts, SchemaIdCount
from topicwarden.model.message_text import quoted

CHECK = "schema-version"
_REMEDY = "find the producer that writes with this version; declare its schema, or deploy it with the declared one"


class Required(CommittedCounts, ManagedSubjects): ...


def applies(subject: ManagedSubjects) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    for part, audited in subject.subjects.items():
        if audited.error is None and audited.latest is not None:
            yield from results_of_faults(
                _faults(part, audited, subject.committed),
                f"whose {part} has a newer schema than the declared one",
                ("contents", part, "schema"),
                _REMEDY,
            )


def _faults(
    part: str, audited: AuditedSubject, committed: Mapping[int, PartitionCounts]
) -> dict[int, list[ContentFault]]:
    return {
        partition: [fault for found in counts.schema_ids if found.part == part for fault in _fault(audited, found)]
        for partition, counts in committed.items()
    }


def _fault(audited: AuditedSubject, found: SchemaIdCount) -> Iterator[ContentFault]:
    """Yield the fault of records with one id, if they have one. Other checks report invalid records."""
    if found.invalid:
        return
    name, registered = quoted(audited.name), audited.registered
    if found.others:
        yield _counted(found, "more schema ids than are counted one by one", undecided=True)
    elif registered is None:
        if found.id in {each.id for each in audited.versions}:
            reason = f"no version of the subject {name} has the declared schema, so older and newer ones are not known"
            yield _counted(found, reason, undecided=True)
    else:
        newer = next((each for each in audited.newer if each.id == found.id), None)
        if newer is not None:
            reason = f"version {newer.version} (id {newer.id}) of the subject {name}"
            yield _counted(found, f"{reason}; version {registered.version} has the declared schema")


def _counted(found: SchemaIdCount, reason: str, *, undecided: bool = False) -> ContentFault:
    return ContentFault(
        CHECK,
        reason,
        found.records,
        (found.first,),
        undecided=undecided,
        at_most=found.at_most,
        unconfirmed=found.unconfirmed,
    )
