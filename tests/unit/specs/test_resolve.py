from __future__ import annotations

from pathlib import Path

from tests.support.cases import find_case
from tests.unit.specs.lines import CASES
from topicwarden.model.contents import (
    Contents,
    HeaderContents,
    KeyContents,
    PartitionContents,
    RecordContents,
    TimestampContents,
    ValueContents,
)
from topicwarden.model.problem import Location
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve


def test_the_documented_example_resolves_to_this_topic(tmp_path: Path) -> None:
    tree = find_case(CASES, "good", "design-example").write(tmp_path)
    resolved = resolve(load(tree / "topics", tree, ["dev", "prod"]), "prod")
    assert resolved.problems == ()
    assert [declaration.topic for declaration in resolved.declarations] == [
        Topic(
            name="orders.placed.v1",
            partitions=12,
            replication_factor=3,
            config={
                "cleanup.policy": "delete",
                "max.message.bytes": "1048576",
                "min.insync.replicas": "2",
                "retention.ms": "604800000",
            },
            domain="orders",
            owner="team-orders",
            description="One record an order placed, keyed by order id.",
            contents=Contents(
                key=KeyContents(required=True, format="string", partitioner="murmur2"),
                value=ValueContents(format="json", schema="schemas/order-placed.json"),
                headers=HeaderContents(required=("trace-id",)),
                timestamps=TimestampContents(type="CreateTime", max_ahead=3_600_000),
                records=RecordContents(max_bytes=65_536),
                partitions=PartitionContents(max_skew=4.0),
            ),
            allow=frozenset({Allowance(AllowedChange.DELETE)}),
        )
    ]


def test_a_location_is_that_of_the_value_or_of_its_parent(tmp_path: Path) -> None:
    tree = find_case(CASES, "good", "defaults").write(tmp_path)
    loaded = load(tree / "topics", tree, ["dev", "prod"])
    locations = {each.topic.name: each.locations for each in resolve(loaded, "dev").declarations}["placed"]
    own, nearer, root = (
        f"topics/{name}" for name in ("orders/eu/placed.yaml", "orders/_defaults.yaml", "_defaults.yaml")
    )
    assert locations.at(("config", "retention.ms")) == Location(nearer, 4, 17)
    assert locations.at(("replication_factor",)) == Location(root, 9, 25)
    assert locations.at(("config", "cleanup.policy", 0)) == Location(own, 4, 19)
    assert locations.at(("config", "flush.ms")).file == own
    assert locations.at(("contents", "key", "required")) == Location(own, 1, 1)
    assert locations.at(()) == Location(own, 1, 1)


def test_check_needs_no_stack(tmp_path: Path) -> None:
    tree = find_case(CASES, "good", "defaults").write(tmp_path)
    declared = {each.topic.name: each.topic for each in resolve(load(tree / "topics", tree, []), None).declarations}
    assert declared == {}, "stacks that do not exist are problems, so the defaults that name them hold nothing"
    declared = {
        each.topic.name: each.topic for each in resolve(load(tree / "topics", tree, ["dev"]), None).declarations
    }
    assert declared["placed"].partitions == 12
    assert declared["top"].domain == ""


def test_a_project_without_topics_has_no_problem(tmp_path: Path) -> None:
    assert resolve(load(tmp_path / "topics", tmp_path, ["dev"]), "dev").problems == ()
    (tmp_path / "topics").mkdir()
    assert resolve(load(tmp_path / "topics", tmp_path, ["dev"]), "dev").declarations == ()


def test_a_broken_document_does_not_hide_others(tmp_path: Path) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics/a.yaml").write_text("partitions: x\n")
    (tmp_path / "topics/b.yaml").write_text("{partitions: 1, replication_factor: 1}\n")
    resolved = resolve(load(tmp_path / "topics", tmp_path, ["dev"]), "dev")
    assert [each.topic.name for each in resolved.declarations] == ["b"]
    assert len(resolved.problems) == 1
