"""Build usage reports for tests: one with many features and hostile names, an empty one, and a large one."""

from __future__ import annotations

from typing import Final

from tests.support.reports import DAY, HOSTILE_MESSAGE, HOUR, LONG, NOW, SCRIPT
from topicwarden.model.problem import Location
from topicwarden.model.usage import UseAction, UserKind
from topicwarden.model.usage_report import (
    CostShare,
    Growth,
    LogRead,
    Removable,
    TopicUsage,
    TopicUser,
    UndeclaredUse,
    UsageCost,
    UsageReport,
    UsedBetween,
)

GIB: Final = 1 << 30
TODAY: Final = UsedBetween(after=NOW - DAY, until=NOW)
LONG_AGO: Final = UsedBetween(after=NOW - 61 * DAY - 20 * 60_000, until=NOW - 60 * DAY)


def reader(name: str, **fields: object) -> TopicUser:
    """Return a consumer group that reads now, as declared; ``fields`` replace individual fields."""
    seen: dict[str, object] = {
        "action": UseAction.READ,
        "kind": UserKind.GROUP,
        "name": name,
        "group_type": "consumer",
        "members": 3,
        "active": True,
        "hosts": ["10.0.0.7"],
        "first_seen": NOW - 90 * DAY,
        "last": TODAY,
        "lag": 1_204,
        "lag_ms": 90_000,
        "expires_at": NOW - 90_000 + 7 * DAY,
        "declared": True,
        "candidates": [f"User:{name}"],
    }
    return TopicUser.model_validate(seen | fields)


def writer(name: str, **fields: object) -> TopicUser:
    """Return a transactional producer that wrote today, as declared; ``fields`` replace individual fields."""
    seen: dict[str, object] = {
        "action": UseAction.WRITE,
        "kind": UserKind.TRANSACTIONAL_ID,
        "name": name,
        "active": True,
        "first_seen": NOW - 90 * DAY,
        "last": TODAY,
        "declared": True,
        "candidates": [f"User:{name}"],
    }
    return TopicUser.model_validate(seen | fields)


def topic(name: str, size: int | None, price: float | None = None, **fields: object) -> TopicUsage:
    """Return a declared topic with three replicas on which nothing was seen; ``fields`` replace individual fields."""
    seen: dict[str, object] = {
        "name": name,
        "domain": name.partition(".")[0],
        "owner": "",
        "declared": True,
        "topic_id": "Qk5vZC1pZC0wMDAwMDAwMA",
        "partitions": 6,
        "replication_factor": 3,
        "replica_bytes": size,
        "tiered_bytes": 0,
        "observed_since": NOW - 90 * DAY,
        "complete_since": NOW - 90 * DAY,
        "last_written": None,
        "last_read": None,
        "growth": None,
        "cost": None if price is None else UsageCost(per_month=price, storage=price),
        "writers": [],
        "readers": [],
    }
    return TopicUsage.model_validate(seen | fields)


def report(topics: list[TopicUsage], currency: str | None = "EUR", **fields: object) -> UsageReport:
    """Return a report on ``topics``, in their order; ``fields`` replace individual fields."""
    total = share("", topics)
    seen: dict[str, object] = {
        "topicwarden": "0.1.0",
        "stack": "prod",
        "cluster_id": "5L6g3nShT-eMCtK--X86sw",
        "taken_at": NOW,
        "observed_since": NOW - 90 * DAY,
        "currency": currency,
        "idle_after_ms": 30 * DAY,
        "idle_groups_after_ms": 30 * DAY,
        "unused_access_after_ms": 30 * DAY,
        "topics": topics,
        "total": total,
        "owners": _shares(topics, "owner"),
        "domains": _shares(topics, "domain"),
    }
    return UsageReport.model_validate(seen | fields)


def _shares(topics: list[TopicUsage], key: str) -> list[CostShare]:
    names = {getattr(each, key) for each in topics}
    shares = [share(name, [each for each in topics if getattr(each, key) == name]) for name in names]
    return sorted(shares, key=lambda each: (-(each.cost_per_month or 0), each.name))


def share(name: str, topics: list[TopicUsage]) -> CostShare:
    """Return the sums of ``topics``."""
    costs = [each.cost.per_month for each in topics if each.cost and each.cost.per_month is not None]
    return CostShare(
        name=name,
        topics=len(topics),
        replica_bytes=sum(each.replica_bytes or 0 for each in topics),
        unknown_sizes=sum(each.replica_bytes is None for each in topics),
        tiered_bytes=sum(each.tiered_bytes or 0 for each in topics),
        unknown_tiered=sum(each.tiered_bytes is None for each in topics),
        cost_per_month=sum(costs) if costs else None,
    )


