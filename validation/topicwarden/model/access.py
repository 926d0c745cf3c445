"""Access to a cluster: the entries of every kind, such as access control lists (ACLs), by the name of the kind's part.

Declared and live access have the same types, so that each rule works for both. Words are those of Kafka's Java classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from topicwarden.model.problem import Location

if TYPE_CHECKING:
    from topicwarden.model.topic import Allowance  # a topic has its own access


class ResourceType(StrEnum):
    """Kinds of resources that an ACL protects (``org.apache.kafka.common.resource.ResourceType``)."""

    TOPIC = "Topic"
    GROUP = "Group"
    CLUSTER = "Cluster"
    TRANSACTIONAL_ID = "TransactionalId"
    DELEGATION_TOKEN = "DelegationToken"
    USER = "User"


class PatternType(StrEnum):
    """Ways in which an ACL's name matches (``org.apache.kafka.common.resource.PatternType``, KIP-290)."""

    LITERAL = "Literal"
    PREFIXED = "Prefixed"


class Operation(StrEnum):
    """Operations that an ACL allows or denies (``org.apache.kafka.common.acl.AclOperation``)."""

    ALL = "All"
    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    ALTER = "Alter"
    DESCRIBE = "Describe"
    CLUSTER_ACTION = "ClusterAction"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    ALTER_CONFIGS = "AlterConfigs"
    IDEMPOTENT_WRITE = "IdempotentWrite"
    CREATE_TOKENS = "CreateTokens"
    DESCRIBE_TOKENS = "DescribeTokens"
    TWO_PHASE_COMMIT = "TwoPhaseCommit"


class PermissionType(StrEnum):
    """The two effects of an ACL: it allows or denies (``org.apache.kafka.common.acl.AclPermissionType``)."""

    ALLOW = "Allow"
    DENY = "Deny"


WILDCARD: Final = "*"
"""The name of a literal resource that matches every name, and the host of an ACL that matches every address."""
ANY_PRINCIPAL: Final = "User:*"
"""The principal of an ACL that matches every principal."""
CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the only resource of the type ``Cluster`` (``Resource.CLUSTER_NAME``)."""


@dataclass(frozen=True, order=True)
class Resource:
    """One resource, such as the topic ``orders`` or the group ``billing``."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


CLUSTER: Final = Resource(ResourceType.CLUSTER, CLUSTER_NAME)


@dataclass(frozen=True, order=True)
class Acl:
    """One ACL (``AclBinding``). A principal is an opaque text, such as ``User:CN=orders,OU=apps``."""

    principal: str
    host: str
    operation: Operation
    permission: PermissionType
    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType = PatternType.LITERAL

    @property
    def is_pattern(self) -> bool:
        """True if the ACL may be about several resources: by a prefix, or by the name ``*``."""
        return self.pattern_type is PatternType.PREFIXED or self.resource_name == WILDCARD

    def matches(self, resource: Resource) -> bool:
        """Return whether the ACL is about ``resource``."""
        if self.resource_type is not resource.type:
            return False
        if self.pattern_type is PatternType.PREFIXED:
            return resource.name.startswith(self.resource_name)
        return self.resource_name in (resource.name, WILDCARD)

    def __str__(self) -> str:
        """``Allow Read on Topic orders for User:billing``; a host or a prefix is named only if there is one."""
        name = f"{self.resource_name}*" if self.pattern_type is PatternType.PREFIXED else self.resource_name
        resource = "Cluster" if self.resource_type is ResourceType.CLUSTER else f"{self.resource_type} {name}"
        host = "" if self.host == WILDCARD else f" from {self.host}"
        return f"{self.permission} {self.operation} on {resource} for {self.principal}{host}"


@dataclass(frozen=True)
class Grant:
    """A principal that produces to a topic or consumes it, from ``host``.

    ``name`` is the transactional id of a producer or the group of a consumer, or the start of it with ``prefix``; None
    if the principal has none. ``max_lag`` is the maximum age, in milliseconds, of the oldest record that the group of a
    consumer has not read; None without a limit of its own.
    """

    principal: str
    host: str = WILDCARD
    name: str | None = None
    prefix: bool = False
    max_lag: int | None = None


