"""Read the topics of a Terraform or OpenTofu state.

The file is ``terraform.tfstate`` (version 4) or the output of ``terraform show -json``. Attributes of resources:
https://github.com/Mongey/terraform-provider-kafka/blob/main/kafka/resource_kafka_topic.go
https://github.com/confluentinc/terraform-provider-confluent/blob/master/docs/resources/confluent_kafka_topic.md
https://github.com/aiven/terraform-provider-aiven/blob/main/docs/resources/kafka_topic.md
https://github.com/redpanda-data/terraform-provider-redpanda/blob/main/docs/resources/topic.md
https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/managed_kafka_topic
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from topicwarden.interchange.convert.source_file import SourceFile
from topicwarden.interchange.convert.take_values import take_settings
from topicwarden.interchange.convert.topic_reader import TopicReader
from topicwarden.interchange.convert.topic_values import SettingValues, TopicValues, add_topic
from topicwarden.interchange.convert.unread_fields import UnreadFields
from topicwarden.model.message_text import describe_value
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
_CONFLUENT_REPLICATION: Final = 3
"""Of every topic on Confluent Cloud: https://docs.confluent.io/cloud/current/topics/manage.html"""
_VERSION: Final = 4
_DEPOSED: Final = "replaced and about to be destroyed (deposed), so not imported"


def recognises(source: SourceFile) -> bool:
    value = source.documents[0].value if len(source.documents) == 1 else None
    return isinstance(value, dict) and ("terraform_version" in value or "format_version" in value)


def read(reader: TopicReader) -> None:
    [fields] = reader.documents()
    version, location = fields.take(("version",))
    if version is not None and version != _VERSION:
        message = (
            f"expected a state of version {_VERSION}, got {describe_value(version)}; `terraform show -json` prints one"
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
    reader = state.reader
    if not reader.topics and not reader.problems and not reader.excluded:
        counted = Counter(state.other_types)
        types = ", ".join(f"{number:,} {name}" for name, number in sorted(counted.items())) or "no resource"
        message = (
            f"expected a state with topics ({', '.join(_TYPES)}), got {types}; is it the state of another workspace?"
        )
        reader.add_problem(state.fields.peek(())[1], message, "empty")


class _State:
    """Reads the resources of a state, and collects the types of those that are not topics."""

    def __init__(self, fields: UnreadFields, reader: TopicReader) -> None:
        self.fields = fields
        self.reader = reader
        self.other_types: list[str] = []

    def resources(self, path: KeyPath) -> None:
        """Read the list of resources at ``path``, as in ``terraform.tfstate`` or ``terraform show -json``."""
        for index, resource in _items(self.fields.peek(path)[0]):
            resource_path = (*path, index)
            kind, managed = str(resource.get("type")), resource.get("mode") == "managed"
            if not managed or kind not in _TYPES:
                self.fields.take(resource_path)
                self.other_types.append(kind if managed else f"data.{kind}")
                address = resource.get("address") or f"{self.other_types[-1]}.{resource.get('name')}"
                self.reader.note(self.fields.peek(resource_path)[1], str(address), "not topics, so not imported")
                continue
            self.fields.take((*resource_path, "mode"))
            self.fields.take((*resource_path, "type"))
            if "values" in resource:
                self._topic(kind, resource_path, (*resource_path, "values"), resource)
            for number, instance in _items(resource.get("instances")):
                instance_path = (*resource_path, "instances", number)
                self._topic(kind, instance_path, (*instance_path, "attributes"), instance)

    def module(self, path: KeyPath) -> None:
        """Read a module in the output of ``terraform show -json``, and its child modules."""
        self.resources((*path, "resources"))
        for index, _ in _items(self.fields.peek((*path, "child_modules"))[0]):
            self.module((*path, "child_modules", index))

    def _topic(self, kind: str, resource_path: KeyPath, path: KeyPath, instance: dict[str, Any]) -> None:
        fields, reader, attributes = self.fields, self.reader, _TYPES[kind]
        name, location = fields.peek((*path, attributes.name))
        if instance.get("deposed") or instance.get("deposed_key"):
            fields.take(resource_path)
            reader.exclude(location, name, _DEPOSED)
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


def _items(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield index, item
