"""Reads the deployed topics and access from Pulumi's state, and defines what the state records for each topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from topicwarden.deploy.access_state import component_outputs, deployed_access, resource_names
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.kinds.access_resource import EDITED, allowances, is_kept, mapping, recorded_allowances, require_id
from topicwarden.kinds.properties import is_secret
from topicwarden.kinds.subject.resource import deployed_subjects
from topicwarden.kinds.topic.resource import SET_TYPE, TOPIC_PATH, TOPIC_TYPE
from topicwarden.model.access import DeclaredAccess, DeployedAccess
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic, DuplicateResource
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.topic import Topic


def read_stack_state(engine: PulumiEngine) -> DeployedStack:
    """Return what the state of the engine's stack has; refuse a stack that Pulumi does not know."""
    return deployed_stack(engine.resources())


def reading_stack_state(engine: PulumiEngine) -> Future[DeployedStack]:
    """Start to read the state, and return at once: `pulumi` exports it while the caller works."""
    executor = ThreadPoolExecutor(max_workers=1)
    reading = executor.submit(read_stack_state, engine)
    executor.shutdown(wait=False)
    return reading


def deployed_stack(resources: Sequence[Mapping[str, Any]]) -> DeployedStack:
    """Return the topics, the access and the subjects in ``resources``, which have the format of `pulumi stack export`.

    A resource whose deletion is pending counts as well, even under a registered URN: the engine deletes its topic, even
    if the topic is protected (Pulumi's ``DeleteStep`` of a replaced resource). ``readStackResourceOutputs`` does not
    return such resources to a program.

    A resource whose replacement is pending is ``uncreated``: a deploy has deleted its topic, and could not create it
    again. The engine deletes nothing for it (Pulumi's ``RemovePendingReplaceStep``).
    """
    records = _Records(resources)
    access, (subjects, edited) = deployed_access(resources), deployed_subjects(resources)
    topics: dict[str, DeployedTopic] = {}
    duplicates: dict[str, list[DuplicateResource]] = {}
    uncreated = set[str]()
    for resource in resources:
        if resource["type"] != TOPIC_TYPE:
            continue
        urn, outputs = str(resource["urn"]), mapping(resource.get("outputs") or resource.get("inputs"))
        name = str(outputs.get("name") or resource.get("id"))
        if resource.get("pendingReplacement"):
            uncreated.add(name)
        elif resource.get("delete"):
            duplicates.setdefault(name, []).append(DuplicateResource(urn, pending_deletion=True))
        elif _registered(urn, name):
            try:
                require_id(resource, name)
                topics[name] = records.deployed(name, outputs)
            except EDITED:
                duplicates.setdefault(name, []).append(DuplicateResource(urn, edited=True))
            if is_kept(resource):
                duplicates.setdefault(name, []).append(DuplicateResource(urn, edited=True))
            if resource.get("taint"):
                duplicates.setdefault(name, []).append(DuplicateResource(urn, tainted=True))
        else:
            duplicates.setdefault(name, []).append(DuplicateResource(urn))
    return DeployedStack(
        topics,
        records.cluster_id,
        {name: tuple(urns) for name, urns in duplicates.items()},
        replace(access, undeclared=(*access.undeclared, *edited)),
        subjects,
        {name: allowances(mapping(record).get("allow") or ()) for name, record in records.topics.items()},
        frozenset(uncreated),
    )


def names_by_section(
    topics: Iterable[str], access: DeclaredAccess | DeployedAccess, subjects: Iterable[str]
) -> dict[PlanSection, frozenset[str]]:
    """Return the names of the resources of topics, access and subjects, by section of the plan."""
    return {
        PlanSection.TOPICS: frozenset(topics),
        PlanSection.ACCESS: frozenset(resource_names(access)),
        PlanSection.REGISTRY: frozenset(subjects),
    }


def recorded(topic: Topic, file: str | None, rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a topic's YAML for the state: file, declared values, allowances, and rules for records."""
    return {
        "file": file,
        "partitions": topic.partitions,
        "replicationFactor": topic.replication_factor,
        "config": dict(sorted(topic.config.items())),
        "allow": recorded_allowances(topic.allow),
        **({"rules": dict(rules)} if rules else {}),
    }


@dataclass
class _Records:
    """The outputs of the ``TopicResources`` components of a state; empty if the state has no such component."""

    resources: Iterable[Mapping[str, Any]]
    cluster_id: str | None = None
    topics: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for outputs in component_outputs(self.resources, SET_TYPE):
            self.cluster_id = outputs.get("clusterId") or self.cluster_id
            self.topics |= mapping(outputs.get("declared"))

    def deployed(self, name: str, outputs: Mapping[str, Any]) -> DeployedTopic:
        """Return the topic ``name`` of a resource with ``outputs``; raise one of ``EDITED`` if they were edited."""
        record, config = self.topics.get(name), outputs.get("config") or {}
        if any(map(is_secret, (config, *config.values()))):
            raise ValueError("a setting is a secret")
        return DeployedTopic(
            name=name,
            partitions=int(outputs["partitions"]),
            replication_factor=int(outputs["replicationFactor"]),
            config={str(key): str(value) for key, value in sorted(config.items())},
            declared=None if record is None else _topic(name, record),
            file=None if record is None else record["file"],
            rules={} if record is None else record.get("rules") or {},
        )


def _registered(urn: str, name: str) -> bool:
    """Return whether the program registers the topic under this URN."""
    return urn.endswith(f"::{TOPIC_PATH}::{name}")


def _topic(name: str, entry: Mapping[str, Any]) -> Topic:
    return Topic(
        name,
        int(entry["partitions"]),
        int(entry["replicationFactor"]),
        {str(key): str(value) for key, value in entry["config"].items()},
        allow=allowances(entry["allow"]),
    )
