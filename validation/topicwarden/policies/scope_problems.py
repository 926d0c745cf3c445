"""Problems with the scopes of stacks: declared topics and access outside of them, scopes that overlap, no registry."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Final

from topicwarden.kinds.access_converter import converters
from topicwarden.model.access import ACLS, DeclaredAccess
from topicwarden.model.problem import Problem
from topicwarden.model.subject import DeclaredSubjects
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.stack_file import StackFile
from topicwarden.specs.stacks.stack_scope import shared_name
from topicwarden.specs.stacks.stack_settings import SCHEMA_REGISTRY

OUTSIDE: Final = "scope-outside"
NO_REGISTRY: Final = "subject-registry"
_OVERLAP: Final = "scope-overlap"

_ADD: Final = "; rename or remove it, or add it to the scope"
_ONE_PROJECT: Final = "each stack deploys all topics of its project: give each of these stacks a project of its own"
"""Why neither another scope nor another name helps if two stacks of a project share a cluster."""


def outside_scope(
    declarations: Iterable[Declaration], stack: str, stack_files: Mapping[str, StackFile]
) -> Iterator[Problem]:
    """Yield a problem for each declared topic that ``stack`` does not own. ``stack_files`` are those of all stacks."""
    stack_file = stack_files.get(stack, StackFile())
    if stack_file.scope_location is None:
        return
    beside = {
        name: each.scope
        for name, each in sorted(stack_files.items())
        if name != stack and each.scope_location and not each.addresses.isdisjoint(stack_file.addresses)
    }
    for declaration in declarations:
        name = declaration.topic.name
        if not stack_file.scope.owns(name):
            owner = next((other for other, scope in beside.items() if scope.owns(name)), None)
            message = (
                f"{name} is outside of the stack's scope, {stack_file.scope} ({stack_file.scope_location})"
                f"{f', and stack {owner} owns it; {_ONE_PROJECT}' if owner else _ADD}"
            )
            yield Problem(declaration.locations.at(("topic",)), message, OUTSIDE)


def access_outside_scope(access: DeclaredAccess, stack_file: StackFile) -> Iterator[Problem]:
    """Yield a problem for each declared entry of access that is not the stack's."""
    if stack_file.scope_location is None:
        return
    scope = stack_file.scope
    for kind in converters():
        for key in access.part(kind.part):
            if not (reason := kind.outside(key, scope)):
                continue
            for source in access.sources(kind.part, key):
                title = f"{key} ({source.description})" if kind.part == ACLS else f"the {kind.title(key)}"
                message = (
                    f"{title} is outside of the stack's scope, {reason} "
                    f"({stack_file.scope_location}); remove it, or add it to the scope"
                )
                yield Problem(source.location, message, OUTSIDE)


def subjects_without_registry(subjects: DeclaredSubjects, stack_file: StackFile, stack: str) -> Iterator[Problem]:
    """Yield a problem for each declared subject of a stack that names no Schema Registry."""
    if stack_file.has_registry:
        return
    for subject in subjects.subjects.values():
        message = (
            f"the stack {stack} has no Schema Registry to register {subject.name} in; write {SCHEMA_REGISTRY} into "
            f"stacks/Pulumi.{stack}.yaml, or override the declaration for this stack"
        )
        yield Problem(subject.location, message, NO_REGISTRY)


def overlapping_scopes(
    stack_files: Mapping[str, StackFile], checked: Collection[str], declared: Iterable[str]
) -> Iterator[Problem]:
    """Yield a problem for each pair of stacks on one cluster that own the same topic, one of them ``checked``.

    ``declared`` are the names of declared topics. An overlap is only reported with a name that both scopes own.
    """
    names = frozenset(declared)

    @cache
    def owned(stack: str) -> frozenset[str]:
        return frozenset(filter(stack_files[stack].scope.owns, names))

    for (one, first), (other, second) in combinations(sorted(stack_files.items()), 2):
        if not {one, other} & {*checked} or first.addresses.isdisjoint(second.addresses):
            continue
        if first.scope_location is None or second.scope_location is None:
            continue
        both = min(owned(one) & owned(other), default=None)
        shared = both or shared_name(first.scope, second.scope)
        if shared is not None:
            message = (
                f"the scopes of the stacks {other} and {one} ({first.scope_location}) overlap on one cluster: both own "
                f"{f'the topic {shared}' if both else f'topics such as {shared}'}; {_ONE_PROJECT}"
            )
            yield Problem(second.scope_location, message, _OVERLAP)
