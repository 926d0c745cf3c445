"""What topics have in common, lifted into ``_defaults.yaml`` files; what is left to say in each topic's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, TypeAlias

from topicwarden.model.topic import Topic
from topicwarden.specs.load import LoadedSpecs
from topicwarden.specs.validated_document import Leaves, ValidatedDocument
from topicwarden.specs.write.folders import Folder
from topicwarden.specs.yaml_nodes import KeyPath

Placed: TypeAlias = Mapping[str, tuple[Folder, Leaves]]
"""By name, the folder of a topic and what it is to be."""

_LIVE: Final = ("partitions", "replication_factor", "config")
_MIXED: Final = object()
_NEARLY_ALL: Final = 0.75


@dataclass(frozen=True)
class SharedDefaults:
    """What the new ``_defaults.yaml`` files say, by folder, and each topic's own document, common and for the stack.

    None unsets what is inherited.
    """

    defaults: Mapping[Folder, Leaves]
    own: Mapping[str, Leaves]
    on_stack: Mapping[str, Leaves]


def leaves(topic: Topic) -> Leaves:
    """What a cluster can know of a topic, by the path of its key."""
    known: dict[KeyPath, Any] = {("partitions",): topic.partitions, ("replication_factor",): topic.replication_factor}
    return known | {("config", name): value for name, value in topic.config.items()}


def divide(placed: Placed, loaded: LoadedSpecs, stack: str | None) -> SharedDefaults:
    """Splits what the topics are to be on ``stack`` between new defaults and the topics' own documents.

    A ``_defaults.yaml`` that there is stays as it is, and a new one says nothing that would change a declared topic.
    """
    defaults: dict[Folder, Leaves] = {}
    for folder in sorted({(), *(folder for folder, _ in placed.values())}, key=len):
        if folder in loaded.defaults:
            continue
        lifted = _lifted(_units(placed, folder), _base(folder, loaded, defaults), everywhere=not folder)
        if free := {path: value for path, value in lifted if not _reaches_declared(path, folder, loaded)}:
            defaults[folder] = free
    own, on_stack = {}, {}
    for name, (folder, values) in placed.items():
        own[name] = _difference(values, _base(folder, loaded, defaults))
        forced = _known(_merged(sheet.stacks.get(stack, {}) for sheet in _chain(folder, loaded)) if stack else {})
        on_stack[name] = {path: values.get(path) for path in forced if forced[path] != values.get(path)}
    return SharedDefaults(defaults, own, on_stack)


def _units(placed: Placed, folder: Folder) -> list[Mapping[KeyPath, Any]]:
    """What shares a ``_defaults.yaml``: a folder's topics; of ``topics/``, its own and what each folder mostly is."""
    held: dict[Folder, list[Leaves]] = {}
    for where, values in placed.values():
        held.setdefault(where, []).append(values)
    if folder:
        return list(held[folder])
    return [*held.pop((), []), *map(_mostly, held.values())]


def _mostly(units: Sequence[Leaves]) -> Mapping[KeyPath, Any]:
    common: dict[KeyPath, Any] = {}
    for path in {path for unit in units for path in unit}:
        value, count = Counter(unit.get(path) for unit in units).most_common(1)[0]
        common[path] = value if count > len(units) / 2 else _MIXED
    return common


def _lifted(
    units: Sequence[Mapping[KeyPath, Any]], base: Leaves, everywhere: bool
) -> Iterator[tuple[KeyPath, int | str | None]]:
    """What is shorter to say once: of more than half of the units, or of nearly all where others must unset it."""
    for path in sorted({*base, *(path for unit in units for path in unit)}):
        wanted = [unit.get(path) for unit in units]
        value, count = Counter(wanted).most_common(1)[0] if wanted else (None, 0)
        unset = value is None or None in wanted
        enough = count >= _NEARLY_ALL * len(units) if everywhere or unset else count > len(units) / 2
        lines = 1 + len(units) - count
        if value is not _MIXED and enough and lines < sum(each != base.get(path) for each in wanted):
            yield path, value


def _base(folder: Folder, loaded: LoadedSpecs, new: Mapping[Folder, Leaves]) -> Leaves:
    """What a topic of ``folder`` inherits on every stack."""
    above = list(accumulate(((part,) for part in folder), initial=()))
    said = {part: sheet.common for part, sheet in loaded.defaults.items() if sheet is not None}
    return _known(_merged({**said, **new}.get(part, {}) for part in above))


def _chain(folder: Folder, loaded: LoadedSpecs) -> list[ValidatedDocument]:
    above = accumulate(((part,) for part in folder), initial=())
    return [sheet for part in above if (sheet := loaded.defaults.get(part)) is not None]


def _merged(layers: Iterator[Leaves]) -> Leaves:
    merged: dict[KeyPath, Any] = {}
    for layer in layers:
        merged.update(layer)
    return merged


def _known(settings: Leaves) -> Leaves:
    """Those that a cluster knows of, too."""
    return {
        path: value for path, value in settings.items() if path[0] in ("partitions", "replication_factor", "config")
    }


def _difference(values: Leaves, base: Leaves) -> Leaves:
    paths = {**values, **base}
    return {path: values.get(path) for path in paths if values.get(path) != base.get(path)}


def _reaches_declared(path: KeyPath, folder: Folder, loaded: LoadedSpecs) -> bool:
    """Whether a topic that is declared below ``folder`` would inherit ``path`` from it."""
    for topic in loaded.topics:
        if topic.folder[: len(folder)] == folder and path not in topic.sheet.common:
            nearer = _chain(topic.folder, loaded)[len(_chain(folder, loaded)) :]
            if not any(path in sheet.common for sheet in nearer):
                return True
    return False