@dataclass(frozen=True)
class OperationGrant:
    """Operations on one resource that a principal is allowed or denied, for which there is no role."""

    principal: str
    operations: tuple[Operation, ...]
    permission: PermissionType = PermissionType.ALLOW
    host: str = WILDCARD


@dataclass(frozen=True)
class TopicAccess:
    """The access that the YAML of one topic declares."""

    produce: tuple[Grant, ...] = ()
    consume: tuple[Grant, ...] = ()
    acls: tuple[OperationGrant, ...] = ()


NO_TOPIC_ACCESS: Final = TopicAccess()


Key = TypeVar("Key")
Value = TypeVar("Value")
AccessKey: TypeAlias = Hashable
"""What identifies an entry of access: an ACL, a user with a mechanism, a group, and so on.

No two kinds have equal keys.
"""


class Part(str, Generic[Key, Value]):
    """The name of the part of the access that has the entries of one kind, with the types of their keys and values."""


ACLS: Final[Part[Acl, bool]] = Part("acls")
"""An ACL has no value: that of each one is True."""
Entries: TypeAlias = Mapping[Any, Any]


FEWEST_ITERATIONS: Final = 4096
"""The fewest iterations that Kafka accepts for a SCRAM credential, and what its tools write (``ScramMechanism``)."""


@dataclass(frozen=True)
class SecretReference:
    """A secret of the stack's configuration that holds a password, and a version that changes with the password."""

    name: str
    version: str


@dataclass(frozen=True)
class ScramUser:
    """A user with a SCRAM credential (KIP-554). ``password`` is None for a live user: Kafka never returns it."""

    name: str
    mechanism: str
    iterations: int
    password: SecretReference | None = None


@dataclass(frozen=True)
class AccessSource:
    """One declaration that grants an ACL: its location, and what it declares, such as "produce of orders".

    ``topic`` is the topic whose YAML has the declaration, None for a file below ``access/``. ``owner`` is its owner.
    """

    location: Location
    description: str
    topic: str | None = None
    owner: str | None = None

    @property
    def home(self) -> str:
        """The topic whose YAML has the declaration, or the file below ``access/``: it must allow losses by name."""
        return self.topic or self.location.file


@dataclass(frozen=True)
class DeclaredAccess:
    """All access that one stack declares.

    - ``parts``: the entries of each kind by the name of their part, each with its value and its declarations. Only an
      ACL may have several declarations.
    - ``allow``: what each file below ``access/`` allows, by file, for the access that it declares.
    """

    parts: Mapping[str, Mapping[Any, tuple[Any, tuple[AccessSource, ...]]]] = field(default_factory=dict)
    allow: Mapping[str, frozenset[Allowance]] = field(default_factory=dict)

    @cached_property
    def homes(self) -> dict[AccessKey, tuple[str, ...]]:
        """The topics and the files below ``access/`` that declare each entry, sorted."""
        return {
            key: tuple(sorted({each.home for each in sources}))
            for part in self.parts.values()
            for key, (_, sources) in part.items()
        }

    @cached_property
    def acls(self) -> dict[Acl, tuple[AccessSource, ...]]:
        """The declared ACLs with their declarations."""
        return {acl: sources for acl, (_, sources) in self.parts.get(ACLS, {}).items()}

    def part(self, part: Part[Key, Value]) -> Mapping[Key, Value]:
        """Return the values of ``part`` by key."""
        return self._values.get(part, {})

    @cached_property
    def _values(self) -> dict[str, Entries]:
        return {name: {key: value for key, (value, _) in part.items()} for name, part in self.parts.items()}

    def location(self, part: Part[Key, Any], key: Key) -> Location | None:
        """Return where an entry is declared first; None if it is not declared."""
        return next((source.location for source in self.sources(part, key)), None)

    def sources(self, part: Part[Key, Any], key: Any) -> tuple[AccessSource, ...]:
        """Return the declarations of an entry; none if it is not declared."""
        return self.parts.get(part, {}).get(key, (None, ()))[1]

    @property
    def empty(self) -> bool:
        """True if the stack declares no access at all."""
        return not self.size

    @property
    def size(self) -> int:
        """The number of entries of all parts."""
        return sum(map(len, self.parts.values()))


NO_ACCESS: Final = DeclaredAccess()


