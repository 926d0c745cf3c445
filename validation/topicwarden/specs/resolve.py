"""What holds on one stack: defaults, documents and their stacks laid over one another.

From weak to strong: the outermost ``_defaults.yaml`` … the nearest, the topic's document, then the ``stacks`` sections
for the stack in the same order. Maps are merged key by key, a list replaces a list, null unsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from topicwarden.model.problem import Problem
from topicwarden.model.topic import Contents, Permission, RecordRequirement, Topic
from topicwarden.specs.load import LoadedSpecs, LoadedTopic
from topicwarden.specs.validated_document import Leaves, SettingLocations, ValidatedDocument
from topicwarden.specs.yaml_nodes import KeyPath, YamlFile

_CONTENTS: Final[Mapping[KeyPath, str]] = {
    ("contents", "key", "required"): "key_required",
    ("contents", "key", "format"): "key_format",
    ("contents", "key", "schema"): "key_schema",
    ("contents", "key", "message"): "key_message",
    ("contents", "key", "registry"): "key_registry",
    ("contents", "key", "subject"): "key_subject",
    ("contents", "key", "max_share"): "key_max_share",
    ("contents", "key", "partitioner"): "partitioner",
    ("contents", "key", "partition_expression"): "partition_expression",
    ("contents", "key", "partition_function"): "partition_function",
    ("contents", "value", "format"): "value_format",
    ("contents", "value", "schema"): "value_schema",
    ("contents", "value", "message"): "value_message",
    ("contents", "value", "registry"): "value_registry",
    ("contents", "value", "subject"): "value_subject",
    ("contents", "headers", "required"): "headers_required",
    ("contents", "timestamps", "type"): "timestamp_type",
    ("contents", "timestamps", "max_ahead"): "timestamp_max_ahead_ms",
    ("contents", "timestamps", "max_late"): "timestamp_max_late_ms",
    ("contents", "records", "max_bytes"): "record_max_bytes",
    ("contents", "records", "per_day"): "records_per_day",
    ("contents", "partitions", "max_skew"): "partition_max_skew",
    ("contents", "expressions"): "expressions",
}

_NOTHING: Final = Contents()


@dataclass(frozen=True)
class Declaration:
    """A topic as declared for one stack, and where each of its settings was written."""

    topic: Topic
    places: SettingLocations


@dataclass(frozen=True)
class ResolvedStack:
    """The topics of one stack by name, and every problem of ``topics/``, those of loading among them.

    With problems, ``declarations`` holds what can be judged all the same: never deploy it.
    """

    declarations: tuple[Declaration, ...]
    problems: tuple[Problem, ...]


def resolve(loaded: LoadedSpecs, stack: str | None) -> ResolvedStack:
    """The topics as declared for ``stack``; None for what holds where no ``stacks`` section does."""
    chains = _Chains(loaded)
    declarations, problems = [], list(loaded.problems)
    for topic in loaded.topics:
        chain = chains.of(topic.folder)
        if chain is None:
            continue
        sheets = [*chain, topic.sheet]
        leaves = _laid(chains.merged(topic.folder, stack), topic.sheet, stack)
        missing = [name for name in ("partitions", "replication_factor") if (name,) not in leaves]
        problems += [_missing(topic, sheets, name, loaded.stacks) for name in missing]
        if not missing:
            declarations.append(Declaration(_topic(topic, leaves), _places(sheets, stack, leaves)))
    declarations.sort(key=lambda declaration: declaration.topic.name)
    return ResolvedStack(tuple(declarations), tuple(sorted(set(problems))))


def problems_of(resolved: Iterable[ResolvedStack]) -> tuple[Problem, ...]:
    """The problems of several stacks, sorted, each once."""
    return tuple(sorted({problem for each in resolved for problem in each.problems}))


class _Chains:
    """The defaults that hold in a folder, from the outermost to the nearest; looked up once a folder."""

    def __init__(self, loaded: LoadedSpecs) -> None:
        self._defaults = loaded.defaults
        self._known: dict[tuple[str, ...], list[ValidatedDocument] | None] = {}
        self._merged: dict[tuple[str, ...], tuple[Leaves, Leaves]] = {}

    def of(self, folder: tuple[str, ...]) -> list[ValidatedDocument] | None:
        """None where one of them is broken, so that nothing can be said of the folder's topics."""
        if folder not in self._known:
            above = accumulate(((part,) for part in folder), initial=())
            sheets = [self._defaults[part] for part in above if part in self._defaults]
            self._known[folder] = None if None in sheets else [sheet for sheet in sheets if sheet]
        return self._known[folder]

    def merged(self, folder: tuple[str, ...], stack: str | None) -> tuple[Leaves, Leaves]:
        """``_merge`` of the defaults of a folder, for the one stack that these are the chains of."""
        if folder not in self._merged:
            self._merged[folder] = _merge(self.of(folder) or (), stack)
        return self._merged[folder]


