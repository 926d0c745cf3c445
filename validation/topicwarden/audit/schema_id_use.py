"""Conclude which schema ids all retained records of a subject's topics name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from topicwarden.audit.audit_evidence import AuditEvidence
from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.model.subject import SubjectUse


def with_used_ids(subjects: Mapping[str, AuditedSubject], evidence: AuditEvidence) -> dict[str, AuditedSubject]:
    """Return the subjects with the schema ids of all records of their topics, or why these are not known."""
    return {name: _with_used_ids(subject, evidence) for name, subject in subjects.items()}


def _with_used_ids(subject: AuditedSubject, evidence: AuditEvidence) -> AuditedSubject:
    used: set[int] = set()
    for use in subject.declared.uses:
        if reason := _not_all_read(use.topic, evidence):
            return replace(subject, unknown_ids=reason)
        live = evidence.snapshot.topics.get(use.topic)
        for partition in range(live.topic.partitions if live else 0):
            counts = evidence.counts.get((use.topic, partition), PartitionCounts())
            found = [each for each in counts.schema_ids if each.part == use.part and each.id is not None]
            without = counts.null_keys if use.part == "key" else counts.tombstones
            if sum(each.records for each in found) != counts.records - without:
                return replace(subject, unknown_ids=_unknown(use))
            used |= {each.id for each in found if each.id is not None}
    return replace(subject, used_ids=frozenset(used))


def _not_all_read(topic: str, evidence: AuditEvidence) -> str | None:
    """Return why records of a topic were not read; None if all were, or if there is no such topic."""
    live = evidence.snapshot.topics.get(topic)
    if live is None:
        return f"it is not known whether {topic} exists" if topic in evidence.snapshot.hidden else None
    if topic in evidence.changes:
        return f"{topic} {evidence.changes[topic].message} during the audit"
    if evidence.coverage < 1:
        return "only a part of the records was read"
    for partition in range(live.topic.partitions):
        extent = live.extents.get(partition)
        if extent is None or (extent.start < extent.end and (topic, partition) not in evidence.counts):
            return f"not all records of {topic} were read"
    return None


def _unknown(use: SubjectUse) -> str:
    return f"{use.topic} has {use.part}s without a schema id, or with more ids than are counted one by one"
