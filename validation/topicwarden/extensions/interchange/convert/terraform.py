"""Read the topics, the access and the subjects of a Terraform or OpenTofu state.

The file is ``terraform.tfstate`` (version 4) or the output of ``terraform show -json``. Attributes of resources:
https://github.com/Mongey/terraform-provider-kafka/blob/main/kafka/resource_kafka_topic.go
https://github.com/confluentinc/terraform-provider-confluent/blob/master/docs/resources/confluent_kafka_topic.md
https://github.com/confluentinc/terraform-provider-confluent/blob/master/docs/resources/confluent_schema.md
https://github.com/confluentinc/terraform-provider-confluent/blob/master/docs/resources/confluent_subject_config.md
https://github.com/aiven/terraform-provider-aiven/blob/main/docs/resources/kafka_topic.md
https://github.com/redpanda-data/terraform-provider-redpanda/blob/main/docs/resources/topic.md
https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/managed_kafka_topic
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from topicwarden.extensions.interchange.convert.access_values import (
    QUOTA_KEYS,
    add_user,
    take_acls,
    take_quota,
    take_text,
)
from topicwarden.extensions.interchange.convert.source_file import SourceFile, UnreadFields, shown_value
from topicwarden.extensions.interchange.convert.subject_values import take_compatibility, take_name, take_subject
from topicwarden.extensions.interchange.convert.topic_reader import ConvertedSubject, TopicReader
from topicwarden.extensions.interchange.convert.topic_values import SettingValues, TopicValues, add_topic, take_settings
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.problem import Location
from topicwarden.specs.yaml_nodes import KeyPath


@dataclass(frozen=True)
class _TopicType:
    """The attributes of a resource type that is a topic.

    Confluent Cloud has no attribute for the replication factor. If ``block``
    is set, the settings are a block, and their names have underscores for dots.
    """

    name: str
    partitions: str
    replication: str | None
    config: str
    block: bool = False


_TYPES: Final = MappingProxyType(
    {
        "kafka_topic": _TopicType("name", "partitions", "replication_factor", "config"),
        "confluent_kafka_topic": _TopicType("topic_name", "partitions_count", None, "config"),
        "confluentcloud_kafka_topic": _TopicType("topic_name", "partitions_count", None, "config"),
        "aiven_kafka_topic": _TopicType("topic_name", "partitions", "replication", "config", block=True),
        "redpanda_topic": _TopicType("name", "partition_count", "replication_factor", "configuration"),
        "google_managed_kafka_topic": _TopicType("topic_id", "partition_count", "replication_factor", "configs"),
    }
)
_CONFLUENT_ACL: Final = {
    "principal": "principal",
    "host": "host",
    "operation": "operation",
    "permission": "permission",
    "pattern": "pattern_type",
}
_ACCESS_TYPES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "kafka_acl": {
            "principal": "acl_principal",
            "host": "acl_host",
            "operation": "acl_operation",
            "permission": "acl_permission_type",
            "pattern": "resource_pattern_type_filter",
        },
        "confluent_kafka_acl": _CONFLUENT_ACL,
        "confluentcloud_kafka_acl": _CONFLUENT_ACL,
        "kafka_quota": {},
        "kafka_user_scram_credential": {},
    }
)
"""The types of resources with access; those of ACLs with the attributes of their parts."""
_SCHEMA, _SUBJECT_CONFIG = "confluent_schema", "confluent_subject_config"
_SUBJECT_TYPES: Final = (_SCHEMA, _SUBJECT_CONFIG)
_REGISTRY_CONFIG: Final = "confluent_schema_registry_cluster_config"
_CLUSTER_ATTRIBUTES: Final = (("kafka_cluster", 0, "id"), ("service_name",), ("cluster_api_url",), ("cluster",))
"""Where resources name their cluster: Confluent, Aiven, Redpanda, Google. For others, the provider's alias counts."""
_CONFLUENT_REPLICATION: Final = 3
"""Of every topic on Confluent Cloud: https://docs.confluent.io/cloud/current/topics/manage.html"""
_VERSION: Final = 4
_OTHER_REGISTRY: Final = "in another Schema Registry than --from-cluster, so not imported"
_SEVERAL_REGISTRIES: Final = (
    "not imported, because this state has several Schema Registries, and a project has one; import the subjects of one "
    "in a run of their own, with its id as --from-cluster"
)
_DEPOSED: Final = "replaced and about to be destroyed (deposed), so not imported"


