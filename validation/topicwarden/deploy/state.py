"""What Pulumi's state says was deployed: to a program while it runs, and to everyone else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from topicwarden.deploy.engine import TOPIC_TYPE, Engine
from topicwarden.plan.deployed import Deployed

SET_TYPE = "topicwarden:index:TopicSet"


def exported(engine: Engine) -> dict[str, Deployed]:
    """The topics of the state, by name, as everyone may read it; refuses a stack that Pulumi does not know."""
    return {
        topic.name: topic
        for resource in engine.resources()
        if resource["type"] == TOPIC_TYPE and resource.get("outputs")
        for topic in [_deployed(resource["outputs"], bool(resource.get("protect")))]
    }


def read_by(resources: Iterable[Mapping[str, Any]]) -> dict[str, Deployed]:
    """The topics among a stack's resources, each ``type`` and ``outputs``, as ``readStackResourceOutputs`` gives them.

    The engine does not tell what is protected; the ``TopicSet`` says what was not when it was last deployed.
    """
    outputs: dict[str, list[Mapping[str, Any]]] = {}
    for resource in resources:
        outputs.setdefault(resource["type"], []).append(resource.get("outputs") or {})
    unprotected = {name for held in outputs.get(SET_TYPE, ()) for name in held.get("unprotected") or ()}
    topics = [held for held in outputs.get(TOPIC_TYPE, ()) if held.get("name")]
    return {str(held["name"]): _deployed(held, held["name"] not in unprotected) for held in topics}


def _deployed(outputs: Mapping[str, Any], protected: bool) -> Deployed:
    return Deployed(
        name=str(outputs["name"]),
        partitions=int(outputs["partitions"]),
        replication_factor=int(outputs["replicationFactor"]),
        config={str(name): str(value) for name, value in sorted((outputs.get("config") or {}).items())},
        protected=protected,
    )
