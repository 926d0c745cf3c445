"""The report of an audit: findings, and the facts about topics and partitions that they are based on.

These models are the published schema of ``report.json`` (``topicwarden schema report``). Times are
milliseconds since the epoch, sizes are bytes, offsets are Kafka offsets.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Final

from pydantic import Field, model_validator

from topicwarden.model.field_types import StrictModel
from topicwarden.model.problem import Location
from topicwarden.model.usage_report import UsageReport
from topicwarden.model.verdict import WORST_FIRST, FailOn, ReadScope, Verdict

OF_CLUSTER: Final = "(cluster)"
"""Stands for the topic in a finding on the cluster's access that concerns no single topic. No topic has this name."""
OF_SINGLE_RECORDS: Final = (
    "empty-value",
    "expression",
    "header",
    "key-schema",
    "null-key",
    "record-size",
    "timestamp-unit",
    "value-schema",
)
"""The checks whose findings name records that `topicwarden redrive` can find again."""
_ID_LENGTH: Final = 12
"""Hexadecimal digits of a finding's id."""


class Finding(StrictModel):
    """One check's verdict on one topic, on some of its partitions, or on the access of the cluster."""

    id: str = Field(
        default="",
        description="Identifies the finding for `topicwarden redrive`: the same in two audits that found the same; "
        "empty for a pass.",
    )
    check: str = Field(description="The check's id, as `topicwarden rules` lists it.")
    verdict: Verdict
    topic: str = Field(description="The topic; `(cluster)` for a finding on access that concerns no single topic.")
    partitions: list[int] = Field(default=[], description="The affected partitions; empty for the whole topic.")
    message: str = Field(
        default="", description="The observed state compared with the declared one; empty for a plain pass."
    )
    because: list[str] = Field(
        default=[], description="Reasons for the observed state, or reasons why it is allowed; one per entry."
    )
    remedy: str = Field(default="", description="What to do about it.")
    evidence: dict[str, int | float | str | None] = Field(
        default={}, description="The numbers that the verdict is based on."
    )
    location: Location | None = Field(default=None, description="The line of YAML that declares the expectation.")
    since: int | None = Field(
        default=None,
        description="The first audit of an unbroken series whose check did not pass for this topic; null for a pass, "
        "and if there was no earlier audit.",
    )


class PastFinding(StrictModel):
    """A check that did not pass for a topic, and the first audit of an unbroken series that saw it."""

    topic: str
    check: str
    verdict: Verdict
    since: int
    revision: int = Field(default=1, description="The revision of the check, which grows if the check claims less.")


class PartitionFacts(StrictModel):
    """One partition, as the snapshot and the scan saw it.

    Counts include all records that were read, committed or not. A count is null if no record was read.
    """

    partition: int
    leader: int | None
    replicas: list[int]
    in_sync: list[int]
    log_start: int | None = Field(description="The first readable offset when the snapshot was taken.")
    log_end: int | None = Field(description="The offset of the next record (high watermark).")
    last_stable: int | None
    log_bytes: int | None = Field(description="Bytes on the leader's disk, compressed; null if not available.")
    records: int | None = 0
    payload_bytes: int | None = Field(default=0, description="Keys and values, uncompressed.")
    largest_record: int | None = Field(
        default=0, description="Size of the largest record in bytes: key plus value, uncompressed."
    )
    null_keys: int | None = 0
    tombstones: int | None = 0
    empty_values: int | None = 0
    keys: int | None = Field(default=None, description="Distinct keys; null if the topic is not compacted.")
    superseded: int | None = Field(
        default=None, description="Records that have a later record with the same key in this partition."
    )
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    read_from: int | None = Field(default=None, description="The first requested offset; null if nothing was read.")
    lost_to_retention: int = Field(
        default=0, description="Offsets that retention deleted between the snapshot and the read."
    )
    gaps: int = Field(default=0, description="Other offsets without a record: compacted, or a transaction marker.")
    rolled: int | None = Field(
        default=None,
        description="All records below this offset are proven to have left the active segment; null if unknown.",
    )
    cleanable: int | None = Field(
        default=None,
        description="All records below this offset are proven to be cleanable; null if the topic is not compacted, or "
        "if unknown.",
    )
    held_by: str | None = Field(
        default=None, description="The reason why the log cleaner cannot clean all rolled segments."
    )
    overdue: int | None = Field(
        default=None,
        description="Retention by time should have deleted all records below this offset; null if nothing expires.",
    )
    future_offset: int | None = Field(
        default=None, description="The first record whose timestamp is ahead of the clock."
    )
    future_timestamp: int | None = Field(default=None, description="The timestamp of that record.")
    hottest: int | None = Field(
        default=None, description="Number of records of the most frequent key; null if keys were not counted."
    )
    hottest_offset: int | None = Field(default=None, description="The offset of the first record of that key.")


class AgeBand(StrictModel):
    """The number of records of a topic with an age of at least ``from_ms`` and less than ``to_ms``.

    All records in the log count, committed or not. A negative age means a timestamp in the future. Records that an
    earlier audit read (``--since last``) were grouped with adjacent records of the same age band. Each group counts
    with the age of its youngest record.
    """

    from_ms: int | None
    to_ms: int | None
    records: int


class PartitionerFacts(StrictModel):
    """The partitioners that explain where the keys are."""

    conclusion: str
    algorithms: list[str] = Field(
        default=[], description="The algorithms that explain the partition of every key, each by itself."
    )
    counts: list[int] = Field(
        default=[], description="Always empty. Earlier versions inferred the partition counts that the topic has had."
    )
    keys: int = Field(default=0, description="Number of distinct pairs of key and partition that were examined.")
    scores: dict[str, float] = Field(
        default={}, description="The share of keys that each algorithm explains with today's partition count."
    )


