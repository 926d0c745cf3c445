"""Compare one audit with the next: the state to remember, and the outcome of earlier findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import CheckResult
from topicwarden.audit.history.known_placements import partition_growth
from topicwarden.audit.history.known_unread import known_unread
from topicwarden.audit.history.outcomes import WITHDRAWN, revision
from topicwarden.audit.history.topic_state import (
    KnownPartition,
    KnownPlacement,
    KnownTombstone,
    OpenFinding,
    PartitionState,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.scan.counts import SupersededPair
from topicwarden.model.finding import SettledFinding
from topicwarden.model.verdict import WORST_FIRST, Verdict

ResultsByCheck = Mapping[str, tuple[CheckResult, ...]]
"""The results of each check, by check id."""

_PROBES = 4
"""Superseded pairs to remember at each end of a log, to detect the next cleaning."""
MAX_TOMBSTONES = 16
"""Tombstones to remember for each partition."""


def topic_state(
    subject: AuditedTopic,
    results: ResultsByCheck,
    tombstones: Iterable[KnownTombstone],
    known: Mapping[int, KnownPartition],
    *,
    placement: KnownPlacement | None = None,
    metadata_max_age: int = 0,
) -> TopicState | None:
    """Return the state of the topic for the next audit; None if the topic or the cluster id is missing.

    ``tombstones`` are the new tombstones to remember. ``known`` has, by partition, the records that the next audit
    need not read again. ``placement`` is that of its keys, if the next audit need not read them again.
    ``metadata_max_age`` (ms) is how long producers may take to notice new partitions.
    """
    live, cluster = subject.live, subject.snapshot.cluster_id
    if live is None or cluster is None:
        return None
    now, past = subject.snapshot.taken_at, subject.past.state
    settings = dict(live.topic.config)
    return TopicState(
        cluster_id=cluster,
        topic=live.topic.name,
        topic_id=live.id,
        taken_at=now,
        settings=settings,
        since={
            name: past.since.get(name, now) if past and past.settings.get(name) == value else now
            for name, value in settings.items()
        },
        partitions=tuple(_partitions(subject, known)),
        open_findings=tuple(_open_findings(subject, results)),
        remembered_records=tuple(_remembered_records(subject)),
        tombstones=tuple(_tombstones(subject, tombstones)),
        key_placement=placement,
        growth=partition_growth(live, past, now, metadata_max_age),
        unread=known_unread(live, past, now, subject.consumer_groups, subject.group_lags),
    )


def settled_findings(subject: AuditedTopic, results: ResultsByCheck) -> Iterator[SettledFinding]:
    """Yield the outcome of each ``suspect`` and ``fail`` that the previous audit left open."""
    past = subject.past.state
    if past is None or subject.live is None:
        return
    groups: dict[tuple[str, Verdict, Verdict, str, int], list[int]] = {}
    for finding in past.open_findings:
        was = Verdict(finding.verdict)
        if was in (Verdict.SUSPECT, Verdict.FAIL):
            found = results.get(finding.check, ())
            now, why = _undecidable(found) or _outcome(subject, finding, found)
            if finding.revision < revision(finding.check) and WORST_FIRST.index(now) > WORST_FIRST.index(was):
                why = WITHDRAWN
            groups.setdefault((finding.check, was, now, why, finding.since), []).append(finding.partition)
    for (check, was, now, why, since), partitions in groups.items():
        yield SettledFinding(
            check=check, topic=past.topic, partitions=sorted(partitions), was=was, now=now, since=since, why=why
        )


def _undecidable(results: Sequence[CheckResult]) -> tuple[Verdict, str] | None:
    """Return the reason if the check cannot judge the topic at all, such as without the permission to read it."""
    whole = (each for each in results if each.verdict is Verdict.UNDECIDABLE and not each.partitions)
    return next(((each.verdict, each.message) for each in whole), None)


def _outcome(subject: AuditedTopic, finding: OpenFinding, results: Sequence[CheckResult]) -> tuple[Verdict, str]:
    """Return the verdict that an earlier finding has now, and the reason."""
    for result in results:
        if finding.partition in result.partitions and result.verdict is not Verdict.PASS:
            facts = result.tracked_facts.get(finding.partition)
            if facts is None or facts == finding.facts:
                return result.verdict, "still present" + (
                    "" if result.verdict is Verdict.FAIL else "; this audit cannot settle it either"
                )
            if any(facts.get(name) != finding.facts.get(name) for name in _identity(finding.facts)):
                return Verdict.PASS, f"{_why_gone(subject, finding)}; the current finding is a new one"
            return result.verdict, f"{_difference(finding.facts, facts)}; the current finding is a new one"
    for result in results:
        if result.verdict is Verdict.PASS and result.tracked_facts.get(finding.partition) == finding.facts:
            return Verdict.PASS, result.because[-1] if result.because else "it has an explanation"
    settings = finding.settings
    changed = sorted(name for name in settings if subject.effective_settings((name,)).get(name) != settings[name])
    if changed:
        return Verdict.PASS, f"{' and '.join(changed)} changed since"
    return Verdict.PASS, _why_gone(subject, finding)


def _identity(facts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names of the facts that identify a finding.

    The leader epoch is not among them: under another leader the finding is the same, but its time starts again.
    """
    return ("offset", "superseded_by") if "offset" in facts else ("start", "last_stable")