@dataclass(frozen=True)
class AuthorizerSettings:
    """The settings of the brokers' authorizer.

    ``class_name`` is empty without an authorizer. ``open_without_acl`` is ``allow.everyone.if.no.acl.found``: a
    resource without any ACL is open to everyone. None is a value that the brokers do not show. ``host_ranges`` is true
    if hosts of ACLs may be CIDR ranges (KIP-1276; ``StandardAuthorizer`` since Kafka 4.4).
    """

    class_name: str | None = None
    super_users: frozenset[str] | None = None
    open_without_acl: bool | None = None
    host_ranges: bool = False


@dataclass(frozen=True)
class LiveAccess:
    """The access of a cluster as its brokers report it.

    ``parts`` has the entries of all kinds, by the name of their part. A part that this user may not read, or that the
    service does not offer, is None; ``missing`` says why, by part: those in ``parts``, ``authorizer``, and of the
    authorizer's settings ``super_users`` and ``open_without_acl``. It may have a reason for a part that was read, too:
    then more entries may exist. ``settings`` has the authorizer's settings by broker.
    ``unknown_acls`` counts ACLs with a type or operation that this version lacks. ``security_disabled`` is true if the
    brokers answered that they have no authorizer.
    """

    parts: Mapping[str, Entries | None] = field(default_factory=dict)
    settings: Mapping[int, AuthorizerSettings] | None = None
    unknown_acls: int = 0
    security_disabled: bool = False
    missing: Mapping[str, str] = field(default_factory=dict)

    def part(self, part: Part[Key, Value]) -> Mapping[Key, Value] | None:
        """Return the values of ``part`` by key; None if the brokers do not report it."""
        return self.parts.get(part)

    @cached_property
    def acls(self) -> frozenset[Acl] | None:
        """The ACLs; None if the brokers do not report them."""
        acls = self.part(ACLS)
        return None if acls is None else frozenset(acls)

    def __getattr__(self, name: str) -> Entries | None:
        """Return the entries of the part ``name``, which was read, or requested."""
        parts: Mapping[str, Entries | None] = vars(self).get("parts", {})
        if name not in parts:
            raise AttributeError(name)
        return parts[name]


@dataclass(frozen=True)
class UndeclaredResource:
    """A resource in Pulumi's state that no deploy has declared as it is there.

    ``key`` is its access, and ``title`` names it. ``registered``: the program registers this access under this URN, so
    the resource was imported, or the state was edited.
    ``tainted``: the next deploy would replace it (`pulumi state taint`). ``as_declared``: taint is all that is wrong.
    """

    urn: str
    key: AccessKey
    title: str
    registered: bool = False
    tainted: bool = False
    as_declared: bool = False


@dataclass(frozen=True)
class DeployedAccess:
    """The access in Pulumi's state under the URNs that the program registers.

    - ``homes``: the topics and the files below ``access/`` that declared each part at the last deploy. What has none
      came into the state in another way, such as by `pulumi import`, and nothing allows its removal.
    - ``allow``: what each file below ``access/`` allowed at the last deploy, by file.
    - ``passwords``: the users whose password a deploy has written. Others were adopted with a password of their own.
    - ``iterations``: with how many a deploy has written it, as far as that is known. A refresh does not change it.
    - ``undeclared``: resources that the engine would remove or replace although no deploy has declared that.
    """

    parts: Mapping[str, Entries] = field(default_factory=dict)
    homes: Mapping[AccessKey, tuple[str, ...]] = field(default_factory=dict)
    allow: Mapping[str, frozenset[Allowance]] = field(default_factory=dict)
    passwords: frozenset[tuple[str, str]] = frozenset()
    iterations: Mapping[tuple[str, str], int] = field(default_factory=dict)
    undeclared: tuple[UndeclaredResource, ...] = ()

    def part(self, part: Part[Key, Value]) -> Mapping[Key, Value]:
        """Return the values of ``part`` by key."""
        return self.parts.get(part, {})

    @cached_property
    def acls(self) -> frozenset[Acl]:
        """The ACLs in the state."""
        return frozenset(self.part(ACLS))

    @property
    def empty(self) -> bool:
        """True if the state has no access at all."""
        return not (self.size or self.undeclared)

    @property
    def size(self) -> int:
        """The number of entries of all parts."""
        return sum(map(len, self.parts.values()))
