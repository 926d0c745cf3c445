"""The cleaner keeps up: the dirty ratio of a compacted log soon falls below ``min.cleanable.dirty.ratio`` again.

A record is superseded if its key has a later record in the partition. A superseded record may remain because the
segment of the later record has not rolled (roll certificate), because an open transaction or
``min.compaction.lag.ms`` blocks the cleaner, or because the cleaner has not run yet. The cleaner only cleans a log if
the dirty share of its bytes exceeds ``min.cleanable.dirty.ratio``. It starts with the dirtiest log, and Kafka sets no
time limit.

**suspect**: superseded records are certainly cleanable, and the dirty ratio certainly exceeds the bound. Both are
measured in bytes on disk, as brokers do. All bytes of the log are dirty except the largest record of each key, records
that are not cleanable, and transaction markers. Keys and values count uncompressed, which can only lower the measured
ratio. **fail**: two audits saw this, further apart than a healthy cleaner takes: twice ``log.cleaner.backoff.ms``, plus
1 s for each 5 MiB of all compacted logs, or for each third of ``log.cleaner.io.max.bytes.per.second`` if that is less.
Both audits saw the same pair of records and the same leader epoch, and the segments rolled under settings that an audit
saw. **pass**, with one of these reasons: no superseded record is certainly cleanable; the dirty ratio does not
certainly exceed its bound; the leader moves the log to another disk; or no record was appended since audits know the
settings, so the segment may be active. **undecidable**: the brokers do not report the sizes of their logs.

Of Kafka's own topics, the audit reads no more than about the oldest 64 MiB of a partition. The dirty part begins before
the pair, and all bytes after the pair count except one segment.

Example: a cleaner thread died of a corrupt batch in another topic; a cache topic has kept a week of updates since.

Confirm: ``cleaner-offset-checkpoint``, a text file in the leader's log directory, has the first offset that is not
cleaned; log-cleaner.log shows when the cleaner ran.

Remedy: check ``uncleanable-partitions-count``, ``DeadThreadCount`` and log-cleaner.log. A restart of the broker
restarts the cleaner.

Prevent: raise an alarm if ``DeadThreadCount`` or ``uncleanable-partitions-count`` is above 0.

Source: ``LogCleanerManager.grabFilthiestCompactedLog``, ``LogSegment.shouldRoll``, ``LogToClean``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.persistence import (
    cleaner_grace_ms,
    extent,
    first_superseded_pair,
    log_start_facts,
    repeated_verdict,
    unknown_grace_remedy,
    unrolled_segment_reason,
)
from topicwarden.audit.checks.common.superseded_reasons import dirty_bound, dirty_ratio, reasons
from topicwarden.audit.evidence import ApacheLog, EveryRecord, LiveSettings
from topicwarden.model.message_text import share
from topicwarden.model.units import duration_text
from topicwarden.model.verdict import Verdict


class Required(LiveSettings, EveryRecord, ApacheLog): ...


CHECK = "compaction-ratio"
RELEVANT_SETTINGS = ("cleanup.policy", "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "segment.ms")

_OUTCOMES = {
    Verdict.FAIL: (
        "and the cleaner has not cleaned them for {persisted}",
        "check the cleaner: uncleanable-partitions-count, DeadThreadCount, log-cleaner.log; "
        "a restart of the broker restarts the cleaner",
    ),
    Verdict.SUSPECT: (
        "and the cleaner is due",
        "audit again; if they are still present, check the cleaner (uncleanable-partitions-count, log-cleaner.log)",
    ),
    Verdict.PASS: ("for a legitimate reason", ""),
    Verdict.UNDECIDABLE: ("and the brokers' settings or the log sizes are not visible", ""),
}
"""The end of the message, after "superseded by a later one of their key,", and the remedy."""


def applies(subject: LiveSettings) -> bool:
    return subject.compacted


def judge(subject: Required) -> Iterable[CheckResult]:
    repeated = [partition for partition, counts in sorted(subject.counts.items()) if counts.superseded]
    grace = cleaner_grace_ms(subject)
    by_verdict: dict[Verdict, list[int]] = {}
    tracked_facts: dict[int, dict[str, int]] = {}
    explanations: dict[int, str] = {}
    for partition in repeated:
        cleanable = subject.counts[partition].superseded_cleanable
        log, pair = extent(subject, partition), first_superseded_pair(subject, partition)
        if cleanable and (grace is None or log is None or log.log_bytes is None):
            verdict = Verdict.UNDECIDABLE
        elif (
            grace is None
            or pair is None
            or pair.superseded_by >= subject.horizons[partition].cleanable
            or dirty_ratio(subject, partition) <= dirty_bound(subject)
        ):
            verdict = Verdict.PASS
        else:
            facts = {"offset": pair.offset, "superseded_by": pair.superseded_by, **log_start_facts(subject, partition)}
            persisted_ms = subject.persisted_ms(CHECK, partition, facts, RELEVANT_SETTINGS)
            explanation = unrolled_segment_reason(subject, partition, persisted_ms)
            verdict, tracked_facts[partition] = repeated_verdict(persisted_ms, grace, explanation), facts
            if explanation is not None:
                explanations[partition] = explanation
        by_verdict.setdefault(verdict, []).append(partition)
    for verdict, partitions in by_verdict.items():
        yield _result(
            verdict,
            subject,
            partitions,
            {partition: tracked_facts[partition] for partition in partitions if partition in tracked_facts},
            sorted({explanations[partition] for partition in partitions if partition in explanations}),
        )


def _result(
    verdict: Verdict,
    subject: Required,
    partitions: list[int],
    tracked_facts: dict[int, dict[str, int]],
    explanations: list[str],
) -> CheckResult:
    counts = [subject.counts[partition] for partition in partitions]
    superseded = sum(c.superseded for c in counts)
    rolled = sum(c.superseded_rolled for c in counts)
    cleanable = sum(c.superseded_cleanable for c in counts)
    persisted_ms = max(
        (
            subject.persisted_ms(CHECK, partition, facts, RELEVANT_SETTINGS) or 0
            for partition, facts in tracked_facts.items()
        ),
        default=0,
    )
    outcome, remedy = _OUTCOMES[verdict]
    return CheckResult(
        verdict,
        f"{share(superseded, sum(c.records for c in counts), 'record', 'are')} superseded by a later one of their key, "
        + outcome.format(persisted=duration_text(persisted_ms)),
        path=("config", "cleanup.policy"),
        partitions=tuple(partitions),
        because=(*reasons(subject, partitions), *explanations),
        remedy=unknown_grace_remedy(subject.snapshot) if verdict is Verdict.UNDECIDABLE else remedy,
        evidence={
            "keys": sum(c.keys for c in counts),
            "superseded": superseded,
            "not_rolled": superseded - rolled,
            "held_back": rolled - cleanable,
            "cleanable": cleanable,
            "dirty_ratio_at_least": round(max(dirty_ratio(subject, partition) for partition in partitions), 4),
            "min.cleanable.dirty.ratio": dirty_bound(subject),
        },
        tracked_facts=tracked_facts,
        relevant_settings=RELEVANT_SETTINGS,
    )
