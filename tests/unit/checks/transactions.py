"""Define cases for the check of transactions that hang."""

from __future__ import annotations

from tests.support.repeated_audits import Log
from tests.support.subjects import subject
from tests.unit.checks.cases import (
    DELETE,
    FAIL,
    PASS,
    SUSPECT,
    Case,
    absent,
    beside_others,
    out_of_sync,
    seen_again,
    with_broker,
)
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.scan.counts import PartitionCounts


def open_transaction(stable: int = 40) -> Log:
    return Log({}, DELETE, counts=PartitionCounts(), stable=stable)


def transaction(after: int, stable: int = 40, **changed: object) -> AuditedTopic:
    return seen_again(open_transaction(stable), after, **changed)


def outlasting() -> AuditedTopic:
    """Return the third audit of a transaction; the second audit suspected that it hangs."""
    log = with_broker(open_transaction(), transaction_max_timeout_ms="1000")
    log.look()
    log.now += 1_001
    return seen_again(log, 15_000)


MOST_MS = 900_000
"""Kafka's default for ``transaction.max.timeout.ms``."""

ENDED_MS = MOST_MS + 10_000 + 5_000

CASES = (
    Case(
        "hung-transaction",
        "longer than any may take",
        transaction(MOST_MS + 1),
        (SUSPECT,),
        partitions=(0,),
        evidence={"last_stable": 40, "end": 100, "persisted_ms": MOST_MS + 1},
        says="transaction.max.timeout.ms is 15m: no transaction may take longer",
    ),
    Case(
        "hung-transaction",
        "longer than any may take, beside partitions with none and with a new one",
        beside_others(transaction(MOST_MS + 1)),
        (SUSPECT,),
        partitions=(0,),
        says="do not see the 60 offsets from there on",
    ),
    Case("hung-transaction", "as long as any may take", transaction(MOST_MS), ()),
    Case(
        "hung-transaction",
        "longer than any may take on these brokers",
        seen_again(with_broker(open_transaction(), transaction_max_timeout_ms="1000"), 1_001),
        (SUSPECT,),
        evidence={"transaction.max.timeout.ms": 1_000},
    ),
    Case(
        "hung-transaction",
        "longer than a coordinator takes on these brokers, seen by three audits",
        outlasting(),
        (FAIL,),
    ),
    Case(
        "hung-transaction",
        "longer than any may take since the setting of the brokers changed",
        seen_again(open_transaction(), MOST_MS + 1, brokers={"transaction.max.timeout.ms": "1000"}),
        (),
    ),
    Case("hung-transaction", "longer than a coordinator takes to end it", transaction(ENDED_MS + 1), (FAIL,)),
    Case("hung-transaction", "as long as a coordinator takes to end it", transaction(ENDED_MS), (SUSPECT,)),
    Case("hung-transaction", "at the last offset", transaction(ENDED_MS + 1, stable=99), (FAIL,)),
    Case("hung-transaction", "none", transaction(ENDED_MS + 1, stable=100), ()),
    Case("hung-transaction", "another one", seen_again(Log({}, DELETE, stable=40), ENDED_MS + 1, stable=41), ()),
    Case("hung-transaction", "another leader", transaction(ENDED_MS + 1, epoch=8), ()),
    Case(
        "hung-transaction",
        "too few replicas to end it",
        out_of_sync(transaction(ENDED_MS + 1)),
        (PASS,),
        says="out of sync",
    ),
    Case(
        "hung-transaction",
        "two-phase commit, which has no time-out (KIP-939)",
        seen_again(with_broker(open_transaction(), transaction_two_phase_commit_enable="true"), ENDED_MS + 1),
        (PASS,),
        says="transaction.two.phase.commit.enable is true",
    ),
    Case(
        "hung-transaction",
        "coordinators that seldom look for expired transactions",
        seen_again(
            with_broker(
                open_transaction(), transaction_abort_timed_out_transaction_cleanup_interval_ms=str(10 * ENDED_MS)
            ),
            ENDED_MS + 1,
        ),
        (SUSPECT,),
    ),
    Case("hung-transaction", "not on the cluster", absent(subject()), None),
)
