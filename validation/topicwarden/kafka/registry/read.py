"""Read subjects, and the verdict of a registry about a schema. Only requests that change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from itertools import chain
from typing import Any, Final, TypeVar

from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.registry_error import NO_SUBJECT, RegistryError, message_text
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.subject import LiveRegistry, LiveSubject, RegisteredSchema, SchemaReference, SubjectVersion

Item = TypeVar("Item")
Answer = TypeVar("Answer")
FORMATS: Final = {"avro": "AVRO", "json": "JSON", "protobuf": "PROTOBUF"}
"""The API's ``schemaType`` of each format."""
NO_REASON: Final = ("the registry gives no reason",)
"""The reasons of a registry that only says that a schema is not compatible."""
_FORMAT_OF: Final = {schema_type: format for format, schema_type in FORMATS.items()}


def read_registry(client: RegistryClient, names: Collection[str]) -> LiveRegistry:
    """Return the subjects ``names`` and the registry's own settings. Never raises RegistryError.

    If the registry ceases to answer, the remaining subjects have the same error, and no further request is sent. A user
    with permissions on subjects only gets the subjects: the level that one inherits is read from the subject.
    """
    denied: list[str] = []

    def unless_denied(read: Callable[[], Answer]) -> Answer | None:
        try:
            return read()
        except RegistryError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            denied.append(error.reason)
            return None

    try:
        compatibility = unless_denied(lambda: _level(client, client.get("config")))
        mode = unless_denied(lambda: read_mode(client))
    except RegistryError as error:
        return LiveRegistry(error=error.reason)
    lost: list[str] = []

    def subject(name: str) -> LiveSubject:
        if lost:
            return LiveSubject(name, error=lost[0])
        try:
            live = read_subject(client, name)
            if denied and compatibility is None and live.compatibility is None:
                live = replace(live, inherited=effective_compatibility(client, name))
            return live
        except RegistryError as error:
            if error.unreachable:
                lost.append(error.reason)
            return LiveSubject(name, error=error.reason)

    subjects = each_of(client, subject, sorted({*names}))
    if denied and all(each.error for each in subjects.values()):
        return LiveRegistry(error=denied[0])
    return LiveRegistry(subjects, compatibility, mode)


def each_of(client: RegistryClient, ask: Callable[[Item], Answer], items: Iterable[Item]) -> dict[Item, Answer]:
    """Return what ``ask`` returns for each of ``items``, in their order; several requests are sent at a time."""
    if not (ordered := list(items)):
        return {}
    with ThreadPoolExecutor(client.connections, "registry") as threads:
        return dict(zip(ordered, threads.map(ask, ordered), strict=True))


def read_subject(client: RegistryClient, name: str) -> LiveSubject:
    """Return the latest version and the own compatibility level of a subject, if it has them. Raises RegistryError."""
    latest = _unless_absent(lambda: client.get("subjects", name, "versions", "latest"))
    level = _unless_absent(lambda: client.get("config", name))
    return LiveSubject(
        name,
        None if latest is None else _version(client, latest),
        None if level is None else _level(client, level),
    )


def effective_compatibility(client: RegistryClient, name: str) -> Compatibility | None:
    """Return the level that applies to a subject: its own, or else the registry's. Raises RegistryError.

    Apicurio returns NONE as the own level of a subject that has none. Only this request tells the difference, and only
    if the registry's own level is another one.
    """
    answer = _unless_absent(lambda: client.get("config", name, query={"defaultToGlobal": "true"}))
    return None if answer is None else _level(client, answer)


def read_mode(client: RegistryClient, *subject: str) -> str | None:
    """Return the mode of the registry, or the one that applies to ``subject``; None if the registry has no modes.

    Raises RegistryError.
    """
    try:
        answer = client.get("mode", *subject, query={"defaultToGlobal": "true"} if subject else None)
    except RegistryError as error:
        if error.status in (404, 405, 501):
            return None
        raise
    mode = answer.get("mode") if isinstance(answer, dict) else None
    if not isinstance(mode, str):
        raise client.unknown_form("a mode")
    return mode


def subject_names(client: RegistryClient) -> tuple[str, ...]:
    """Return the names of all subjects that are not deleted, sorted. Raises RegistryError."""
    answer = client.get("subjects")
    if not isinstance(answer, list) or not all(isinstance(name, str) for name in answer):
        raise client.unknown_form("a list of subjects")
    return tuple(sorted(answer))


