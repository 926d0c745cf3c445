"""Pulumi's state brought to what the cluster has become, where something else than Pulumi changed it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from topicwarden.deploy.backend_locks import past_lost_locks
from topicwarden.deploy.pulumi_engine import TOPIC_TYPE, PulumiEngine, complaint, targeted
from topicwarden.kafka.throttle_admin import REPLICAS
from topicwarden.model.problem import Refusal

_MOST_TARGETS = 100
"""More of them are not named: a command line is not endless, and Pulumi then reads all."""

_LOCKED_S, _PAUSE_S = 60.0, 2.0


def stale(engine: PulumiEngine, factors: Mapping[str, int]) -> list[str]:
    """The URNs of topics whose state says another replication factor than ``factors``, by topic.

    So, too, of those whose state holds a replication throttle, which was seen there while replicas moved.
    Refuses a stack that Pulumi does not know.
    """
    resources = engine.resources(remedy="--no-refresh leaves Pulumi's state alone")
    topics = {one["urn"]: one.get("outputs") or one["inputs"] for one in resources if one["type"] == TOPIC_TYPE}
    return [urn for urn, state in topics.items() if state["name"] in factors and _differs(state, factors)]


def refresh(engine: PulumiEngine, urns: list[str]) -> None:
    """Reads ``urns`` anew, past the lock of a killed ``pulumi``, and after one that is still at work."""
    targets = urns if len(urns) <= _MOST_TARGETS else []
    arguments = ["refresh", "--yes", "--skip-preview", *targeted(targets)]
    deadline = time.monotonic() + _LOCKED_S
    while True:
        try:
            done = past_lost_locks(engine.run, *arguments)
            break
        except Refusal:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)
    if done.returncode:
        raise Refusal(
            f"the replicas are placed, but `pulumi refresh` failed: {complaint(done)}; "
            f"run `pulumi refresh --stack {engine.stack}`, so that Pulumi's state agrees"
        )


def _differs(state: Mapping[str, Any], factors: Mapping[str, int]) -> bool:
    throttled = any(name in REPLICAS for name in state.get("config") or {})
    return throttled or int(state["replicationFactor"]) != factors[state["name"]]
