"""No superseded record outlives ``max.compaction.lag.ms``, where that is set.

With it a log must be cleaned once a dirty, rolled segment is older, whatever its dirty ratio.

**suspect**: a record stands that a later one of its key supersedes, and the later one has rolled, lies below the
last stable offset and is older than ``max.compaction.lag.ms`` by more than a roll, with nothing stamped in the
future before it. **fail**: the same pair stands at two looks, further apart than a cleaner that is well takes (see
``compaction-ratio``), under the same settings and the same leader (epoch), and its segment rolled under settings that
an audit saw. **pass**: the same, but nothing was appended since audits know the settings, so that the segment may be
active. **undecidable**: the brokers do not tell how large their logs are.

Example: a topic under a privacy rule, ``max.compaction.lag.ms=1d``; a deleted user's record stands for a week.

Remedy: look at the cleaner (``max-compaction-delay-secs``, ``uncleanable-partitions-count``, log-cleaner.log).

Source: KIP-354, ``LogCleanerManager.maxCompactionDelay``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.persistence import (
    cleaner_grace_ms,
    first_pair,
    judged_twice,
    starts,
    unsettled_segment,
)
from topicwarden.audit.collect.horizon import compaction_lag
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, needs_settings=True)
CHECK = "compaction-lag"
RESTS_ON = ("cleanup.policy", "max.compaction.lag.ms", "min.compaction.lag.ms", "segment.ms")

_REMEDIES = {
    Verdict.FAIL: "look at the cleaner: max-compaction-delay-secs, uncleanable-partitions-count, log-cleaner.log",
    Verdict.SUSPECT: "audit again; if the same pair stands then, look at the cleaner",
    Verdict.PASS: "",
    Verdict.UNDECIDABLE: "grant DescribeConfigs and Describe on the Cluster resource: without the brokers' settings "
    "and the sizes of the logs nobody knows how long a healthy cleaner takes",
}


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None and compaction_lag(subject.live.topic) is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    lag, grace = compaction_lag(subject.live.topic), cleaner_grace_ms(subject)
    for partition, horizon in sorted(subject.horizons.items()):
        pair = first_pair(subject, partition)
        if pair is None or pair.superseded_by >= horizon.lagging:
            continue
        facts = {"offset": pair.offset, "superseded_by": pair.superseded_by, **starts(subject, partition)}
        stood = subject.stood_for(CHECK, partition, facts, RESTS_ON)
        lawful = unsettled_segment(subject, partition, stood)
        verdict = Verdict.UNDECIDABLE if grace is None else judged_twice(stood, grace, lawful)
        yield CheckResult(
            verdict,
            f"offset {pair.offset:,} still stands, and offset {pair.superseded_by:,}, of the same key, is older than "
            "max.compaction.lag.ms by more than a roll",
            path=("config", "max.compaction.lag.ms"),
            partitions=(partition,),
            because=tuple(_because(stood, lawful, lag or 0)),
            remedy=_REMEDIES[verdict],
            evidence={**facts, "max.compaction.lag.ms": lag, "stood_for_ms": stood},
            standing={partition: facts},
            rests_on=RESTS_ON,
        )


def _because(stood: int | None, lawful: str | None, lag: int) -> Iterable[str]:
    yield f"a cleaner must come once a rolled segment is older than {lag:,} ms, however little is dirty"
    if stood is not None:
        yield f"each look for {stood:,} ms has seen both records"
    if lawful is not None:
        yield lawful