def recognises(source: SourceFile) -> bool:
    value = source.documents[0].value if len(source.documents) == 1 else None
    return isinstance(value, dict) and ("terraform_version" in value or "format_version" in value)


def read(reader: TopicReader) -> None:
    [fields] = reader.documents()
    version, location = fields.take(("version",))
    if version is not None and version != _VERSION:
        message = (
            f"expected a state of version {_VERSION}, got {shown_value(version)}; `terraform show -json` prints one"
        )
        _refuse(fields, reader, location, f"{message} that can be read")
    elif any(fields.peek((key,))[0] is not None for key in ("planned_values", "resource_changes")):
        message = "expected a state, got a Terraform plan; pass the state: `terraform show -json` without a plan file"
        _refuse(fields, reader, fields.peek(())[1], message)
    else:
        for key in ("terraform_version", "format_version"):
            fields.take((key,))
        _state(_State(fields, reader))


def _refuse(fields: UnreadFields, reader: TopicReader, location: Location, message: str) -> None:
    fields.take(())
    reader.add_problem(location, message, "value")


def _state(state: _State) -> None:
    state.resources(("resources",))
    state.module(("values", "root_module"))
    state.add_subjects()
    reader = state.reader
    if reader.subjects:
        return
    if not reader.topics and not reader.problems and not reader.excluded and not reader.access:
        counted = Counter(state.other_types)
        types = ", ".join(f"{number:,} {name}" for name, number in sorted(counted.items())) or "no resource"
        message = (
            f"expected a state with topics ({', '.join(_TYPES)}), got {types}; is it the state of another workspace?"
        )
        reader.add_problem(state.fields.peek(())[1], message, "empty")


