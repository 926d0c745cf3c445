"""No superseded record outlives ``max.compaction.lag.ms``, where that is set.

With it a log must be cleaned once a dirty, rolled segment is older, whatever its dirty ratio.

**suspect**: a record stands that a later one of its key supersedes, and the later one has rolled, lies below the
last stable offset and is older than ``max.compaction.lag.ms`` by more than a roll, with nothing stamped in the
future before it. **fail**: the same pair stands at two looks, further apart than a cleaner that is well takes (see
``compaction-ratio``), under the same settings and the same leader (epoch), and its segment rolled under settings that
an audit saw.

Example: a topic under a privacy rule, ``max.compaction.lag.ms=1d``; a deleted user's record stands for a week.

Remedy: look at the cleaner (``max-compaction-delay-secs``, ``uncleanable-partitions-count``, log-cleaner.log).

Source: KIP-354, ``LogCleanerManager.maxCompactionDelay``.
"""

from collections.abc import Iterable

from topicwarden.audit.counts import Pair
from topicwarden.audit.horizon import compaction_lag
from topicwarden.audit.standing import cleaner_grace_ms, first_pair, rolled_for_all, rolled_since, starts
from topicwarden.audit.subject import Judgement, Subject
from topicwarden.verdict import Verdict

CHECK = "compaction-lag"
RESTS_ON = ("cleanup.policy", "max.compaction.lag.ms", "min.compaction.lag.ms", "segment.ms")


def applies(subject: Subject) -> bool:
    return subject.live is not None and compaction_lag(subject.live.topic) is not None


def judge(subject: Subject) -> Iterable[Judgement]:
    assert subject.live
    lag, grace = compaction_lag(subject.live.topic), cleaner_grace_ms(subject)
    for partition, horizon in sorted(subject.horizons.items()):
        pair = first_pair(subject, partition)
        if pair is None or pair.superseded_by >= horizon.lagging:
            continue
        facts = {"offset": pair.offset, "superseded_by": pair.superseded_by, **starts(subject, partition)}
        stood = subject.stood_for(CHECK, partition, facts, RESTS_ON)
        rolled = rolled_since(subject, partition) and rolled_for_all(subject, partition, stood or 0)
        proven = stood is not None and grace is not None and stood > grace and rolled
        yield Judgement(
            Verdict.FAIL if proven else Verdict.SUSPECT,
            f"offset {pair.offset:,} still stands, and offset {pair.superseded_by:,}, of the same key, is older than "
            "max.compaction.lag.ms by more than a roll",
            path=("config", "max.compaction.lag.ms"),
            partitions=(partition,),
            because=tuple(_because(pair, stood, proven, lag or 0, rolled)),
            remedy="look at the cleaner: max-compaction-delay-secs, uncleanable-partitions-count, log-cleaner.log"
            if proven
            else "audit again; if the same pair stands then, look at the cleaner",
            evidence={**facts, "max.compaction.lag.ms": lag, "stood_for_ms": stood},
            standing={partition: facts},
            rests_on=RESTS_ON,
        )


def _because(pair: Pair, stood: int | None, proven: bool, lag: int, rolled: bool) -> Iterable[str]:
    yield f"a cleaner must come once a rolled segment is older than {lag:,} ms, however little is dirty"
    if stood is not None:
        yield f"each look for {stood:,} ms has seen both records"
    if stood is not None and not proven and not rolled:
        yield (
            f"nothing was appended since the settings are known that proves that the segment of {pair.superseded_by:,} "
            "has rolled under them"
        )
