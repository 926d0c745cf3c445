"""Read Jikkou's topics, with the ``ConfigMap`` documents of the same file, its principals, users, quotas and subjects.

https://www.jikkou.io/docs/providers/kafka/resources/,
https://www.jikkou.io/docs/providers/schema-registry/resources/subject/
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from topicwarden.extensions.interchange.convert.access_values import (
    ANY_USER,
    QUOTA_KEYS,
    add_user,
    items,
    take_acls,
    take_quota,
    take_text,
)
from topicwarden.extensions.interchange.convert.kubernetes import TOPIC, KubernetesResource, declares, resources, topics
from topicwarden.extensions.interchange.convert.source_file import SourceFile, UnreadFields, shown_name, shown_value
from topicwarden.extensions.interchange.convert.subject_values import schema_beside, take_name, take_subject
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.topic_values import (
    SettingValues,
    TopicValues,
    add_topic,
    report_unknown_keys,
    take_counts,
    take_settings,
)
from topicwarden.model.access import ACLS, PermissionType
from topicwarden.model.message_text import did_you_mean, kind_of
from topicwarden.specs.yaml_nodes import KeyPath

_GROUP: Final = "kafka.jikkou.io/"
_CORE: Final = "core.jikkou.io/"
_REGISTRY: Final = "schemaregistry.jikkou.io/"
_SUBJECT: Final = "SchemaRegistrySubject"
_TOPIC_KEYS: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_SPEC: Final = ("partitions", "replicas", "configs", "configMapRefs", "replicasAssignments")
_AUTHORIZATION, _ROLE, _KAFKA_USER, _QUOTA = (
    "KafkaPrincipalAuthorization",
    "KafkaPrincipalRole",
    "KafkaUser",
    "KafkaClientQuota",
)
_ACCESS: Final = (_AUTHORIZATION, _ROLE, _KAFKA_USER, _QUOTA)
_QUOTA_TYPES: Final = {
    "USER": (("user", False),),
    "USERS_DEFAULT": (("user", True),),
    "CLIENT": (("client-id", False),),
    "CLIENTS_DEFAULT": (("client-id", True),),
    "USER_CLIENT": (("client-id", False), ("user", False)),
    "USER_ALL_CLIENTS": (("client-id", True), ("user", False)),
    "IP": (("ip", False),),
    "IPS_DEFAULT": (("ip", True),),
}
"""The parts of the entity of a quota, and whether each one is the default, by Jikkou's type (``KafkaClientQuotaType``).
"""
_ITERATIONS: Final = 8192
"""Jikkou's default (``V1KafkaUserAuthentication.DEFAULT_ITERATIONS``)."""
_DELETE, _IGNORE, _PROVIDER = "jikkou.io/delete", "jikkou.io/ignore", "jikkou.io/provider"
"""Annotations of resources (``CoreAnnotations``). Jikkou reads them with ``Boolean.parseBoolean``."""
_DELETED: Final = f"marked for deletion ({_DELETE}), so not imported"
_NORMALIZE: Final = "schemaregistry.jikkou.io/normalize-schema"
_ALWAYS_NORMALIZED: Final = "not imported, because schemas are always compared in their canonical form"


def recognises(source: SourceFile) -> bool:
    return declares(source, _REGISTRY, _SUBJECT) or any(declares(source, _GROUP, kind) for kind in (TOPIC, *_ACCESS))


def read(reader: TopicReader) -> None:
    documents = reader.documents()
    config_maps = _ConfigMaps(documents, reader)
    _access(documents, reader)
    _subjects(documents, reader)
    for resource in topics(documents, reader, _GROUP, "Jikkou", other_kinds=("ConfigMap", _SUBJECT, *_ACCESS)):
        if _is_applied(resource, reader):
            _topic(resource, config_maps, reader)
    config_maps.note_unused()


def _is_applied(resource: KubernetesResource, reader: TopicReader) -> bool:
    """Return whether Jikkou reconciles the resource; note one that Jikkou deletes or ignores."""
    annotations = resource.annotations()
    if not resource.is_on_cluster(reader, annotations.get(_PROVIDER)):
        return False
    if annotations.get(_DELETE) == "true":
        resource.exclude(reader, _DELETED)
        return False
    if annotations.get(_IGNORE) == "true" and resource.kind in (_AUTHORIZATION, _ROLE) and not reader.include_unmanaged:
        _note_limits(resource, reader)
    return resource.is_applied(reader, "Jikkou", [_IGNORE] if annotations.get(_IGNORE) == "true" else [])


def _note_limits(resource: KubernetesResource, reader: TopicReader) -> None:
    """Add the DENY ACLs of an ignored resource to the limits. Those of a role can be about every principal."""
    scratch = TopicReader(reader.source)
    principal = resource.name if resource.kind == _AUTHORIZATION else ANY_USER
    _acls(resource, [str(principal)], scratch)
    reader.limits += [acl for acl in scratch.access[ACLS] if acl.permission is PermissionType.DENY]


