"""The access that one stack declares: ``access:`` of its topics, and the files below ``access/``.

A file below ``access/`` has no defaults. Its section of ``stacks`` for the stack overrides it: mappings are merged key
by key, and a list replaces a list. All files together are the access of the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from topicwarden.access import roles
from topicwarden.access.roles import ConnectCluster, NamePattern, StreamsApplication
from topicwarden.kinds.client_metrics.change import Subscription
from topicwarden.kinds.client_metrics.spec import kafka_settings
from topicwarden.model.access import (
    CLUSTER_NAME,
    FEWEST_ITERATIONS,
    NO_ACCESS,
    NO_TOPIC_ACCESS,
    WILDCARD,
    AccessSource,
    Acl,
    DeclaredAccess,
    PatternType,
    PermissionType,
    QuotaEntity,
    ResourceType,
    ScramUser,
    SecretReference,
    quota_clients,
)
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Location, Problem
from topicwarden.model.topic import Allowance, AllowedChange
from topicwarden.specs.access_model import CLIENT_KEYS, IP_KEYS, AccessDocument
from topicwarden.specs.load import LoadedDocuments, load_documents
from topicwarden.specs.resolve import Declaration, operation_grant
from topicwarden.specs.validated_document import StackDocument

TWICE: Final = "access-twice"
CONTRADICTION: Final = "access-contradiction"

_COMMON: Final = ("type", "principal", "host", "exactly_once")
_KEYS: Final = {
    "streams": (("principal",), ("application_id", "inputs", "outputs")),
    "connect": (
        ("principal", "config_topic", "offset_topic", "status_topic"),
        ("group", "config_topic", "offset_topic", "status_topic", "reads", "writes"),
    ),
}
"""The keys that an application of each type must have, and those that only this type has."""

T = TypeVar("T")


@dataclass(frozen=True)
class ResolvedAccess:
    """The access of one stack, and the problems that only show for a stack.

    ``allowances`` are the allowed changes of the files below ``access/``, with their locations.
    """

    access: DeclaredAccess = NO_ACCESS
    problems: tuple[Problem, ...] = ()
    allowances: tuple[tuple[Allowance, Location], ...] = ()


def load_access(folder: Path, root: Path, stacks: Sequence[str]) -> LoadedDocuments:
    """Read every YAML file below ``folder``; see ``load_documents``."""
    return load_documents(folder, root, stacks, AccessDocument, "access")


def resolve_access(loaded: LoadedDocuments, declarations: Iterable[Declaration], stack: str | None) -> ResolvedAccess:
    """Return the access of ``stack``: that of its topics, ``declarations``, and that of the loaded files."""
    collector = _Collector()
    for declaration in declarations:
        if declaration.topic.access != NO_TOPIC_ACCESS:
            collector.add_topic(declaration)
    for document in loaded.documents:
        collector.add_file(StackDocument(document, stack))
    return collector.resolved()


@dataclass
class _Collector:
    """The access of one stack that was collected so far."""

    problems: list[Problem] = field(default_factory=list)
    acls: dict[Acl, list[AccessSource]] = field(default_factory=dict)
    quotas: dict[QuotaEntity, tuple[Mapping[str, float], Location]] = field(default_factory=dict)
    users: dict[tuple[str, str], tuple[ScramUser, Location]] = field(default_factory=dict)
    group_configs: dict[str, tuple[Mapping[str, str], Location]] = field(default_factory=dict)
    client_metrics: dict[Subscription, tuple[Mapping[str, str], Location]] = field(default_factory=dict)
    allowances: list[tuple[Allowance, Location]] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    applications: dict[str, tuple[None, Location]] = field(default_factory=dict)

    def add_topic(self, declaration: Declaration) -> None:
        """Add the access of one topic."""
        topic, locations = declaration.topic, declaration.locations

        def source(key: str, index: int) -> AccessSource:
            location = locations.at_item(("access", key), index)
            return AccessSource(location, f"{key} of {topic.name}", topic.name, topic.owner)

        for index, grant in enumerate(topic.access.produce):
            self._add(roles.produce(topic.name, grant), source("produce", index))
        for index, grant in enumerate(topic.access.consume):
            self._add(roles.consume(topic.name, grant), source("consume", index))
        for index, entry in enumerate(topic.access.acls):
            acls = roles.operations(entry, ResourceType.TOPIC, NamePattern(topic.name))
            self._add(acls, source("acls", index))

    def add_file(self, file: StackDocument) -> None:
        """Add the access of one file below ``access/``."""
        for name, settings, locate in file.items("applications"):
            self._add_application(name, settings, locate)
        for key in ("groups", "cluster", "acls"):
            for entry, location in file.entries(key):
                resource_type, names = _resource(key, entry)
                self._add(roles.operations(operation_grant(entry), resource_type, names), AccessSource(location, key))
        for name, settings, locate in file.items("users"):
            self._add_user(name, settings, locate)
        for entry, location in file.entries("quotas"):
            rates = {key: float(entry[key]) for key in (*CLIENT_KEYS, *IP_KEYS) if entry.get(key) is not None}
            entity = _entity(entry)
            self._add_once(self.quotas, entity, rates, location, f"the quota of {quota_clients(entity)}")
        for name, settings, locate in file.items("group_configs"):
            if settings:
                self._add_once(
                    self.group_configs, name, dict(sorted(settings.items())), locate(""), f"the group {name}"
                )
        for name, settings, locate in file.items("client_metrics"):
            if own := kafka_settings(settings):
                self._add_once(self.client_metrics, Subscription(name), own, locate(""), f"the client metrics {name}")
        self.files.add(file.file)
        for entry, location in file.entries("allow"):
            self.allowances.append((Allowance(AllowedChange(entry["change"]), entry.get("until")), location))

    def resolved(self) -> ResolvedAccess:
        """Return everything that was added, with the contradictions between ACLs."""
        self.problems += _contradictions(self.acls)
        access = DeclaredAccess(
            {acl: tuple(sources) for acl, sources in self.acls.items()},
            self.quotas,
            self.users,
            self.group_configs,
            {
                file: frozenset(allowance for allowance, location in self.allowances if location.file == file)
                for file in sorted(self.files)
            },
            self.client_metrics,
        )
        return ResolvedAccess(access, tuple(self.problems), tuple(self.allowances))

    def _add(self, acls: Iterable[Acl], source: AccessSource) -> None:
        for acl in acls:
            sources = self.acls.setdefault(acl, [])
            if source not in sources:
                sources.append(source)

    def _add_once(
        self, known: dict[Any, tuple[T, Location]], key: Any, value: T, location: Location, name: str
    ) -> None:
        """Add a value; report one that another declaration has already."""
        if key in known:
            message = f"{name} is declared twice, first at {known[key][1]}; keep one"
            self.problems.append(Problem(location, message, TWICE))
        else:
            known[key] = value, location

    def _add_application(self, name: str, settings: Mapping[str, Any], locate: Callable[[str], Location]) -> None:
        self._add_once(self.applications, name, None, locate(""), f"the application {quoted(name)}")
        kind = settings.get("type")
        if kind is None:
            message = f"applications.{name}.type: expected one of {', '.join(_KEYS)}, got none; write it"
            self.problems.append(Problem(locate(""), message, "missing"))
            return
        required, own = _KEYS[kind]
        for key in settings:
            if key not in (*_COMMON, *own):
                known = ", ".join((*_COMMON, *own))
                message = (
                    f"applications.{name}.{key}: an application of the type {kind} has no such key; known are {known}"
                )
                self.problems.append(Problem(locate(key), message, "unknown-key"))
        missing = [key for key in required if key not in settings]
        for key in missing:
            self.problems.append(Problem(locate(""), f"applications.{name}.{key}: missing; write it", "missing"))
        if not missing:
            application = _application(name, settings)
            acls = (
                roles.streams(application)
                if isinstance(application, StreamsApplication)
                else roles.connect(application)
            )
            self._add(acls, AccessSource(locate(""), f"the application {name}"))

    def _add_user(self, name: str, settings: Mapping[str, Any], locate: Callable[[str], Location]) -> None:
        missing = [key for key in ("mechanism", "password.secret") if key not in settings]
        for key in missing:
            message = f"users.{name}.{key.partition('.')[0]}: missing; write it"
            self.problems.append(Problem(locate(""), message, "missing"))
        if missing:
            return
        password = SecretReference(settings["password.secret"], settings["password.version"])
        for mechanism in dict.fromkeys(settings["mechanism"]):
            user = ScramUser(name, mechanism, settings.get("iterations", FEWEST_ITERATIONS), password)
            self._add_once(self.users, (name, mechanism), user, locate(""), f"the user {quoted(name)}")


def _entity(entry: Mapping[str, Any]) -> QuotaEntity:
    defaults = entry.get("default") or ()
    parts = {
        kind: None if key in defaults else entry[key]
        for key, kind in (("client_id", "client-id"), ("ip", "ip"), ("user", "user"))
        if key in defaults or entry.get(key) is not None
    }
    return tuple(sorted(parts.items()))


def _resource(key: str, entry: Mapping[str, Any]) -> tuple[ResourceType, NamePattern]:
    """Return the resources of an entry of ``groups``, ``cluster`` or ``acls``."""
    if key == "groups":
        return ResourceType.GROUP, NamePattern(entry["group"], entry.get("prefix", False))
    if key == "cluster" or entry["resource"] is ResourceType.CLUSTER:
        return ResourceType.CLUSTER, NamePattern(CLUSTER_NAME)
    prefixed = entry.get("pattern", PatternType.LITERAL) is PatternType.PREFIXED
    return entry["resource"], NamePattern(entry["name"], prefixed)


def _application(name: str, settings: Mapping[str, Any]) -> StreamsApplication | ConnectCluster:
    """Return a valid application; its name is the default of its ``application_id`` and of its ``group``."""

    def topics(key: str) -> tuple[NamePattern, ...]:
        return tuple(NamePattern(each["topic"], each.get("prefix", False)) for each in settings.get(key, ()))

    common = {
        "principal": settings["principal"],
        "host": settings.get("host", WILDCARD),
        "exactly_once": settings.get("exactly_once", False),
    }
    if settings["type"] == "streams":
        application_id = settings.get("application_id", name)
        return StreamsApplication(
            application_id=application_id, inputs=topics("inputs"), outputs=topics("outputs"), **common
        )
    return ConnectCluster(
        group=settings.get("group", name),
        config_topic=settings["config_topic"],
        offset_topic=settings["offset_topic"],
        status_topic=settings["status_topic"],
        reads=topics("reads"),
        writes=topics("writes"),
        **common,
    )


def _contradictions(acls: Mapping[Acl, Sequence[AccessSource]]) -> Iterator[Problem]:
    """Yield a problem for each ACL that is both allowed and denied, at the declaration that allows it in vain."""
    for acl, sources in acls.items():
        if acl.permission is PermissionType.DENY:
            continue
        denied = acls.get(_with_permission(acl, PermissionType.DENY))
        if denied:
            message = f"{acl} is also denied, at {denied[0].location}, and Deny always wins; delete one of the two"
            yield Problem(sources[0].location, message, CONTRADICTION)


def _with_permission(acl: Acl, permission: PermissionType) -> Acl:
    return Acl(
        acl.principal, acl.host, acl.operation, permission, acl.resource_type, acl.resource_name, acl.pattern_type
    )
