"""Build reports for tests: one with many features and hostile names, an empty one, and a large one."""

from __future__ import annotations

from topicwarden.model.finding import (
    AgeBand,
    AuditReport,
    Finding,
    PartitionerFacts,
    PartitionFacts,
    PastAudit,
    SettledFinding,
    TopicFacts,
)
from topicwarden.model.problem import Location
from topicwarden.model.verdict import ReadScope, Verdict

# Build reports for tests: one with many features and hostile names, an empty one, and a large one.

NOW = 1_760_000_000_000
HOUR = 3_600_000
DAY = 24 * HOUR
SCRIPT = "<script>alert('x')</script>|`rm`"
LONG = "orders.fulfilment." + "a-very-long-name." * 13 + "settled.v2"
HOSTILE_MESSAGE = (
    "שלום 😀 <img src=x onerror=alert(1)> | `code` \x1b[31mred\x1b[0m \u202egnp.exe [link](http://x) {{ 7*7 }}"
)
BANDS: tuple[tuple[int | None, int | None], ...] = (
    (None, 0),
    (0, HOUR),
    (HOUR, DAY),
    (DAY, 7 * DAY),
    (7 * DAY, 30 * DAY),
    (30 * DAY, 90 * DAY),
    (90 * DAY, None),
)


def partition(number: int, records: int, **facts: object) -> PartitionFacts:
    """Return a healthy partition with three replicas; ``facts`` replace individual fields."""
    seen = {
        "partition": number,
        "leader": number % 3 + 1,
        "replicas": [1, 2, 3],
        "in_sync": [1, 2, 3],
        "log_start": 0,
        "log_end": records,
        "last_stable": records,
        "log_bytes": records * 61,
        "records": records,
        "payload_bytes": records * 154,
        "largest_record": 2_048 if records else 0,
        "first_timestamp": NOW - 9 * DAY if records else None,
        "last_timestamp": NOW - 1_000 if records else None,
    }
    return PartitionFacts.model_validate(seen | facts)


def topic(name: str, records: list[int], ages: list[int] | None = None, **facts: object) -> TopicFacts:
    """Return a topic with one partition for each of ``records``; ``ages`` are in the order of BANDS."""
    seen = {
        "name": name,
        "domain": name.partition(".")[0],
        "declared": True,
        "topic_id": "Qk5vZC1pZC0wMDAwMDAwMA",
        "cleanup_policy": "delete",
        "partitions": [partition(number, amount) for number, amount in enumerate(records)],
        "ages": [AgeBand(from_ms=a, to_ms=b, records=n) for (a, b), n in zip(BANDS, ages or [], strict=False)],
    }
    return TopicFacts.model_validate(seen | facts)


def report(topics: list[TopicFacts], findings: list[Finding]) -> AuditReport:
    return AuditReport(
        topicwarden="0.1.0",
        stack="prod",
        cluster_id="5L6g3nShT-eMCtK--X86sw",
        started=NOW,
        finished=NOW + 9_400,
        scanned_records=sum(t.records or 0 for t in topics),
        scan_seconds=4.2,
        topics=topics,
        findings=findings,
    )


