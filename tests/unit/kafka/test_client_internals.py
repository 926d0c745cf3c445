"""Test requests to single brokers with a stand-in for the client's manager."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka import KafkaAdminClient
from kafka.errors import UnknownBrokerIdError

from topicwarden.kafka.connect.client_internals import send_to_broker


class Manager:
    """Knows broker 3 only after an update of the metadata."""

    def __init__(self) -> None:
        self.known = {1}
        self.cluster = SimpleNamespace(request_update=lambda: self.known.add(3))

    def run(self, start: Callable[..., Coroutine[Any, Any, Any]], *arguments: object) -> Any:
        return asyncio.run(start(*arguments))

    async def send(self, request: str, node_id: int) -> str:
        if node_id not in self.known:
            raise UnknownBrokerIdError(node_id)
        return f"{request} from {node_id}"


def test_a_broker_that_started_meanwhile_is_found_by_the_next_attempt() -> None:
    admin = cast("KafkaAdminClient", SimpleNamespace(_manager=Manager()))
    assert send_to_broker(admin, "answer", 1) == "answer from 1"
    with pytest.raises(UnknownBrokerIdError):
        send_to_broker(admin, "answer", 3)
    assert send_to_broker(admin, "answer", 3) == "answer from 3"
