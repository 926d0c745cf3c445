"""Copy exactly the records of a finding to another topic. The source is only read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from topicwarden.audit.finding_records import RecordSearch, confirmed, find_records, rule_of
from topicwarden.audit.scan.contracts import build_contracts
from topicwarden.audit.scan.spark_platform import refuse_unsupported
from topicwarden.audit.scan.spark_session import session_on_demand
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.extensions.redrive.redrive_copy import HEADER, FindingCopy, RedriveTarget, allowed_target
from topicwarden.extensions.redrive.redrive_report import PartitionRedrive, RedriveReport
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.stack_connection import connect_to, registry_of
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.records_at_offsets import PROGRESS_GROUP, CopiedSoFar, open_reader, read_progress
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kafka.write.transactional_copy import open_copy, repair_function, unchanged
from topicwarden.model.finding import OF_SINGLE_RECORDS, AuditReport, Finding, TopicFacts
from topicwarden.model.message_text import did_you_mean, quoted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.subject import NO_SUBJECTS
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.operation_options import SILENT, ProgressListener, RedriveOptions
from topicwarden.specs.resolve import Declaration

_ENOUGH: Final = 1 << 30
_OF_EXPRESSIONS: Final = ("key", "value", "expressions")
_PREDICATES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"header": ("headers",), "key-schema": ("key",), "value-schema": ("value",), "record-size": ("largest",)}
)
"""The parts of a contract that a rule needs; an expression needs ``_OF_EXPRESSIONS``."""


def redrive_finding(
    project: Project,
    stack: str,
    options: RedriveOptions,
    *,
    listener: ProgressListener = SILENT,
    spark: SparkSource | None = None,
) -> RedriveReport:
    """Copy the records of a finding to another topic of ``stack``, or find out what would be copied.

    ``spark`` is a session to use. The records are found again with the predicate of the audit. Each run continues
    after the records that earlier runs have committed. Raises Refusal if the finding does not name exact records, if
    the target does not allow them, or if the copy fails; what is committed then stays.
    """
    report, finding = _finding(options)
    rule = rule_of(finding)
    expected = int(finding.evidence.get("records") or 0)
    if expected > options.most_records:
        raise Refusal(
            f"finding {finding.id} has {expected:,} records, and at most {options.most_records:,} are copied: raise "
            "--max-records if they are intended"
        )
    checked = checked_stack(project, stack, "copied")
    declarations = {each.topic.name: each for each in checked.declarations[stack]}
    _require_declared(finding.topic, options.target, declarations, stack)
    repair = repair_function(options.function, project.root) if options.function else unchanged
    connection = connect_to(project, stack)
    with listener.stage("reading the cluster"), open_cluster(connection) as cluster:
        names = [finding.topic, options.target]
        snapshot = cluster.snapshot(names, expected=names)
    facts = _same_topic(report, finding, snapshot, options.target)
    source, live_target = snapshot.topics[finding.topic], snapshot.topics[options.target]
    registry, subjects = registry_of(project, stack), checked.subjects.get(stack, NO_SUBJECTS)
    contracts = build_contracts([source], declarations, project.root, registry, snapshot.taken_at, subjects=subjects)
    contract = contracts.topics.get(finding.topic, {})
    name = redrive_name(snapshot.cluster_id, (source.id, live_target.id), rule, contract)
    target = RedriveTarget(declarations[options.target].topic, live_target, source.topic.partitions)
    remarks = tuple(filter(None, (allowed_target(target.declared, connection, name), target.unverified)))
    audited = _audited_ranges(report, finding, facts)
    ranges = _ranges_now(source, audited)
    search = RecordSearch(
        f"finding {finding.id}", finding.topic, rule, ranges, contract, registry, options.most_records
    )
    with ExitStack() as resources:
        session = spark or _session(resources, project, options.master, listener)
        with listener.stage("finding the records"):
            found = confirmed(
                finding,
                find_records(session, connection, search),
                {partition: start for partition, (start, _) in audited.items()},
                {partition: extent.start for partition, extent in source.extents.items()},
                compacted=source.topic.compacted,
            )
        work = FindingCopy(finding, found, target, repair, name)
        writer = resources.enter_context(open_copy(connection, name, options.target)) if options.execute else None
        reader = resources.enter_context(open_reader(connection))
        with listener.stage("reading the records"):
            # An open copy has fenced earlier processes and aborted their transactions. So the progress is final.
            partitions = range(source.topic.partitions)
            done = read_progress(connection, name, finding.topic, partitions, settled=options.execute)
            work.verify(done)
            if not done:
                _require_no_copies(session, connection, live_target, name)
            counts = work.rehearse(reader, done)
        if writer is not None:
            with listener.stage("copying the records") as share:
                counts = work.copy(reader, writer, done, share)
    return RedriveReport(
        finding, target.name, _partitions(work, done), found.deleted, counts, name, options.execute, remarks
    )


def _finding(options: RedriveOptions) -> tuple[AuditReport, Finding]:
    try:
        report = AuditReport.model_validate_json(options.report.read_bytes())
    except OSError as error:
        raise Refusal(
            f"the report {options.report} cannot be read: {error.strerror}; write one with "
            "`topicwarden audit --out DIR`"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise Refusal(f"{options.report} is no report of an audit: {where}: {first['msg']}") from error
    for finding in report.findings:
        if finding.id and finding.id == options.finding:
            return report, finding
    usable = [each for each in report.findings if each.verdict is Verdict.FAIL and each.check in OF_SINGLE_RECORDS]
    listed = "".join(f"\n  {each.id}  {each.topic}: {each.message} [{each.check}]" for each in usable)
    known = did_you_mean(options.finding, [each.id for each in usable])
    raise Refusal(
        f"{options.report} has no finding {quoted(options.finding)}{known}; findings whose records can be copied:"
        f"{listed or ' none'}"
    )


def _require_declared(source: str, target: str, declarations: Mapping[str, Declaration], stack: str) -> None:
    if source == target:
        raise Refusal(f"the target is the topic of the finding, {source}: name another topic with --to")
    for topic, role in ((source, "the topic of the finding"), (target, "the target")):
        if topic not in declarations:
            raise Refusal(
                f"{role}, {quoted(topic)}, is not declared for stack {stack}: declare it below topics/"
                f"{did_you_mean(topic, declarations.keys() - {source, target})}"
            )


def _same_topic(report: AuditReport, finding: Finding, snapshot: Snapshot, target: str) -> TopicFacts:
    """Return the facts of the finding's topic. Raise Refusal if it is another topic now, or on another cluster."""
    if report.cluster_id is None or report.cluster_id != snapshot.cluster_id:
        raise Refusal(
            f"the report is of cluster {report.cluster_id}, and the stack is on cluster {snapshot.cluster_id}: a "
            "redrive copies within one cluster"
        )
    for topic in (finding.topic, target):
        if topic not in snapshot.topics:
            raise Refusal(f"topic {quoted(topic)} does not exist on the cluster, or this user lacks Describe on it")
        if not snapshot.topics[topic].sources:
            raise Refusal(
                f"the settings of topic {quoted(topic)} are not visible, and it is not known whether it is compacted: "
                "grant DescribeConfigs on it"
            )
    facts = next((topic for topic in report.topics if topic.name == finding.topic), None)
    if facts is None or facts.topic_id != snapshot.topics[finding.topic].id:
        raise Refusal(f"{finding.topic} was created again after the audit: its records are others; audit again")
    return facts


