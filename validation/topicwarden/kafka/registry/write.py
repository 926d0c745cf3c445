"""Registers schemas, sets compatibility levels, and soft-deletes subjects."""

from __future__ import annotations

import time
from typing import Final

from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import find_version, schema_body
from topicwarden.kafka.registry.registry_error import RegistryError
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.subject import RegisteredSchema, SubjectVersion

_VISIBLE_S: Final = 5.0
_PAUSE_S: Final = 0.1


def set_compatibility(client: RegistryClient, subject: str, level: Compatibility) -> None:
    """Set the compatibility level of ``subject``, which need not exist yet. Raises RegistryError."""
    client.put("config", subject, body={"compatibility": level.value})


def register(client: RegistryClient, subject: str, schema: RegisteredSchema) -> SubjectVersion:
    """Return the version of ``subject`` that has this schema; register it if there is none.

    An equal schema that is registered keeps its version and its id, also if it is not the latest. If another writer
    registers the same schema at the same time, both get one version. All references must have versions.

    Raises RegistryError, such as of status 409 if the schema is not compatible, also with a version that another writer
    has just registered.
    """
    if found := find_version(client, subject, schema):
        return found
    answer = client.post("subjects", subject, "versions", body=schema_body(schema), schema=schema.text)
    if not isinstance(answer, dict) or type(answer.get("id")) is not int:
        raise client.unknown_form("the id of the schema")
    if type(answer.get("version")) is int and answer["version"] > 0:  # only newer registries of Confluent
        return SubjectVersion(answer["version"], answer["id"], schema)
    until = time.monotonic() + _VISIBLE_S
    while (found := find_version(client, subject, schema)) is None:  # a replica of the registry may be behind
        if time.monotonic() > until:
            message = f"{client.name} registered a schema of {subject}, but does not show it; try again"
            raise RegistryError(None, None, message)
        time.sleep(_PAUSE_S)
    return found


def soft_delete(client: RegistryClient, subject: str) -> None:
    """Soft-delete ``subject``: its schemas keep their ids, and consumers can still read. None if it is not there.

    Raises RegistryError, such as of code 42206 if other schemas refer to it.
    """
    try:
        client.delete("subjects", subject)
    except RegistryError as error:
        if not error.absent:
            raise
