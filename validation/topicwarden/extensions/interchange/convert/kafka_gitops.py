"""Read kafka-gitops' desired state: ``state.yaml``, and the files that its ``settings.files`` names.

https://github.com/devshawn/kafka-gitops/blob/main/docs/specification.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final, TypeAlias

from topicwarden.extensions.interchange.convert.access_values import items, take_acls, take_text
from topicwarden.extensions.interchange.convert.source_file import SourceFile, UnreadFields, value_at
from topicwarden.extensions.interchange.convert.topic_reader import ACCESS, TopicReader
from topicwarden.extensions.interchange.convert.topic_values import (
    TopicValues,
    add_topic,
    report_unknown_keys,
    take_counts,
    take_settings,
)
from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.access.roles import StreamsApplication
from topicwarden.model.access import Grant
from topicwarden.model.message_text import kind_of, quoted
from topicwarden.model.problem import Location
from topicwarden.specs.stacks.stack_settings import SCOPE
from topicwarden.specs.yaml_nodes import KeyPath

_ACCESS: Final = ("services", "users", "customServiceAcls", "customUserAcls")
_KEYS: Final = frozenset({"settings", "topics", *_ACCESS})
_SERVICE_TYPES: Final = ("application", "kafka-connect", "kafka-streams")
_TOPIC: Final = ("partitions", "replication", "configs")
_DEFAULT: Final = ("settings", "topics", "defaults", "replication")
_FILES: Final = ("settings", "files")
_IGNORED: Final = ("settings", "topics", "blacklist")
_SERVICE_ACCOUNTS: Final = (
    "kafka-gitops replaces these principals by service accounts of Confluent Cloud (settings.ccloud), so not imported"
)
_IGNORED_REASON: Final = f"kafka-gitops ignores topics with these prefixes; exclude them with {SCOPE}"


def recognises(source: SourceFile) -> bool:
    return any(_is_state(document.value) for document in source.documents)


def read(reader: TopicReader) -> None:
    default = _default_replication(reader)
    for fields in reader.documents():
        fields.take(_DEFAULT)
        if reader.imported.once(_use_service_accounts):
            _leave_access_out(fields, reader)
        else:
            _read_access(fields, reader)
        _note_access(fields, reader)
        if fields.peek(_IGNORED)[0] is not None:
            reader.note(fields.document.at_key(_IGNORED), ".".join(_IGNORED), _IGNORED_REASON)
            fields.take(_IGNORED)
        _check_files(fields, reader)
        topics, location = fields.peek(("topics",))
        if isinstance(topics, dict):
            for name in topics:
                _topic(fields, name, default, reader)
        elif topics is not None:
            fields.take(("topics",))
            reader.add_problem(location, f"topics: expected topics by name, got {kind_of(topics)}", "type")
        reader.auxiliary = reader.auxiliary or not topics


def _topic(fields: UnreadFields, name: Any, default: tuple[Any, Location] | None, reader: TopicReader) -> None:
    path = ("topics", name)
    details, location = fields.peek(path)
    if not details or not isinstance(details, dict):
        fields.take(path)
        message = f"{name}: expected a mapping with {', '.join(_TOPIC)}, got {kind_of(details)}"
        reader.add_problem(location, message, "type")
        return
    report_unknown_keys(fields, path, _TOPIC, reader)
    counts = take_counts(fields, path, "partitions", "replication", reader)
    if default and counts["replication factor"][0] is None:
        counts["replication factor"] = default
    add_topic(
        reader,
        TopicValues(
            name_field=(str(name), fields.document.at_key(path)),
            counts=counts,
            config=take_settings(fields, (*path, "configs"), reader),
        ),
    )


def _default_replication(reader: TopicReader) -> tuple[Any, Location] | None:
    """Return the default of the file that names the others, else that of this file; None if there is none.

    kafka-gitops reads the settings of the main file only (``ParserService``).
    """
    main, every = reader.imported.once(_defaults)
    defaults = main or every
    return defaults.get(id(reader.source)) or next(iter(defaults.values()), None)


_Defaults: TypeAlias = dict[int, tuple[Any, Location]]
"""The default replication of each file that has one, by the identity of the file."""


def _defaults(sources: tuple[SourceFile, ...]) -> tuple[_Defaults, _Defaults]:
    """Return the defaults of the files that name others, and those of all files."""
    main, every = _Defaults(), _Defaults()
    for source in filter(recognises, sources):
        found = (UnreadFields(source, document).peek(_DEFAULT) for document in source.documents)
        default = next((each for each in found if each[0] is not None), None)
        if default is not None:
            every[id(source)] = default
            if _names_files(source):
                main[id(source)] = default
    return main, every


def _names_files(source: SourceFile) -> bool:
    return any(isinstance(value_at(document, _FILES)[0], dict) for document in source.documents)


def _use_service_accounts(sources: tuple[SourceFile, ...]) -> bool:
    """Return whether kafka-gitops replaces principals by service accounts of Confluent Cloud (``StateManager``)."""
    documents = (document for source in sources for document in source.documents)
    return any(value_at(document, ("settings", "ccloud", "enabled"))[0] is True for document in documents)


def _file_names(sources: tuple[SourceFile, ...]) -> frozenset[str]:
    return frozenset(PurePosixPath(source.file).name for source in sources)


def _check_files(fields: UnreadFields, reader: TopicReader) -> None:
    """Mark the files that ``settings.files`` names as read, and report the file of the topics if it is not passed."""
    files, _ = fields.peek(_FILES)
    passed = reader.imported.once(_file_names)
    for kind, name in files.items() if isinstance(files, dict) else ():
        path = (*_FILES, kind)
        if isinstance(name, str) and PurePosixPath(name).name in passed:
            fields.take(path)
        elif kind == "topics":
            fields.take(path)
            message = f"the topics are in {quoted(str(name))}; import this file, too: add --from with its path"
            reader.add_problem(fields.document.at(path), message, "missing")


def _leave_access_out(fields: UnreadFields, reader: TopicReader) -> None:
    for path in _access(fields):
        _, location = fields.take(path)
        reader.leave_out(location, ".".join(map(str, path)), _SERVICE_ACCOUNTS)


def _read_access(fields: UnreadFields, reader: TopicReader) -> None:
    """Read applications, streams applications and custom ACLs; note all other access (``ApplicationService``)."""
    for name in _names(fields, "services"):
        _service(fields, name, reader)
    for key, owners in (("customServiceAcls", "services"), ("customUserAcls", "users")):
        for name in _names(fields, key):
            owner, _ = fields.peek((owners, name, "principal"))
            for acl in _names(fields, key, name):
                if isinstance(written := fields.peek((key, name, acl))[0], dict) and "operation" in written:
                    _custom_acl(fields, (key, name, acl), owner, reader)


def _service(fields: UnreadFields, name: Any, reader: TopicReader) -> None:
    path = ("services", name)
    kind, principal = fields.peek((*path, "type"))[0], fields.peek((*path, "principal"))[0]
    if kind not in ("application", "kafka-streams") or not isinstance(principal, str):
        return
    for key in ("type", "principal"):
        fields.take((*path, key))
    identity = "group-id" if kind == "application" else "application-id"
    name_of_group = take_text(fields, (*path, identity), reader, str(name))
    for topic_path in items(fields, (*path, "produces"), reader):
        if topic := take_text(fields, topic_path, reader):
            reader.add_acls(roles.produce(topic, Grant(principal)), fields.peek(topic_path)[1])
    group = name_of_group if kind == "application" else None
    for topic_path in items(fields, (*path, "consumes"), reader):
        if topic := take_text(fields, topic_path, reader):
            reader.add_acls(roles.consume(topic, Grant(principal, name=group)), fields.peek(topic_path)[1])
    if kind == "kafka-streams" and name_of_group:
        streams = roles.streams(StreamsApplication(principal, name_of_group))
        reader.add_acls(streams, fields.document.at_key(path))


def _custom_acl(fields: UnreadFields, path: KeyPath, owner: Any, reader: TopicReader) -> None:
    principal, _ = fields.peek((*path, "principal"))
    if principal is None and not isinstance(owner, str):
        return  # Confluent Cloud's service accounts have no principal in the file
    fields.take((*path, "principal"))
    take_acls(
        fields,
        reader,
        principal=str(principal or owner),
        host=(*path, "host"),
        operations=[(*path, "operation")],
        permission=(*path, "permission"),
        kind=(*path, "type"),
        name=(*path, "name"),
        pattern=(*path, "pattern"),
    )


def _names(fields: UnreadFields, *path: Any) -> list[Any]:
    value, _ = fields.peek(path)
    return list(value) if isinstance(value, dict) else []


def _note_access(fields: UnreadFields, reader: TopicReader) -> None:
    """Note the access that was not read."""
    for path in _access(fields):
        if fields.touched(path):
            continue
        reader.leave_out(fields.document.at_key(path), ".".join(map(str, path)), ACCESS)
        fields.take(path)


def _access(fields: UnreadFields) -> Iterator[tuple[Any, ...]]:
    for key in _ACCESS:
        value, _ = fields.peek((key,))
        if isinstance(value, dict):
            yield from ((key, name) for name in value)
        elif value is not None:
            yield (key,)


def _is_state(value: Any) -> bool:
    """Return whether the document is a desired state. Compose files have ``services``, too."""
    if not isinstance(value, dict) or not value or "apiVersion" in value:
        return False
    if any(set(_TOPIC) & topic.keys() for topic in _mappings(value.get("topics"))):
        return True
    if any(service.get("type") in _SERVICE_TYPES for service in _mappings(value.get("services"))):
        return True
    return value.keys() <= _KEYS and value.keys() != {"services"}


def _mappings(value: Any) -> list[dict[Any, Any]]:
    return [one for one in value.values() if isinstance(one, dict)] if isinstance(value, dict) else []
