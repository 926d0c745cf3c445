"""Define cases for the checks of declared subjects: what the registry has, and which ids the records name."""

from __future__ import annotations

from dataclasses import replace

from tests.support.subjects import NOW, subject, unreadable
from tests.unit.checks.cases import FAIL, SUSPECT, UNDECIDABLE, Case, absent, with_counts
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.scan.counts import PartitionCounts, SchemaIdCount
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.contents import Contents, RegistryContents, ValueContents
from topicwarden.model.problem import Location
from topicwarden.model.subject import DeclaredSubject, RegisteredSchema, SubjectUse, SubjectVersion
from topicwarden.model.usage import TopicUse
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.usage.use_context import UseContext

BACKWARD, FULL = Compatibility.BACKWARD, Compatibility.FULL
V1, V2, V3 = (SubjectVersion(n, 10 + n, RegisteredSchema("avro", f'"v{n}"')) for n in (1, 2, 3))
AS_V1 = replace(V3, id=V1.id)
"""A third version whose schema, and so whose id, is that of the first one."""
DECLARED = DeclaredSubject(
    "t-value", V2.schema, "topics/v.avsc", Location("topics/t.yaml", 1, 1), BACKWARD, (SubjectUse("t", "value"),)
)
RIGHT = AuditedSubject(DECLARED, V2, BACKWARD, V2, (V1, V2), used_ids=frozenset({11, 12}))
NEWER = replace(RIGHT, latest=V3, versions=(V1, V2, V3))
LOST = AuditedSubject(DECLARED, error="the registry needs credentials (401)")
POLICY = UsagePolicy(unused_schema_versions=True)


def records(id: int | None, first: int = 4, **facts: bool) -> SchemaIdCount:
    return SchemaIdCount("value", id, 3, first, **facts)


def managed(audited: AuditedSubject, *ids: SchemaIdCount, policy: UsagePolicy | None = POLICY) -> AuditedTopic:
    """Return a topic of three partitions, and records with these ids in the second one."""
    registry = RegistryContents(compatibility=BACKWARD)
    contents = Contents(value=ValueContents(format="avro", schema="v.avsc", registry=registry))
    counts = PartitionCounts(records=9, schema_ids=ids)
    of = with_counts(subject(contents=contents), PartitionCounts(), counts, PartitionCounts())
    return replace(
        of, subjects={"value": audited}, use=TopicUse("t", "id", NOW, NOW), use_context=UseContext(policy=policy)
    )


def unused(**changes: object) -> AuditedTopic:
    """Return a topic whose subject has three versions; records only name the declared one."""
    audited = AuditedSubject(DECLARED, V3, BACKWARD, V3, (V1, V2, V3), used_ids=frozenset({13}))
    return managed(replace(audited, **changes))  # type: ignore[arg-type]


REGISTERED = (
    Case("registered-schema", "as declared", managed(RIGHT), ()),
    Case("registered-schema", "no managed subject", subject(), None),
    Case("registered-schema", "not on the cluster", absent(managed(RIGHT)), ()),
    Case(
        "registered-schema",
        "no subject",
        managed(AuditedSubject(DECLARED)),
        (FAIL,),
        evidence={"subject": "t-value"},
        says='the subject "t-value" does not exist',
    ),
    Case(
        "registered-schema",
        "another schema",
        managed(replace(RIGHT, registered=None)),
        (FAIL,),
        evidence={"version": 2, "id": 12},
        says="is 2 (id 12), and no version has the declared schema",
    ),
    Case(
        "registered-schema",
        "a newer version",
        managed(NEWER),
        (FAIL,),
        evidence={"version": 3, "id": 13, "declared_version": 2},
        says="is 3 (id 13), but the declared schema is version 2 (id 12)",
    ),
    Case(
        "registered-schema",
        "another level",
        managed(replace(RIGHT, compatibility=FULL, read_only=True)),
        (FAIL,),
        says="is FULL, declared is BACKWARD the registry is in READONLY mode",
    ),
    Case("registered-schema", "unknown level", managed(replace(RIGHT, compatibility=None)), (UNDECIDABLE,)),
    Case(
        "registered-schema",
        "undeclared level",
        managed(replace(RIGHT, declared=replace(DECLARED, compatibility=None), compatibility=FULL)),
        (),
    ),
    Case("registered-schema", "another schema and level", managed(replace(NEWER, compatibility=FULL)), (FAIL, FAIL)),
    Case("registered-schema", "lost registry", managed(LOST), (UNDECIDABLE,), says="needs credentials (401)"),
)

