"""A document that passed validation: its settings by path, for all stacks and for each stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from topicwarden.kinds.subject.spec import SubjectDocument
from topicwarden.model.message_text import did_you_mean, quoted
from topicwarden.model.problem import MOST_PROBLEMS, Location, Problem
from topicwarden.specs.document_model import AccessDocument, CommonSettings
from topicwarden.specs.validation_errors import validation_problems
from topicwarden.specs.yaml_nodes import KeyPath, ParsedDocument

FlatSettings: TypeAlias = Mapping[KeyPath, Any]
"""Settings by path, such as ``("config", "retention.ms")``; None unsets the inherited value."""

REGISTRY_PATHS: Final[tuple[KeyPath, ...]] = tuple(("contents", part, "registry") for part in ("key", "value"))
"""Settings that are a flag or a mapping. A mapping has the value ``{}``, and its keys are settings of their own."""


@dataclass(frozen=True)
class ValidatedDocument:
    """The settings of one document: ``common`` for all stacks, and ``stacks`` with the overrides of each stack."""

    source: ParsedDocument
    common: FlatSettings
    stacks: Mapping[str, FlatSettings]


@dataclass(frozen=True)
class SettingLocations:
    """The locations of the settings of one topic on one stack.

    ``layers`` are pairs of a document and the path of its section that applies, highest precedence first.
    ``own`` is the topic's own document. ``settings`` are the resolved settings.
    """

    own: ParsedDocument
    layers: Sequence[tuple[ParsedDocument, KeyPath]]
    settings: FlatSettings

    def at_item(self, path: KeyPath, index: int) -> Location:
        """Return the location of an item of the list at ``path``, which must be one of ``settings``."""
        for document, section in self.layers:
            if section + path in document.values:
                return document.at((*section, *path, index))
        return self.own.at(())

    def at(self, path: KeyPath) -> Location:
        """Return the location of the setting at ``path``, in the topic's document or in a ``_defaults.yaml``.

        For a setting that no document has, return the location in the topic's document where it belongs.
        """
        for end in range(len(path), 0, -1):
            parent = path[:end]
            for document, section in self.layers:
                if section + parent in document.values and (parent in self.settings or document is self.own):
                    return document.at(section + parent)
        return self.own.at(())


class StackDocument:
    """The settings of one file below ``access/`` or ``subjects/`` for one stack, with the location of each."""

    def __init__(self, document: ValidatedDocument, stack: str | None) -> None:
        own = document.stacks.get(stack, {}) if stack is not None else {}
        settings = {**document.common, **own}
        self.settings: FlatSettings = {path: value for path, value in settings.items() if value is not None}
        sections: list[KeyPath] = [("stacks", stack), ()] if stack is not None and stack in document.stacks else [()]
        self.file = document.source.file
        self._source = document.source
        self._layers = [(document.source, section) for section in sections]
        self.locations = SettingLocations(document.source, self._layers, self.settings)

    def entries(self, key: str) -> Iterator[tuple[Mapping[str, Any], Location]]:
        """Yield the entries of the list ``key``, with their locations."""
        for index, entry in enumerate(self.settings.get((key,), ())):
            yield entry, self.locations.at_item((key,), index)

    def items(self, key: str) -> Iterator[tuple[str, Mapping[str, Any], Callable[[str], Location]]]:
        """Yield each item of the mapping ``key``: its name, its settings, and a function that locates a setting.

        Without a setting, the function returns the location of the name.
        """
        names: dict[str, dict[str, Any]] = {}
        for _, section in reversed(self._layers):
            for path in self._source.keys:
                if len(path) == len(section) + 2 and path[: len(section) + 1] == (*section, key):
                    names.setdefault(str(path[-1]), {})
        for path, value in self.settings.items():
            if len(path) > 2 and path[0] == key:
                names.setdefault(str(path[1]), {})[".".join(map(str, path[2:]))] = value
        for name, settings in names.items():
            yield name, settings, lambda setting, name=name: self._location(key, name, setting)  # type: ignore[misc]

    def _location(self, key: str, name: str, setting: str) -> Location:
        if setting and (key, name, setting) in self.settings:
            return self.locations.at((key, name, setting))
        paths = ((*section, key, name) for _, section in reversed(self._layers))
        return next((self._source.at_key(path) for path in paths if path in self._source.keys), self._source.at(()))


def validate(
    document: ParsedDocument,
    model: type[CommonSettings] | type[AccessDocument] | type[SubjectDocument],
    stacks: Sequence[str],
) -> tuple[ValidatedDocument | None, list[Problem]]:
    """Validate a document against ``model``; return its settings, or None, and all its problems.

    ``stacks`` are the stacks of the project.
    """
    problems = list(document.problems)
    if document.value is None:
        return None, problems
    folders: Mapping[Any, str] = {AccessDocument: "access", SubjectDocument: "subjects"}
    if message := other_tool_message(document.value, folders.get(model, "topics")):
        return None, [*problems, Problem(document.at(()), message, "file-foreign")]
    problems += islice(_unknown_stacks(document, stacks), MOST_PROBLEMS + 1)
    try:
        spec = model.model_validate(document.value)
    except ValidationError as error:
        return None, problems + validation_problems(error, document, model)
    if problems:
        return None, problems
    settings = spec.model_dump(exclude_unset=True, by_alias=True, exclude={"topic"})
    by_stack = settings.pop("stacks", {})
    return ValidatedDocument(
        document, dict(_flatten(settings)), {name: dict(_flatten(section)) for name, section in by_stack.items()}
    ), []


def other_tool_message(value: Any, folder: str = "topics") -> str | None:
    """Return the message about a document of another tool, which its top-level keys identify; None for any other.

    ``folder`` is the folder of the project in which the file is.
    """
    keys = value.keys() if isinstance(value, dict) else set()
    move = f"; move the file out of {folder}/"
    convert = f"{move}, and convert it with `topicwarden import --from FILE`"
    if {"meta", "spec"} <= keys:
        return f"this is a topic file of topicctl{convert}"
    if {"context", "projects"} <= keys:
        return f"this is a topology of Julie{convert}"
    if "services" in keys and keys <= {
        "settings",
        "topics",
        "services",
        "users",
        "customServiceAcls",
        "customUserAcls",
    }:
        return f"this is a state file of kafka-gitops{convert}"
    if not {"apiVersion", "kind"} <= keys:
        return None
    kind, api = str(value["kind"]), str(value["apiVersion"])
    known = kind.endswith("List") or any(part in kind for part in ("Topic", "User", "Principal", "Quota"))
    return f"this is a Kubernetes resource (kind {quoted(kind)} of {quoted(api)}){convert if known else move}"


def _flatten(settings: Mapping[str, Any], parent: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            if (*parent, name) in REGISTRY_PATHS:
                yield (*parent, name), {}
            yield from _flatten(value, (*parent, name))
        else:
            yield (*parent, name), list(value) if isinstance(value, tuple) else value


def _unknown_stacks(document: ParsedDocument, stacks: Sequence[str]) -> Iterator[Problem]:
    sections = document.value.get("stacks") if isinstance(document.value, dict) else None
    for name in sections if isinstance(sections, dict) else ():
        if name not in stacks:
            known = f"; the project has {', '.join(stacks)}" if stacks else "; the project has no stacks"
            message = f"there is no stack {quoted(name)}{did_you_mean(name, stacks) or known}"
            yield Problem(document.at_key(("stacks", name)), message, "stack-unknown")