def rich() -> UsageReport:
    """Return a report with each kind of user, unknown numbers, and all text that could break a page."""
    orders = topic(
        "orders.placed.v1",
        120 * GIB,
        owner="team-orders",
        tiered_bytes=None,
        last_written=TODAY,
        last_read=TODAY,
        growth=Growth(
            over_ms=7 * DAY, records_per_day=1_200_000.0, replica_bytes_per_day=2.5 * GIB, written_bytes_per_day=GIB
        ),
        cost=UsageCost(
            per_month=14.3,
            storage=14.0,
            written=0.3,
            unknown=["tiered: brokers do not report sizes in remote storage", "read: brokers do not report it"],
        ),
        writers=[
            writer("orders-service"),
            writer("4711", kind=UserKind.PRODUCER_ID, declared=None, candidates=None, active=False),
        ],
        readers=[
            reader("billing"),
            reader("fraud-scoring", group_type="share", declared=False, candidates=["User:fraud", "User:ml"]),
            reader(
                "export",
                group_type="classic",
                active=False,
                members=0,
                last=None,
                lag=None,
                lag_ms=None,
                expires_at=None,
            ),
            reader("User:audit", kind=UserKind.PRINCIPAL, group_type="", members=None, candidates=None, declared=False),
        ],
    )
    topics = [
        orders,
        topic("legacy.clicks.v1", 40 * GIB, 3.2, owner="team-web", last_written=LONG_AGO, last_read=LONG_AGO),
        topic(
            LONG,
            3 * GIB,
            0.25,
            growth=Growth(over_ms=DAY, records_per_day=0.0, replica_bytes_per_day=-1536.0, written_bytes_per_day=None),
        ),
        topic(SCRIPT, None, declared=False, owner=HOSTILE_MESSAGE, readers=[reader(HOSTILE_MESSAGE, declared=False)]),
    ]
    undeclared = [
        UndeclaredUse(
            topic="orders.placed.v1",
            action=UseAction.READ,
            kind=UserKind.GROUP,
            name="fraud-scoring",
            principal=None,
            candidates=["User:fraud", "User:ml"],
            access_declared=True,
            entry="{principal: PRINCIPAL, group: fraud-scoring}",
            location=Location("topics/orders/orders.placed.v1.yaml", 7, 3),
            reason="2 principals can be the user",
        ),
        UndeclaredUse(
            topic="orders.placed.v1",
            action=UseAction.READ,
            kind=UserKind.PRINCIPAL,
            name="User:audit",
            principal="User:audit",
            candidates=[],
            access_declared=True,
            entry="User:audit",
            location=Location("topics/orders/orders.placed.v1.yaml", 7, 3),
        ),
        UndeclaredUse(
            topic=SCRIPT,
            action=UseAction.READ,
            kind=UserKind.GROUP,
            name=HOSTILE_MESSAGE,
            principal=None,
            candidates=[],
            access_declared=False,
            entry="{principal: PRINCIPAL, group: g}",
            reason=HOSTILE_MESSAGE,
        ),
    ]
    removable = [
        Removable(
            kind="topic",
            name="legacy.clicks.v1",
            topics=["legacy.clicks.v1"],
            proven=True,
            reason="no write, no commit and no active reader for at least 60 d",
            unused_since=NOW - 60 * DAY,
            yaml=["add `allow: [delete]`, and deploy", "delete topics/legacy/legacy.clicks.v1.yaml, and deploy"],
            location=Location("topics/legacy/legacy.clicks.v1.yaml", 1, 1),
            frees_bytes=40 * GIB,
            saves_per_month=3.2,
        ),
        Removable(
            kind="group",
            name=SCRIPT,
            topics=["orders.placed.v1"],
            proven=True,
            reason="no commit and no member for at least 45 d",
            unused_since=NOW - 45 * DAY,
            command=f"kafka-consumer-groups --delete --group '{SCRIPT}'",
        ),
        Removable(
            kind="acl",
            name="Allow Read on Topic orders.placed.v1 for User:export",
            topics=["orders.placed.v1"],
            proven=False,
            reason="no observation saw a use for 90 d; the logs of the brokers were not read",
            yaml=["delete the entry", "add `allow: [revoke-access]`"],
            location=Location("topics/orders/orders.placed.v1.yaml", 9, 5),
        ),
    ]
    return report(
        topics,
        undeclared=undeclared,
        removable=removable,
        logs=[
            LogRead(
                broker="1",
                first=NOW - 2 * DAY,
                last=NOW - HOUR,
                lines=12_000,
                unreadable=2,
                largest_gap_ms=HOUR,
                has_grants=True,
            )
        ],
        notes=["groups may be missing: this user lacks Describe on the cluster", HOSTILE_MESSAGE],
    )


def empty() -> UsageReport:
    """Return a report without topics and policies."""
    nothing: dict[str, object] = {"idle_after_ms": None, "idle_groups_after_ms": None, "unused_access_after_ms": None}
    return report([], currency=None, **nothing)


def thousand() -> UsageReport:
    """Return a report on a thousand topics: a hundred are idle, and fifty have an undeclared reader."""
    topics = [
        topic(
            f"domain{number % 40}.entity-{number:04}.v1",
            (1_000 - number) * GIB,
            1_000.0 - number,
            owner=f"team-{number % 25}",
            last_written=TODAY,
            readers=[reader(f"group-{number}", declared=number >= 50)],
            writers=[writer(f"service-{number}")],
        )
        for number in range(1_000)
    ]
    undeclared = [
        UndeclaredUse(
            topic=each.name,
            action=UseAction.READ,
            kind=UserKind.GROUP,
            name=each.readers[0].name,
            principal=f"User:{each.readers[0].name}",
            candidates=[],
            access_declared=True,
            entry=f"{{principal: User:{each.readers[0].name}, group: {each.readers[0].name}}}",
        )
        for each in topics[:50]
    ]
    removable = [
        Removable(
            kind="topic",
            name=each.name,
            topics=[each.name],
            proven=True,
            reason="no write, no commit and no active reader for at least 60 d",
            frees_bytes=each.replica_bytes,
            saves_per_month=each.cost.per_month if each.cost else None,
        )
        for each in topics[100:200]
    ]
    return report(topics, undeclared=undeclared, removable=removable)
