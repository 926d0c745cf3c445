"""From one look to the next: what is to be remembered, and what became of what was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from topicwarden.audit.history.topic_state import (
    SHAPING,
    KnownPartition,
    KnownTombstone,
    OpenFinding,
    PartitionState,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.scan.counts import SupersededPair
from topicwarden.audit.subject import AuditedTopic, CheckResult
from topicwarden.model.finding import SettledFinding
from topicwarden.model.verdict import Verdict

Judged = Mapping[str, tuple[CheckResult, ...]]
"""What each check said, by its id."""

_PROBES = 4
MOST_TOMBSTONES = 16


def look(
    subject: AuditedTopic, judged: Judged, deleted: Iterable[KnownTombstone], known: Mapping[int, KnownPartition]
) -> TopicState | None:
    """What the next audit has to know of this topic; None where it is not there, or the cluster has no name."""
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
        open_findings=tuple(_suspicions(subject, judged)),
        remembered_records=tuple(_witnesses(subject)),
        tombstones=tuple(_tombstones(subject, deleted)),
    )


def settled(subject: AuditedTopic, judged: Judged) -> Iterator[SettledFinding]:
    """What became of everything that the last audit suspected, or proved, and meant to look at again."""
    past = subject.past.state
    if past is None or subject.live is None:
        return
    groups: dict[tuple[str, Verdict, Verdict, str, int], list[int]] = {}
    for one in past.open_findings:
        was = Verdict(one.verdict)
        if was in (Verdict.SUSPECT, Verdict.FAIL):
            now, why = _outcome(subject, one, judged.get(one.check, ()))
            groups.setdefault((one.check, was, now, why, one.since), []).append(one.partition)
    for (check, was, now, why, since), partitions in groups.items():
        yield SettledFinding(
            check=check, topic=past.topic, partitions=sorted(partitions), was=was, now=now, since=since, why=why
        )


def _outcome(subject: AuditedTopic, one: OpenFinding, judgements: Sequence[CheckResult]) -> tuple[Verdict, str]:
    for judgement in judgements:
        if one.partition in judgement.partitions and judgement.verdict is not Verdict.PASS:
            facts = judgement.standing.get(one.partition)
            if facts is None or facts == one.facts:
                return judgement.verdict, "it still stands" + (
                    "" if judgement.verdict is Verdict.FAIL else "; it cannot be settled yet"
                )
            if any(facts.get(name) != one.facts.get(name) for name in _identity(one.facts)):
                return Verdict.PASS, f"{_gone(subject, one)}; what is seen now is new"
            return judgement.verdict, f"{_difference(one.facts, facts)}; what is seen now is new"
    for judgement in judgements:
        if judgement.verdict is Verdict.PASS and judgement.standing.get(one.partition) == one.facts:
            return Verdict.PASS, judgement.because[-1] if judgement.because else "it is lawful"
    changed = sorted(name for name, value in one.settings.items() if subject.in_force((name,)).get(name) != value)
    if changed:
        return Verdict.PASS, f"{' and '.join(changed)} changed since"
    return Verdict.PASS, _gone(subject, one)


def _identity(facts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the facts that name what is suspected: under another leader it is the same, though it begins anew."""
    return ("offset", "superseded_by") if "offset" in facts else ("start", "last_stable")


def _difference(before: Mapping[str, int], now: Mapping[str, int]) -> str:
    moved = [
        f"{name.replace('_', ' ')} was {value:,} and is {now[name]:,}"
        for name, value in before.items()
        if name in now and now[name] != value
    ]
    return ", ".join(moved) or "it is not the same as before"


def _gone(subject: AuditedTopic, one: OpenFinding) -> str:
    extent = subject.live.extents.get(one.partition) if subject.live else None
    if extent is None:
        return "the partition cannot be read now"
    offset = one.facts.get("offset", one.facts.get("start"))
    if offset is not None and extent.start > offset:
        return f"the log starts at offset {extent.start:,} now: what stood at {offset:,} was deleted"
    if "superseded_by" in one.facts:
        return f"the pair at offsets {offset:,} and {one.facts['superseded_by']:,} no longer stands: it was cleaned"
    if "last_stable" in one.facts:
        return f"the last stable offset moved on, to {extent.last_stable:,}"
    return "it is not seen any more"