class TopicFacts(StrictModel):
    """One topic of the cluster, or a declared topic that does not exist there (without partitions)."""

    name: str
    domain: str
    declared: bool
    topic_id: str | None = None
    cleanup_policy: str | None = None
    partitions: list[PartitionFacts] = Field(default=[])
    ages: list[AgeBand] = Field(default=[])
    owner: str | None = Field(default=None, description="The declared owner; null if the YAML declares none.")
    partitioner: PartitionerFacts | None = Field(default=None, description="Null if keys were not examined.")

    @property
    def records(self) -> int | None:
        """The number of records that were read; None if no partition could be read."""
        return _sum_known(partition.records for partition in self.partitions)

    @property
    def payload_bytes(self) -> int | None:
        """The size in bytes of the keys and values that were read; None if no partition could be read."""
        return _sum_known(partition.payload_bytes for partition in self.partitions)

    @property
    def log_bytes(self) -> int | None:
        """The size in bytes of the leaders' logs; None if the size of any partition is unknown."""
        sizes = [partition.log_bytes for partition in self.partitions]
        known = [size for size in sizes if size is not None]
        return sum(known) if known and len(known) == len(sizes) else None

    @property
    def skew(self) -> float | None:
        """The records of the fullest partition divided by the mean per partition; None for an empty topic."""
        fullest = max((partition.records or 0 for partition in self.partitions), default=0)
        return fullest * len(self.partitions) / self.records if self.records else None


def _sum_known(numbers: Iterable[int | None]) -> int | None:
    """Return the sum of the ``numbers`` that are not None; None if there are numbers and all of them are None."""
    every = list(numbers)
    known = [number for number in every if number is not None]
    return sum(known) if known or not every else None


class SettledFinding(StrictModel):
    """The outcome of a finding that the previous audit left open."""

    check: str
    topic: str
    partitions: list[int] = Field(description="The affected partitions; empty for the whole topic.")
    was: Verdict
    now: Verdict
    since: int = Field(description="The time at which an audit first saw it.")
    why: str


class PastAudit(StrictModel):
    """The result of an earlier audit of the same topics."""

    started: int
    topics: dict[Verdict, int] = Field(description="Number of topics by their worst verdict.")
    findings: list[PastFinding] | None = Field(
        default=None, description="What did not pass; null in a report, and if it was not saved."
    )


class AuditReport(StrictModel):
    """One audit of one stack."""

    schema_version: int = 1
    topicwarden: str = Field(description="The version that made the report.")
    stack: str
    cluster_id: str | None
    started: int
    finished: int
    scanned_records: int
    scan_seconds: float
    topics: list[TopicFacts]
    findings: list[Finding]
    settled: list[SettledFinding] = Field(
        default=[], description="The outcomes of findings that the previous audit left open."
    )
    resolved: list[PastFinding] = Field(
        default=[], description="What did not pass in the previous audit of the same topics, and passes now."
    )
    withdrawn: list[PastFinding] = Field(
        default=[],
        description="What the previous audit of the same topics found by a rule that this version no longer has.",
    )
    read: ReadScope = ReadScope.ALL
    coverage: float = Field(
        default=1.0,
        description="The share of offsets that this audit read or an earlier audit remembered; below 1 with --sample "
        "or --max-records.",
    )
    remembered_records: int = Field(
        default=0, description="Records that the previous audit read and that this audit did not read again."
    )
    scope: list[str] = Field(
        default=[],
        description="The patterns of the topics that the stack owns (`topicwarden:scope`); empty if it owns all. Other "
        "topics were not audited.",
    )
    declared: bool = Field(
        default=True,
        description="Whether `stack` is a stack; if not, it is the address of a cluster that no project declares.",
    )
    command_config: str | None = Field(
        default=None,
        description="The path of the file with the settings of the client, if `stack` is an address; null for none.",
    )
    notes: list[str] = Field(default=[], description="Limits of this audit, such as an unavailable history.")
    trend: list[PastAudit] = Field(default=[], description="Earlier audits of the same topics, the oldest first.")
    usage: UsageReport | None = Field(
        default=None, description="Who uses the topics, and what they cost; null if the use was not observed."
    )

    @model_validator(mode="after")
    def _identify_findings(self) -> AuditReport:
        """Give each finding that is no pass its id, also in a report of a version without ids."""
        ids = {topic.name: topic.topic_id for topic in self.topics}
        self.findings[:] = [
            finding
            if finding.id or finding.verdict is Verdict.PASS
            else finding.model_copy(update={"id": self._finding_id(finding, ids.get(finding.topic))})
            for finding in self.findings
        ]
        return self

    def _finding_id(self, finding: Finding, topic_id: str | None) -> str:
        identity = [
            *(self.stack, self.cluster_id, finding.topic, topic_id, finding.check, finding.verdict.value),
            *(finding.partitions, finding.message, finding.evidence),
        ]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:_ID_LENGTH]

    def counts(self) -> Counter[Verdict]:
        """Return the number of findings by verdict."""
        return Counter(finding.verdict for finding in self.findings)

    def fails(self, fail_on: FailOn = FailOn.FAIL) -> bool:
        """Return whether any verdict is at least as bad as ``fail_on``."""
        counts = self.counts()
        return any(counts[verdict] for verdict in fail_on.verdicts)

    def of_topic(self, name: str) -> list[Finding]:
        """Return the findings of the topic ``name``."""
        return [finding for finding in self.findings if finding.topic == name]

    def worst(self, name: str) -> Verdict:
        """Return the worst verdict on the topic ``name``; ``pass`` if it has no findings."""
        verdicts = {finding.verdict for finding in self.of_topic(name)}
        return next((verdict for verdict in WORST_FIRST if verdict in verdicts), Verdict.PASS)