def rich() -> AuditReport:
    """Return a report with a dozen topics, all verdicts, and all text that could break a page."""
    topics = [
        topic(
            "orders.placed.v1", [52_310, 48_007, 51_240, 49_990, 50_833, 178_400], [0, 9_100, 96_400, 301_000, 24_280]
        ),
        topic(
            "orders.state.v1",
            [],
            [0, 1_200, 9_000, 20_550, 24_000],
            cleanup_policy="compact",
            owner="team-orders",
            partitioner=PartitionerFacts(
                conclusion="no known partitioner explains every key",
                keys=21_400,
                scores={"murmur2": 0.8114, "crc32": 0.4601, "fnv1a": 0.3298},
            ),
            partitions=[
                partition(
                    number,
                    records,
                    log_end=records + 9_000,
                    last_stable=records + (4_000 if number == 1 else 9_000),
                    rolled=records + 2_000,
                    cleanable=records - 3_000,
                    held_by="min.compaction.lag.ms",
                    keys=7_100 + number,
                    superseded=records - 7_100 - number,
                    tombstones=311,
                    hottest=1_400 + number,
                    hottest_offset=17,
                    gaps=8_000,
                    lost_to_retention=1_000 if number == 2 else 0,
                    read_from=0,
                )
                for number, records in enumerate([18_200, 17_650, 18_900])
            ],
        ),
        topic(
            "payments.captured.v1",
            [],
            [1, 30_000, 220_374, 229_000],
            owner="team-payments",
            partitions=[
                partition(
                    number,
                    records,
                    rolled=records - 20_000,
                    overdue=40_000 if number == 1 else 0,
                    future_offset=77_120 if number == 1 else None,
                    future_timestamp=1_767_398_400_000 if number == 1 else None,
                )
                for number, records in enumerate([120_450, 118_220, 121_005, 119_700])
            ],
        ),
        topic("payments.refunds.v1", [3_200, 3_010, 0, 3_405], [0, 0, 200, 9_415]),
        topic("shipping.events.v2", [840_120, 836_400, 842_999], [0, 310_000, 1_809_519, 400_000]),
        topic("shipping.labels.v1", [0, 0, 0]),
        topic(
            "stock.levels.v1",
            [9_000, 8_700],
            [0, 500, 1_200, 4_000, 8_000, 3_000, 1_000],
            cleanup_policy="compact,delete",
        ),
        topic(
            "stock.legacy",
            [],
            [40, 0, 0, 0, 0, 0, 60],
            declared=False,
            cleanup_policy="",
            partitions=[
                partition(0, 50, first_timestamp=-86_400_000, last_timestamp=1_760_000_000_000_000, log_bytes=None),
                partition(1, 50, first_timestamp=-1, last_timestamp=-1, leader=None, in_sync=[], log_end=None),
            ],
        ),
        topic("customers.profile.v3", [], partitions=[], topic_id=None, cleanup_policy=None),
        topic(SCRIPT, [10, 20], [0, 30]),
        topic(LONG, [100, 4_000], [0, 100, 4_000]),
        topic(
            "web.clicks.v1", [2_000_000 + 991 * n % 90_000 for n in range(24)], [0, 4_000_000, 40_000_000, 4_900_000]
        ),
    ]
    location = Location(file="topics/orders/orders.state.v1.yaml", line=7, column=19)
    findings = [
        Finding(
            check="compaction-lag",
            verdict=Verdict.FAIL,
            topic="orders.state.v1",
            partitions=[0, 2],
            message="A superseded record is still present 3 d after it had to go: offset 4,112 of partition 0.",
            because=[
                "max.compaction.lag.ms is 1 d, and the record that supersedes it rolled 4 d ago",
                "no timestamp is in the future, and no transaction is open, so no legitimate reason blocks the cleaner",
                "the previous audit found the same pair of records",
            ],
            remedy="Look for a dead cleaner thread: kafka.log:type=LogCleaner,name=DeadThreadCount; restart broker 1.",
            evidence={
                "superseded_offset": 4112,
                "superseding_offset": 9120,
                "superseding_timestamp": NOW - 4 * DAY,
                "max.compaction.lag.ms": DAY,
                "dirty_ratio": 0.7312,
                "cleanable_bytes": 73_400_320,
            },
            location=location,
        ),
        Finding(
            check="topic-missing",
            verdict=Verdict.FAIL,
            topic="customers.profile.v3",
            message="It is declared, and not on the cluster.",
            remedy="Run pulumi up --stack prod, or take it out of the YAML.",
            location=Location(file="topics/customers/customers.profile.v3.yaml", line=1, column=8),
        ),
        Finding(
            check="retention-blocked",
            verdict=Verdict.FAIL,
            topic="payments.captured.v1",
            partitions=[1],
            message="Expired records stand at the head, and a timestamp in the future holds them.",
            because=["offset 77,120 is stamped 2026-01-03T00:00:00Z, and its segment goes only when that has expired"],
            remedy="Set message.timestamp.after.max.ms, and delete up to offset 77,121 once by hand.",
            evidence={"offset": 77_120, "timestamp": 1_767_398_400_000, "retention.ms": 7 * DAY},
            location=Location(file="topics/payments/_defaults.yaml", line=4, column=17),
        ),
        Finding(
            check="partition-skew",
            verdict=Verdict.SUSPECT,
            topic="orders.placed.v1",
            partitions=[5],
            message="Partition 5 holds 2.49 times the mean; 2.00 is declared.",
            evidence={"skew": 2.4861, "max_skew": 2.0},
            location=Location(file="topics/orders/orders.placed.v1.yaml", line=21, column=26),
        ),
        Finding(
            check="header", verdict=Verdict.SUSPECT, topic=SCRIPT, message=HOSTILE_MESSAGE, because=[HOSTILE_MESSAGE]
        ),
        Finding(
            check="under-replicated",
            verdict=Verdict.UNDECIDABLE,
            topic="stock.legacy",
            partitions=[0, 1],
            message="The log directories are not available: the ACL Describe on Cluster is missing.",
            remedy="Grant Describe on Cluster to the audit's principal.",
            evidence={"error": "CLUSTER_AUTHORIZATION_FAILED", "retries": None},
        ),
        Finding(
            check="compaction-ratio",
            verdict=Verdict.PASS,
            topic="stock.levels.v1",
            partitions=list(range(2)),
            message="3,111 keys have more than one record, for legitimate reasons.",
            because=["segment.ms is 7 d: the active segment may hold duplicates until it has rolled"],
        ),
    ]
    checks = ["config-drift", "null-key", "partition-count", "record-size", "replication-factor", "timestamp-unit"]
    findings += [Finding(check=c, verdict=Verdict.PASS, topic=t.name) for t in topics if t.partitions for c in checks]
    settled = [
        SettledFinding(
            check="compaction-lag",
            topic="orders.state.v1",
            partitions=[0, 2],
            was=Verdict.SUSPECT,
            now=Verdict.FAIL,
            since=NOW - DAY,
            why="it is still present",
        ),
        SettledFinding(
            check="retention-size",
            topic="shipping.events.v2",
            partitions=[1],
            was=Verdict.SUSPECT,
            now=Verdict.PASS,
            since=NOW - 2 * DAY,
            why="the log starts at offset 4,112 now: the record at 17 was deleted",
        ),
        SettledFinding(
            check="header", topic=SCRIPT, partitions=[], was=Verdict.FAIL, now=Verdict.PASS, since=NOW, why=SCRIPT
        ),
    ]
    trend = [
        PastAudit(
            started=NOW - days * DAY,
            topics={Verdict.PASS: 11 - days % 4, Verdict.FAIL: days % 3, Verdict.SUSPECT: 1 + days % 2},
        )
        for days in range(12, 0, -1)
    ]
    more = {
        "settled": settled,
        "trend": trend,
        "read": ReadScope.LAST,
        "coverage": 0.9512,
        "remembered_records": 41_000_000,
        "notes": [f"the history at file:///history cannot be read, and is ignored: {SCRIPT}"],
    }
    return report(topics, findings).model_copy(update=more)


