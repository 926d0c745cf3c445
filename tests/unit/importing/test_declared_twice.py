"""Test that access which is declared twice with different values is refused, in one file and in several."""

from __future__ import annotations

import json

import pytest

from topicwarden.extensions.interchange.convert import ConversionResult, SourceFile, read_all

QUOTA = """apiVersion: kafka.jikkou.io/v1
kind: KafkaClientQuota
spec: {{type: USER, entity: {{user: bob}}, configs: {{{}}}}}
"""
USER = """apiVersion: kafka.jikkou.io/v1
kind: KafkaUser
metadata: {{name: bob}}
spec: {{authentications: [{{type: SCRAM-SHA-512, iterations: {}}}]}}
"""
STRIMZI = """apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaUser
metadata: {{name: bob}}
spec:
  authentication: {{type: scram-sha-512}}
  quotas: {{producerByteRate: {}}}
"""
PAIRS = {
    "quotas of Jikkou": (QUOTA.format("producerByteRate: 1000"), QUOTA.format("consumerByteRate: 5")),
    "users of Jikkou": (USER.format(8192), USER.format(4096)),
    "users of Strimzi": (STRIMZI.format(1000), STRIMZI.format(5)),
}


def read(*texts: str) -> ConversionResult:
    return read_all([SourceFile(f"{number}.yaml", text.encode()) for number, text in enumerate(texts)])


@pytest.mark.parametrize("name", PAIRS)
def test_other_values_of_the_same_entry_are_a_problem(name: str) -> None:
    first, second = PAIRS[name]
    for found, location in ((read(f"{first}---\n{second}"), "0.yaml"), (read(first, second), "1.yaml")):
        [problem] = found.problems
        assert problem.rule == "access-twice"
        assert problem.location.file == location
        assert "is declared twice, first at 0.yaml:" in problem.message
    assert read(first, first).problems == ()


def test_two_quotas_of_a_state_are_a_problem() -> None:
    resources = [
        {
            "mode": "managed",
            "type": "kafka_quota",
            "name": key,
            "instances": [
                {"attributes": {"entity_name": "c", "entity_type": "client-id", "config": {key: "7"}}},
            ],
        }
        for key in ("producer_byte_rate", "consumer_byte_rate")
    ]
    found = read(json.dumps({"version": 4, "terraform_version": "1.9.0", "resources": resources}))
    assert [problem.rule for problem in found.problems] == ["access-twice"]
