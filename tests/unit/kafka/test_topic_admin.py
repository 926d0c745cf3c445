"""Test that writes of topics reach the controller after it has moved, with a stand-in for the Admin client."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka import KafkaAdminClient
from kafka.errors import NodeNotReadyError

from topicwarden.kafka.connect.request_errors import RequestError, request_error, retry_each
from topicwarden.kafka.write.topic_admin import Errors, NewTopic, add_partitions, create_topics, delete_topics

LOST, NEW = 0, 2


class Admin:
    """A client that remembers a controller, and looks for another one only if it remembers none."""

    def __init__(self, failure: Exception) -> None:
        self._controller_id: int | None = LOST
        self._failure = failure
        self.requested: list[int] = []

    def _answer(self, *_: object, raise_errors: bool) -> Any:
        assert not raise_errors
        if self._controller_id is None:
            self._controller_id = NEW
        self.requested.append(self._controller_id)
        if self._controller_id == LOST:
            raise self._failure
        done = {"name": "a", "error_code": 0, "error_message": None}
        return SimpleNamespace(to_dict=lambda: {"results": [done]})

    create_partitions = _answer

    def create_topics(self, topics: object, *, raise_errors: bool) -> Any:
        return {"topics": self._answer(raise_errors=raise_errors).to_dict()["results"]}

    delete_topics = create_topics


WRITES: dict[str, Callable[[KafkaAdminClient, list[str]], Errors]] = {
    "create": lambda admin, names: create_topics(admin, [NewTopic(name, 1, 1) for name in names]),
    "delete": delete_topics,
    "add partitions": lambda admin, names: add_partitions(admin, dict.fromkeys(names, 3)),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    "failure", [NodeNotReadyError(LOST), RuntimeError("Failed to find active controller id!")], ids=["lost", "moving"]
)
def test_a_write_is_repeated_at_the_new_controller(
    write: str, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicwarden.kafka.connect.request_errors._PAUSE_S", 0)
    admin, lines = Admin(failure), list[str]()
    assert retry_each(["a"], lambda names: WRITES[write](cast(Any, admin), names), (), lines.append) == {}
    assert admin.requested == [LOST, NEW]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NodeNotReadyError(0), "broker 0 does not answer"),
        (NodeNotReadyError(7), "broker 7 does not answer"),
        (NodeNotReadyError("Node paused: {'throttle'}"), "Node paused: {'throttle'}"),
        (NodeNotReadyError(), "NodeNotReadyError"),
    ],
)
def test_a_broker_that_does_not_answer_is_named(error: NodeNotReadyError, text: str) -> None:
    found = request_error(error)
    assert isinstance(found, RequestError)
    assert (str(found), found.passing) == (text, True)
