"""Test which allowances a plan lists, and which of them it needs."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from tests.support.cases import Case, project_of
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kinds.subject.change import registry_change
from topicwarden.kinds.subject.evidence import SubjectEvidence
from topicwarden.kinds.subject.predict import predict_subjects
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.readability import Readability, UnreadablePartition
from topicwarden.model.subject import LiveRegistry, LiveSubject, RegisteredSchema, SubjectVersion
from topicwarden.plan.predict import Prediction
from topicwarden.plan.predicted_stack import predicted_stack
from topicwarden.policies.check_specs import check
from topicwarden.report.plan.digest import allowance_text

TODAY = date(2026, 11, 24)
NOW = 1_795_521_600_000
SCHEMA = '{"type": "record", "name": "A", "fields": []}'
OLD = RegisteredSchema("avro", '{"type": "record", "name": "A", "fields": [{"name": "id", "type": "string"}]}')
FILES = {
    "stacks/Pulumi.dev.yaml": "config: {'topicwarden:schemaRegistry': {url: 'http://registry:8081'}}\n",
    "topics/_defaults.yaml": "partitions: 1\nreplication_factor: 1\n",
    "topics/orders.yaml": "allow: [break-readers, delete]\n"
    "contents: {value: {format: avro, schema: ../schemas/a.avsc, registry: {subject: A}}}\n",
    "topics/other.yaml": "allow: [break-readers]\n"
    "contents: {value: {format: avro, schema: ../schemas/a.avsc, registry: true}}\n",
    "subjects/shared.yaml": "allow: [break-readers]\nsubjects: {A: {format: avro, schema: ../schemas/a.avsc}}\n",
    "subjects/idle.yaml": "allow: [delete-subject]\nsubjects: {B: {format: avro, schema: ../schemas/a.avsc}}\n",
    "schemas/a.avsc": SCHEMA,
}


def test_a_plan_needs_the_word_of_each_topic_and_file_that_declares_the_subject(tmp_path: Path) -> None:
    checked = check(project_of(Case("", FILES), tmp_path), ["dev"], today=TODAY)
    assert not checked.errors
    subjects = checked.subjects["dev"]
    live = LiveSubject("A", SubjectVersion(1, 1, OLD))
    change = registry_change(subjects, {}, LiveRegistry({"A": live}), today=TODAY)
    unreadable = Readability("orders", "value", partitions=(UnreadablePartition(0, 1, 0, 0),))
    prediction = Prediction(
        (),
        Snapshot("id", NOW, {}, {}, {}),
        subjects=predict_subjects(change, SubjectEvidence(readability={"A": (unreadable,)}), TODAY),
    )
    report = predicted_stack(
        "dev", prediction, checked.declarations["dev"], DeployedStack(), None, subjects=subjects
    ).report
    needed, idle = "without an end date; this plan needs it", "without an end date; nothing in this plan needs it"
    assert [(str(each.location), allowance_text(each)) for each in report.allowances] == [
        ("subjects/idle.yaml:1:1", f"subjects: delete-subject {idle}"),
        ("subjects/shared.yaml:1:1", f"subjects: break-readers {needed}"),
        ("topics/orders.yaml:1:8", f"orders: break-readers {needed}"),
        ("topics/orders.yaml:1:8", f"orders: delete {idle}"),
        ("topics/other.yaml:1:8", f"other: break-readers {idle}"),
    ]