def _access(documents: list[UnreadFields], reader: TopicReader) -> None:
    """Read principals with their roles, users and quotas."""
    of_jikkou = [
        resource
        for resource in resources(documents)
        if resource.in_group(_GROUP) and resource.kind in _ACCESS and _is_applied(resource, reader)
    ]
    reader.auxiliary = not reader.excluded and any(each.kind in (_AUTHORIZATION, _ROLE) for each in of_jikkou)
    for resource in of_jikkou:
        if resource.kind == _AUTHORIZATION:
            _authorization(resource, reader)
        elif resource.kind == _ROLE:
            _role(resource, reader)
        elif resource.kind == _KAFKA_USER:
            _user(resource, reader)
        elif resource.kind == _QUOTA:
            _quota(resource, reader)
        for key in ("apiVersion", "kind"):
            resource.fields.take((*resource.path, key))


def _authorization(resource: KubernetesResource, reader: TopicReader) -> None:
    """Read the ACLs of a principal. Those of its roles are read with the roles, which can be in other files."""
    principal = take_text(resource.fields, (*resource.path, "metadata", "name"), reader)
    for path in items(resource.fields, (*resource.path, "spec", "roles"), reader):
        role, known = take_text(resource.fields, path, reader), reader.imported.once(_role_names)
        if role and role not in known:
            suggestion = did_you_mean(role, known) or "; import the file of the role, too: add --from with its path"
            message = f"there is no KafkaPrincipalRole {shown_name(role)}{suggestion}"
            reader.add_problem(resource.fields.document.at(path), message, "value")
    _acls(resource, [principal] if principal else [], reader)


def _role(resource: KubernetesResource, reader: TopicReader) -> None:
    """Read the ACLs of a role for each principal that has it, in any file of the import."""
    name = take_text(resource.fields, (*resource.path, "metadata", "name"), reader)
    holders = reader.imported.once(_authorizations_by_role).get(name or "", [])
    scratch = TopicReader(reader.source, include_unmanaged=reader.include_unmanaged, cluster=reader.cluster)
    principals = [str(each.name) for each in holders if isinstance(each.name, str) and _is_applied(each, scratch)]
    if principals or not name:
        _acls(resource, list(dict.fromkeys(principals)), reader)
    else:
        _, location = resource.fields.take(resource.path)
        reader.note(location, f"KafkaPrincipalRole {name}", "no principal in these files has it, so not imported")


def _role_names(sources: Sequence[SourceFile]) -> frozenset[str]:
    return frozenset(str(resource.name) for resource in _of_kind(sources, _ROLE))


def _authorizations_by_role(sources: Sequence[SourceFile]) -> dict[str, list[KubernetesResource]]:
    found: dict[str, list[KubernetesResource]] = defaultdict(list)
    for resource in _of_kind(sources, _AUTHORIZATION):
        for path in items(resource.fields, (*resource.path, "spec", "roles"), TopicReader(sources[0])):
            found[str(resource.fields.peek(path)[0])].append(resource)
    return found


def _of_kind(sources: Sequence[SourceFile], kind: str) -> Iterator[KubernetesResource]:
    for source in sources:
        for resource in resources(UnreadFields(source, document) for document in source.documents):
            if resource.in_group(_GROUP) and resource.kind == kind:
                yield resource


def _acls(resource: KubernetesResource, principals: list[str], reader: TopicReader) -> None:
    fields = resource.fields
    for path in items(fields, (*resource.path, "spec", "acls"), reader):
        resource_path = (*path, "resource")
        for principal in principals:
            take_acls(
                fields,
                reader,
                principal=principal,
                host=(*path, "host"),
                operations=items(fields, (*path, "operations"), reader),
                permission=(*path, "type"),
                kind=(*resource_path, "type"),
                name=(*resource_path, "pattern"),
                pattern=(*resource_path, "patternType"),
            )


def _user(resource: KubernetesResource, reader: TopicReader) -> None:
    fields = resource.fields
    name = take_text(fields, (*resource.path, "metadata", "name"), reader)
    for path in items(fields, (*resource.path, "spec", "authentications"), reader):
        mechanism, location = fields.take((*path, "type"))
        iterations, _ = fields.take((*path, "iterations"))
        if name is not None:
            add_user(reader, name, mechanism, _ITERATIONS if iterations is None else iterations, location)


def _quota(resource: KubernetesResource, reader: TopicReader) -> None:
    fields, spec = resource.fields, (*resource.path, "spec")
    kind, location = fields.take((*spec, "type"))
    parts = _QUOTA_TYPES.get(str(kind).upper())
    if parts is None:
        message = f"type: unknown type of quota {shown_value(kind)}; expected one of {', '.join(_QUOTA_TYPES)}"
        reader.add_problem(location, message, "value")
        return
    names = {"user": "user", "client-id": "clientId", "ip": "ip"}
    entity = [
        (part, None if is_default else take_text(fields, (*spec, "entity", names[part]), reader))
        for part, is_default in parts
    ]
    take_quota(fields, (*spec, "configs"), tuple(entity), QUOTA_KEYS, reader)


