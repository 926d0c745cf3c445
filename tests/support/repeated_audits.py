"""One partition in several audits, on plain values: which evidence each audit sees, and what it remembers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tests.support.subjects import HORIZON, NOW, subject
from topicwarden.audit import compare_audits
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import CheckResult
from topicwarden.audit.collect.horizon import Horizon
from topicwarden.audit.history.topic_state import KnownTombstone, PreviousAudit, RememberedRecord, TopicState
from topicwarden.audit.judge import judge
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.kafka.read.snapshot import PartitionExtent, PartitionReplicas
from topicwarden.model.finding import SettledFinding

MINUTE = 60_000
COMPACT = {"cleanup.policy": "compact", "delete.retention.ms": str(10 * MINUTE)}
DIRTY = PartitionCounts(
    records=100, payload_bytes=90_000, keys=1, superseded=99, superseded_rolled=99, superseded_cleanable=99,
    rolled=100, cleanable=100, cleanable_bytes=90_000, clean_bytes_at_most=900,
)  # fmt: skip
ROLLED = replace(HORIZON, rolled=100, cleanable=100, lagging=100)
DEAD = {**COMPACT, "max.compaction.lag.ms": "1000", "segment.bytes": "1000"}


@dataclass
class Log:
    """One partition across several audits; ``records`` has the hash of each record's key by offset."""

    records: dict[int, int]
    settings: Mapping[str, str]
    counts: PartitionCounts = field(default_factory=lambda: DIRTY)
    horizon: Horizon = ROLLED
    now: int = NOW
    start: int = 0
    end: int = 100
    size: int | None = 100_000
    epoch: int | None = 7
    topic_id: str = "id"
    stable: int | None = None
    deleted: tuple[tuple[int, int], ...] = ()
    resurrected: tuple[tuple[int, int], ...] = ()
    last: TopicState | None = None
    settled: list[SettledFinding] = field(default_factory=list)
    brokers: Mapping[str, str] = field(default_factory=dict)
    moves: bool = False

    def look(self, after: int = 0) -> dict[str, CheckResult]:
        """Audit the log again ``after`` milliseconds later, and return the results that have a message, by check."""
        self.now += after
        seen = self.subject()
        judged = judge(seen)
        self.settled = list(compare_audits.settled_findings(seen, judged))
        stones = [KnownTombstone(0, offset, key) for key, offset in self.deleted]
        self.last = compare_audits.topic_state(seen, judged, stones, {})
        return {check: one for check, output in judged.items() for one in output if one.message}

    def subject(self) -> AuditedTopic:
        """Return the topic as the next audit sees it."""
        at: dict[int, list[int]] = {}
        for offset, key in sorted(self.records.items()):
            at.setdefault(key, []).append(offset)
        pairs = tuple(SupersededPair(a, b, key) for key, current in at.items() for a, b in pairwise(current))
        counts = replace(self.counts, deleted=self.deleted, resurrected=self.resurrected)
        of = subject(
            counts,
            self.horizon,
            live=self.settings,
            replicas=PartitionReplicas(0, 1, (1, 2, 3), (1, 2, 3), self.epoch),
            pairs=tuple(sorted(pairs, key=lambda pair: pair.offset)),
        )
        assert of.live
        stable = self.end if self.stable is None else self.stable
        extent = PartitionExtent(self.start, self.end, stable, self.now, self.end - 1, self.size, None, self.moves)
        live = replace(of.live, id=self.topic_id, extents={0: extent})
        snapshot = replace(of.snapshot, taken_at=self.now, broker_configs={1: self.brokers}, topics={"t": live})
        return replace(of, live=live, snapshot=snapshot, past=self._past())

    def _past(self) -> PreviousAudit:
        if self.last is None:
            return PreviousAudit()
        if self.last.topic_id != self.topic_id:
            return PreviousAudit(recreated_from=self.last.topic_id)
        found = frozenset(one for one in self.last.remembered_records if self._stands(one))
        return PreviousAudit(self.last, still_present=found)

    def _stands(self, one: RememberedRecord) -> bool:
        offsets = [one.offset, *([] if one.superseded_by is None else [one.superseded_by])]
        return all(self.records.get(offset) == one.key for offset in offsets)


def seen_empty(log: Log) -> Log:
    """Return the same log after an audit that saw its settings while the log was still empty."""
    full = replace(log)
    empty = replace(log, records={}, counts=PartitionCounts(), horizon=HORIZON, end=0, size=0)
    empty.look()
    return replace(full, last=empty.last)


def one_key() -> Log:
    return seen_empty(Log(dict.fromkeys(range(100), 5), DEAD))


TWO_LOOKS = ("compaction-ratio", "compaction-lag")
DELETE = {"cleanup.policy": "delete", "retention.bytes": "1000", "segment.bytes": "1000", "retention.ms": "-1"}
