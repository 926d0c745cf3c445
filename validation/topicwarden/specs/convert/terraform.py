"""Terraform's or OpenTofu's state of the Kafka provider: ``kafka_topic`` in ``terraform.tfstate`` (version 4), and in
what ``terraform show -json`` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from topicwarden.model.problem import Location
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.topic_reader import TopicReader, TopicValues, settings
from topicwarden.specs.convert.unread_fields import UnreadFields
from topicwarden.specs.message_text import seen
from topicwarden.specs.yaml_nodes import KeyPath

_TYPE: Final = "kafka_topic"
_VERSION: Final = 4
_DEPOSED: Final = "replaced and about to be destroyed (deposed), so not imported"


def recognises(source: SourceFile) -> bool:
    value = source.documents[0].value if len(source.documents) == 1 else None
    return isinstance(value, dict) and ("terraform_version" in value or "format_version" in value)


def read(reading: TopicReader) -> None:
    [fields] = reading.documents()
    version, place = fields.take(("version",))
    if version is not None and version != _VERSION:
        message = f"expected a state of version {_VERSION}, seen {seen(version)}; `terraform show -json` prints one"
        _refuse(fields, reading, place, f"{message} that can be read")
    elif any(fields.at((key,))[0] is not None for key in ("planned_values", "resource_changes")):
        message = "expected a state, seen a plan of Terraform; give the state: `terraform show -json`, without a plan"
        _refuse(fields, reading, fields.at(())[1], message)
    else:
        for key in ("terraform_version", "format_version"):
            fields.take((key,))
        _state(_State(fields, reading))


def _refuse(fields: UnreadFields, reading: TopicReader, place: Location, message: str) -> None:
    fields.take(())
    reading.wrong(place, message, "value")


def _state(state: _State) -> None:
    state.resources(("resources",))
    state.module(("values", "root_module"))
    reading = state.reading
    if not reading.topics and not reading.problems and not reading.left_out:
        counted = Counter(state.others)
        types = ", ".join(f"{number:,} {name}" for name, number in sorted(counted.items())) or "no resource"
        message = f"expected a state with {_TYPE} resources, seen {types}; is it the state of another workspace?"
        reading.wrong(state.fields.at(())[1], message, "empty")


class _State:
    """The resources of a state, and the types of those that are not topics."""

    def __init__(self, fields: UnreadFields, reading: TopicReader) -> None:
        self.fields = fields
        self.reading = reading
        self.others: list[str] = []

    def resources(self, path: KeyPath) -> None:
        """Read a list of resources, of ``terraform.tfstate`` or of what ``terraform show -json`` prints."""
        for index, resource in _items(self.fields.at(path)[0]):
            where = (*path, index)
            kind, managed = str(resource.get("type")), resource.get("mode") == "managed"
            if not managed or kind != _TYPE:
                self.fields.take(where)
                self.others.append(kind if managed else f"data.{kind}")
                address = resource.get("address") or f"{self.others[-1]}.{resource.get('name')}"
                self.reading.note(self.fields.at(where)[1], str(address), "not a kafka_topic resource, so not imported")
                continue
            self.fields.take((*where, "mode"))
            self.fields.take((*where, "type"))
            if "values" in resource:
                self._topic(where, (*where, "values"), resource)
            for number, instance in _items(resource.get("instances")):
                below = (*where, "instances", number)
                self._topic(below, (*below, "attributes"), instance)

    def module(self, path: KeyPath) -> None:
        """Read a module of what ``terraform show -json`` prints, and the modules below it."""
        self.resources((*path, "resources"))
        for index, _ in _items(self.fields.at((*path, "child_modules"))[0]):
            self.module((*path, "child_modules", index))

    def _topic(self, where: KeyPath, path: KeyPath, instance: dict[str, Any]) -> None:
        fields, reading = self.fields, self.reading
        name, place = fields.at((*path, "name"))
        if instance.get("deposed") or instance.get("deposed_key"):
            fields.take(where)
            reading.leave(place, name, _DEPOSED)
            return
        if instance.get("status") == "tainted" or instance.get("tainted") is True:
            reading.note(place, str(name), "imported, but tainted: Terraform would delete and recreate it")
        if fields.at((*path, "id"))[0] == name:
            fields.take((*path, "id"))
        reading.topic(
            TopicValues(
                named=fields.take((*path, "name")),
                counts={
                    "partitions": fields.take((*path, "partitions")),
                    "replication factor": fields.take((*path, "replication_factor")),
                },
                config=settings(fields, (*path, "config"), reading),
            )
        )


def _items(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield index, item
