"""The cleaner removes superseded records within ``max.compaction.lag.ms``, if that is set.

With this setting, the cleaner must clean a log as soon as a rolled, dirty segment is older, whatever the dirty ratio.

**suspect**: a superseded record is still present. The superseding record is in a rolled segment, below the last stable
offset, and older than ``max.compaction.lag.ms`` by more than the roll time. No earlier record has a future timestamp.
**fail**: two audits saw the same pair, further apart than a healthy cleaner takes (see ``compaction-ratio``), under the
same settings and the same leader (epoch). The segment rolled under settings that an audit saw. **pass**: as for
``fail``, but no record was appended since audits know the settings, so the segment may be active, or the leader moves
the log to another disk. **undecidable**: the brokers do not report the sizes of their logs.

Example: a privacy policy requires ``max.compaction.lag.ms=1d``; a deleted user's record is still present after a week.

Confirm: log-cleaner.log of the leader shows when the cleaner last cleaned the partition; ``kafka-get-offsets`` shows
how far the log goes.

Remedy: check the cleaner (``max-compaction-delay-secs``, ``uncleanable-partitions-count``, log-cleaner.log).

Prevent: raise an alarm if ``max-compaction-delay-secs`` rises above ``max.compaction.lag.ms``.

Source: KIP-354, ``LogCleanerManager.maxCompactionDelay``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.persistence import (
    cleaner_grace_ms,
    first_superseded_pair,
    log_start_facts,
    repeated_verdict,
    unknown_grace_remedy,
    unrolled_segment_reason,
)
from topicwarden.audit.collect.horizon import compaction_lag
from topicwarden.audit.evidence import ApacheLog, Counts, LiveSettings
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.verdict import Verdict


class Required(LiveSettings, Counts, ApacheLog): ...


CHECK = "compaction-lag"
RELEVANT_SETTINGS = ("cleanup.policy", "max.compaction.lag.ms", "min.compaction.lag.ms", "segment.ms")

_REMEDIES = {
    Verdict.FAIL: "check the cleaner: max-compaction-delay-secs, uncleanable-partitions-count, log-cleaner.log",
    Verdict.SUSPECT: "audit again; if the same pair is still present, check the cleaner",
    Verdict.PASS: "",
}


def applies(subject: LiveSettings) -> bool:
    return compaction_lag(subject.live.topic) is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    lag, grace = compaction_lag(subject.live.topic), cleaner_grace_ms(subject)
    unknown_remedy = (
        f"{unknown_grace_remedy(subject.snapshot)}: the time that a healthy cleaner takes depends on the brokers' "
        "settings and the log sizes"
    )
    for partition, horizon in sorted(subject.horizons.items()):
        pair = first_superseded_pair(subject, partition)
        if pair is None or pair.superseded_by >= horizon.lagging:
            continue
        facts = {"offset": pair.offset, "superseded_by": pair.superseded_by, **log_start_facts(subject, partition)}
        persisted_ms = subject.persisted_ms(CHECK, partition, facts, RELEVANT_SETTINGS)
        explanation = unrolled_segment_reason(subject, partition, persisted_ms)
        verdict = Verdict.UNDECIDABLE if grace is None else repeated_verdict(persisted_ms, grace, explanation)
        yield CheckResult(
            verdict,
            f"offset {pair.offset:,} is still present, although offset {pair.superseded_by:,} supersedes it and is "
            "older than max.compaction.lag.ms by more than the roll time",
            path=("config", "max.compaction.lag.ms"),
            partitions=(partition,),
            because=tuple(_because(persisted_ms, explanation, lag or 0)),
            remedy=_REMEDIES.get(verdict, unknown_remedy),
            evidence={**facts, "max.compaction.lag.ms": lag, "persisted_ms": persisted_ms},
            tracked_facts={partition: facts},
            relevant_settings=RELEVANT_SETTINGS,
        )


def _because(persisted_ms: int | None, explanation: str | None, lag: int) -> Iterable[str]:
    yield (
        f"the cleaner must clean a log once a rolled segment is older than {DURATION.text(lag)}, "
        "whatever the dirty ratio"
    )
    if persisted_ms is not None:
        yield f"every audit for {duration_text(persisted_ms)} has found both records"
    if explanation is not None:
        yield explanation
