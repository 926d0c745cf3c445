"""``kafka:index/subject:Subject``: a subject of the stack's Schema Registry; a type of our own.

Nothing is ever deleted permanently, and no version is changed. A deletion is a soft deletion, and happens only if the
YAML allowed it at the last deploy; otherwise the subject stays in the registry.

A resource has the name of its subject, so that moving a declaration to another file changes nothing. A state has the
text of each schema, which is no secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import find_version, read_subject, referrers
from topicwarden.kafka.registry.registry_error import REFERENCED, RegistryError
from topicwarden.kafka.registry.same_schema import same
from topicwarden.kafka.registry.write import register, set_compatibility, soft_delete
from topicwarden.kinds.access_resource import (
    EDITED,
    AccessResource,
    allowances,
    is_kept,
    mapping,
    recorded_allowances,
    require_id,
)
from topicwarden.kinds.announced_writes import Announce, Intent
from topicwarden.kinds.properties import UNKNOWN, Properties, has_unknown, is_secret
from topicwarden.kinds.resource_type import Kind, PropertyType, PulumiType, one_of
from topicwarden.model.access import Part, UndeclaredResource
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.deployed_stack import ResourceUrn
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.problem import Location, Refusal
from topicwarden.model.subject import (
    DeclaredSubject,
    DeclaredSubjects,
    DeployedSubject,
    RegisteredSchema,
    SchemaReference,
    SubjectVersion,
)
from topicwarden.model.timestamps import today
from topicwarden.model.topic import AllowedChange, allowed_on
from topicwarden.specs.stacks.registry_settings import RegistrySettings

SUBJECT_SET_TYPE: Final = "topicwarden:index:SubjectSet"
SUBJECT_TYPE: Final = "kafka:index/subject:Subject"
PREPARE_SUBJECTS: Final = "kafka:index:prepareSubjects"
"""The function of the provider that takes the subjects that no deploy may write now."""
Result = TypeVar("Result")
_COMPUTED: Final = ("version", "schemaId")
"""Outputs that the registry decides."""


def subject_properties(
    subject: DeclaredSubject, schema: RegisteredSchema, deployed: DeployedSubject | None, *, reverted: bool = False
) -> dict[str, Any]:
    """Return the properties of the resource of ``subject``, whose ``schema`` has the versions of its references.

    An equal schema keeps the text that the state has, so that its spelling changes nothing. ``reverted``: the deploy
    writes although the declaration is the one that was deployed, so a property must change for the engine to notice.
    """
    text = deployed.schema.text if deployed and same(deployed.schema, schema) else schema.text
    allow = [each for each in subject.allow if each.change is AllowedChange.DELETE_SUBJECT]
    properties = {
        "subject": subject.name,
        "format": schema.format,
        "schema": text,
        "references": [reference_properties(each) for each in schema.references],
        "compatibility": subject.compatibility.value if subject.compatibility else None,
        "allow": recorded_allowances(allow),
        "revision": float((deployed.revision if deployed else 0) + reverted),
    }
    return {key: value for key, value in properties.items() if value not in (None, [], 0.0)}


def reference_properties(reference: SchemaReference) -> dict[str, Any]:
    """Return ``reference`` as a property; without its version if that is not known."""
    version = {} if reference.version is None else {"version": float(reference.version)}
    return {"name": reference.name, "subject": reference.subject, **version}


def schema_of(properties: Properties) -> RegisteredSchema:
    """Return the schema of a resource with ``properties``."""
    references = tuple(
        SchemaReference(str(each["name"]), str(each["subject"]), int(each["version"]) if "version" in each else None)
        for each in properties.get("references") or ()
    )
    return RegisteredSchema(str(properties["format"]), str(properties["schema"]), references)


def compatibility_of(properties: Properties) -> Compatibility | None:
    """Return the level that a resource with ``properties`` sets; None if it leaves the level as it is."""
    level = properties.get("compatibility")
    return None if level is None else Compatibility(level)


def subject_of(properties: Properties) -> DeployedSubject:
    """Return the subject of a resource with ``properties``."""
    return DeployedSubject(
        str(properties["subject"]),
        schema_of(properties),
        compatibility_of(properties),
        _number(properties.get("version")),
        _number(properties.get("schemaId")),
        allowances(properties.get("allow") or ()),
        _number(properties.get("revision")) or 0,
    )


def deployed_subjects(
    resources: Iterable[Mapping[str, Any]],
) -> tuple[dict[str, DeployedSubject], tuple[UndeclaredResource, ...]]:
    """Return the subjects in ``resources``, which have the format of `pulumi stack export`, and those that were edited.

    Resources that another program, or `pulumi import`, has registered under a URN of their own are left out.
    """
    found, edited = {}, []
    for resource in resources:
        if resource["type"] == SUBJECT_TYPE and RESOURCE.registered(str(resource["urn"])):
            urn, inputs, outputs = (
                str(resource["urn"]),
                mapping(resource.get("inputs")),
                mapping(resource.get("outputs")),
            )
            computed = {key: outputs[key] for key in _COMPUTED if key in outputs}
            try:
                if any(map(is_secret, inputs.values())):
                    raise ValueError("an input is a secret")
                subject = subject_of({**inputs, **computed})
                require_id(resource, subject.name)
                if is_kept(resource):
                    raise ValueError("the subject is not deleted when its resource is")
            except EDITED:
                edited.append(UndeclaredResource(urn, urn, f"subject {ResourceUrn(urn).name}"))
                continue
            found[subject.name] = subject
    return found, tuple(edited)


def subject_title(properties: Properties) -> str:
    """Return a subject in words, such as ``subject orders-value``."""
    return f"subject {properties['subject']}"


def subject_locations(subjects: DeclaredSubjects) -> dict[str, Location]:
    """Return where each subject is declared, by the key of its resource in messages of the provider."""
    return {location_key(name): subject.location for name, subject in subjects.subjects.items()}


def location_key(name: str) -> str:
    """Return the key of a subject among the locations of all resources: a topic may have the same name."""
    return f"{SUBJECT_TYPE}::{name}"


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


class SubjectType(PulumiType):
    """The type of a subject, whose version and id are known after the registration."""

    def outputs(self, id: str, values: Properties, secrets: bool) -> Properties:
        """Return the outputs, with the version and the id, which are unknown before the registration."""
        computed = {key: UNKNOWN if id == UNKNOWN else values.get(key) for key in _COMPUTED}
        return {**super().outputs(id, values, secrets), **computed}

    def inputs_read(self, found: Properties, inputs: Properties | None) -> Properties:
        """Return the inputs of a subject that was read, without what the registry decides."""
        return super().inputs_read({key: value for key, value in found.items() if key not in _COMPUTED}, inputs)

    def previewed(self, olds: Properties, news: Properties) -> Properties:
        """Return what an update changes of the outputs, before it happens."""
        changed = {"schema", "references", "format"}.intersection(self.difference(olds, news).changed)
        return {key: UNKNOWN if changed else olds.get(key) for key in _COMPUTED}


def _references_failure(value: Any) -> str | None:
    complete = all(isinstance(each, dict) and {"name", "subject", "version"} <= each.keys() for each in value)
    return None if complete else "expected references with name, subject and version"


SUBJECT: Final = SubjectType(
    token=SUBJECT_TYPE,
    properties={
        "subject": PropertyType(required=True, replaces=True),
        "format": PropertyType(required=True, check=one_of(("avro", "json", "protobuf"))),
        "schema": PropertyType(required=True),
        "references": PropertyType(Kind.LIST, check=_references_failure),
        "compatibility": PropertyType(check=one_of([each.value for each in Compatibility])),
        "allow": PropertyType(Kind.LIST),
        "revision": PropertyType(Kind.NUMBER),
    },
    id_of=lambda properties: str(properties["subject"]),
    raw_state=lambda _: {"obj": {}},
    title=subject_title,
    permission="write access to the subject",
)


class Subjects:
    """The subjects of one registry. The id is the name of the subject.

    ``settings`` returns the registry of the stack, which the provider reads itself: an argument of a program would be
    in the engine's debug log. ``warn`` shows a line. ``announce`` records that a subject is about to leave the state.
    """

    def __init__(
        self, settings: Callable[[], RegistrySettings | None], warn: Callable[[str], None], announce: Announce
    ) -> None:
        self._settings, self._warn, self._announce = settings, warn, announce
        self._undeployed: dict[str, str] = {}
        self._kept: set[str] = set()
        self._opened: asyncio.Future[tuple[RegistryClient, ThreadPoolExecutor]] | None = None

    def refuse(self, undeployed: Mapping[str, str]) -> None:
        """Refuse to write the subjects ``undeployed`` from now on, with these reasons."""
        self._undeployed |= undeployed

    async def create(self, inputs: Properties) -> Properties:
        """Set the level and register the schema; return the version and the id. What exists as declared stays."""
        return await self._run(lambda client: self._write(client, inputs))

    async def update(self, id: str, olds: Properties, news: Properties) -> Properties:
        """Set the level and register the schema, if they differ; return the version and the id."""
        return await self._run(lambda client: self._write(client, news))

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the subject as it is registered; None if it has no version.

        A ``declared`` schema that is still registered stays as it is declared, also if another version is the latest.
        """
        return await self._run(lambda client: _read(client, id, declared))

    async def delete(self, id: str, properties: Properties) -> None:
        """Soft-delete the subject if its YAML allowed that at the last deploy; else leave it, with a warning."""
        await asyncio.to_thread(self._announce, Intent.DELETE, [id])
        allowed = allowed_on(allowances(properties.get("allow") or ()), today())
        if AllowedChange.DELETE_SUBJECT not in allowed:
            await self._released(id, f"its YAML did not allow its deletion ({AllowedChange.DELETE_SUBJECT.line})")
            return
        self._refuse_undeployed(id)
        if reason := await self._run(lambda client: _delete(client, id, frozenset(self._kept))):
            self._kept.add(id)
            await self._released(id, reason)

    async def _released(self, id: str, reason: str) -> None:
        line = f"subject {id} stays in the Schema Registry, and only leaves Pulumi's state: {reason}"
        await asyncio.to_thread(self._warn, line)

    def _write(self, client: RegistryClient, inputs: Properties) -> Properties:
        name, level = str(inputs["subject"]), compatibility_of(inputs)
        self._refuse_undeployed(name)
        if level is not None and read_subject(client, name).compatibility is not level:
            set_compatibility(client, name, level)
        return _computed(register(client, name, schema_of(inputs)))

    def _refuse_undeployed(self, name: str) -> None:
        if reason := self._undeployed.get(name):
            raise Refusal(f"not deployed: {reason}")

    def _open(self) -> tuple[RegistryClient, ThreadPoolExecutor]:
        settings = self._settings()
        if settings is None:
            raise Refusal("the stack names no Schema Registry: set topicwarden:schemaRegistry")
        client = RegistryClient(settings)
        # As many threads as the client has connections: the registry's own rate is the limit.
        return client, ThreadPoolExecutor(client.connections, "registry")

    async def _run(self, work: Callable[[RegistryClient], Result]) -> Result:
        if self._opened is None:
            self._opened = asyncio.ensure_future(asyncio.to_thread(self._open))
        client, threads = await self._opened
        return await asyncio.get_running_loop().run_in_executor(threads, work, client)


