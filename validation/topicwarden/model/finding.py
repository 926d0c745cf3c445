"""What an audit hands on: findings, and the facts that they were drawn from.

These models are the published schema of ``report.json`` (``topicwarden schema report``). Times are
milliseconds since the epoch, sizes are bytes, offsets are Kafka's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from topicwarden.model.verdict import BY_WEIGHT, ReadScope, Verdict


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FindingLocation(_Model):
    """The line of YAML that declares what a finding is about."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Finding(_Model):
    """One check's verdict on one topic, or on some partitions of it."""

    check: str = Field(description="The check's id, as `topicwarden rules` lists it.")
    verdict: Verdict
    topic: str
    partitions: list[int] = Field(default=[], description="The partitions it speaks of; empty for the whole topic.")
    message: str = Field(default="", description="What was seen against what was declared; empty for a plain pass.")
    because: list[str] = Field(default=[], description="Why it is so, or why it is lawful: one reason a line.")
    remedy: str = Field(default="", description="What to do about it.")
    evidence: dict[str, int | float | str | None] = Field(default={}, description="The numbers it rests on.")
    place: FindingLocation | None = Field(default=None, description="Where the YAML declares it.")


class PartitionFacts(_Model):
    """One partition, as the snapshot and the scan saw it. Counts are of records that were read,
    committed or not; null if none was read."""

    partition: int
    leader: int | None
    replicas: list[int]
    in_sync: list[int]
    log_start: int | None = Field(description="First offset that may be read, when the snapshot was taken.")
    log_end: int | None = Field(description="The offset that the next record will get (high watermark).")
    last_stable: int | None
    log_bytes: int | None = Field(description="Bytes on the leader's disk, compressed; null where not to be had.")
    records: int | None = 0
    payload_bytes: int | None = Field(default=0, description="Keys and values, uncompressed.")
    largest_record: int | None = Field(default=0, description="Bytes of the largest key and value together.")
    null_keys: int | None = 0
    tombstones: int | None = 0
    empty_values: int | None = 0
    keys: int | None = Field(default=None, description="Distinct keys; null where not compacted.")
    superseded: int | None = Field(default=None, description="Records whose key has a later one here.")
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    read_from: int | None = Field(default=None, description="First offset that was asked for; null where none was.")
    lost_to_retention: int = Field(
        default=0, description="Offsets that retention took away between the snapshot and the read."
    )
    gaps: int = Field(
        default=0, description="Other offsets without a record: compacted away, or a transaction's marker."
    )
    rolled: int | None = Field(
        default=None, description="Records below this offset have left the active segment for certain; null: unknown."
    )
    cleanable: int | None = Field(
        default=None, description="Records below may be cleaned for certain; null where not compacted, or unknown."
    )
    held_by: str | None = Field(default=None, description="What keeps the cleaner from all that has rolled.")
    overdue: int | None = Field(
        default=None, description="Records below should have been deleted by time; null where nothing expires."
    )
    future_offset: int | None = Field(default=None, description="The first record stamped ahead of the clock.")
    future_timestamp: int | None = Field(default=None, description="That record's timestamp.")
    hottest: int | None = Field(
        default=None, description="Records of the key that has most; null where keys were not counted."
    )
    hottest_offset: int | None = Field(default=None, description="The first record of that key.")


class AgeBand(_Model):
    """How many records of a topic are at least ``from_ms`` and less than ``to_ms`` old.

    Every record that stands counts, committed or not. Negative ages lie in the future. Records that an earlier audit
    read (``--since last``) count by the youngest of those that were next to them and in one band then.
    """

    from_ms: int | None
    to_ms: int | None
    records: int


class PartitionerFacts(_Model):
    """Which partitioner put the keys where they lie, as far as their places tell."""

    conclusion: str
    algorithms: list[str] = Field(default=[], description="Those that explain the keys, alone or together.")
    counts: list[int] = Field(default=[], description="The numbers of partitions in force so far, ascending.")
    keys: int = Field(default=0, description="Distinct keys that were looked at, by partition.")
    scores: dict[str, float] = Field(default={}, description="The share of keys that each algorithm explains today.")


class TopicFacts(_Model):
    """One topic of the cluster, or one that is declared and not there (without partitions)."""

    name: str
    domain: str
    declared: bool
    topic_id: str | None = None
    cleanup_policy: str | None = None
    partitions: list[PartitionFacts] = []
    ages: list[AgeBand] = []
    owner: str | None = Field(default=None, description="As declared; null where the YAML names none.")
    partitioner: PartitionerFacts | None = Field(default=None, description="Null where keys were not looked at.")

    @property
    def records(self) -> int | None:
        """Records that were read; None if no partition could be read."""
        return _counted(partition.records for partition in self.partitions)

    @property
    def payload_bytes(self) -> int | None:
        """Bytes of the keys and values that were read; None if no partition could be read."""
        return _counted(partition.payload_bytes for partition in self.partitions)

    @property
    def log_bytes(self) -> int | None:
        """Bytes of the leaders' logs; None unless every partition's is known."""
        sizes = [partition.log_bytes for partition in self.partitions]
        known = [size for size in sizes if size is not None]
        return sum(known) if known and len(known) == len(sizes) else None

    @property
    def skew(self) -> float | None:
        """Records of the fullest partition over the mean; None for an empty topic."""
        fullest = max((partition.records or 0 for partition in self.partitions), default=0)
        return fullest * len(self.partitions) / self.records if self.records else None


def _counted(numbers: Iterable[int | None]) -> int | None:
    """Return the sum of the known ``numbers``; None if there are some and none is known."""
    found = list(numbers)
    known = [number for number in found if number is not None]
    return sum(known) if known or not found else None


class SettledFinding(_Model):
    """What became of something that the last audit could not settle."""

    check: str
    topic: str
    partitions: list[int] = Field(description="The partitions it speaks of; empty for the whole topic.")
    was: Verdict
    now: Verdict
    since: int = Field(description="When it was first seen.")
    why: str


class PastAudit(_Model):
    """How an earlier audit of the same topics ended."""

    started: int
    topics: dict[Verdict, int] = Field(description="How many topics had which verdict as their weightiest.")


class AuditReport(_Model):
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
    settled: list[SettledFinding] = Field(default=[], description="What became of the last audit's suspects.")
    read: ReadScope = ReadScope.ALL
    coverage: float = Field(
        default=1.0, description="The share of the offsets that was read or known; less with --sample or --max-records."
    )
    remembered_records: int = Field(
        default=0, description="Records that the last audit read, and that this one did not read again."
    )
    notes: list[str] = Field(default=[], description="What limits this audit, such as a history that is not to be had.")
    trend: list[PastAudit] = Field(default=[], description="Earlier audits of the same topics, the oldest first.")

    def counts(self) -> Counter[Verdict]:
        return Counter(finding.verdict for finding in self.findings)

    def of_topic(self, name: str) -> list[Finding]:
        return [finding for finding in self.findings if finding.topic == name]

    def worst(self, name: str) -> Verdict:
        """The weightiest verdict on a topic; ``pass`` where nothing speaks against it."""
        verdicts = {finding.verdict for finding in self.of_topic(name)}
        return next((verdict for verdict in BY_WEIGHT if verdict in verdicts), Verdict.PASS)
