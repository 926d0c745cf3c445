"""Access in Pulumi's state: what a state has, and what it records about who declared it.

Names, properties and types of resources are those of the kinds: ``kinds/<kind>/resource.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from topicwarden.kinds import every_kind, modules
from topicwarden.kinds.access_resource import (
    ACCESS_SET_TYPE,
    EDITED,
    AccessResource,
    SecretProperty,
    allowances,
    is_kept,
    mapping,
    recorded_allowances,
    require_id,
)
from topicwarden.kinds.resource_type import DEFAULTS
from topicwarden.model.access import (
    ACLS,
    AccessKey,
    DeclaredAccess,
    DeployedAccess,
    LiveAccess,
    UndeclaredResource,
)
from topicwarden.model.problem import Location
from topicwarden.model.topic import Allowance
from topicwarden.plan.access_change import ACCESS_PARTS

DENIALS_TYPE: Final = "topicwarden:index:Denials"
CREDENTIALS_TYPE: Final = "topicwarden:index:Credentials"
"""The component that records with how many iterations passwords were written, once they are."""
if "pulumi" not in sys.modules and find_spec("pulumi") is None:  # else the Kafka client, of the same extra, is named
    raise ModuleNotFoundError("No module named 'pulumi'", name="pulumi")
ACCESS_RESOURCES: Final[tuple[AccessResource, ...]] = tuple(each.RESOURCE for each in modules("resource"))
ACCESS_TYPES: Final[Mapping[str, AccessResource]] = {
    type.token: resource for resource in ACCESS_RESOURCES for type in resource.types
}
"""The kinds by the types of their resources."""
_TYPES: Final = {type.token: type for resource in ACCESS_RESOURCES for type in resource.types}
RESOURCE_TYPES: Final[Mapping[str, AccessResource]] = {
    type.token: each.RESOURCE for each in every_kind("resource") for type in each.RESOURCE.types
}
"""The kinds of access and the subjects by the types of their resources."""
WITH_SECRETS: Final[tuple[tuple[AccessResource, SecretProperty], ...]] = tuple(
    (each, each.secret) for each in ACCESS_RESOURCES if each.secret is not None
)
"""The kinds whose entries have a secret of the stack's configuration."""
_TITLES: Final = {part.name: part.title for part in ACCESS_PARTS}

Properties: TypeAlias = Mapping[str, Any]
NOT_DEPLOYED: Final = DeployedAccess()


def resource_names(access: DeclaredAccess | DeployedAccess | LiveAccess) -> dict[str, str]:
    """Return what each entry of ``access`` is in words, by the name of its resource."""
    return {
        resource.name(key): _TITLES[resource.part](key)
        for resource in ACCESS_RESOURCES
        for key in access.part(resource.part) or ()
    }


def resource_locations(access: DeclaredAccess) -> dict[str, Location]:
    """Return where each entry of ``access`` is declared first, by the name of its resource."""
    return {
        resource.name(key): location
        for resource in ACCESS_RESOURCES
        for key in access.part(resource.part)
        if (location := access.location(resource.part, key)) is not None
    }


def recorded_access(
    access: DeclaredAccess, written: Collection[Any] = (), departing: DeployedAccess = NOT_DEPLOYED
) -> dict[str, Any]:
    """Return the record of ``access`` for the state: where each entry is declared, and what is allowed there.

    Of values by name, it has the names that are declared. ``written`` are the users whose password a deploy has
    written. The record of what is ``departing`` stays, in case that its deletion fails.
    """
    gone = {key: homes for key, homes in departing.homes.items() if key not in access.homes}
    homes = {**gone, **access.homes}
    files = {home for of_gone in gone.values() for home in of_gone}
    allow = {file: words for file, words in departing.allow.items() if file in files} | dict(access.allow)
    return {
        "declared": {
            resource.name(key): {"in": list(homes[key])}
            | ({"names": sorted(value)} if isinstance(value, Mapping) else {})
            for resource, key, value in [*_entries(departing, gone), *_entries(access, access.homes)]
        },
        "allow": {file: recorded_allowances(words) for file, words in sorted(allow.items())},
        "passwords": sorted(resource.name(key) for resource, key, _ in _entries(access, written)),
    }


def recorded_iterations(access: DeclaredAccess, written: Mapping[Any, int]) -> dict[str, int]:
    """Return the record of the iterations with which deploys have ``written`` passwords, for the state."""
    return {resource.name(key): written[key] for resource, key, _ in _entries(access, written)}