def subject_state(client: RegistryClient, name: str) -> list[Any]:
    """Return the version numbers of a subject, with and without the deleted ones, and the id of its latest version.

    Version numbers grow, also if a deleted version is registered again; the id tells a subject that was deleted
    permanently and made again. Raises RegistryError.
    """
    versions = _unless_absent(lambda: client.get("subjects", name, "versions"))
    deleted = _unless_absent(lambda: client.get("subjects", name, "versions", query={"deleted": "true"}))
    latest = _unless_absent(lambda: client.get("subjects", name, "versions", "latest"))
    return [versions, deleted, latest.get("id") if isinstance(latest, dict) else None]


def registered_versions(client: RegistryClient, subject: str, most: int | None = None) -> tuple[SubjectVersion, ...]:
    """Return the versions of a subject that are not deleted, oldest first; none without a subject.

    ``most``: only the newest so many. Raises RegistryError.
    """
    numbers = _version_numbers(client, subject)
    answers = each_of(
        client,
        lambda number: _unless_absent(lambda: client.get("subjects", subject, "versions", str(number))),
        numbers[-most:] if most else numbers,
    )
    return tuple(_version(client, answer) for answer in answers.values() if answer is not None)


def _version_numbers(client: RegistryClient, subject: str) -> list[int]:
    numbers = _unless_absent(lambda: client.get("subjects", subject, "versions"))
    if numbers is None:
        return []
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise client.unknown_form("a list of versions")
    return sorted(numbers)


def find_version(client: RegistryClient, subject: str, schema: RegisteredSchema) -> SubjectVersion | None:
    """Return the version of ``subject`` that has this schema; None if there is none. Raises RegistryError.

    The registry compares canonical forms. ``normalize`` makes it ignore more, such as the order of options in Protobuf,
    but some registries find an older version only as it was registered. All references must have versions.
    """
    body = schema_body(schema)
    for query in ({}, {"normalize": "true"}):
        try:
            answer = client.post("subjects", subject, body=body, query=query, schema=schema.text)
        except RegistryError as error:
            if not error.absent:
                raise
            if error.code == NO_SUBJECT:
                break
        else:
            return _version(client, answer, schema.format)  # Apicurio leaves the type out
    return None


def refusal(
    client: RegistryClient, subject: str, schema: RegisteredSchema, level: Compatibility | None
) -> tuple[str, ...]:
    """Return the registry's reasons why ``schema`` is not compatible with the versions of ``subject``; () if it is.

    ``level`` is the one that the registry has for the subject. With one that is not transitive, the latest version is
    asked for by name: Apicurio compares with all versions otherwise, though not when it registers a schema. Raises
    RegistryError.
    """
    latest = () if level is not None and level.transitive else ("latest",)
    answer = _unless_absent(
        lambda: client.post(
            *("compatibility", "subjects", subject, "versions", *latest),
            body=schema_body(schema),
            query={"verbose": "true"},
            schema=schema.text,
        )
    )
    if answer is None:
        return ()
    compatible = answer.get("is_compatible") if isinstance(answer, dict) else None
    if not isinstance(compatible, bool):
        raise client.unknown_form("is_compatible")
    if compatible:
        return ()
    messages = answer.get("messages")
    texts = [each for each in messages if isinstance(each, str)] if isinstance(messages, list) else []
    reasons = [reason for text in texts if (reason := _reason(text))]
    return tuple(reasons) or NO_REASON


def referenced_texts(
    client: RegistryClient, schemas: Iterable[RegisteredSchema], new: Mapping[str, RegisteredSchema]
) -> list[Mapping[str, str]]:
    """Return for each of ``schemas`` the texts of all that it refers to, also indirectly, by the name in the reference.

    A reference without a version is to the schema of its subject in ``new``, which is not registered yet. Raises
    RegistryError, also for a reference to a schema that neither the registry nor ``new`` has.
    """

    @cache
    def target(subject: str, version: int | None) -> RegisteredSchema:
        if version is None:
            if subject not in new:
                raise RegistryError(HTTPStatus.NOT_FOUND, NO_SUBJECT, f"nothing is known about subject {subject}")
            return new[subject]
        return _version(client, client.get("subjects", subject, "versions", str(version))).schema

    def texts_of(schema: RegisteredSchema) -> Mapping[str, str]:
        texts: dict[str, str] = {}
        pending = list(schema.references)
        while pending:
            reference = pending.pop()
            if reference.name not in texts:
                found = target(reference.subject, reference.version)
                texts[reference.name] = found.text
                pending += found.references
        return texts

    return [texts_of(schema) for schema in schemas]