class _State:
    """Reads the resources of a state, and collects its schemas, and the types of resources that are not topics."""

    def __init__(self, fields: UnreadFields, reader: TopicReader) -> None:
        self.fields = fields
        self.reader = reader
        self.other_types: list[str] = []
        self._alias: str | None = None
        self._schemas: dict[str | None, list[ConvertedSubject]] = defaultdict(list)
        self._levels: dict[str | None, dict[str, tuple[Compatibility | None, Location]]] = defaultdict(dict)

    def resources(self, path: KeyPath) -> None:
        """Read the list of resources at ``path``, as in ``terraform.tfstate`` or ``terraform show -json``."""
        for index, resource in _items(self.fields.peek(path)[0]):
            resource_path = (*path, index)
            kind, managed = str(resource.get("type")), resource.get("mode") == "managed"
            read = self._reader_of(kind) if managed else None
            if read is None:
                self._note_other(resource_path, kind, resource)
                continue
            self._alias = _provider_alias(resource)
            self.fields.take((*resource_path, "mode"))
            self.fields.take((*resource_path, "type"))
            if "values" in resource:
                read(kind, resource_path, (*resource_path, "values"), resource)
            for number, instance in _items(resource.get("instances")):
                instance_path = (*resource_path, "instances", number)
                read(kind, instance_path, (*instance_path, "attributes"), instance)

    def _reader_of(self, kind: str) -> Callable[[str, KeyPath, KeyPath, dict[str, Any]], None] | None:
        """Return the method that reads resources of the type ``kind``; None if they are not imported."""
        if kind in _ACCESS_TYPES:
            return self._access
        if kind in _SUBJECT_TYPES:
            return self._subject
        return self._topic if kind in _TYPES else None

    def _note_other(self, path: KeyPath, kind: str, resource: dict[str, Any]) -> None:
        managed = resource.get("mode") == "managed"
        _, location = self.fields.take(path)
        self.other_types.append(kind if managed else f"data.{kind}")
        address = resource.get("address") or f"{self.other_types[-1]}.{resource.get('name')}"
        reason = "not topics, so not imported"
        if managed and kind == _REGISTRY_CONFIG:
            reason = "the compatibility level of a whole registry, so not imported"
        self.reader.note(location, str(address), reason)

    def module(self, path: KeyPath) -> None:
        """Read a module in the output of ``terraform show -json``, and its child modules."""
        self.resources((*path, "resources"))
        for index, _ in _items(self.fields.peek((*path, "child_modules"))[0]):
            self.module((*path, "child_modules", index))

    def _is_on_cluster(self, resource_path: KeyPath, path: KeyPath, name: Any) -> bool:
        """Return whether a resource is on a cluster to import; if it is not, mark its fields as read, and note it."""
        values = [self.fields.peek((*path, *keys))[0] for keys in _CLUSTER_ATTRIBUTES]
        found = next((value for value in (*values, self._alias) if isinstance(value, str) and value), None)
        location = self.fields.peek(path)[1]
        if self.reader.is_on_cluster([found] if found else [], location, name):
            return True
        self.fields.take(resource_path)
        return False

    def _access(self, kind: str, resource_path: KeyPath, path: KeyPath, instance: dict[str, Any]) -> None:
        fields, reader = self.fields, self.reader
        if instance.get("deposed") or instance.get("deposed_key"):
            _, location = fields.take(resource_path)
            reader.exclude(location, kind, _DEPOSED)
        elif not self._is_on_cluster(resource_path, path, kind):
            return
        elif kind == "kafka_quota":
            name, _ = fields.take((*path, "entity_name"))
            entity = ((str(fields.take((*path, "entity_type"))[0]), name or None),)
            take_quota(fields, (*path, "config"), entity, {key: key for key in QUOTA_KEYS.values()}, reader)
        elif kind == "kafka_user_scram_credential":
            name = take_text(fields, (*path, "username"), reader)
            mechanism, location = fields.take((*path, "scram_mechanism"))
            iterations, _ = fields.take((*path, "scram_iterations"))
            if name:
                add_user(reader, name, mechanism, iterations, location)
        else:
            attributes = _ACCESS_TYPES[kind]
            take_acls(
                fields,
                reader,
                principal=take_text(fields, (*path, attributes["principal"]), reader),
                host=(*path, attributes["host"]),
                operations=[(*path, attributes["operation"])],
                permission=(*path, attributes["permission"]),
                kind=(*path, "resource_type"),
                name=(*path, "resource_name"),
                pattern=(*path, attributes["pattern"]),
            )

    def _subject(self, kind: str, resource_path: KeyPath, path: KeyPath, instance: dict[str, Any]) -> None:
        fields, reader = self.fields, self.reader
        if instance.get("deposed") or instance.get("deposed_key"):
            _, location = fields.take(resource_path)
            reader.exclude(location, kind, _DEPOSED)
            return
        fields.take((*path, "id"))
        registry = self._registry(path)
        if kind == _SUBJECT_CONFIG:
            name = take_text(fields, (*path, "subject_name"), reader)
            level = take_compatibility(fields, (*path, "compatibility_level"), reader)
            if name:
                self._levels[registry][name] = level, fields.document.at((*path, "subject_name"))
            return
        fields.take((*path, "schema_identifier"))  # the registry assigns it
        subject = take_subject(
            fields,
            reader,
            name=take_name(fields, (*path, "subject_name"), reader),
            schema_format=(*path, "format"),
            text=take_text(fields, (*path, "schema"), reader),
            references=(*path, "schema_reference"),
            reference_subject="subject_name",
            version=(*path, "version"),
        )
        if subject:
            self._schemas[registry].append(subject)

    def _registry(self, path: KeyPath) -> str | None:
        """Return the Schema Registry that a resource names, else the alias of its provider; None if it has neither."""
        block = (*path, "schema_registry_cluster")
        registry, _ = self.fields.take((*block, 0, "id")) if self.fields.peek(block)[0] else (None, None)
        return registry if isinstance(registry, str) and registry else self._alias

    def add_subjects(self) -> None:
        """Add the subjects of the only registry, or of the selected one. Call this after all resources."""
        registries = sorted({*self._schemas, *self._levels}, key=str)
        is_selected = self.reader.cluster is not None and self.reader.cluster in registries
        if is_selected:
            self.reader.clusters.append((frozenset({str(self.reader.cluster)}), self.fields.peek(())[1]))
        for registry in registries:
            if len(registries) == 1 or (is_selected and registry == self.reader.cluster):
                self._add_subjects(self._schemas[registry], self._levels[registry])
            else:
                self._leave_out(registry, is_other=is_selected)

    def _leave_out(self, registry: str | None, *, is_other: bool) -> None:
        """Leave out the subjects of one of several registries: a project has the subjects of one."""
        parts = [(f"subject {each.name}", each.location or self.fields.peek(())[1]) for each in self._schemas[registry]]
        parts += [(f"compatibility level of {name}", at) for name, (_, at) in self._levels[registry].items()]
        for part, location in parts:
            label = f"{part} ({registry or 'no registry is named'})"
            if is_other:
                self.reader.exclude(location, label, _OTHER_REGISTRY)
            else:
                self.reader.leave_out(location, label, _SEVERAL_REGISTRIES)

    def _add_subjects(
        self, schemas: Sequence[ConvertedSubject], levels: Mapping[str, tuple[Compatibility | None, Location]]
    ) -> None:
        """Add each subject of a registry with its latest schema and its compatibility level."""
        latest: dict[str, ConvertedSubject] = {}
        for subject in sorted(schemas, key=lambda each: each.version or 0):
            if (older := latest.get(subject.name)) and older.location:
                label = f"subject {older.name} version {older.version}"
                self.reader.note(older.location, label, "an older version of its subject, so not imported")
            latest[subject.name] = subject
        for name, (level, location) in levels.items():
            if name in latest:
                latest[name] = replace(latest[name], compatibility=level)
            else:
                reason = "not imported, because this state has no schema for these subjects"
                self.reader.note(location, f"compatibility level of {name}", reason)
        self.reader.subjects += latest.values()

    def _topic(self, kind: str, resource_path: KeyPath, path: KeyPath, instance: dict[str, Any]) -> None:
        fields, reader, attributes = self.fields, self.reader, _TYPES[kind]
        name, location = fields.peek((*path, attributes.name))
        if instance.get("deposed") or instance.get("deposed_key"):
            fields.take(resource_path)
            reader.exclude(location, name, _DEPOSED)
            return
        if not self._is_on_cluster(resource_path, path, name):
            return
        if instance.get("status") == "tainted" or instance.get("tainted") is True:
            reader.note(location, str(name), "imported, but tainted: Terraform would delete and recreate it")
        if str(fields.peek((*path, "id"))[0]).rpartition("/")[2] == name:
            fields.take((*path, "id"))
        replication: tuple[Any, Location] = (_CONFLUENT_REPLICATION, location)
        if attributes.replication:
            replication = fields.take((*path, attributes.replication))
        add_topic(
            reader,
            TopicValues(
                name_field=fields.take((*path, attributes.name)),
                counts={
                    "partitions": fields.take((*path, attributes.partitions)),
                    "replication factor": replication,
                },
                config=self._settings((*path, attributes.config), block=attributes.block),
            ),
        )

    def _settings(self, path: KeyPath, *, block: bool) -> SettingValues:
        if not block:
            return take_settings(self.fields, path, self.reader)
        value, _ = self.fields.take(path)
        settings: SettingValues = {}
        for index, _ in _items(value):
            for name, setting in take_settings(self.fields, (*path, index), self.reader).items():
                if setting[0] not in (None, ""):
                    # The provider writes attributes that are not set as null or as empty text.
                    settings[name.replace("_", ".")] = setting
        return settings


def _provider_alias(resource: Mapping[str, Any]) -> str | None:
    """Return the alias of the provider of a resource in ``terraform.tfstate``, or ``default``; None if it has none."""
    provider = resource.get("provider")
    return str(provider).rpartition('"]')[2].removeprefix(".") or "default" if isinstance(provider, str) else None


def _items(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield index, item
