"""Refreshes Pulumi's state after something else than Pulumi has changed topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from topicwarden.deploy.pulumi_commands import pulumi_without_program
from topicwarden.deploy.pulumi_engine import TOPIC_TYPE, PulumiEngine, error_text, targeted
from topicwarden.kafka_facts.throttle_settings import REPLICAS
from topicwarden.model.problem import Refusal

_MOST_TARGETS = 100
"""Largest number of targets on the command line; if there are more, Pulumi refreshes all resources."""

_LOCK_TIMEOUT_S, _PAUSE_S = 60.0, 2.0


def stale(engine: PulumiEngine, factors: Mapping[str, int]) -> list[str]:
    """Return the URNs of topics whose state has another replication factor than ``factors`` has for the topic.

    The result includes topics whose state has a replication throttle, which a refresh during a move has read.
    """
    resources = engine.resources()
    topics = {each["urn"]: each.get("outputs") or each["inputs"] for each in resources if each["type"] == TOPIC_TYPE}
    return [urn for urn, state in topics.items() if state["name"] in factors and _differs(state, factors)]


def refresh(engine: PulumiEngine, urns: list[str]) -> None:
    """Refresh ``urns``, past the lock of a killed ``pulumi``; wait up to a minute for a ``pulumi`` that still runs."""
    targets = urns if len(urns) <= _MOST_TARGETS else []
    arguments = ["refresh", "--yes", "--skip-preview", *targeted(targets)]
    retrying = Retrying(
        retry=retry_if_exception_type(Refusal),
        stop=stop_after_delay(_LOCK_TIMEOUT_S),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    done = retrying(pulumi_without_program, engine, *arguments)
    if done.returncode:
        raise Refusal(
            f"the replicas are placed, but `pulumi refresh` failed: {error_text(done)}; "
            f"run `topicwarden refresh --stack {engine.stack}`, so that Pulumi's state agrees"
        )


def _differs(state: Mapping[str, Any], factors: Mapping[str, int]) -> bool:
    throttled = any(name in REPLICAS for name in state.get("config") or {})
    return throttled or int(state["replicationFactor"]) != factors[state["name"]]