VERSIONS = (
    Case("schema-version", "declared and older", managed(NEWER, records(11), records(12)), ()),
    Case("schema-version", "no managed subject", subject(PartitionCounts(schema_ids=(records(13),))), None),
    Case("schema-version", "not on the cluster", absent(managed(NEWER)), None),
    Case(
        "schema-version",
        "newer",
        managed(NEWER, records(12), records(13, first=7)),
        (FAIL,),
        evidence={"records": 3, "partition": 1, "offset": 7},
        partitions=(1,),
        says='version 3 (id 13) of the subject "t-value"; version 2 has the declared schema',
    ),
    Case("schema-version", "newer, reported by value-schema", managed(NEWER, records(13, invalid=True)), ()),
    Case("schema-version", "of another subject", managed(NEWER, records(99)), ()),
    Case("schema-version", "not in the wire format", managed(NEWER, records(None, invalid=True)), ()),
    Case(
        "schema-version",
        "the id of an older version",
        managed(replace(NEWER, latest=AS_V1, versions=(V1, V2, AS_V1)), records(11)),
        (),
    ),
    Case("schema-version", "newer of the key", managed(NEWER, replace(records(13), part="key")), ()),
    Case("schema-version", "maybe aborted", managed(NEWER, records(13, at_most=True)), (FAIL,), says="at most 3"),
    Case(
        "schema-version",
        "no record known to be committed",
        managed(NEWER, records(13, at_most=True, unconfirmed=True)),
        (UNDECIDABLE,),
    ),
    Case(
        "schema-version",
        "declared schema not registered",
        managed(replace(NEWER, registered=None), records(12)),
        (UNDECIDABLE,),
        evidence={"records": 3},
        says="older and newer ones are not known",
    ),
    Case("schema-version", "no subject", managed(AuditedSubject(DECLARED), records(12)), ()),
    Case("schema-version", "too many ids", managed(RIGHT, records(None, others=True)), (UNDECIDABLE,)),
    Case("schema-version", "lost registry", managed(LOST, records(13)), (UNDECIDABLE,)),
    Case("schema-version", "hidden records", unreadable(managed(NEWER)), (UNDECIDABLE,)),
)

UNUSED = (
    Case("unused-schema-version", "all in use", managed(RIGHT), ()),
    Case("unused-schema-version", "no managed subject", replace(unused(), subjects={}), None),
    Case("unused-schema-version", "not requested", managed(NEWER, policy=UsagePolicy()), None),
    Case("unused-schema-version", "no policy", managed(NEWER, policy=None), None),
    Case(
        "unused-schema-version",
        "two unused",
        unused(),
        (FAIL,),
        evidence={"unused_versions": 2, "versions": 3},
        says='2 of 3 versions of the subject "t-value" are in no record: 1, 2',
    ),
    Case(
        "unused-schema-version",
        "one unused",
        unused(used_ids=frozenset({12, 13})),
        (FAIL,),
        says='1 of 3 versions of the subject "t-value" is in no record: 1',
    ),
    Case("unused-schema-version", "referenced", unused(used_ids=frozenset({11, 13}), referenced=frozenset({2})), ()),
    Case("unused-schema-version", "newer than the declared", managed(NEWER), ()),
    Case(
        "unused-schema-version",
        "the id of the declared version",
        unused(latest=AS_V1, registered=AS_V1, versions=(V1, AS_V1)),
        (),
    ),
    Case(
        "unused-schema-version",
        "of several topics",
        unused(declared=replace(DECLARED, name="com.acme.Order")),
        (SUSPECT,),
        says="a topic that is not declared, or another cluster, may use the subject",
    ),
    Case(
        "unused-schema-version",
        "not all records known",
        unused(unknown_ids="not all records of u were read"),
        (UNDECIDABLE,),
        says="not all records of u",
    ),
    Case("unused-schema-version", "a sample", replace(unused(), coverage=0.5), (UNDECIDABLE,)),
    Case("unused-schema-version", "lost registry", managed(LOST), (UNDECIDABLE,)),
    Case(
        "unused-schema-version",
        "exempt",
        managed(
            AuditedSubject(DECLARED, V3, BACKWARD, V3, (V1, V2, V3)),
            policy=UsagePolicy(unused_schema_versions=True, exempt=("t",)),
        ),
        (),
    ),
    Case("unused-schema-version", "not on the cluster", absent(unused()), None),
)
CASES = (*REGISTERED, *VERSIONS, *UNUSED)
