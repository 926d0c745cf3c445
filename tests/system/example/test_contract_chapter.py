"""Test the first chapter of the demo on its cluster: a contract that the flights write finds a fault of a producer."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.notices import eventually
from topicwarden.cli.demo.contract_chapter import infer_and_audit
from topicwarden.extensions.sandbox.scenarios import flights, new_producer
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.model.project import Project


@pytest.mark.nightly("It needs all flights. The suite infers contracts of other topics, and audits this cluster.")
@pytest.mark.usefixtures("filled")
def test_a_contract_that_the_flights_write_finds_the_fault_of_a_new_producer(
    project: Project, servers: list[str], cluster: Cluster, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = list(infer_and_audit(project, servers, print))
    printed = capsys.readouterr().out
    assert outcomes == [
        ("records that the contract rests on", flights.RECORDS, flights.RECORDS),
        ("the fault of the new producer", *[[(new_producer.TOPIC, "value-schema")]] * 2),
    ]
    assert f"format: json  # all {flights.RECORDS:,} values" in printed
    assert "key.required: not required: missing in 2,512 of 336,776" in printed
    assert ": missing dest" in " ".join(printed.split())
    eventually(lambda: new_producer.TOPIC not in cluster.snapshot().topics)
    assert not (project.topics / "flights" / f"{new_producer.TOPIC}.yaml").exists()