def empty() -> AuditReport:
    return report([], [])


def thousand() -> AuditReport:
    """Return a report of a thousand topics with six partitions and fifteen checks each; one topic in twenty fails."""
    topics = [
        topic(
            f"domain{n % 40}.entity-{n:04d}.v1",
            [1_000 + (n * 37 + p * 911) % 5_000 for p in range(6)],
            [0, 100, 900 + n, 8_000, 4_000, 100, 10],
        )
        for n in range(1_000)
    ]
    findings = [
        Finding(check=f"check-number-{c}", verdict=Verdict.PASS, topic=t.name) for t in topics for c in range(15)
    ]
    findings += [
        Finding(
            check="retention-time",
            verdict=Verdict.FAIL,
            topic=t.name,
            partitions=[0, 1, 2, 3],
            message="Records older than retention.ms still stand.",
            because=["the segment rolled 9 d ago"],
            remedy="Look at the broker's log for the partition.",
            evidence={"offset": 12, "retention.ms": 7 * DAY},
            location=Location(file=f"topics/{t.domain}/{t.name}.yaml", line=5, column=9),
        )
        for t in topics[::20]
    ]
    return report(topics, findings)


# Find facts and findings in a report.


def facts(report: AuditReport, topic: str) -> TopicFacts:
    (found,) = (one for one in report.topics if one.name == topic)
    return found


def finding(report: AuditReport, topic: str, check: str) -> Finding:
    (found,) = (one for one in report.of_topic(topic) if one.check == check)
    return found


def found(report: AuditReport, *verdicts: Verdict) -> list[tuple[str, str]]:
    """Return topic and check of every finding with one of ``verdicts``, sorted."""
    return sorted((one.topic, one.check) for one in report.findings if one.verdict in verdicts)


def comparable(report: AuditReport) -> list[tuple[object, ...]]:
    """Return the findings of a report, without the parts that depend on the time."""
    return sorted((one.topic, one.check, one.verdict, str(one.partitions), one.message) for one in report.findings)


def counted(found: TopicFacts) -> list[dict[str, object]]:
    """Return the facts of each partition, without the log size, which depends on when logs are flushed."""
    return [partition.model_dump(exclude={"log_bytes"}) for partition in found.partitions]