_CONTEXT_OF_REASON: Final = re.compile(r"\{(?:oldSchemaVersion|oldSchema|validateFields|compatibility): ")
_REASON: Final = re.compile(
    r"""\{errorType:\s*["']?(?P<type>[A-Z_]+)["']?,\s*description:\s*["'](?P<text>.*?)["']"""
    r"""(?:,\s*additionalInfo:\s*["'](?P<more>.*)["'])?\s*\}""",
    re.DOTALL,
)


def _reason(message: str) -> str:
    """Return a message of Confluent's ``Difference`` as a sentence; others as they are; "" if it is no reason."""
    if _CONTEXT_OF_REASON.match(message):
        return ""
    parts = _REASON.fullmatch(message.strip())
    if parts is None:
        return message_text(message, ())
    more = f" ({parts['more']})" if parts["more"] else ""
    return message_text(f"{parts['type']}: {parts['text']}{more}", ())


def schema_body(schema: RegisteredSchema) -> dict[str, Any]:
    """Return a schema as the API has it. Registries before 5.5 know neither types nor references."""
    body: dict[str, Any] = {"schema": schema.text}
    if schema.format != "avro":
        body["schemaType"] = FORMATS[schema.format]
    if schema.references:
        body["references"] = [
            {"name": each.name, "subject": each.subject, "version": each.version} for each in schema.references
        ]
    return body


def _unless_absent(request: Callable[[], Any]) -> Any:
    """Return the answer to ``request``; None if the registry answers that it has no such thing."""
    try:
        return request()
    except RegistryError as error:
        if error.absent:
            return None
        raise


def _level(client: RegistryClient, answer: Any) -> Compatibility | None:
    """Return a compatibility level, which old registries call otherwise; None if only other settings are set."""
    if not isinstance(answer, dict):
        raise client.unknown_form("a compatibility level")
    level = answer.get("compatibilityLevel", answer.get("compatibility"))
    try:
        return None if level is None else Compatibility(level)
    except ValueError:
        raise client.unknown_form("one of the seven compatibility levels") from None


def _version(client: RegistryClient, answer: Any, format_by_default: str = "avro") -> SubjectVersion:
    """Return the version in an answer. Raises RegistryError if a part is missing or of another type."""
    fields = answer if isinstance(answer, dict) else {}
    number, id, text = fields.get("version"), fields.get("id"), fields.get("schema")
    schema_type = fields.get("schemaType") or FORMATS[format_by_default]
    format = _FORMAT_OF.get(schema_type) if isinstance(schema_type, str) else None
    references = fields.get("references") or []
    if type(number) is not int or type(id) is not int or not isinstance(text, str) or not isinstance(references, list):
        raise client.unknown_form("a version with its id and schema")
    if format is None:
        raise client.unknown_form("a schema of Avro, JSON Schema or Protobuf")
    return SubjectVersion(
        number, id, RegisteredSchema(format, text, tuple(_reference(client, each) for each in references))
    )


def _reference(client: RegistryClient, answer: Any) -> SchemaReference:
    fields = answer if isinstance(answer, dict) else {}
    name, subject, version = fields.get("name"), fields.get("subject"), fields.get("version")
    if not isinstance(name, str) or not isinstance(subject, str) or type(version) is not int:
        raise client.unknown_form("references with a name, a subject and a version")
    return SchemaReference(name, subject, version)


def referrers(client: RegistryClient, subject: str) -> tuple[str, ...]:
    """Return the other subjects that are not deleted and refer to any version of this one, sorted.

    A reference keeps the version that it was written for, so it is often to an older one. Raises RegistryError.
    """

    def of_version(number: int) -> list[int]:
        ids = _unless_absent(lambda: client.get("subjects", subject, "versions", str(number), "referencedby"))
        if not isinstance(ids, list | None):
            raise client.unknown_form("a list of schema ids")
        return ids or []

    by_version = each_of(client, of_version, _version_numbers(client, subject))
    ids = sorted({*chain.from_iterable(by_version.values())})
    # An id is one of the subject's context. A registry without contexts needs no subject.
    context = {"subject": subject} if subject.startswith(":.") else None
    found: set[str] = set()
    for uses in each_of(
        client, lambda id: client.get("schemas", "ids", str(id), "versions", query=context), ids
    ).values():
        found |= {str(use["subject"]) for use in uses if isinstance(use, dict) and "subject" in use}
    return tuple(sorted(found - {subject}))
