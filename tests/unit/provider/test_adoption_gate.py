"""Test that either all topics of an import are adopted, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from topicwarden.deploy.provider.adoption_gate import AdoptionGate
from topicwarden.deploy.topic_registration import adopted_properties
from topicwarden.kafka.connect.request_errors import RequestError
from topicwarden.kinds.properties import Properties
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Topic

_FOUND: Properties = {"name": "t", "partitions": 1.0, "replicationFactor": 2.0, "config": {"retention.ms": "5"}}
_DECLARED: Properties = {**_FOUND, "partitions": 1, "replicationFactor": 2}


async def _answers(
    gate: AdoptionGate, topics: Mapping[str, Properties | Exception | None], then: Callable[[], None]
) -> dict[str, object]:
    """Read ``topics`` at the same time, and call ``then`` when the gate has all answers of the cluster."""

    async def read(topic: str) -> Properties | None:
        async def answer() -> Properties | None:
            found = topics[topic]
            if isinstance(found, Exception):
                raise found
            return found

        return await gate.read(topic, answer)

    tasks = {topic: asyncio.create_task(read(topic)) for topic in topics}
    await asyncio.sleep(0.01)
    assert not any(task.done() and not task.exception() for task in tasks.values())
    then()
    await asyncio.wait(tasks.values(), timeout=60)
    return {topic: task.exception() or task.result() for topic, task in tasks.items()}


def _registered(gate: AdoptionGate) -> None:
    with gate.registering():
        pass


def test_all_topics_are_adopted_when_the_program_has_registered_all() -> None:
    gate = AdoptionGate({"a": _DECLARED, "b": _DECLARED})
    answers = asyncio.run(_answers(gate, {"a": _FOUND, "b": _FOUND}, lambda: _registered(gate)))
    assert answers == {"a": _FOUND, "b": _FOUND}
    assert (gate.adopted, gate.reason) == (True, None)
    gate.close("too late")
    assert (gate.adopted, gate.reason) == (True, None)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({**_FOUND, "partitions": 2.0}, "b is not on the cluster as declared any more: partitions differs"),
        ({**_FOUND, "config": {}}, 'b is not on the cluster as declared any more: config["retention.ms"] differs'),
        (None, "b is not on the cluster any more"),
        (RequestError("TOPIC_AUTHORIZATION_FAILED", "denied"), "b: Kafka denies this user the change"),
    ],
)
def test_one_topic_that_cannot_be_adopted_stops_all(found: Properties | Exception | None, reason: str) -> None:
    gate = AdoptionGate({"a": _DECLARED, "b": _DECLARED})
    answers = asyncio.run(_answers(gate, {"a": _FOUND, "b": found}, lambda: _registered(gate)))
    assert all(isinstance(answer, Exception) for answer in answers.values())
    assert not gate.adopted
    assert str(gate.reason).startswith(reason)


def test_a_topic_whose_replicas_move_is_adopted() -> None:
    throttles = {"leader.replication.throttled.replicas": "0:1", "follower.replication.throttled.replicas": "0:2"}
    live = {"retention.ms": "5", **throttles}
    gate = AdoptionGate({"t": adopted_properties(Topic("t", 1, 2, {"retention.ms": "5"}), live)})
    found = {**_FOUND, "config": live}
    assert asyncio.run(_answers(gate, {"t": found}, lambda: _registered(gate))) == {"t": found}
    assert gate.adopted


def test_a_topic_that_the_command_did_not_name_stops_all() -> None:
    gate = AdoptionGate({"a": _DECLARED})
    answers = asyncio.run(_answers(gate, {"b": _FOUND}, lambda: _registered(gate)))
    assert isinstance(answers["b"], Refusal)
    assert gate.reason == "Pulumi would also import b"


def test_a_program_that_fails_adopts_nothing() -> None:
    gate = AdoptionGate({"a": _DECLARED})

    def fail() -> None:
        with pytest.raises(SystemExit), gate.registering():
            raise SystemExit

    answers = asyncio.run(_answers(gate, {"a": _FOUND}, fail))
    assert isinstance(answers["a"], Refusal)
    assert (gate.adopted, gate.reason) == (False, None)
