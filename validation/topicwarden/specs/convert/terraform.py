"""Read the ``kafka_topic`` resources of a Terraform or OpenTofu state.

The file is ``terraform.tfstate`` (version 4) or the output of ``terraform show -json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from topicwarden.model.problem import Location
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.topic_reader import TopicReader, TopicValues, take_settings
from topicwarden.specs.convert.unread_fields import UnreadFields
from topicwarden.specs.message_text import describe_value
from topicwarden.specs.yaml_nodes import KeyPath

_TYPE: Final = "kafka_topic"
_VERSION: Final = 4
_DEPOSED: Final = "replaced and about to be destroyed (deposed), so not imported"


def recognises(source: SourceFile) -> bool:
    value = source.documents[0].value if len(source.documents) == 1 else None
    return isinstance(value, dict) and ("terraform_version" in value or "format_version" in value)


def read(reader: TopicReader) -> None:
    [fields] = reader.documents()
    version, place = fields.take(("version",))
    if version is not None and version != _VERSION:
        message = (
            f"expected a state of version {_VERSION}, seen {describe_value(version)}; `terraform show -json` prints one"
        )
        _refuse(fields, reader, place, f"{message} that can be read")
    elif any(fields.peek((key,))[0] is not None for key in ("planned_values", "resource_changes")):
        message = "expected a state, seen a Terraform plan; pass the state: `terraform show -json` without a plan file"
        _refuse(fields, reader, fields.peek(())[1], message)
    else:
        for key in ("terraform_version", "format_version"):
            fields.take((key,))
        _state(_State(fields, reader))


def _refuse(fields: UnreadFields, reader: TopicReader, place: Location, message: str) -> None:
    fields.take(())
    reader.add_problem(place, message, "value")


def _state(state: _State) -> None:
    state.resources(("resources",))
    state.module(("values", "root_module"))
    reader = state.reader
    if not reader.topics and not reader.problems and not reader.excluded:
        counted = Counter(state.other_types)
        types = ", ".join(f"{number:,} {name}" for name, number in sorted(counted.items())) or "no resource"
        message = f"expected a state with {_TYPE} resources, seen {types}; is it the state of another workspace?"
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
            if not managed or kind != _TYPE:
                self.fields.take(resource_path)
                self.other_types.append(kind if managed else f"data.{kind}")
                address = resource.get("address") or f"{self.other_types[-1]}.{resource.get('name')}"
                self.reader.note(
                    self.fields.peek(resource_path)[1], str(address), "not kafka_topic resources, so not imported"
                )
                continue
            self.fields.take((*resource_path, "mode"))
            self.fields.take((*resource_path, "type"))
            if "values" in resource:
                self._topic(resource_path, (*resource_path, "values"), resource)
            for number, instance in _items(resource.get("instances")):
                instance_path = (*resource_path, "instances", number)
                self._topic(instance_path, (*instance_path, "attributes"), instance)

    def module(self, path: KeyPath) -> None:
        """Read a module in the output of ``terraform show -json``, and its child modules."""
        self.resources((*path, "resources"))
        for index, _ in _items(self.fields.peek((*path, "child_modules"))[0]):
            self.module((*path, "child_modules", index))

    def _topic(self, resource_path: KeyPath, path: KeyPath, instance: dict[str, Any]) -> None:
        fields, reader = self.fields, self.reader
        name, place = fields.peek((*path, "name"))
        if instance.get("deposed") or instance.get("deposed_key"):
            fields.take(resource_path)
            reader.exclude(place, name, _DEPOSED)
            return
        if instance.get("status") == "tainted" or instance.get("tainted") is True:
            reader.note(place, str(name), "imported, but tainted: Terraform would delete and recreate it")
        if fields.peek((*path, "id"))[0] == name:
            fields.take((*path, "id"))
        reader.add_topic(
            TopicValues(
                name_field=fields.take((*path, "name")),
                counts={
                    "partitions": fields.take((*path, "partitions")),
                    "replication factor": fields.take((*path, "replication_factor")),
                },
                config=take_settings(fields, (*path, "config"), reader),
            )
        )


def _items(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield index, item