def _computed(version: SubjectVersion) -> Properties:
    return {"version": float(version.version), "schemaId": float(version.id)}


def _read(client: RegistryClient, name: str, declared: Properties | None) -> Properties | None:
    live = read_subject(client, name)
    if live.latest is None:
        return None
    version, schema = live.latest, live.latest.schema
    known = declared is not None and "schema" in declared and not has_unknown(declared)
    if declared is not None and known and (found := find_version(client, name, schema_of(declared))):
        version, schema = found, schema_of(declared)
    level = live.compatibility
    kept = {key: declared[key] for key in ("allow", "revision") if declared and declared.get(key)}
    manages_level = declared is None or declared.get("compatibility") is not None
    return {
        "subject": name,
        "format": schema.format,
        "schema": schema.text,
        **({"references": [reference_properties(each) for each in schema.references]} if schema.references else {}),
        **({"compatibility": level.value} if level is not None and manages_level else {}),
        **kept,
        **_computed(version),
    }


def _delete(client: RegistryClient, name: str, kept: frozenset[str] = frozenset()) -> str | None:
    """Soft-delete a subject; return why it stays if only soft-deleted subjects, or ``kept`` ones, refer to it.

    ``kept`` are subjects of the same deploy that stay for this reason. The engine deletes referrers first. Refuse other
    referrers.
    """
    latest = read_subject(client, name).latest
    try:
        soft_delete(client, name)
    except RegistryError as error:
        if error.code != REFERENCED or latest is None:
            raise
        others = referrers(client, name)
        if refusing := [each for each in others if each not in kept]:
            raise Refusal(
                f"{', '.join(refusing)} refer to it, so the registry does not delete it: {error.reason}"
            ) from None
        if others:
            return f"{', '.join(others)}, which this registry keeps for the same reason, refer to it"
        return "deleted subjects, which this registry still counts, refer to it"
    return None


RESOURCE: Final = AccessResource(
    Part("subjects"),
    (SUBJECT,),
    lambda name: (name,),
    lambda _, subject: dict(subject),
    lambda properties: str(properties["subject"]),
    lambda properties: subject_of(dict(properties)),
    lambda target: Subjects(target.registry, target.warn, target.announce),
    named=str,
    component=SUBJECT_SET_TYPE,
    section=PlanSection.REGISTRY,
    functions={PREPARE_SUBJECTS: Subjects.refuse},
)