def _session(resources: ExitStack, project: Project, master: str | None, listener: ProgressListener) -> SparkSource:
    refuse_unsupported(master)
    return session_on_demand(resources, project, master, listener.note)


def _audited_ranges(report: AuditReport, finding: Finding, facts: TopicFacts) -> dict[int, tuple[int, int]]:
    """Return the committed offsets that the audit has judged in each partition of the finding."""
    every = report.read is ReadScope.LAST or report.coverage >= 1
    ranges = {}
    for each in facts.partitions:
        start, end = each.log_start if every else each.read_from, each.last_stable
        if each.partition in finding.partitions and start is not None and end is not None:
            ranges[each.partition] = start, end
    if missing := {*finding.partitions} - ranges.keys():
        raise Refusal(f"the report does not say which offsets of partition {min(missing)} the audit has read")
    return ranges


def _ranges_now(source: LiveTopic, audited: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Return the offsets that the audit has judged and that are still in the log."""
    for partition, (_, end) in audited.items():
        extent = source.extents.get(partition)
        if extent is None:
            raise Refusal(f"{source.topic.name}, partition {partition} has no leader")
        if end > extent.last_stable:
            raise Refusal(
                f"{source.topic.name}, partition {partition} ends before the offset {end} that the audit has read: "
                "records were lost; audit again"
            )
    return {
        partition: (max(start, source.extents[partition].start), end) for partition, (start, end) in audited.items()
    }


def redrive_name(cluster_id: str | None, topic_ids: tuple[str, str], rule: str, contract: Mapping[str, Any]) -> str:
    """Return the transactional id of a redrive, which is also the group with its progress.

    It is the same for all findings with the same predicate on the same topics: what one has copied, no other copies
    again. The predicate is the part of ``contract`` that the rule needs.
    """
    records = contract.get("records", {})
    needed = _PREDICATES.get(rule, _OF_EXPRESSIONS if rule.startswith("expression:") else ())
    predicate = {part: records[part] for part in needed if part in records}
    identity = json.dumps([cluster_id, topic_ids, rule, predicate], sort_keys=True)
    return PROGRESS_GROUP + hashlib.sha256(identity.encode()).hexdigest()[:20]


def _require_no_copies(spark: SparkSource, connection: Connection, target: LiveTopic, name: str) -> None:
    """Raise Refusal if the target has copies of this redrive although its progress is unknown: the group has expired.

    All committed records of the target are read by the audit's reader, with a contract that a copy breaks.
    """
    require = f'!("{HEADER}id" in headers) || headers["{HEADER}id"] != "{name}"'
    contract = {"records": {"expressions": [{"id": "copied", "require": require}]}}
    ranges = {partition: (extent.start, extent.last_stable) for partition, extent in target.extents.items()}
    topic = target.topic.name
    copies = RecordSearch(topic, topic, "expression:copied", ranges, contract, None, _ENOUGH)
    found = find_records(spark, connection, copies)
    if found:
        total = sum(map(len, found.values()))
        partition, offsets = min(found.items())
        raise Refusal(
            f"{topic} already has {total:,} copies of this redrive, the first at offset {offsets[0]} of "
            f"partition {partition}, but its progress is lost: the group {name} was deleted or has expired "
            "(offsets.retention.minutes); use another target"
        )


def _partitions(work: FindingCopy, done: Mapping[int, CopiedSoFar]) -> tuple[PartitionRedrive, ...]:
    left = work.remaining(done)
    return tuple(
        PartitionRedrive(partition, len(offsets), offsets[0], offsets[-1], len(offsets) - len(left.get(partition, ())))
        for partition, offsets in sorted(work.found.offsets.items())
    )
