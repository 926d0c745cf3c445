"""Read Julie's topologies (kafka-topology-builder), with its plans and its properties if they are imported together.

https://github.com/kafka-ops/julie/blob/master/docs/the-descriptor-files.rst. The full name of a topic is built as in
``TopicImpl`` and ``ProjectImpl``: the context, all other keys of the topology in their order, the project, the topic's
name and its ``dataType``; or by ``topology.topic.prefix.format``. ``Subject.buildSubjectName`` names subjects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from topicwarden.extensions.interchange.convert.access_values import take_text
from topicwarden.extensions.interchange.convert.source_file import SourceFile, UnreadFields, shown_name, shown_value
from topicwarden.extensions.interchange.convert.subject_values import schema_beside, take_subject
from topicwarden.extensions.interchange.convert.topic_reader import ACCESS, TopicReader
from topicwarden.extensions.interchange.convert.topic_values import SettingValues, TopicValues, add_topic, take_settings
from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.topic_names import name_problem
from topicwarden.model.access import WILDCARD, Grant
from topicwarden.model.message_text import did_you_mean, kind_of, quoted
from topicwarden.model.problem import Location
from topicwarden.model.subject import SubjectUse
from topicwarden.specs.yaml_nodes import KeyPath

_NOT_IN_NAMES: Final = ("context", "projects", "platform", "special_topics")
"""Keys of a topology that are not part of names (``TopologyCustomDeserializer``)."""
_ROLES: Final = ("consumers", "producers")
_ACCESS: Final = ("streams", "connectors", "ksql", "rbac", "schemas")
_COUNTS: Final = {"partitions": "num.partitions", "replication factor": "replication.factor"}
_SPECIAL: Final = "special topics are named by other rules, so not imported; import them from the cluster"
_SCHEMA_PARTS: Final = ("value", "key")
_STRATEGIES: Final = {
    "TopicNameStrategy": "{topic}-{part}",
    "RecordNameStrategy": "{record}",
    "TopicRecordNameStrategy": "{topic}-{record}",
}
"""How subjects are named, by ``subject.name.strategy``; the first one is the default."""
_CONTROL: Final = "topology.builder.access.control.class"
_CLOUD_TRANSLATION: Final = "ccloud.service_account.translation.enabled"
"""On Confluent Cloud, by default, service accounts replace the principals (``CCloudUtils``, ``reference.conf``)."""
_TRANSLATION: Final = "topology.translation.principal.enabled"
_TRANSLATED: Final = "JulieOps replaces these principals, so not imported; use `topicwarden import --access`"
_PROPERTY: Final = re.compile(
    r"^[ \t]*(topology\.(?:topic\.prefix\.(?:format|separator)|project\.prefix\.format"
    r"|builder\.access\.control\.class|translation\.principal\.enabled)"
    r"|ccloud\.service_account\.translation\.enabled)"
    r"[ \t]*[=:][ \t]*(['\"]?)(.*?)\2[ \t]*\r?$",
    re.MULTILINE,
)
_PROPERTIES: Final = re.compile(r"^[ \t]*(?:topology|julie|ccloud|bootstrap\.servers)\b[\w.]*[ \t]*[=:]", re.MULTILINE)
_PLACEHOLDER: Final = re.compile(r"\{\{[ ]*(\w+)[ ]*\}\}")
_DEFAULT_FORMAT: Final = "default"


def recognises(source: SourceFile) -> bool:
    return _is_properties(source) or any(
        _is_topology(document.value) or _is_plans(document.value) for document in source.documents
    )


def read(reader: TopicReader) -> None:
    declares = any(_is_topology(document.value) for source in _sources(reader) for document in source.documents)
    if not declares:
        _refuse(reader)
    elif _is_properties(reader.source):
        reader.auxiliary = True
        text = reader.text()
        for match in _PROPERTY.finditer(reader.source.text):
            text.take_range(match.start(), match.end())
    else:
        _documents(reader)


def _refuse(reader: TopicReader) -> None:
    message = "this file of Julie declares no topic; import it together with the topologies: add --from for each"
    reader.auxiliary = True
    reader.add_problem(Location(reader.source.file), message, "empty")


def _documents(reader: TopicReader) -> None:
    plans, naming = _Plans(reader), _Naming.of(reader)
    for fields in reader.documents():
        value, location = fields.peek(())
        if _is_plans(value):
            reader.auxiliary = True
            plans.note_unused(fields)
        elif _is_topology(value):
            _Topology(fields, naming, plans, reader).read()
        else:
            fields.take(())
            reader.add_problem(location, "expected a topology with context and projects; remove this document", "value")


@dataclass(frozen=True)
class _Naming:
    """The format and the separator of the full names of topics, and whether JulieOps replaces principals."""

    format: str = _DEFAULT_FORMAT
    separator: str = "."
    translates_principals: bool = False

    @staticmethod
    def of(reader: TopicReader) -> _Naming:
        """Return what the properties files of the import set."""
        values = {
            match[1].removeprefix("topology.topic.prefix."): match[3]
            for source in _sources(reader)
            if _is_properties(source)
            for match in _PROPERTY.finditer(source.text)
        }
        cloud = "CCloud" in values.get(_CONTROL, "") and values.get(_CLOUD_TRANSLATION, "true").lower() != "false"
        translates = cloud or values.get(_TRANSLATION, "").lower() == "true"
        return _Naming(values.get("format", _DEFAULT_FORMAT), values.get("separator", "."), translates)

    def full_name(self, parts: dict[str, str], topic: str, data_type: str | None) -> str:
        """Return the full name of a topic; raise ValueError if the format needs what the topology does not have."""
        if self.format == _DEFAULT_FORMAT:
            return self.separator.join([*parts.values(), topic, *([data_type] if data_type else [])])
        values = {**parts, "topic": topic, **({"dataType": data_type} if data_type else {})}
        unknown = [name for name in _PLACEHOLDER.findall(self.format) if name not in values]
        if unknown or re.search(r"[{}]", _PLACEHOLDER.sub("", self.format)) or "topic" not in self._names():
            raise ValueError(
                f"topology.topic.prefix.format is {quoted(self.format)}: expected {{{{topic}}}} and other placeholders "
                f"of {', '.join(values)}" + (f", got {', '.join(unknown)}" if unknown else "")
            )
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.format)

    def _names(self) -> list[str]:
        return _PLACEHOLDER.findall(self.format)


@dataclass
class _Topology:
    """Reads one topology."""

    fields: UnreadFields
    naming: _Naming
    plans: _Plans
    reader: TopicReader

    def read(self) -> None:
        fields = self.fields
        parts: dict[str, str] = {}
        complete = True
        for key in ("context", *(key for key in fields.peek(())[0] if key not in _NOT_IN_NAMES)):
            text = self._text((key,), f"{key}: expected text, as it is a part of the topics' names")
            complete = complete and text is not None
            parts[str(key)] = text or ""
        self._note(("platform",), ACCESS)
        self._note(("special_topics",), _SPECIAL)
        projects = self._items(("projects",))
        if not complete:
            fields.take(("projects",))
            return
        for path in projects:
            self._project(path, parts)

    def _project(self, path: KeyPath, parts: dict[str, str]) -> None:
        name = self._text((*path, "name"), "expected the project's name, as it is a part of the topics' names")
        shared = [grant for key in _ROLES for grant in self._grants((*path, key))]
        for key in _ACCESS:
            self._note((*path, key), ACCESS)
        topics = self._items((*path, "topics"))
        if name is None:
            self.fields.take((*path, "topics"))
            return
        parts = {**parts, "project": name}
        for topic_path in topics:
            self._topic(topic_path, parts, shared)

    def _items(self, path: KeyPath) -> list[KeyPath]:
        """Return the paths of the items of the list at ``path``; report a value that is not a list."""
        value, location = self.fields.peek(path)
        if isinstance(value, list):
            return [(*path, index) for index in range(len(value))]
        if value is not None:
            self.fields.take(path)
            message = f"{path[-1]}: expected a list, got {kind_of(value)}"
            self.reader.add_problem(location, message, "type")
        return []

    def _grants(self, path: KeyPath) -> list[tuple[str, Grant]]:
        """Read the consumers or the producers at ``path``. A consumer without a group may use every group.

        Source: ``Consumer.groupString`` and ``Producer`` of JulieOps.
        """
        fields, reader, role = self.fields, self.reader, str(path[-1])
        found: list[tuple[str, Grant]] = []
        if fields.peek(path)[0] == []:
            fields.take(path)
        for entry in self._items(path):
            principal = take_text(fields, (*entry, "principal"), reader)
            if role == "consumers":
                name = take_text(fields, (*entry, "group"), reader, WILDCARD)
            else:
                name = take_text(fields, (*entry, "transactionId"), reader, "") or None
            if principal:
                found.append((role, Grant(principal, name=name)))
        return found

    def _topic(self, path: KeyPath, parts: dict[str, str], shared: Sequence[tuple[str, Grant]]) -> None:
        fields, reader = self.fields, self.reader
        name = self._text((*path, "name"), "expected the topic's name")
        data_type, _ = fields.take((*path, "dataType"))
        location = fields.document.at((*path, "name"))
        grants = [*shared, *(grant for key in _ROLES for grant in self._grants((*path, key)))]
        config = self.plans.settings(*fields.take((*path, "plan")))
        config |= take_settings(fields, (*path, "config"), reader)
        if name is None:
            return
        try:
            full_name = self.naming.full_name(parts, name, None if data_type is None else _scalar(data_type))
        except ValueError as error:
            reader.add_problem(location, str(error), "value")
            return
        self._schemas(path, full_name)
        if problem := name_problem(full_name):
            reader.add_problem(location, f"{problem}; the name is made of {', '.join(parts)} and topic", "topic-name")
            return
        translated = self.naming.translates_principals
        if grants and translated:
            reader.leave_out(location, f"access to {full_name}", _TRANSLATED)
        for role, grant in () if translated else grants:
            acls = (roles.consume if role == "consumers" else roles.produce)(full_name, grant)
            reader.add_acls(acls, location)
        counts = {part: _count(config.pop(key, None), location) for part, key in _COUNTS.items()}
        comments = [f"{key}: {text}" for key, text in parts.items()]
        comments += fields.take_as_comments((*path, "metadata"), len(path))
        add_topic(reader, TopicValues((full_name, location), counts, config, default="Julie's default"), comments)

    def _schemas(self, path: KeyPath, topic: str) -> None:
        """Read the schemas of a topic: one mapping or a list of them, each with the files of a key and a value."""
        fields, reader = self.fields, self.reader
        written, location = fields.take((*path, "subject.name.strategy"))
        pattern, schemas = _STRATEGIES.get(str(written or next(iter(_STRATEGIES)))), (*path, "schemas")
        if pattern is None:
            fields.take(schemas)
            hint = did_you_mean(str(written), _STRATEGIES) or f"; expected one of {', '.join(_STRATEGIES)}"
            message = f"subject.name.strategy: unknown strategy {shown_name(written)}{hint}"
            reader.add_problem(location, message, "value")
            return
        entries = [schemas] if isinstance(fields.peek(schemas)[0], dict) else self._items(schemas)
        for entry in entries:
            for part in _SCHEMA_PARTS:
                self._schema(entry, part, topic, pattern)

    def _schema(self, entry: KeyPath, part: str, topic: str, pattern: str) -> None:
        fields, reader = self.fields, self.reader
        file, location = fields.take((*entry, f"{part}.schema.file"))
        record, record_location = fields.take((*entry, f"{part}.record.type"))
        if file is None:
            return
        if record is None and "{record}" in pattern:
            fields.take(entry)
            message = f"expected {part}.record.type, which names the subject, got nothing"
            reader.add_problem(location, message, "missing")
            return
        subject = take_subject(
            fields,
            reader,
            name=(pattern.format(topic=topic, part=part, record=record), record_location if record else location),
            schema_format=(*entry, f"{part}.format"),
            text=schema_beside(reader, file, location),
            compatibility=(*entry, f"{part}.compatibility"),
            use=SubjectUse(topic, part),
        )
        reader.subjects += [subject] if subject else []

    def _text(self, path: KeyPath, message: str) -> str | None:
        """Return the text of the value at ``path``; report a value that is missing or not a scalar."""
        value, location = self.fields.take(path)
        text = _scalar(value)
        if not text:
            self.reader.add_problem(location, f"{message}, got {shown_value(value)}", "missing")
        return text or None

    def _note(self, path: KeyPath, reason: str) -> None:
        if self.fields.peek(path)[0] not in (None, [], {}):
            part = "".join("[]" if isinstance(one, int) else f".{one}" for one in path[-3:]).removeprefix(".")
            self.reader.leave_out(self.fields.document.at_key(path), part.removeprefix("[]."), reason)
        if self.fields.peek(path)[0] is not None:
            self.fields.take(path)


@dataclass
class _Plans:
    """The plans of all files of the import. A plan has the settings that a topic does not have.

    Source: ``TopicCustomDeserializer`` (``planConfigObject.forEach(config::putIfAbsent)``).
    """

    reader: TopicReader
    _plans: dict[str, tuple[UnreadFields, KeyPath]] = field(init=False)

    def __post_init__(self) -> None:
        self._plans = {
            str(name): (UnreadFields(source, document), ("plans", name, "config"))
            for source in _sources(self.reader)
            for document in source.documents
            if _is_plans(document.value)
            for name in document.value["plans"]
        }

    def settings(self, label: Any, location: Location) -> SettingValues:
        """Return the settings of the plan, or report that there is no such plan."""
        if label is None:
            return {}
        if str(label) in self._plans:
            fields, path = self._plans[str(label)]
            return take_settings(fields, path, self.reader)
        suggestion = (
            did_you_mean(str(label), self._plans) or "; import the file of plans, too: add --from with its path"
        )
        self.reader.add_problem(location, f"there is no plan {shown_name(label)}{suggestion}", "value")
        return {}

    def note_unused(self, fields: UnreadFields) -> None:
        """Mark the plans of a document as read; note each one that no topology uses."""
        used = {
            str(topic.get("plan"))
            for source in _sources(self.reader)
            for document in source.documents
            for topic in _topics(document.value)
        }
        for name in fields.peek(("plans",))[0]:
            for key in ("alias", "config"):
                fields.take(("plans", name, key))
            if str(name) not in used:
                location = fields.document.at_key(("plans", name))
                self.reader.note(location, f"plan {name}", "no topic uses it, so not imported")


def _topics(value: Any) -> Iterator[dict[str, Any]]:
    projects = value.get("projects") if isinstance(value, dict) else None
    for project in projects if isinstance(projects, list) else ():
        topics = project.get("topics") if isinstance(project, dict) else None
        yield from (topic for topic in (topics if isinstance(topics, list) else ()) if isinstance(topic, dict))


def _count(setting: tuple[Any, Location, Location] | None, location: Location) -> tuple[Any, Location]:
    return (setting[0], setting[2]) if setting else (None, location)


def _scalar(value: Any) -> str:
    """Return a scalar as Jackson's ``asText``; other values have no text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, (dict, list)) else str(value)


def _sources(reader: TopicReader) -> tuple[SourceFile, ...]:
    return reader.source, *reader.others


def _is_properties(source: SourceFile) -> bool:
    return source.file.lower().endswith((".properties", ".conf")) and bool(_PROPERTIES.search(source.text))


def _is_topology(value: Any) -> bool:
    return isinstance(value, dict) and (
        isinstance(value.get("projects"), list) or {"context", "special_topics"} <= value.keys()
    )


def _is_plans(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("plans"), dict)
        and all(isinstance(plan, dict) and "config" in plan for plan in value["plans"].values())
    )