def _difference(before: Mapping[str, int], now: Mapping[str, int]) -> str:
    changes = [
        f"{name.replace('_', ' ')} was {value:,} and is {now[name]:,}"
        for name, value in before.items()
        if name in now and now[name] != value
    ]
    return ", ".join(changes) or "it has changed"


def _why_gone(subject: AuditedTopic, finding: OpenFinding) -> str:
    extent = subject.live.extents.get(finding.partition) if subject.live else None
    if extent is None:
        return "the partition cannot be read now"
    offset = finding.facts.get("offset", finding.facts.get("start"))
    if offset is not None and extent.start > offset:
        return f"the log now starts at offset {extent.start:,}: offset {offset:,} was deleted"
    if "superseded_by" in finding.facts:
        return f"the pair at offsets {offset:,} and {finding.facts['superseded_by']:,} was cleaned"
    if "last_stable" in finding.facts:
        return f"the last stable offset moved to {extent.last_stable:,}"
    return "no longer present"


def _partitions(subject: AuditedTopic, known: Mapping[int, KnownPartition]) -> Iterator[PartitionState]:
    assert subject.live
    live = subject.live
    for state in live.replicas:
        extent = live.extents.get(state.partition)
        if extent is None:
            continue
        # A partition that the previous audit did not see may be new, or had no leader then.
        known_from = subject.shaped_from(state.partition)
        yield PartitionState(
            partition=state.partition,
            start=extent.start,
            end=extent.end,
            last_stable=extent.last_stable,
            log_bytes=extent.log_bytes,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            shaped_from=extent.end if known_from is None else known_from,
            known=known.get(state.partition),
        )


def _open_findings(subject: AuditedTopic, results: ResultsByCheck) -> Iterator[OpenFinding]:
    for check, check_results in results.items():
        for result in check_results:
            settings = subject.effective_settings(result.relevant_settings)
            for partition, facts in result.tracked_facts.items():
                since = subject.past.since(check, partition, facts, settings)
                yield OpenFinding(
                    check=check,
                    partition=partition,
                    verdict=result.verdict.value,
                    since=subject.snapshot.taken_at if since is None else since,
                    facts=dict(facts),
                    settings=settings,
                    revision=revision(check),
                )


def _remembered_records(subject: AuditedTopic) -> Iterator[RememberedRecord]:
    """Yield the records of each partition that the next audit looks for.

    These are the first superseded pair, pairs after it from which a cleaning must remove records, and one tombstone.
    Records that the previous audit remembered, and that are still present, come first.
    """
    remembered_partitions = {record.partition for record in subject.past.still_present}
    for partition in sorted({*subject.pairs, *(subject.counts or ()), *remembered_partitions}):
        remembered = [record for record in subject.past.still_present if record.partition == partition]
        remembered_pairs = [
            SupersededPair(record.offset, record.superseded_by, record.key)
            for record in remembered
            if record.superseded_by is not None
        ]
        pairs = sorted(
            {*remembered_pairs, *subject.pairs.get(partition, ()), *_earliest_pair(subject, partition)},
            key=lambda pair: (pair.superseded_by, pair.offset),
        )
        first = min(remembered_pairs or pairs, key=lambda pair: (pair.superseded_by, pair.offset), default=None)
        selected = (
            [] if first is None else [first, *_probes([pair for pair in pairs if pair.offset > first.superseded_by])]
        )
        yield from (RememberedRecord(partition, pair.offset, pair.key, pair.superseded_by) for pair in selected)
        tombstones = [record for record in remembered if record.superseded_by is None]
        counts = subject.partition_counts(partition)
        lowest = min(counts.deleted if counts else (), key=lambda deleted: deleted[1], default=None)
        if tombstones:
            yield tombstones[0]
        elif lowest is not None:
            key, offset = lowest
            yield RememberedRecord(partition, offset, key, None)


def _earliest_pair(subject: AuditedTopic, partition: int) -> tuple[SupersededPair, ...]:
    """Return the pair that the scan noted for the partition of a compacted topic; empty if there is none."""
    counts = subject.partition_counts(partition)
    return (counts.earliest_pair,) if counts and counts.earliest_pair and subject.compacted else ()


def _probes(pairs: list[SupersededPair]) -> list[SupersededPair]:
    """Return the first and the last few ``pairs``."""
    return pairs if len(pairs) <= 2 * _PROBES else pairs[:_PROBES] + pairs[-_PROBES:]


def _tombstones(subject: AuditedTopic, new: Iterable[KnownTombstone]) -> Iterator[KnownTombstone]:
    """Yield the remembered and the new tombstones; per partition, those with the smallest key hashes.

    A new tombstone is left out if the partition's leader changed during the audit, so that its log is not known.
    """
    past = subject.past.state.tombstones if subject.past.state else ()
    epochs = {state.partition: state.leader_epoch for state in subject.live.replicas} if subject.live else {}
    dated = (replace(each, leader_epoch=epochs.get(each.partition)) for each in new)
    known = [each for each in (*past, *dated) if each.leader_epoch is not None]
    latest = {
        (tombstone.partition, tombstone.key): tombstone
        for tombstone in sorted(known, key=lambda tombstone: tombstone.offset)
    }
    by_partition: dict[int, list[KnownTombstone]] = {}
    for tombstone in sorted(latest.values(), key=lambda tombstone: tombstone.key):
        by_partition.setdefault(tombstone.partition, []).append(tombstone)
    for tombstones in by_partition.values():
        yield from tombstones[:MAX_TOMBSTONES]
