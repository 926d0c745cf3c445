"""The cleaner removes tombstones after ``delete.retention.ms``.

The first cleaning that reads a tombstone marks its batch with the time + ``delete.retention.ms``. A cleaning after that
time removes the tombstone. The age of a tombstone alone proves nothing.

**fail**: at least four audits saw one replica that led the whole time (leader epoch), and:

1. by the audit at time T1, the cleaner had passed the tombstone: it had removed a record after the tombstone;
2. an audit after T1 + ``delete.retention.ms`` noted the log end;
3. the cleaner has removed a record at or after that offset since, so a complete cleaning took place after the time;
4. the tombstone is still present, and the settings did not change.

A first audit skips this check.

Example: a broker without KIP-534 keeps markers and tombstones forever, because every cleaning moves their horizon
(KAFKA-4545, KAFKA-8522).

Confirm: ``kafka-dump-log --deep-iteration --files`` with the segment shows the batch with its ``deleteHorizonMs``.

Remedy: upgrade the brokers; check that ``delete.retention.ms`` has the intended value.

Prevent: run brokers with KIP-534, which store this time with the batch.

Source: KIP-534, ``Cleaner.cleanInto``, ``RecordBatch.deleteHorizonMs``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.persistence import extent, removed_by_cleaner, replicas, same_leader
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.evidence import ApacheLog, Counts, LiveSettings, PreviousState
from topicwarden.audit.history.topic_state import RememberedRecord
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.verdict import Verdict


class Required(LiveSettings, PreviousState, Counts, ApacheLog): ...


CHECK = "tombstone-retention"
RELEVANT_SETTINGS = ("cleanup.policy", "delete.retention.ms")


def applies(subject: LiveSettings) -> bool:
    return subject.compacted


def judge(subject: Required) -> Iterable[CheckResult]:
    for tombstone in sorted(subject.past.still_present, key=lambda record: (record.partition, record.offset)):
        if tombstone.superseded_by is None and same_leader(subject, tombstone.partition):
            yield from _judge_tombstone(subject, tombstone)


def _judge_tombstone(subject: Required, tombstone: RememberedRecord) -> Iterable[CheckResult]:
    """Yield the result for one tombstone, and the facts that the next audit needs.

    The tracked facts go through the stages of the module's docstring: first ``passed`` (T1), then also ``ripe_from``,
    the log end once the tombstone may be removed.
    """
    partition = tombstone.partition
    log, state = extent(subject, partition), replicas(subject, partition)
    previous = subject.previous.open_finding(CHECK, partition)
    if log is None or state is None or state.leader_epoch is None:
        return
    passed = {"offset": tombstone.offset, "epoch": state.leader_epoch}
    removed = [record.offset for record in removed_by_cleaner(subject, partition)]
    if (
        previous is None
        or previous.settings != subject.effective_settings(RELEVANT_SETTINGS)
        or not passed.items() <= previous.facts.items()
    ):
        if any(offset > tombstone.offset for offset in removed):
            yield CheckResult(Verdict.PASS, "", tracked_facts={partition: passed}, relevant_settings=RELEVANT_SETTINGS)
        return
    retention = subject.number("delete.retention.ms") or 0
    cleaned_at, ripe_from = previous.facts.get("cleaned_at", previous.since), previous.facts.get("ripe_from")
    if ripe_from is None:
        ripe = subject.snapshot.taken_at > cleaned_at + retention + CLOCK_MS
        facts = {**passed, "cleaned_at": cleaned_at, "ripe_from": log.end} if ripe else passed
        yield CheckResult(Verdict.PASS, "", tracked_facts={partition: facts}, relevant_settings=RELEVANT_SETTINGS)
        return
    removed_late = [offset for offset in removed if offset >= ripe_from]
    yield CheckResult(
        Verdict.FAIL if removed_late else Verdict.PASS,
        f"the tombstone at offset {tombstone.offset:,} is still present, although a cleaning took place after its "
        "retention time"
        if removed_late
        else "",
        path=("config", "delete.retention.ms"),
        partitions=(partition,) if removed_late else (),
        because=(
            f"the cleaner had passed the tombstone at least {duration_text(subject.snapshot.taken_at - cleaned_at)} "
            f"ago, and "
            f"delete.retention.ms is {DURATION.text(retention)}",
            f"the cleaner has since removed offset {removed_late[0]:,}, which was written after that time",
        )
        if removed_late
        else (),
        remedy="check the brokers' version and log-cleaner.log" if removed_late else "",
        evidence={"offset": tombstone.offset, "delete.retention.ms": retention},
        tracked_facts={partition: dict(previous.facts)},
        relevant_settings=RELEVANT_SETTINGS,
    )
