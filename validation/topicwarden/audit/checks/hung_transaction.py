"""No transaction stays open longer than any may.

Consumers that read committed, and the cleaner, stop at the last stable offset: where the first open transaction
begins. A transaction that its coordinator has forgotten, or cannot end, stops them for good.

**fail**: the last stable offset trails the high watermark, and stood at the same offset at each look for longer than
``transaction.max.timeout.ms``, which no producer's own time-out may exceed, and the time in which the coordinators look
for transactions that ran out; with every replica in sync, and one leader (epoch) all the time. **suspect**: for longer
than ``transaction.max.timeout.ms`` alone. **pass**: a replica is out of sync, so that the coordinator may be unable to
end it. An open transaction that may still be that old lawfully is no fault: the audit remembers it and says nothing.
**undecidable**: it stood at the last look, and the brokers' settings may not be seen (DescribeConfigs on the Cluster
resource).

Example: a producer died while its coordinator moved; a Streams application reads nothing more from one partition.

Remedy: ``kafka-transactions.sh find-hanging``, then ``abort`` with what it prints.

Source: KIP-664, ``ProducerStateManager.firstUnstableOffset``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.persistence import all_in_sync, judged_twice, led
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits()
CHECK = "hung-transaction"
SETTING = "transaction.max.timeout.ms"
_DEFAULT_MS = 900_000
_COORDINATOR_MS = 10_000
"""Kafka's default of ``transaction.abort.timed.out.transaction.cleanup.interval.ms``."""

_OUT_OF_SYNC = "a replica is out of sync: where too few are in sync, the coordinator cannot end the transaction"
_REMEDIES = {
    Verdict.FAIL: "kafka-transactions.sh find-hanging, then abort with what it prints",
    Verdict.SUSPECT: "audit again: the coordinator ends a transaction within seconds of its time-out",
    Verdict.PASS: "",
    Verdict.UNDECIDABLE: "grant DescribeConfigs on the Cluster resource",
}


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    longest = subject.snapshot.broker_number(SETTING, _DEFAULT_MS)
    for partition, log in sorted(subject.live.extents.items()):
        if log.last_stable >= log.end:
            continue
        facts = {"last_stable": log.last_stable, **led(subject, partition)}
        stood = subject.stood_for(CHECK, partition, facts, (SETTING,))
        if stood is None or (longest is not None and stood <= longest):
            yield CheckResult(Verdict.PASS, "", standing={partition: facts}, rests_on=(SETTING,))
            continue
        lawful = None if all_in_sync(subject, partition) else _OUT_OF_SYNC
        verdict = Verdict.UNDECIDABLE
        if longest is not None:
            verdict = judged_twice(stood, longest + _COORDINATOR_MS + CLOCK_MS, lawful)
        yield CheckResult(
            verdict,
            f"a transaction that begins at offset {log.last_stable:,} has been open for {stood:,} ms at the least; "
            f"{log.end - log.last_stable:,} offsets from there on are not seen by consumers that read committed",
            partitions=(partition,),
            because=(
                f"{SETTING} is not known, as the brokers' settings may not be seen: how long it may take is not known"
                if longest is None
                else f"{SETTING} is {longest:,}: no transaction may take longer",
                "consumers that read committed stop at the last stable offset, and so does the cleaner",
                *([] if lawful is None else [lawful]),
            ),
            remedy=_REMEDIES[verdict],
            evidence={"last_stable": log.last_stable, "end": log.end, "stood_for_ms": stood, SETTING: longest},
            standing={partition: facts},
            rests_on=(SETTING,),
        )
