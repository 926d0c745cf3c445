"""Read Strimzi's ``KafkaTopic`` and ``KafkaUser``, from a manifest or from the output of ``kubectl get -o yaml``.

The principal of a user with TLS is ``User:CN=<name>``, of all others ``User:<name>`` (``KafkaUserModel``).
https://strimzi.io/docs/operators/latest/configuring.html#type-KafkaUserSpec-reference
"""

from __future__ import annotations

from typing import Final

from topicwarden.extensions.interchange.convert.access_values import (
    QUOTA_KEYS,
    add_user,
    items,
    take_acls,
    take_quota,
    take_text,
)
from topicwarden.extensions.interchange.convert.kubernetes import KubernetesResource, declares, resources, topics
from topicwarden.extensions.interchange.convert.source_file import SourceFile, shown_name
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.topic_values import (
    TopicValues,
    add_topic,
    report_unknown_keys,
    take_counts,
    take_settings,
)

_GROUP: Final = "kafka.strimzi.io/"
_USER: Final = "KafkaUser"
_SCRAM: Final = "scram-sha-512"
_SPEC: Final = ("partitions", "replicas", "config", "topicName")
_CLUSTER: Final = "strimzi.io/cluster"
_ITERATIONS: Final = 4096
"""Of every credential of the User Operator (``ScramCredentialsOperator``)."""
_UNMANAGED: Final = ("strimzi.io/managed", "false")
_PAUSED: Final = ("strimzi.io/pause-reconciliation", "true")


def recognises(source: SourceFile) -> bool:
    return declares(source, _GROUP) or declares(source, _GROUP, _USER)


def read(reader: TopicReader) -> None:
    documents = reader.documents()
    for resource in resources(documents):
        if resource.in_group(_GROUP) and resource.kind == _USER and _is_applied(resource, reader):
            _user(resource, reader)
    for resource in topics(documents, reader, _GROUP, "Strimzi", other_kinds=(_USER,)):
        if not _is_applied(resource, reader):
            continue
        fields, spec = resource.fields, (*resource.path, "spec")
        report_unknown_keys(fields, spec, _SPEC, reader)
        name, location, comments = resource.take_topic_name("topicName")
        add_topic(
            reader,
            TopicValues(
                name_field=(name, location),
                counts=take_counts(fields, spec, "partitions", "replicas", reader),
                config=take_settings(fields, (*spec, "config"), reader),
            ),
            comments,
        )


def _user(resource: KubernetesResource, reader: TopicReader) -> None:
    """Read the ACLs, the SCRAM credential and the quotas of a user. The operator generates the password itself."""
    fields, spec = resource.fields, (*resource.path, "spec")
    for key in ("apiVersion", "kind"):
        fields.take((*resource.path, key))
    name = take_text(fields, (*resource.path, "metadata", "name"), reader)
    mechanism, location = fields.take((*spec, "authentication", "type"))
    if name is None:
        return
    user = f"CN={name}" if mechanism in ("tls", "tls-external") else name
    if mechanism == _SCRAM:
        add_user(reader, name, mechanism, _ITERATIONS, location)
    authorization, location = fields.take((*spec, "authorization", "type"))
    if authorization not in (None, "simple"):
        reason = "access that another type of authorization than simple grants, so not imported"
        reader.leave_out(location, f"{name} ({shown_name(authorization)})", reason)
    for path in items(fields, (*spec, "authorization", "acls"), reader) if authorization == "simple" else ():
        resource_path = (*path, "resource")
        operations = [(*path, "operation")] if fields.peek((*path, "operation"))[0] is not None else []
        take_acls(
            fields,
            reader,
            principal=f"User:{user}",
            host=(*path, "host"),
            operations=[*operations, *items(fields, (*path, "operations"), reader)],
            permission=(*path, "type"),
            kind=(*resource_path, "type"),
            name=(*resource_path, "name"),
            pattern=(*resource_path, "patternType"),
        )
    take_quota(fields, (*spec, "quotas"), (("user", user),), QUOTA_KEYS, reader)


def _is_applied(resource: KubernetesResource, reader: TopicReader) -> bool:
    """Return whether an operator of the imported cluster applies the resource; note one that is not applied."""
    if not resource.is_on_cluster(reader, resource.fields.peek((*resource.path, "metadata", "labels", _CLUSTER))[0]):
        return False
    annotations = resource.annotations()
    marks = [f"{name}: {value}" for name, value in (_UNMANAGED, _PAUSED) if annotations.get(name) == value]
    return resource.is_applied(reader, "Strimzi", marks, "topicName")
