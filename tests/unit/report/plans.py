"""Plans built by hand: a rich one with hostile names, an empty one, one that failed, and large ones.

``python -m tests.unit.report.plans`` writes the expected outputs again; read the difference.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from topicwarden.model.finding import FindingLocation
from topicwarden.model.planned_change import (
    Action,
    Consequence,
    GroupEffect,
    PartitionEffect,
    PlanReport,
    PreviewResult,
    Setting,
    Severity,
    StandingAllowance,
    TopicPlan,
)
from topicwarden.model.topic import Allowance
from topicwarden.report.plan import FORMATS, render

EXPECTED = Path(__file__).with_name("expected_plans")
NOW = 1_760_000_000_000
DAY = 86_400_000
HOSTILE_TOPIC = "</code><script>alert('x')</script>|`rm` @octocat"
HOSTILE = "@team/all closes #12 | `code` *bold* <img src=x> [link](http://x) $x$ :rocket: \x1b[31mred\u202e\n- [ ] do"


def place(file: str, line: int, column: int = 3) -> FindingLocation:
    return FindingLocation(file=f"topics/{file}.yaml", line=line, column=column)


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
    """A day instead of a week, of twelve partitions, and two groups that lag."""
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
                weight=Severity.NOTE,
                message="No batch on the cluster is larger than 1 MiB.",
                place=place("payments/payments.captured.v1", 9),
            ),
            Consequence(
                kind="retention-cut",
                weight=Severity.DANGER,
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
                place=place("payments/payments.captured.v1", 7, 17),
            ),
        ],
        place=place("payments/payments.captured.v1", 1, 1),
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
                weight=Severity.REFUSED,
                message="The topic would be deleted and created again: 51,789,485 records would be lost.",
                because=["Kafka cannot take partitions away from a topic"],
                measured="Offsets of every partition.",
                remedy="Keep partitions: 12, or write allow: [recreate].",
                place=place("orders/orders.placed.v1", 5, 13),
            )
        ],
        place=place("orders/orders.placed.v1", 1, 1),
    )


def rich() -> PlanReport:
    """Every action and every weight, what could not be seen, and names that could break a page."""
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
            place=place("orders/orders.new.v1", 1, 1),
        ),
        TopicPlan(
            topic="stock.levels.v1",
            action=Action.DRIFT,
            settings=[
                setting("retention.bytes", "-1", "-1", "1073741824"),
                setting("segment.ms", None, None, "3600000", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
            ],
            consequences=[Consequence(kind="drift", weight=Severity.NOTE, message="Changed by hand since the deploy.")],
            place=place("stock/stock.levels.v1", 1, 1),
        ),
        TopicPlan(
            topic="shipping.events.v2",
            action=Action.MOVE,
            settings=[setting("replication_factor", "3", "2", "2")],
            consequences=[
                Consequence(
                    kind="replicas",
                    weight=Severity.NOTE,
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
                    weight=Severity.DANGER,
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
            StandingAllowance(
                topic="orders.returned.v1",
                change=Allowance.DELETE,
                until=date(2027, 1, 31),
                needed=False,
                place=place("orders/orders.returned.v1", 3, 9),
            ),
            StandingAllowance(
                topic="payments.captured.v1",
                change=Allowance.SHRINK_RETENTION,
                until=None,
                needed=True,
                place=place("payments/payments.captured.v1", 4, 9),
            ),
        ],
    )


def empty() -> PlanReport:
    return report([], 998)


def failed() -> PlanReport:
    engine = PreviewResult(ran=False, errors=["kafka:index:Topic (orders.placed.v1): 50% of\nbrokers did not answer"])
    return report([], 0, engine=engine, cluster_id=None)


def many(number: int, *, refused: int = 0) -> PlanReport:
    """``number`` topics whose retention is cut, the last ``refused`` of them instead made again."""
    topics = [retention_cut().model_copy(update={"topic": f"web.clicks-{n:04}.v1"}) for n in range(number - refused)]
    topics += [fewer_partitions().model_copy(update={"topic": f"web.zzz-{n:04}.v1"}) for n in range(refused)]
    return report(topics, 12)


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for form in FORMATS:
        (EXPECTED / f"{form}.txt").write_text(render(rich(), form), encoding="utf-8")
