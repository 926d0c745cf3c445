"""Return the declared topics of a stack with their access: one topic with the origin of each value, or all topics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from typing import Any, Final

from topicwarden.kafka_facts.access.operations import implied_operations
from topicwarden.kafka_facts.broker_settings import KAFKAS_DEFAULT, BrokerSettings
from topicwarden.kafka_facts.configs import definitions, kafka_version
from topicwarden.model.access import PermissionType, Resource, ResourceType
from topicwarden.model.message_text import counted, did_you_mean
from topicwarden.model.problem import Level, Location, Refusal
from topicwarden.model.project import Project
from topicwarden.model.shown_topic import AclOrigin, ListedTopic, ListedTopics, ShownAcl, ShownTopic, ShownValue
from topicwarden.specs.access_files import load_access, resolve_access
from topicwarden.specs.declared_subjects import registered_subjects
from topicwarden.specs.load import LoadedDocuments, load
from topicwarden.specs.resolve import Declaration, ResolvedStack, resolve
from topicwarden.specs.schema_files import ProjectSchemas
from topicwarden.specs.stacks.stack_file import read_stack_file

LISTED: Final = ("min.insync.replicas", "cleanup.policy", "retention.ms")
"""The settings of a list of topics."""
_FIRST_SETTINGS: Final = ("topic", "description", "owner", "partitions", "replication_factor", "allow")
_REGISTRY_SUBJECTS: Final = tuple(("contents", part, "registry", "subject") for part in ("key", "value"))


@dataclass(frozen=True)
class _Stack:
    name: str
    resolved: ResolvedStack
    access: LoadedDocuments
    brokers: BrokerSettings

    @property
    def errors(self) -> int:
        problems = (*self.resolved.problems, *self.access.problems)
        return sum(problem.level is Level.ERROR for problem in problems)


def hidden_by(errors: int) -> str:
    """Return the end of a message on what ``errors`` in the YAML may hide; empty without errors."""
    return f"; {counted(errors, 'error')} may hide topics and access: see `topicwarden check`" if errors else ""


def show_topic(project: Project, stack: str, name: str) -> ShownTopic:
    """Return the topic ``name`` as ``stack`` declares it. Raises Refusal if it is not declared."""
    loaded = _load(project, stack)
    by_name = {declaration.topic.name: declaration for declaration in loaded.resolved.declarations}
    if name not in by_name:
        suggestion = did_you_mean(name, by_name)
        raise Refusal(f"no topic {name!r} is declared for stack {stack}{suggestion}{hidden_by(loaded.errors)}")
    return ShownTopic(
        stack=stack,
        kafka=kafka_version(loaded.brokers.kafka),
        values=(*_declared(by_name[name], ProjectSchemas(project.root)), *_defaults(by_name[name], loaded.brokers)),
        access=tuple(_access(name, loaded)),
        name=name,
        errors=loaded.errors,
    )


def show_topics(project: Project, stack: str) -> ListedTopics:
    """Return all topics of ``stack`` with their main settings."""
    loaded = _load(project, stack)
    topics = (
        ListedTopic(
            topic=each.topic.name,
            partitions=each.topic.partitions,
            replication_factor=each.topic.replication_factor,
            config=dict(each.topic.config),
            owner=each.topic.owner,
            file=each.locations.own.file,
            defaults={setting: loaded.brokers.default(setting) for setting in LISTED},
        )
        for each in sorted(loaded.resolved.declarations, key=lambda each: each.topic.name)
    )
    kafka = kafka_version(loaded.brokers.kafka)
    return ListedTopics(stack=stack, kafka=kafka, topics=tuple(topics), errors=loaded.errors)


def _load(project: Project, stack: str) -> _Stack:
    resolved = resolve(load(project.topics, project.root, project.stack_names()), stack)
    access = load_access(project.access, project.root, project.stack_names())
    return _Stack(stack, resolved, access, read_stack_file(project, stack).brokers)


def _declared(declaration: Declaration, schemas: ProjectSchemas) -> list[ShownValue]:
    """Return the declared settings of a topic, and the names of the subjects that it registers, but not its ACLs."""
    topic, locations = declaration.topic, declaration.locations
    subjects = registered_subjects(declaration, schemas)
    values: dict[tuple[str, ...], tuple[Any, Location]] = {("topic",): (topic.name, locations.own.at(("topic",)))}
    for path, value in locations.settings.items():
        if path[0] != "access" and path not in _REGISTRY_SUBJECTS and value != {}:
            values[tuple(map(str, path))] = (value, locations.at(path))
    for path in _REGISTRY_SUBJECTS:
        if path[1] in subjects:
            values[path] = (subjects[path[1]], locations.at(path))
    for index, grant in enumerate(topic.access.consume):
        if grant.max_lag is not None:
            group = f"{grant.name}{'*' if grant.prefix else ''}"
            location = locations.at_item(("access", "consume"), index)
            values["access", "consume", group, "max_lag"] = (grant.max_lag, location)
    first = {name: number for number, name in enumerate(_FIRST_SETTINGS)}
    ordered = sorted(values.items(), key=lambda item: (first.get(item[0][0], len(first)), item[0]))
    return [
        ShownValue(path=path, value=value, source=str(location), location=location)
        for path, (value, location) in ordered
    ]


def _defaults(declaration: Declaration, brokers: BrokerSettings) -> Iterator[ShownValue]:
    for name, each in sorted(definitions(brokers.kafka).items()):
        default, source = brokers.default(name), brokers.default_source(name)
        if name not in declaration.topic.config and default is not None:
            yield ShownValue(
                path=("config", name),
                value=default,
                source=source,
                location=None,
                broker_setting=each.server_default if source == KAFKAS_DEFAULT else None,
            )


def _access(topic: str, loaded: _Stack) -> list[ShownAcl]:
    """Return the ACLs that are about the topic, and those on groups and transactional ids that its YAML declares."""
    resource = Resource(ResourceType.TOPIC, topic)
    declared = resolve_access(loaded.access, loaded.resolved.declarations, loaded.name).access
    shown = []
    for acl, sources in sorted(
        declared.acls.items(), key=lambda item: (item[0].resource_type is not ResourceType.TOPIC, astuple(item[0]))
    ):
        origins = sources if acl.matches(resource) else tuple(each for each in sources if each.topic == topic)
        if origins:
            allows = acl.permission is PermissionType.ALLOW
            implied = implied_operations(acl.operation, acl.resource_type) if allows else ()
            values = {name: str(value) for name, value in asdict(acl).items()}
            origin = [AclOrigin(description=each.description, location=each.location) for each in origins]
            shown.append(ShownAcl.model_validate({**values, "implied": implied, "sources": origin, "text": str(acl)}))
    return shown