def _merge(sheets: Sequence[ValidatedDocument], stack: str | None) -> tuple[Leaves, Leaves]:
    """What holds on every stack, and what holds on top of it on one."""
    common: dict[KeyPath, Any] = {}
    above: dict[KeyPath, Any] = {}
    for sheet in sheets:
        common.update(sheet.common)
        above.update(sheet.stacks.get(stack, {}) if stack is not None else {})
    return common, above


def _laid(defaults: tuple[Leaves, Leaves], sheet: ValidatedDocument, stack: str | None) -> Leaves:
    common, above = defaults
    own = sheet.stacks.get(stack, {}) if stack is not None else {}
    merged = {**common, **sheet.common, **above, **own}
    if None in merged.values():
        return {path: value for path, value in merged.items() if value is not None}
    return merged


def _places(sheets: Sequence[ValidatedDocument], stack: str | None, leaves: Leaves) -> SettingLocations:
    layers: list[tuple[YamlFile, KeyPath]] = []
    if stack is not None:
        layers += [(sheet.document, ("stacks", stack)) for sheet in reversed(sheets) if stack in sheet.stacks]
    layers += [(sheet.document, ()) for sheet in reversed(sheets)]
    return SettingLocations(sheets[-1].document, layers, leaves)


def _topic(topic: LoadedTopic, leaves: Leaves) -> Topic:
    contents = {_CONTENTS[path]: value for path, value in leaves.items() if path in _CONTENTS}
    if "headers_required" in contents:
        contents["headers_required"] = tuple(contents["headers_required"])
    if "expressions" in contents:
        contents["expressions"] = tuple(RecordRequirement(**written) for written in contents["expressions"])
    return Topic(
        name=topic.name,
        partitions=leaves["partitions",],
        replication_factor=leaves["replication_factor",],
        config=dict(sorted((str(path[1]), value) for path, value in leaves.items() if path[0] == "config")),
        domain=topic.folder[0] if topic.folder else "",
        owner=leaves.get(("owner",)),
        description=leaves.get(("description",)),
        contents=Contents(**contents) if contents else _NOTHING,
        allow=frozenset(Permission(**permitted) for permitted in leaves.get(("allow",), ())),
    )


def _missing(topic: LoadedTopic, sheets: Sequence[ValidatedDocument], name: str, stacks: Sequence[str]) -> Problem:
    above, own = sheets[:-1], sheets[-1]
    lacking = [stack for stack in stacks if (name,) not in _laid(_merge(above, stack), own, stack)]
    where = "" if lacking == list(stacks) else f" for {', '.join(lacking) or 'stacks without a section'}"
    message = f"{topic.name} has no {name}{where}; write it here or in a _defaults.yaml"
    document = topic.sheet.document
    empty = [path for path in ((name,), *(("stacks", stack, name) for stack in lacking)) if path in document.keys]
    return Problem(document.at_key(empty[-1]) if empty else document.at(("topic",)), message, "missing")
