"""Split the settings of new topics into shared ``_defaults.yaml`` files and the topics' own documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from topicwarden.model.topic import Topic
from topicwarden.specs.load import LoadedSpecs, with_parents
from topicwarden.specs.validated_document import FlatSettings
from topicwarden.specs.write.topic_file import Folder
from topicwarden.specs.yaml_nodes import KeyPath

PlacedTopics: TypeAlias = Mapping[str, tuple[Folder, FlatSettings]]
"""The folder and the settings of each topic, by name."""

_CLUSTER_KEYS: Final = ("partitions", "replication_factor", "config")
_MIXED: Final = object()
_NEARLY_ALL: Final = 0.75


@dataclass(frozen=True)
class SharedDefaults:
    """The settings of new ``_defaults.yaml`` files by folder, and of new topics' documents by topic.

    ``own`` are a topic's settings for all stacks, ``on_stack`` its overrides for the stack. None unsets an inherited
    value.
    """

    defaults: Mapping[Folder, FlatSettings]
    own: Mapping[str, FlatSettings]
    on_stack: Mapping[str, FlatSettings]


def flat_settings(topic: Topic) -> FlatSettings:
    """Return the settings of a topic that a cluster has, by path: partitions, replication factor and config."""
    settings: dict[KeyPath, Any] = {
        ("partitions",): topic.partitions,
        ("replication_factor",): topic.replication_factor,
    }
    return settings | {("config", name): value for name, value in topic.config.items()}


def divide(topics: PlacedTopics, loaded: LoadedSpecs, stack: str | None) -> SharedDefaults:
    """Split the topics' settings on ``stack`` into new defaults and the topics' own documents.

    An existing ``_defaults.yaml`` is not changed. A new one has no setting that would change a declared topic.
    """
    by_folder: dict[Folder, list[FlatSettings]] = {}
    for folder, values in topics.values():
        by_folder.setdefault(folder, []).append(values)
    defaults: dict[Folder, FlatSettings] = {}
    for folder in sorted({(), *by_folder}, key=len):
        if folder in loaded.defaults:
            continue
        shared = _worth_sharing(_members(by_folder, folder), _inherited(folder, loaded, defaults), is_root=not folder)
        if new_settings := {path: value for path, value in shared if not _affects_declared(path, folder, loaded)}:
            defaults[folder] = new_settings
    own, on_stack = {}, {}
    for name, (folder, values) in topics.items():
        own[name] = _difference(values, _inherited(folder, loaded, defaults))
        stack_defaults = (document.stacks.get(stack, {}) for document in loaded.defaults_of(folder)) if stack else ()
        overrides = _cluster_settings(_merged(stack_defaults))
        on_stack[name] = {path: values.get(path) for path in overrides if overrides[path] != values.get(path)}
    return SharedDefaults(defaults, own, on_stack)


def _members(by_folder: Mapping[Folder, Sequence[FlatSettings]], folder: Folder) -> list[Mapping[KeyPath, Any]]:
    """Return the settings of the members that share the ``_defaults.yaml`` of ``folder``.

    The members of a folder are its topics. The members of ``topics/`` itself are its own topics, and each folder with
    the settings of the majority of its topics.
    """
    if folder:
        return list(by_folder[folder])
    return [*by_folder.get((), ()), *(_majority(members) for other, members in by_folder.items() if other)]


def _majority(members: Sequence[FlatSettings]) -> Mapping[KeyPath, Any]:
    common: dict[KeyPath, Any] = {}
    for path in {path for member in members for path in member}:
        value, count = Counter(member.get(path) for member in members).most_common(1)[0]
        common[path] = value if count > len(members) / 2 else _MIXED
    return common


def _worth_sharing(
    members: Sequence[Mapping[KeyPath, Any]], inherited: FlatSettings, is_root: bool
) -> Iterator[tuple[KeyPath, int | str | None]]:
    """Yield the settings that make the files shorter if they move to the shared defaults.

    More than half of the members must have the value. Nearly all must have it in the root folder, or if other members
    would have to unset it.
    """
    for path in sorted({*inherited, *(path for member in members for path in member)}):
        values = [member.get(path) for member in members]
        value, count = Counter(values).most_common(1)[0] if values else (None, 0)
        unset = value is None or None in values
        is_common = count >= _NEARLY_ALL * len(members) if is_root or unset else count > len(members) / 2
        line_count = 1 + len(members) - count
        lines_without = sum(member_value != inherited.get(path) for member_value in values)
        if value is not _MIXED and is_common and line_count < lines_without:
            yield path, value


def _inherited(folder: Folder, loaded: LoadedSpecs, new: Mapping[Folder, FlatSettings]) -> FlatSettings:
    """Return the settings that a topic in ``folder`` inherits on all stacks."""
    existing = {parent: document.common for parent, document in loaded.defaults.items() if document is not None}
    return _cluster_settings(_merged({**existing, **new}.get(parent, {}) for parent in with_parents(folder)))


def _merged(layers: Iterable[FlatSettings]) -> FlatSettings:
    merged: dict[KeyPath, Any] = {}
    for layer in layers:
        merged.update(layer)
    return merged


def _cluster_settings(settings: FlatSettings) -> FlatSettings:
    """Return those of ``settings`` that a cluster also has."""
    return {path: value for path, value in settings.items() if path[0] in _CLUSTER_KEYS}


def _difference(values: FlatSettings, inherited: FlatSettings) -> FlatSettings:
    paths = {**values, **inherited}
    return {path: values.get(path) for path in paths if values.get(path) != inherited.get(path)}


def _affects_declared(path: KeyPath, folder: Folder, loaded: LoadedSpecs) -> bool:
    """Return whether a declared topic below ``folder`` would inherit ``path`` from the folder's defaults."""
    for topic in loaded.topics:
        if topic.folder[: len(folder)] == folder and path not in topic.document.common:
            nearer = loaded.defaults_of(topic.folder)[len(loaded.defaults_of(folder)) :]
            if not any(path in document.common for document in nearer):
                return True
    return False
