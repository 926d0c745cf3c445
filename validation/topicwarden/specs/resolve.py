"""The topics of one stack, merged from defaults, documents and their ``stacks`` sections.

From lowest to highest precedence: each ``_defaults.yaml`` from the outermost folder to the nearest, the topic's
document, then their ``stacks`` sections for the stack in the same order. Mappings are merged key by key, a list
replaces a list, and null unsets an inherited value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.kinds.acl.spec import operation_grant
from topicwarden.model.access import (
    NO_TOPIC_ACCESS,
    WILDCARD,
    Grant,
    TopicAccess,
)
from topicwarden.model.contents import NO_CONTENTS, Contents, RegistryContents
from topicwarden.model.problem import Problem
from topicwarden.model.topic import Allowance, Topic
from topicwarden.specs.load import LoadedSpecs, LoadedTopic, with_parents
from topicwarden.specs.spec_files import printable_path
from topicwarden.specs.validated_document import REGISTRY_PATHS, FlatSettings, SettingLocations, ValidatedDocument
from topicwarden.specs.yaml_nodes import KeyPath, ParsedDocument

_REGISTRY_KEYS: Final = tuple(
    (path, tuple((*path, name) for name in RegistryContents.model_fields)) for path in REGISTRY_PATHS
)
"""Each setting that may be a mapping, with the paths of the keys of the mapping."""


@dataclass(frozen=True)
class Declaration:
    """A topic as declared for one stack, and the locations of its settings."""

    topic: Topic
    locations: SettingLocations


@dataclass(frozen=True)
class ResolvedStack:
    """The topics of one stack, sorted by name, and all problems of ``topics/``, including those from loading.

    If there are problems, ``declarations`` has only the valid topics. Policies can check them, but never deploy them.
    """

    declarations: tuple[Declaration, ...]
    problems: tuple[Problem, ...]


def resolve(loaded: LoadedSpecs, stack: str | None) -> ResolvedStack:
    """Return the topics as declared for ``stack``; None ignores all ``stacks`` sections."""
    folder_defaults, contents = _FolderDefaults(loaded), _SharedContents()
    declarations, problems = [], list(loaded.problems)
    for topic in loaded.topics:
        inherited = folder_defaults.documents(topic.folder)
        if inherited is None:
            continue
        documents = [*inherited, topic.document]
        settings = _layered(folder_defaults.merged(topic.folder, stack), topic.document, stack)
        missing = [name for name in ("partitions", "replication_factor") if (name,) not in settings]
        problems += [_missing(topic, documents, name, loaded.stacks) for name in missing]
        if not missing:
            declarations.append(
                Declaration(_topic(topic, settings, contents.of(settings)), _locations(documents, stack, settings))
            )
    declarations.sort(key=lambda declaration: declaration.topic.name)
    return ResolvedStack(tuple(declarations), tuple(sorted(set(problems))))


def inherited_access(loaded: LoadedSpecs, folder: tuple[str, ...], stack: str | None) -> TopicAccess:
    """Return the access on ``stack`` of a topic in ``folder`` whose document declares none."""
    common, of_stack = _merge(loaded.defaults_of(folder), stack)
    return _access({**common, **of_stack})


class _FolderDefaults:
    """The defaults that apply to each folder, from the outermost to the nearest, cached by folder."""

    def __init__(self, loaded: LoadedSpecs) -> None:
        self._defaults = loaded.defaults
        self._known: dict[tuple[str, ...], list[ValidatedDocument] | None] = {}
        self._merged: dict[tuple[str, ...], tuple[FlatSettings, FlatSettings]] = {}

    def documents(self, folder: tuple[str, ...]) -> list[ValidatedDocument] | None:
        """Return the defaults of a folder; None if one is invalid, so its topics cannot be resolved."""
        if folder not in self._known:
            documents = [self._defaults[each] for each in with_parents(folder) if each in self._defaults]
            self._known[folder] = None if None in documents else [document for document in documents if document]
        return self._known[folder]

    def merged(self, folder: tuple[str, ...], stack: str | None) -> tuple[FlatSettings, FlatSettings]:
        """Return ``_merge`` of the defaults of a folder. The cache has one stack: always pass the same one."""
        if folder not in self._merged:
            self._merged[folder] = _merge(self.documents(folder) or (), stack)
        return self._merged[folder]


def _merge(documents: Sequence[ValidatedDocument], stack: str | None) -> tuple[FlatSettings, FlatSettings]:
    """Return the merged settings for all stacks, and the merged overrides of ``stack``."""
    common: dict[KeyPath, Any] = {}
    stack_settings: dict[KeyPath, Any] = {}
    for document in documents:
        common.update(document.common)
        stack_settings.update(document.stacks.get(stack, {}) if stack is not None else {})
    return common, stack_settings


def _layered(
    defaults: tuple[FlatSettings, FlatSettings], document: ValidatedDocument, stack: str | None
) -> FlatSettings:
    common, stack_settings = defaults
    own = document.stacks.get(stack, {}) if stack is not None else {}
    merged = {**common, **document.common, **stack_settings, **own}
    for registry, keys in _REGISTRY_KEYS:
        if merged.get(registry) != {}:  # a flag or null replaces an inherited mapping
            for key in keys:
                merged.pop(key, None)
    if None in merged.values():
        return {path: value for path, value in merged.items() if value is not None}
    return merged


def _locations(documents: Sequence[ValidatedDocument], stack: str | None, settings: FlatSettings) -> SettingLocations:
    layers: list[tuple[ParsedDocument, KeyPath]] = []
    if stack is not None:
        layers += [(document.source, ("stacks", stack)) for document in reversed(documents) if stack in document.stacks]
    layers += [(document.source, ()) for document in reversed(documents)]
    return SettingLocations(documents[-1].source, layers, settings)


def _topic(topic: LoadedTopic, settings: FlatSettings, contents: Contents) -> Topic:
    return Topic(
        name=topic.name,
        partitions=settings["partitions",],
        replication_factor=settings["replication_factor",],
        config=dict(sorted((str(path[1]), value) for path, value in settings.items() if path[0] == "config")),
        domain=printable_path(topic.folder[0]) if topic.folder else "",
        owner=settings.get(("owner",)),
        description=settings.get(("description",)),
        contents=contents,
        access=_access(settings),
        allow=frozenset(Allowance(**permission) for permission in settings.get(("allow",), ())),
    )


def _access(settings: FlatSettings) -> TopicAccess:
    produce, consume, acls = (settings.get(("access", key)) or () for key in ("produce", "consume", "acls"))
    if not (produce or consume or acls):
        return NO_TOPIC_ACCESS
    return TopicAccess(
        tuple(_grant(entry, "transactional_id") for entry in produce),
        tuple(_grant(entry, "group") for entry in consume),
        tuple(operation_grant(entry) for entry in acls),
    )


def _grant(entry: Mapping[str, Any], name: str) -> Grant:
    host, prefix = entry.get("host", WILDCARD), entry.get("prefix", False)
    return Grant(entry["principal"], host, entry.get(name), prefix, entry.get("max_lag"))


class _SharedContents:
    """The ``contents`` of topics. Equal ones are one object: few differ, and each costs as much as its whole topic."""

    def __init__(self) -> None:
        self._known: dict[str, Contents] = {}

    def of(self, settings: FlatSettings) -> Contents:
        declared = {path: value for path, value in settings.items() if path[0] == "contents"}
        if not declared:
            return NO_CONTENTS
        key = repr(declared)
        if key not in self._known:
            self._known[key] = Contents.model_validate(_nested(declared))
        return self._known[key]


def _nested(declared: FlatSettings) -> dict[str, Any]:
    """Return the sections below ``contents`` as nested mappings."""
    sections: dict[str, Any] = {}
    for path, value in declared.items():
        *parents, name = map(str, path[1:])
        section = sections
        for parent in parents:
            section = section.setdefault(parent, {})
        section[name] = {} if value == {} else value
    return sections


def _missing(topic: LoadedTopic, documents: Sequence[ValidatedDocument], name: str, stacks: Sequence[str]) -> Problem:
    inherited, own = documents[:-1], documents[-1]
    affected = [stack for stack in stacks if (name,) not in _layered(_merge(inherited, stack), own, stack)]
    where = "" if affected == list(stacks) else f" for {', '.join(affected) or 'stacks without a section'}"
    message = f"{topic.name} has no {name}{where}; write it here or in a _defaults.yaml"
    document = topic.document.source
    empty = [path for path in ((name,), *(("stacks", stack, name) for stack in affected)) if path in document.keys]
    return Problem(document.at_key(empty[-1]) if empty else document.at(("topic",)), message, "missing")
