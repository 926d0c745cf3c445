"""Each older version of a declared subject is named by a retained record.

The check applies with ``unused_schema_versions: true`` in the policy ``usage``, if a deploy registers the schema of the
topic's keys or values. It judges the versions before the one with the declared schema, not newer ones, and not those
that the reference of another declared schema names. It passes topics that match ``exempt``.

**fail**: all records of all topics that the YAML declares for the subject were read, each has a schema id, and none has
the id of the version, also none of an aborted or open transaction. The name of the subject includes that of the topic,
so no other topic of this cluster uses it. **suspect**: the same for a subject whose name does not include the topic:
a topic that is not declared, or another cluster, may use it. **undecidable**: not all records were read, some have no
schema id, or the registry could not be asked.

That no record has the version says nothing about producers: one that still runs with an old schema may write the next
record with it. A registry that several clusters use has their records as well.

Example: ``2 of 5 versions of the subject "orders-value" are in no record: 1, 2``; retention has deleted the last of
their records.

Confirm: ``curl $REGISTRY/subjects/orders-value/versions`` lists the versions.

Remedy: if no producer uses them any more, delete them by hand with ``curl -X DELETE
$REGISTRY/subjects/orders-value/versions/1``, which keeps the ids readable. topicwarden never deletes a version. Or
exempt the topic: ``usage: {exempt: [T]}`` in a policy.

Prevent: nothing; versions become unused with time.

Source: the wire format and the REST API of Confluent's Schema Registry: ``DELETE /subjects/(subject)/versions/1``
without ``permanent=true`` is a soft delete.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.evidence import EveryRecord, ManagedSubjects, ObservedUse
from topicwarden.model.compatibility import SubjectStrategy
from topicwarden.model.message_text import first_of, quoted
from topicwarden.model.subject import SubjectVersion
from topicwarden.model.verdict import Verdict

_SHOWN = 10
_ELSEWHERE = "a topic that is not declared, or another cluster, may use the subject"


class Required(EveryRecord, ObservedUse, ManagedSubjects): ...


def applies(subject: ObservedUse) -> bool:
    policy = subject.use_context.policy
    return policy is not None and policy.unused_schema_versions


def judge(subject: Required) -> Iterable[CheckResult]:
    policy = subject.use_context.policy
    if policy is None or policy.exempts_topic(subject.live.topic.name):
        return
    for part, audited in subject.subjects.items():
        unused = [each for each in audited.older if each.id not in audited.used_ids]
        if audited.error is not None or not audited.older:
            continue
        if audited.unknown_ids is not None:
            yield CheckResult(
                Verdict.UNDECIDABLE,
                f"it is not known which versions of the subject {quoted(audited.name)} are in no record",
                path=("contents", part, "registry"),
                because=(audited.unknown_ids,),
                remedy="audit all records of all topics that use the subject",
            )
        elif unused:
            yield _unused(subject, part, audited, unused)


def _unused(subject: Required, part: str, audited: AuditedSubject, unused: list[SubjectVersion]) -> CheckResult:
    own = _belongs_to_topic(subject, part, audited)
    numbers = [str(each.version) for each in unused]
    listed = first_of(numbers, _SHOWN)
    total = f"{len(audited.versions):,}" if audited.complete else f"the newest {len(audited.versions):,}"
    topics = ", ".join(dict.fromkeys(use.topic for use in audited.declared.uses))
    number = f"{len(unused):,} of {total} versions of the subject {quoted(audited.name)}"
    return CheckResult(
        Verdict.FAIL if own else Verdict.SUSPECT,
        f"{number} {'is' if len(unused) == 1 else 'are'} {'' if own else 'perhaps '}in no record: {listed}",
        path=("contents", part, "registry"),
        because=(f"all records of {topics} were read", *(() if own else (_ELSEWHERE,))),
        remedy="if no producer uses them any more, delete them by hand, which keeps their ids readable: "
        f"`curl -X DELETE $REGISTRY/subjects/{audited.name}/versions/{numbers[0]}`",
        evidence={"subject": audited.name, "unused_versions": len(unused), "versions": len(audited.versions)},
    )


def _belongs_to_topic(subject: Required, part: str, audited: AuditedSubject) -> bool:
    """Return whether the name of the subject includes that of the topic, so that no other topic uses it."""
    topic, registered = subject.live.topic.name, subject.contents.encoding(part).registered
    by_record = registered is not None and registered.strategy is SubjectStrategy.TOPIC_RECORD
    return audited.name == f"{topic}-{part}" or (by_record and len(audited.declared.uses) == 1)
