"""Consumer groups that read orders: one of a user with the access that the project declares, and an undeclared one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from topicwarden.extensions.sandbox.scenarios.planted_faults import ORDERS
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.write.access_admin import set_password
from topicwarden.model.problem import Refusal

GROUP, USER = "shop-billing", "shop-billing"
UNDECLARED = "nightly-export"
"""A group that no `access:` names. Its member is the super user of the sandbox."""

_PASSWORD = "sandbox"
_JOINED_WITHIN_S = 60.0


@contextmanager
def reading(servers: Sequence[str], user_servers: Sequence[str]) -> Iterator[None]:
    """Keep ``USER`` an active member of ``GROUP`` that reads ``ORDERS`` during the block.

    ``servers`` are the addresses for the super user, ``user_servers`` those for users with a password. Raises Refusal
    if the user may not join the group.
    """
    set_password(servers, USER, "SCRAM-SHA-512", _PASSWORD)
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": USER,
        "sasl.password": _PASSWORD,
    }
    with _member(GROUP, f"User:{USER}", user_servers, settings):
        yield


@contextmanager
def reading_undeclared(servers: Sequence[str]) -> Iterator[None]:
    """Keep an active member of ``UNDECLARED`` that reads ``ORDERS`` during the block, then delete the group."""
    try:
        with _member(UNDECLARED, "the super user", servers, {}):
            yield
    finally:
        with connected(servers) as admin:
            admin.delete_groups([UNDECLARED])


@contextmanager
def _member(group: str, user: str, servers: Sequence[str], settings: Mapping[str, str]) -> Iterator[None]:
    """Keep an active member of ``group`` that has read and committed all of ``ORDERS`` during the block."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 - only the demo of the repository has it

    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(servers),
            "group.id": group,
            "auto.offset.reset": "earliest",
            **settings,
        }
    )
    consumer.subscribe([ORDERS])
    try:
        deadline = time.monotonic() + _JOINED_WITHIN_S
        while not consumer.assignment():
            if time.monotonic() > deadline:
                raise Refusal(f"{user} has not joined the group {group} within {_JOINED_WITHIN_S:.0f} s")
            consumer.poll(0.1)
        while consumer.poll(1.0) is not None:
            pass
        ends = [
            TopicPartition(
                each.topic, each.partition, consumer.get_watermark_offsets(each, timeout=_JOINED_WITHIN_S)[1]
            )
            for each in consumer.assignment()
        ]
        consumer.commit(offsets=ends, asynchronous=False)  # explicit, because nothing is new when the demo runs again
        yield  # librdkafka sends heartbeats in a thread of its own
    finally:
        consumer.close()