def _entries(
    access: DeclaredAccess | DeployedAccess, keys: Iterable[AccessKey]
) -> Iterator[tuple[AccessResource, AccessKey, Any]]:
    """Yield the entries with ``keys`` as resource, key and value."""
    keys = {*keys}
    for resource in ACCESS_RESOURCES:
        yield from ((resource, key, value) for key, value in access.part(resource.part).items() if key in keys)


def access_key(type: str, properties: Properties) -> AccessKey:
    """Return what identifies the entry of a resource of ``type`` with ``properties``."""
    return ACCESS_TYPES[type].key_of(properties)


def access_title(key: AccessKey, type: str) -> str:
    """Return an entry in words; ``type`` is that of its resource."""
    part = ACCESS_TYPES[type].part
    return f"{'ACL ' if part == ACLS else ''}{_TITLES[part](key)}"


def deployed_access(resources: Iterable[Mapping[str, Any]]) -> DeployedAccess:
    """Return the access in ``resources``, which have the format of `pulumi stack export`.

    A resource under another URN than the program registers, a tainted one, and one that no deploy has declared as it
    is there are in ``undeclared``.
    """
    found: dict[str, dict[Any, Any]] = {}
    records: Mapping[str, Any] = {}
    allow: dict[str, frozenset[Allowance]] = {}
    passwords: Collection[str] = ()
    iterations: Mapping[str, Any] = {}
    resources = list(resources)
    for outputs in component_outputs(resources, ACCESS_SET_TYPE):
        records = mapping(outputs.get("declared"))
        passwords = each if isinstance(each := outputs.get("passwords"), list | tuple) else ()
        # Earlier versions recorded a list: what all files together allow.
        allow = {file: allowances(each) for file, each in mapping(outputs.get("allow")).items()}
    for outputs in component_outputs(resources, CREDENTIALS_TYPE):
        iterations = mapping(outputs.get("iterations"))
    homes: dict[AccessKey, tuple[str, ...]] = {}
    undeclared = []
    for resource in resources:
        type, urn = str(resource["type"]), str(resource["urn"])
        if type not in ACCESS_TYPES:
            continue
        kind = ACCESS_TYPES[type]
        properties = {**mapping(resource.get("inputs")), **mapping(resource.get("outputs"))}
        try:
            key, value = kind.key_of(properties), kind.value_of(properties)
            require_id(resource, _TYPES[type].id_of(properties))
        except EDITED:  # edited, so nothing tells what it is
            undeclared.append(UndeclaredResource(urn, urn, "edited access"))
            continue
        name = kind.name(key)
        registered = kind.registered(urn) and urn.endswith(f"::{name}")
        record = _record(records.get(name)) if registered else None
        if registered:
            found.setdefault(kind.part, {})[key] = value
        as_declared = False
        if record is not None:
            homes[key], names = record
            as_declared = not is_kept(resource) and _names(properties) <= names
        tainted = bool(resource.get("taint"))
        if tainted or not as_declared:
            undeclared.append(UndeclaredResource(urn, key, access_title(key, type), registered, tainted, as_declared))
    # Without a record, as of earlier versions, those of the state were written last.
    written = {
        key: int(number) if isinstance(number := iterations.get(kind.name(key)), int | float) else user.iterations
        for kind, _ in WITH_SECRETS
        for key, user in found.get(kind.part, {}).items()
        if key in homes and kind.name(key) in passwords
    }
    return DeployedAccess(
        found, homes, allow, passwords=frozenset(written), iterations=written, undeclared=tuple(undeclared)
    )


def component_outputs(resources: Iterable[Mapping[str, Any]], type: str) -> list[Properties]:
    """Return the outputs of the components of ``type`` that have some; those of the stack's own one come last.

    A state has two after `pulumi stack rename`, if a deploy then ended before the engine deleted the old one.
    """
    components = [each for each in resources if each["type"] == type and mapping(each.get("outputs"))]
    return [each["outputs"] for each in sorted(components, key=_is_of_stack)]


def _record(value: Any) -> tuple[tuple[str, ...], frozenset[str]] | None:
    """Return where an entry was declared, and the names of its values; None if nothing readable is recorded."""
    try:
        return tuple(value["in"]), frozenset(value.get("names", ()))
    except EDITED:
        return None


def _is_of_stack(component: Mapping[str, Any]) -> bool:
    """Return whether ``component`` has the name of its stack, which the program gives it."""
    head, _, name = str(component["urn"]).rpartition("::")
    return head.startswith(f"urn:pulumi:{name}::")


def _names(properties: Properties) -> frozenset[str]:
    """Return the names of the rates, or of the settings, of a resource."""
    return frozenset(str(name) for name in properties.get("config") or {} if name != DEFAULTS)
