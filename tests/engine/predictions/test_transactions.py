"""Test predictions for topics whose offsets include aborted transactions, markers and gaps."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Producer

from tests.engine.predictions.conftest import deployment, one
from topicwarden.kafka.write.config_admin import connected
from topicwarden.model.planned_change import Severity
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios.log_cleaner import wait_until_clean

COMPACTED = "{owner: t, partitions: 1, replication_factor: 1, config: {cleanup.policy: compact%s}}\n"
KEPT = "{owner: t, partitions: 1, replication_factor: 1}\n"
EAGER = ", segment.ms: 500ms, min.cleanable.dirty.ratio: 0.01, delete.retention.ms: 100ms"


def write(servers: list[str], topic: str, committed: range, aborted: range) -> None:
    """Write a committed transaction, and then an aborted one."""
    producer = Producer({"bootstrap.servers": ",".join(servers), "transactional.id": topic})
    producer.init_transactions(30)
    for numbers, end in ((committed, producer.commit_transaction), (aborted, producer.abort_transaction)):
        producer.begin_transaction()
        for number in numbers:
            producer.produce(topic, b"v", f"key-{number}")
        producer.flush(30)
        end(30)


def test_compaction_also_removes_the_records_of_aborted_transactions(
    sandbox: Sandbox, servers: list[str], tmp_path: Path
) -> None:
    deployed = deployment(tmp_path / "aborted", {"t/aborted.v1.yaml": KEPT})
    write(servers, "aborted.v1", range(10), range(100, 200))
    deployed.write({"t/aborted.v1.yaml": COMPACTED % ""})
    found = one(deployed.plan(), "aborted.v1", "compaction")
    assert found.message.endswith("the log cleaner removes at most 100 records of 110")
    assert found.weight is Severity.REFUSED
    with connected(servers) as admin:
        admin.delete_topics(["aborted.v1"])


def test_of_a_compacted_topic_only_the_records_that_are_there_count(
    sandbox: Sandbox, servers: list[str], tmp_path: Path
) -> None:
    deployed = deployment(tmp_path / "clean", {"t/clean.v1.yaml": COMPACTED % EAGER})
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    for number in range(500):
        producer.produce("clean.v1", b"v", f"key-{number % 10}")
    producer.flush(30)
    wait_until_rolled(producer)
    wait_until_clean(sandbox, "clean.v1")
    deployed.write({"t/clean.v1.yaml": COMPACTED % EAGER.replace("0.01", "0.001")})
    found = one(deployed.plan(), "clean.v1", "compaction")
    assert found.evidence["records in all"] == 11
    assert (found.weight, found.evidence["records"]) == (Severity.NOTE, 0)
    with connected(servers) as admin:
        admin.delete_topics(["clean.v1"])


def wait_until_rolled(producer: Producer) -> None:
    """Write the record that rolls the segment of the others."""
    producer.poll(0.7)
    producer.produce("clean.v1", b"v", "rolls")
    producer.flush(30)
