"""No transaction stays open for longer than Kafka allows.

Consumers that read committed records, and the cleaner, stop at the last stable offset, which is the start of the first
open transaction. If the coordinator has lost a transaction, or cannot end it, they stop there forever.

**fail**: the last stable offset is below the high watermark, and every audit has seen it at the same offset for longer
than two times together: ``transaction.max.timeout.ms``, which no producer's own time-out may exceed, and the interval
at which the coordinators look for expired transactions. Every replica is in sync, and the leader (epoch) is the same.
**suspect**: for longer than ``transaction.max.timeout.ms`` alone. **pass**, with the reason: a replica is out of sync,
so the coordinator may be unable to end the transaction; or ``transaction.two.phase.commit.enable`` is true on a broker,
because a two-phase commit transaction has no time-out. If the open transaction is still within its time, the audit
remembers it and reports nothing. **undecidable**: the previous audit saw the transaction, and the brokers' settings are
not visible (DescribeConfigs on the Cluster resource).

Example: a producer died while its coordinator moved; a Streams application no longer reads from one partition.

Confirm: ``kafka-transactions find-hanging --broker-id N`` lists it.

Remedy: run ``kafka-transactions.sh find-hanging``, then ``abort`` with its output.

Prevent: run brokers from 4.0 on with ``transaction.version`` 2 (KIP-890).

Source: KIP-664, ``ProducerStateManager.firstUnstableOffset``; KIP-939,
``TransactionMetadata.isDistributedTwoPhaseCommitTxn``:
https://cwiki.apache.org/confluence/display/KAFKA/KIP-939%3A+Support+Participation+in+2PC
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.persistence import all_in_sync, leader_facts, repeated_verdict
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.evidence import Live
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.verdict import Verdict


class Required(Live): ...


CHECK = "hung-transaction"
SETTING = "transaction.max.timeout.ms"
_DEFAULT_MS = 900_000
_INTERVAL = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
_DEFAULT_INTERVAL_MS = 10_000
_TWO_PHASE_COMMIT = "transaction.two.phase.commit.enable"

_OUT_OF_SYNC = "a replica is out of sync: if too few replicas are in sync, the coordinator cannot end the transaction"
_NO_TIMEOUT = f"{_TWO_PHASE_COMMIT} is true: the coordinator never ends a two-phase commit transaction by itself"
_REMEDIES = {
    Verdict.FAIL: "run kafka-transactions.sh find-hanging, then abort with its output",
    Verdict.SUSPECT: "audit again: the coordinator ends a transaction within seconds of its time-out",
    Verdict.PASS: "",
    Verdict.UNDECIDABLE: "grant DescribeConfigs on the Cluster resource",
}


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    max_timeout = subject.snapshot.broker_number(SETTING, _DEFAULT_MS)
    interval = subject.snapshot.broker_number(_INTERVAL, _DEFAULT_INTERVAL_MS)
    for partition, log in sorted(subject.live.extents.items()):
        if log.last_stable >= log.end:
            continue
        facts = {"last_stable": log.last_stable, **leader_facts(subject, partition)}
        persisted_ms = subject.persisted_ms(CHECK, partition, facts, (SETTING,))
        if persisted_ms is None or (max_timeout is not None and persisted_ms <= max_timeout):
            yield CheckResult(Verdict.PASS, "", tracked_facts={partition: facts}, relevant_settings=(SETTING,))
            continue
        explanation = _explanation(subject, partition)
        other = "other " if explanation is _NO_TIMEOUT else ""
        verdict = Verdict.UNDECIDABLE
        if max_timeout is not None and interval is not None:
            verdict = repeated_verdict(persisted_ms, max_timeout + interval + CLOCK_MS, explanation)
        yield CheckResult(
            verdict,
            f"a transaction that starts at offset {log.last_stable:,} has been open for at least "
            f"{duration_text(persisted_ms)}; "
            f"consumers that read committed do not see the {log.end - log.last_stable:,} offsets from there on",
            partitions=(partition,),
            because=(
                f"{SETTING} is not known, because the brokers' settings are not visible"
                if max_timeout is None
                else f"{SETTING} is {DURATION.text(max_timeout)}: no {other}transaction may take longer",
                "consumers that read committed stop at the last stable offset, and so does the cleaner",
                *([] if explanation is None else [explanation]),
            ),
            remedy=_REMEDIES[verdict],
            evidence={
                "last_stable": log.last_stable,
                "end": log.end,
                "persisted_ms": persisted_ms,
                SETTING: max_timeout,
            },
            tracked_facts={partition: facts},
            relevant_settings=(SETTING,),
        )


def _explanation(subject: Required, partition: int) -> str | None:
    """Return why a transaction may legitimately stay open; None if there is no reason."""
    if any(settings.get(_TWO_PHASE_COMMIT) == "true" for settings in subject.snapshot.broker_configs.values()):
        return _NO_TIMEOUT
    return None if all_in_sync(subject, partition) else _OUT_OF_SYNC
