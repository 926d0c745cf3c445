"""What Pulumi's state says was deployed: to a program while it runs, and to everyone else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from topicwarden.deploy.pulumi_engine import TOPIC_TYPE, PulumiEngine
from topicwarden.model.topic import Allowance, Permission, Topic
from topicwarden.plan.deployed_stack import DeployedStack, DeployedTopic, DuplicateResource

SET_TYPE = "topicwarden:index:TopicSet"
DOMAIN_TYPE = "topicwarden:index:Domain"


def exported(engine: PulumiEngine) -> DeployedStack:
    """Return the topics of the state; refuses a stack that Pulumi does not know."""
    return read_by(engine.resources())


def read_by(resources: Sequence[Mapping[str, Any]]) -> DeployedStack:
    """Return the topics among a stack's ``resources``, in the shape of `pulumi stack export`.

    A resource that the engine is still to delete counts as well, also under a URN that is registered: the engine
    deletes its topic, even if it is protected (Pulumi's ``DeleteStep`` of a replaced resource). What a program gets
    from ``readStackResourceOutputs`` lacks such resources.
    """
    records = _Records(resources)
    topics: dict[str, DeployedTopic] = {}
    duplicates: dict[str, list[DuplicateResource]] = {}
    for resource in resources:
        if resource["type"] != TOPIC_TYPE:
            continue
        urn, outputs = str(resource["urn"]), resource.get("outputs") or resource.get("inputs") or {}
        name = str(outputs.get("name") or resource.get("id"))
        if resource.get("delete"):
            duplicates.setdefault(name, []).append(DuplicateResource(urn, pending_deletion=True))
        elif _registered(urn, name):
            topics[name] = records.deployed(name, outputs)
        else:
            duplicates.setdefault(name, []).append(DuplicateResource(urn))
    return DeployedStack(topics, records.cluster_id, {name: tuple(urns) for name, urns in duplicates.items()})


def recorded(topic: Topic, file: str | None) -> dict[str, Any]:
    """Return what the state keeps of a topic's YAML: the file, and what it declares and allows."""
    return {
        "file": file,
        "partitions": topic.partitions,
        "replicationFactor": topic.replication_factor,
        "config": dict(sorted(topic.config.items())),
        "allow": [
            {"change": permit.change.value} | ({"until": permit.until.isoformat()} if permit.until else {})
            for permit in sorted(topic.allow, key=lambda permit: permit.change.value)
        ],
    }


@dataclass
class _Records:
    """What the ``TopicResources`` of a state recorded beside its resources; nothing where there is none."""

    resources: Iterable[Mapping[str, Any]]
    cluster_id: str | None = None
    topics: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for resource in self.resources:
            if resource["type"] == SET_TYPE:
                outputs = resource.get("outputs") or {}
                self.cluster_id = outputs.get("clusterId") or self.cluster_id
                self.topics |= outputs.get("declared") or {}

    def deployed(self, name: str, outputs: Mapping[str, Any]) -> DeployedTopic:
        record = self.topics.get(name)
        return DeployedTopic(
            name=name,
            partitions=int(outputs["partitions"]),
            replication_factor=int(outputs["replicationFactor"]),
            config={str(key): str(value) for key, value in sorted((outputs.get("config") or {}).items())},
            declared=None if record is None else _topic(name, record),
            file=None if record is None else record["file"],
        )


def _registered(urn: str, name: str) -> bool:
    """Whether the program registers the topic under this URN."""
    return urn.endswith(f"::{SET_TYPE}${DOMAIN_TYPE}${TOPIC_TYPE}::{name}")


def _topic(name: str, record: Mapping[str, Any]) -> Topic:
    return Topic(
        name,
        int(record["partitions"]),
        int(record["replicationFactor"]),
        {str(key): str(value) for key, value in record["config"].items()},
        allow=frozenset(map(_permit, record["allow"])),
    )


def _permit(record: Mapping[str, str]) -> Permission:
    until = record.get("until")
    return Permission(Allowance(record["change"]), None if until is None else date.fromisoformat(until))
