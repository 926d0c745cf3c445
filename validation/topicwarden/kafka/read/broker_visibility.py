"""Waits until every broker shows a change that the controller has committed.

A broker applies what the controller committed with a delay of its own (KIP-500), so the broker that answers the next
request may not know it yet. A refresh right after a deploy would then write old values to Pulumi's state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

Key = TypeVar("Key", bound=Hashable)
State = TypeVar("State")

_POLL_S: Final = 0.05
_LONGEST_POLL_S: Final = 1.0
_WITHIN_S: Final = 10.0


def living_brokers(admin: KafkaAdminClient) -> dict[int, str | None]:
    """Return the rack of each broker that is not fenced, by broker id."""
    brokers = admin.describe_cluster()["brokers"]
    return {broker["broker_id"]: broker["rack"] for broker in brokers if not broker.get("is_fenced")}


def wait_for_every_broker(
    admin: KafkaAdminClient,
    expected: Mapping[Key, State],
    visible: Callable[[int, Mapping[Key, State]], Collection[Key]],
    within: float = _WITHIN_S,
) -> frozenset[Key]:
    """Wait until every living broker shows each key as ``expected``; return the keys that one does not.

    ``visible`` returns which of these keys the broker with this id shows. A broker that shows no further key ``within``
    seconds is not waited for. A broker that does not answer, or that denies the request, is left out.
    """

    def late(broker: int) -> frozenset[Key]:
        pending = dict(expected)
        deadline, pause = time.monotonic() + within, _POLL_S
        while pending and time.monotonic() < deadline:
            try:
                shown = set(visible(broker, pending))
            except KafkaError:
                return frozenset()
            if shown:
                deadline = time.monotonic() + within
            pending = {key: state for key, state in pending.items() if key not in shown}
            if pending:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_POLL_S)
        return frozenset(pending)

    brokers = living_brokers(admin)
    with ThreadPoolExecutor(max_workers=max(1, len(brokers))) as executor:
        return frozenset().union(*executor.map(late, brokers))