def _partitions(subject: AuditedTopic, known: Mapping[int, KnownPartition]) -> Iterator[PartitionState]:
    assert subject.live
    past, live = subject.past.state, subject.live
    config = live.topic.config
    same = past is not None and all(past.settings.get(name) == config.get(name) for name in SHAPING)
    for state in live.replicas:
        extent = live.extents.get(state.partition)
        if extent is None:
            continue
        before = past.partition(state.partition) if past else None
        if past is not None and before is None:
            shaped_from = 0 if same else extent.end  # the partition was added, under these settings
        else:
            shaped_from = before.shaped_from if before is not None and same else extent.end
        yield PartitionState(
            partition=state.partition,
            start=extent.start,
            end=extent.end,
            last_stable=extent.last_stable,
            log_bytes=extent.log_bytes,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            shaped_from=min(shaped_from, extent.end),
            known=known.get(state.partition),
        )


def _suspicions(subject: AuditedTopic, judged: Judged) -> Iterator[OpenFinding]:
    for check, judgements in judged.items():
        for judgement in judgements:
            settings = subject.in_force(judgement.rests_on)
            for partition, facts in judgement.standing.items():
                since = subject.past.since(check, partition, facts, settings)
                yield OpenFinding(
                    check=check,
                    partition=partition,
                    verdict=judgement.verdict.value,
                    since=subject.snapshot.taken_at if since is None else since,
                    facts=dict(facts),
                    settings=settings,
                )


def _witnesses(subject: AuditedTopic) -> Iterator[RememberedRecord]:
    """For each partition: the pair that is to stand, records of which a cleaning must take some, and a tombstone."""
    before = {one.partition for one in subject.past.still_present}
    for partition in sorted({*subject.pairs, *subject.counts, *before}):
        held = [one for one in subject.past.still_present if one.partition == partition]
        pairs = sorted(
            {SupersededPair(one.offset, one.superseded_by, one.key) for one in held if one.superseded_by is not None}
            | set(subject.pairs.get(partition) or _far(subject, partition)),
            key=lambda pair: (pair.superseded_by, pair.offset),
        )
        kept = [SupersededPair(one.offset, one.superseded_by, one.key) for one in held if one.superseded_by is not None]
        first = min(kept or pairs, key=lambda pair: (pair.superseded_by, pair.offset), default=None)
        chosen = (
            [] if first is None else [first, *_probes([pair for pair in pairs if pair.offset > first.superseded_by])]
        )
        yield from (RememberedRecord(partition, pair.offset, pair.key, pair.superseded_by) for pair in chosen)
        stones = [one for one in held if one.superseded_by is None]
        counts = subject.counts.get(partition)
        lowest = min(counts.deleted if counts else (), key=lambda deleted: deleted[1], default=None)
        if stones:
            yield stones[0]
        elif lowest is not None:
            yield RememberedRecord(partition, lowest[1], lowest[0], None)


def _far(subject: AuditedTopic, partition: int) -> tuple[SupersededPair, ...]:
    counts = subject.counts.get(partition)
    return (counts.earliest_pair,) if counts and counts.earliest_pair and subject.compacted else ()


def _probes(pairs: list[SupersededPair]) -> list[SupersededPair]:
    return pairs if len(pairs) <= 2 * _PROBES else pairs[:_PROBES] + pairs[-_PROBES:]


def _tombstones(subject: AuditedTopic, deleted: Iterable[KnownTombstone]) -> Iterator[KnownTombstone]:
    """Those that were remembered, and such as were seen now; of each partition those with the smallest hashes."""
    past = subject.past.state.tombstones if subject.past.state else ()
    latest = {(one.partition, one.key): one for one in sorted((*past, *deleted), key=lambda one: one.offset)}
    by_partition: dict[int, list[KnownTombstone]] = {}
    for one in sorted(latest.values(), key=lambda one: one.key):
        by_partition.setdefault(one.partition, []).append(one)
    for stones in by_partition.values():
        yield from stones[:MOST_TOMBSTONES]