def _subjects(documents: list[UnreadFields], reader: TopicReader) -> None:
    for resource in resources(documents):
        if resource.kind != _SUBJECT:
            continue
        if not resource.in_group(_REGISTRY):
            resource.exclude(reader, f"{resource.api} is not of Jikkou, so not imported")
            continue
        if not _is_applied(resource, reader):
            continue
        fields, spec = resource.fields, (*resource.path, "spec")
        for key in ("apiVersion", "kind"):
            fields.take((*resource.path, key))
        normalize = (*resource.path, "metadata", "annotations", _NORMALIZE)
        if fields.peek(normalize)[0] is not None:
            reader.note(fields.take(normalize)[1], _NORMALIZE, _ALWAYS_NORMALIZED)
        subject = take_subject(
            fields,
            reader,
            name=take_name(fields, (*resource.path, "metadata", "name"), reader),
            schema_format=(*spec, "schemaType"),
            text=_schema_text(fields, (*spec, "schema"), reader),
            compatibility=(*spec, "compatibilityLevel"),
            references=(*spec, "references"),
        )
        reader.subjects += [subject] if subject else []


def _schema_text(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> str | None:
    """Return a schema that is written in the resource, or in the file that its ``$ref`` names."""
    value, location = fields.peek(path)
    if isinstance(value, dict) and "$ref" in value:
        reference, location = fields.take((*path, "$ref"))
        return schema_beside(reader, reference, location)
    return take_text(fields, path, reader)


def _topic(resource: KubernetesResource, config_maps: _ConfigMaps, reader: TopicReader) -> None:
    fields, spec = resource.fields, (*resource.path, "spec")
    report_unknown_keys(fields, resource.path, _TOPIC_KEYS, reader)
    report_unknown_keys(fields, spec, _SPEC, reader)
    inherited = _config_map_settings(resource, config_maps, reader)
    add_topic(
        reader,
        TopicValues(
            name_field=fields.take((*resource.path, "metadata", "name")),
            counts=take_counts(fields, spec, "partitions", "replicas", reader),
            config=_overridden(take_settings(fields, (*spec, "configs"), reader), inherited, reader),
        ),
        [*resource.comments(), *fields.take_as_comments((*spec, "replicasAssignments"), len(resource.path))],
    )


def _overridden(written: SettingValues, inherited: SettingValues, reader: TopicReader) -> SettingValues:
    """Return the settings of a topic, which ConfigMaps override (``ConfigMapsTransformation``)."""
    for name, (value, location, _) in written.items():
        if name in inherited and inherited[name][0] != value:
            reader.note(location, name, "overridden by a ConfigMap, whose value Jikkou applies")
    return {**written, **inherited}


def _config_map_settings(resource: KubernetesResource, config_maps: _ConfigMaps, reader: TopicReader) -> SettingValues:
    """Return the settings of the ConfigMaps that the topic refers to; a later ConfigMap overrides an earlier one."""
    path = (*resource.path, "spec", "configMapRefs")
    references, location = resource.fields.take(path)
    if references is not None and not isinstance(references, list):
        reader.add_problem(location, f"configMapRefs: expected a list of names, got {kind_of(references)}", "type")
    inherited: SettingValues = {}
    for index, name in enumerate(references if isinstance(references, list) else ()):
        if name in config_maps.names:
            inherited |= config_maps.settings(name)
        else:
            suggestion = did_you_mean(str(name), config_maps.names) or "; add it to this file"
            message = f"this file has no ConfigMap {shown_name(name)}{suggestion}"
            reader.add_problem(resource.fields.document.at((*path, index)), message, "value")
    return inherited


class _ConfigMaps:
    """The ConfigMaps of a file, and which of them no topic refers to."""

    def __init__(self, documents: list[UnreadFields], reader: TopicReader) -> None:
        self._reader = reader
        self._unused = [
            resource
            for resource in resources(documents)
            if resource.in_group(_CORE) and resource.kind == "ConfigMap" and _is_applied(resource, reader)
        ]
        self.names = {str(resource.name): resource for resource in self._unused}
        self._settings: dict[str, SettingValues] = {}

    def settings(self, name: str) -> SettingValues:
        """Return the settings of a ConfigMap of ``names``, and mark it as used."""
        if name not in self._settings:
            resource = self.names[name]
            self._unused.remove(resource)
            for key in (("apiVersion",), ("kind",), ("metadata", "name")):
                resource.fields.take((*resource.path, *key))
            self._settings[name] = take_settings(resource.fields, (*resource.path, "data"), self._reader)
        return self._settings[name]

    def note_unused(self) -> None:
        """Note each ConfigMap that no topic refers to."""
        for resource in self._unused:
            _, location = resource.fields.take(resource.path)
            self._reader.note(
                location, f"ConfigMap {resource.name}", "no topic in this file refers to it, so not imported"
            )
