"""Build plans for tests: one with many features and hostile names, an empty one, a failed one, and large ones.

``python -m tests.unit.report.plans`` writes the expected outputs again. Review the diff.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from topicwarden.model.planned_change import (
    AccessItem,
    AccessKind,
    AccessPlan,
    Action,
    ActiveAllowance,
    Consequence,
    GroupEffect,
    PartitionEffect,
    PlanReport,
    PreviewResult,
    PrincipalAccess,
    RecentUser,
    RegistryPlan,
    Setting,
    Severity,
    SubjectPlan,
    TopicPlan,
)
from topicwarden.model.problem import Location
from topicwarden.model.topic import AllowedChange
from topicwarden.model.usage import UseAction, UserKind
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
                users=users(),
                location=location("payments/payments.captured.v1", 7, 17),
            ),
        ],
        location=location("payments/payments.captured.v1", 1, 1),
    )


def users() -> list[RecentUser]:
    """Return an active reader, a hostile name, two writers, a principal, and two more groups than people see."""
    used = {"after": NOW - 2 * DAY, "until": NOW - DAY}
    names = (HOSTILE, "billing-nightly", "fraud")
    return [
        RecentUser(action=UseAction.READ, kind=UserKind.GROUP, name="live", after=NOW, until=NOW, active=True),
        RecentUser(action=UseAction.WRITE, kind=UserKind.TRANSACTIONAL_ID, name="capture-tx", **used),
        RecentUser(action=UseAction.WRITE, kind=UserKind.PRODUCER_ID, name="4711", after=None, until=NOW - DAY),
        RecentUser(action=UseAction.READ, kind=UserKind.PRINCIPAL, name="User:audit", after=NOW - DAY, until=NOW - DAY),
        *(RecentUser(action=UseAction.READ, kind=UserKind.GROUP, name=name, **used) for name in names),
    ]


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


def registry() -> RegistryPlan:
    """Return the changes of three subjects, with the diff of a schema that has hostile lines."""
    incompatible = Consequence(
        kind="incompatible",
        severity=Severity.REFUSED,
        message="the new schema is not compatible with version 3 by the level of the subject (BACKWARD)",
        because=["READER_FIELD_MISSING_DEFAULT_VALUE: amount (/fields/1)"],
        measured="the registry",
        location=location("orders/orders", 7),
    )
    return RegistryPlan(
        subjects=[
            SubjectPlan(
                subject="orders-value",
                action=Action.UPDATE,
                format="avro",
                settings=[
                    Setting(name="version", declared="new", deployed="3", live="3"),
                    Setting(name="compatibility", declared="BACKWARD", deployed="FULL", live="FULL"),
                ],
                difference=["@@ -3,2 +3,3 @@", '   "fields": [', '-    "```"', f"+    {HOSTILE}"],
                consequences=[incompatible],
                location=location("orders/orders", 5),
            ),
            SubjectPlan(
                subject=HOSTILE_TOPIC,
                action=Action.CREATE,
                format="json",
                settings=[Setting(name="version", declared="new", deployed=None, live=None)],
                location=location("shared", 2),
            ),
            SubjectPlan(subject="old-value", action=Action.RELEASE, format="protobuf"),
        ],
        unchanged=12,
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
        access=access(),
        registry=registry(),
        unseen=["consumer groups: Describe on Group is missing"],
        remarks=["topicwarden:movedTo is no longer needed: `pulumi config rm topicwarden:movedTo --stack prod`"],
        allowances=[
            ActiveAllowance(topic=None, change=AllowedChange.OPEN_ACCESS, until=None, needed=True),
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


def access() -> AccessPlan:
    """Return changes of access of every kind: one stops a group, and one has hostile names."""
    return AccessPlan(
        items=[
            AccessItem(
                kind=AccessKind.ACL,
                action=Action.CREATE,
                name=f"Allow Read on Topic * for User:{HOSTILE}",
                location=Location("access/all.yaml", 3, 5),
            ),
            AccessItem(
                kind=AccessKind.ACL,
                action=Action.DELETE,
                name="Allow Read on Topic payments.captured.v1 for User:billing",
            ),
            AccessItem(
                kind=AccessKind.QUOTA,
                action=Action.UPDATE,
                name="user billing",
                before="producer_byte_rate 4MiB",
                after="producer_byte_rate 1MiB",
            ),
            AccessItem(
                kind=AccessKind.SCRAM_USER,
                action=Action.DRIFT,
                name="orders (SCRAM-SHA-512)",
                before="4,096 iterations",
                after="8,192 iterations, password orders-password version 3",
            ),
            AccessItem(
                kind=AccessKind.GROUP_CONFIG,
                action=Action.CREATE,
                name="billing",
                after="consumer.session.timeout.ms 1m",
            ),
        ],
        principals=[
            PrincipalAccess(principal="User:billing", loses=["Read on Topic payments.captured.v1"]),
            PrincipalAccess(principal=f"User:{HOSTILE}", gains=["Read on Topic *"], loses=["Write on Topic *"]),
        ],
        consequences=[
            Consequence(
                kind="access-opened",
                severity=Severity.DANGER,
                message=f"User:{HOSTILE} gains Write",
                because=[HOSTILE],
                location=Location("access/all.yaml", 3, 5),
            ),
            Consequence(
                kind="access-lost",
                severity=Severity.REFUSED,
                message="revoking Read on Topic payments.captured.v1 from User:billing stops group billing: active, "
                "12 members, lag 0",
                because=["the deploy deletes `Allow Read on Topic payments.captured.v1 for User:billing`"],
                measured="members and addresses as the coordinator of the group reports them.",
                remedy="Keep the access until the group has stopped, or write `allow: [revoke-access]`.",
                location=location("payments/payments.captured.v1", 11),
            ),
        ],
        needs=[AllowedChange.OPEN_ACCESS],
        unchanged=40,
        foreign={AccessKind.ACL: 80_000, AccessKind.SCRAM_USER: 1},
    )


def granted() -> AccessPlan:
    """Return one new ACL, which takes nothing from anybody."""
    acl = "Allow Read on Topic payments.captured.v1 for User:billing"
    return AccessPlan(items=[AccessItem(kind=AccessKind.ACL, action=Action.CREATE, name=acl)])


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
