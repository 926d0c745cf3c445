"""Test the consequence of a schema that cannot read retained records, with ``cases/breaks_readers.yaml``."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kinds.subject.change import RegistryChange, SubjectChange
from topicwarden.kinds.subject.consequences import breaks_readers
from topicwarden.kinds.subject.evidence import SubjectContext, SubjectEvidence, TopicReaders
from topicwarden.model.planned_change import Action
from topicwarden.model.problem import Location
from topicwarden.model.readability import Readability, UnreadablePartition
from topicwarden.model.subject import DeclaredSubject, RegisteredSchema
from topicwarden.model.topic import AllowedChange, Topic

CASES = yaml.load(
    (Path(__file__).parent / "cases" / "breaks_readers.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)
CONFIG = {"cleanup.policy": "delete", "retention.ms": "604800000"}


def context(case: dict[str, Any]) -> SubjectContext:
    """Return the subject of a case."""
    found = {"part": "value", **case["found"]}
    found["partitions"] = tuple(UnreadablePartition(*each) for each in found.get("partitions", ()))
    topic = Topic("orders", 6, 1, config=case.get("config", CONFIG))
    groups = tuple(
        ConsumerGroup(name, "Empty", 0, {("orders", partition): offset for partition, offset in offsets.items()})
        for name, offsets in case.get("groups", {}).items()
    )
    declared = DeclaredSubject("orders-value", RegisteredSchema("avro", "{}"), "a.avsc", Location("topics/a.yaml", 3))
    allowed = frozenset({AllowedChange.BREAK_READERS} if case.get("allow") else ())
    change = SubjectChange("orders-value", Action.UPDATE, declared, registers=True, allowed=allowed)
    evidence = SubjectEvidence(
        readability={"orders-value": (Readability("orders", **found),)},
        readers={"orders": TopicReaders(groups, LiveTopic(topic, "id", {}, ()))},
    )
    return SubjectContext(change, RegistryChange(), evidence, date(2026, 11, 24))


@pytest.mark.parametrize("name", CASES)
def test_a_scan_has_its_consequence(name: str) -> None:
    case = CASES[name]
    consequences = list(breaks_readers.evaluate(context(case)))
    if "message" not in case:
        assert not consequences
        return
    (consequence,) = consequences
    assert consequence.message == case["message"]
    assert consequence.severity == case["severity"]
    missing = [reason for reason in case.get("because", ()) if reason not in consequence.because]
    assert not missing, consequence.because
    assert str(consequence.location) == "topics/a.yaml:3:1"
    assert (AllowedChange.BREAK_READERS.line in consequence.remedy) == (case["severity"] == "refused")
    if "effects" in case:
        assert [[each.group, each.partition, each.records] for each in consequence.groups] == case["effects"]


@pytest.mark.parametrize(("allow", "severity"), [(False, "refused"), (True, "danger")])
def test_a_schema_whose_records_were_not_scanned_is_refused_and_the_remedy_names_java_first(
    allow: bool, severity: str
) -> None:
    one = context({"found": {}, "allow": allow})
    unscanned = SubjectEvidence(unscanned={"orders-value": "pyspark is not installed"})
    (found,) = breaks_readers.evaluate(SubjectContext(one.change, one.registry, unscanned, one.today))
    assert found.severity == severity
    assert found.message.endswith(": pyspark is not installed")
    assert found.remedy.startswith("a plan reads them with Java 17 or later") is not allow
