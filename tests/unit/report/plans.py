"""Build plans for tests: one with many features and hostile names, an empty one, a failed one, and large ones.

``python -m tests.unit.report.plans`` writes the expected outputs again. Review the diff.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from topicwarden.model.planned_change import (
    Action,
    ActiveAllowance,
    Consequence,
    GroupEffect,
    PartitionEffect,
    PlanReport,
    PreviewResult,
    Setting,
    Severity,
    TopicPlan,
)
from topicwarden.model.problem import Location
from topicwarden.model.topic import AllowedChange
from topicwarden.report.plan import FORMATS, render

EXPECTED = Path(__file__).with_name("expected_plans")
NOW = 1_760_000_000_000
DAY = 86_400_000
HOSTILE_TOPIC = "</code><script>alert('x')</script>|`rm` @octocat"
HOSTILE = "@team/all closes #12 | `code` *bold* <img src=x> [link](http://x) $x$ :rocket: \x1b[31mred\u202e\n- [ ] do"


def location(file: str, line: int, column: int = 3) -> Location:
    return Location(file=f"topics/{file}.yaml", line=line, column=column)


def setting(name: str, declared: str | None, deployed: str | None, live: str | None, source: str = "") -> Setting:
    return Setting(name=name, declared=declared, deployed=deployed, live=live, source=source or "DYNAMIC_TOPIC_CONFIG")


def report(topics: list[TopicPlan], unchanged: int = 0, **facts: object) -> PlanReport:
    seen = {
        "topicwarden": "0.1.0",
        "stack": "prod",
        "cluster_id": "5L6g3nShT-eMCtK--X86sw",
        "taken_at": NOW,
        "topics": sorted(topics, key=lambda topic: topic.topic),
        "unchanged": unchanged,
        "engine": PreviewResult(ran=True, steps={"create": 1, "update": 2, "same": 996}),
    }
    return PlanReport.model_validate(seen | facts)


def retention_cut() -> TopicPlan:
    """Return a topic whose retention is cut from a week to a day, with twelve partitions and two lagging groups."""
    effects = [
        PartitionEffect(
            partition=number,
            records=120_450 + 991 * number % 700,
            bytes=18_549_300 + number,
            first_offset=5_000 * number,
            last_offset=5_000 * number + 120_449,
            first_timestamp=NOW - 7 * DAY,
            last_timestamp=NOW - DAY - 1,
        )
        for number in range(12)
    ]
    late = [GroupEffect(group="billing-nightly", partition=n, records=40_000 - n, members=0) for n in range(7)]
    return TopicPlan(
        topic="payments.captured.v1",
        domain="payments",
        action=Action.UPDATE,
        settings=[
            setting("retention.ms", "86400000", "604800000", "604800000"),
            setting("max.message.bytes", "1048576", "1048588", "1048588", "DEFAULT_CONFIG"),
        ],
        consequences=[
            Consequence(
                kind="batches-too-large",
                severity=Severity.NOTE,
                message="No batch on the cluster is larger than 1 MiB.",
                location=location("payments/payments.captured.v1", 9),
            ),
            Consequence(
                kind="retention-cut",
                severity=Severity.DANGER,
                message="1,449,612 records (212.3 MiB) older than 1 d expire within 5 min of the deploy.",
                because=[
                    "retention.ms goes from 7 d to 1 d, and the brokers look every 5 min",
                    "group billing-nightly has not read 279,979 of them",
                ],
                measured="Offsets by timestamp of every partition; records exact, bytes in proportion to offsets.",
                remedy="Let billing-nightly catch up first, or keep retention.ms: 7d.",
                evidence={"records": 1_449_612, "retention.ms": DAY},
                partitions=effects,
                groups=[*late, GroupEffect(group="fraud", partition=3, records=12, members=None)],
                location=location("payments/payments.captured.v1", 7, 17),
            ),
        ],
        location=location("payments/payments.captured.v1", 1, 1),
    )


def fewer_partitions() -> TopicPlan:
    return TopicPlan(
        topic="orders.placed.v1",
        domain="orders",
        action=Action.RECREATE,
        settings=[setting("partitions", "3", "12", "12")],
        consequences=[
            Consequence(
                kind="fewer-partitions",
                severity=Severity.REFUSED,
                message="The topic would be deleted and created again: 51,789,485 records would be lost.",
                because=["Kafka cannot take partitions away from a topic"],
                measured="Offsets of every partition.",
                remedy="Keep partitions: 12, or write allow: [recreate].",
                location=location("orders/orders.placed.v1", 5, 13),
            )
        ],
        location=location("orders/orders.placed.v1", 1, 1),
    )


def rich() -> PlanReport:
    """Return a plan with every action, every weight, facts that were not visible, and names that could break a page."""
    moved = [
        PartitionEffect(partition=0, bytes=3_221_225_472, replicas_before=[1, 2], replicas_after=[1, 2, 4]),
        PartitionEffect(partition=1, bytes=None, replicas_before=[2, 3], replicas_after=[2, 3, 1]),
    ]
    topics = [
        fewer_partitions(),
        retention_cut(),
        TopicPlan(
            topic="orders.new.v1",
            action=Action.CREATE,
            settings=[
                setting("cleanup.policy", "compact", None, None),
                setting("replication_factor", "3", None, None),
                setting("partitions", "6", None, None),
            ],
            location=location("orders/orders.new.v1", 1, 1),
        ),
        TopicPlan(
            topic="stock.levels.v1",
            action=Action.DRIFT,
            settings=[
                setting("retention.bytes", "-1", "-1", "1073741824"),
                setting("segment.ms", None, None, "3600000", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
            ],
            consequences=[
                Consequence(kind="drift", severity=Severity.NOTE, message="Changed by hand since the deploy.")
            ],
            location=location("stock/stock.levels.v1", 1, 1),
        ),
        TopicPlan(
            topic="shipping.events.v2",
            action=Action.MOVE,
            settings=[setting("replication_factor", "3", "2", "2")],
            consequences=[
                Consequence(
                    kind="replicas",
                    severity=Severity.NOTE,
                    message="3.0 GiB are copied, in 1 min at 50 MiB/s.",
                    partitions=moved,
                )
            ],
        ),
        TopicPlan(topic="legacy.events", action=Action.ADOPT, settings=[setting("partitions", "1", None, "1")]),
        TopicPlan(
            topic=HOSTILE_TOPIC,
            action=Action.DELETE,
            settings=[setting("partitions", None, "1", "1")],
            consequences=[
                Consequence(
                    kind="deleted",
                    severity=Severity.DANGER,
                    message=HOSTILE,
                    because=[HOSTILE],
                    groups=[GroupEffect(group=HOSTILE, partition=0, records=1, members=2)],
                )
            ],
        ),
    ]
    return report(
        topics,
        991,
        unseen=["consumer groups: Describe on Group is missing"],
        remarks=["topicwarden:movedTo is no longer needed: `pulumi config rm topicwarden:movedTo --stack prod`"],
        allowances=[
            ActiveAllowance(
                topic="orders.returned.v1",
                change=AllowedChange.DELETE,
                until=date(2027, 1, 31),
                needed=False,
                location=location("orders/orders.returned.v1", 3, 9),
            ),
            ActiveAllowance(
                topic="payments.captured.v1",
                change=AllowedChange.SHRINK_RETENTION,
                until=None,
                needed=True,
                location=location("payments/payments.captured.v1", 4, 9),
            ),
        ],
    )


def empty() -> PlanReport:
    return report([], 998)


def failed() -> PlanReport:
    engine = PreviewResult(ran=False, errors=["kafka:index:Topic (orders.placed.v1): 50% of\nbrokers did not answer"])
    return report([], 0, engine=engine, cluster_id=None)


def many(number: int, *, refused: int = 0) -> PlanReport:
    """Return a plan for ``number`` topics: the last ``refused`` are recreated, the others have their retention cut."""
    topics = [retention_cut().model_copy(update={"topic": f"web.clicks-{n:04}.v1"}) for n in range(number - refused)]
    topics += [fewer_partitions().model_copy(update={"topic": f"web.zzz-{n:04}.v1"}) for n in range(refused)]
    return report(topics, 12)


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for form in FORMATS:
        (EXPECTED / f"{form}.txt").write_text(render(rich(), form), encoding="utf-8")
