"""A document that holds together: its settings by path, for every stack and for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError

from topicwarden.model.problem import Location, Problem
from topicwarden.specs.document_model import ConfigSpec
from topicwarden.specs.message_text import guess, quoted
from topicwarden.specs.validation_errors import problems_of
from topicwarden.specs.yaml_nodes import KeyPath, YamlFile

Leaves: TypeAlias = Mapping[KeyPath, Any]
"""Settings by path, such as ``("config", "retention.ms")``; None unsets what is inherited."""


@dataclass(frozen=True)
class ValidatedDocument:
    """One document: ``common`` holds on every stack, ``stacks`` on top of it on one."""

    document: YamlFile
    common: Leaves
    stacks: Mapping[str, Leaves]


@dataclass(frozen=True)
class SettingLocations:
    """Where the settings of one topic on one stack were written.

    ``layers`` are documents with the path below which they count, the weightiest first; ``own`` is the topic's.
    """

    own: YamlFile
    layers: Sequence[tuple[YamlFile, KeyPath]]
    leaves: Leaves

    def at(self, path: KeyPath) -> Location:
        """Where the setting at ``path`` was written, in the topic's document or in a ``_defaults.yaml``.

        Of what was written nowhere it gives the place in the topic's document that it belongs to.
        """
        for end in range(len(path), 0, -1):
            part = path[:end]
            for document, below in self.layers:
                if below + part in document.values and (part in self.leaves or document is self.own):
                    return document.at(below + part)
        return self.own.at(())


def validate(
    document: YamlFile, shape: type[ConfigSpec], stacks: Sequence[str]
) -> tuple[ValidatedDocument | None, list[Problem]]:
    """The document as ``shape`` reads it, or None, and all that is wrong with it; ``stacks`` are those that exist."""
    problems = list(document.problems)
    if document.value is None:
        return None, problems
    if message := foreign(document.value):
        return None, [*problems, Problem(document.at(()), message, "file-foreign")]
    problems += _unknown_stacks(document, stacks)
    try:
        spec = shape.model_validate(document.value)
    except ValidationError as error:
        return None, problems + problems_of(error, document, shape)
    if problems:
        return None, problems
    settings = spec.model_dump(exclude_unset=True, by_alias=True, exclude={"topic"})
    by_stack = settings.pop("stacks", {})
    return ValidatedDocument(
        document, dict(_leaves(settings)), {name: dict(_leaves(part)) for name, part in by_stack.items()}
    ), []


def foreign(value: Any) -> str | None:
    """The message about a document of another tool, told by keys that no document of ours has; None for any other."""
    keys = value.keys() if isinstance(value, dict) else set()
    convert = "; move the file out of topics/, and `topicwarden import --from FILE` converts it"
    if {"meta", "spec"} <= keys:
        return f"this is a topic file of topicctl{convert}"
    if not {"apiVersion", "kind"} <= keys:
        return None
    kind, api = str(value["kind"]), str(value["apiVersion"])
    remedy = convert if "Topic" in kind or kind.endswith("List") else "; move the file out of topics/"
    return f"this is a Kubernetes resource (kind {quoted(kind)} of {quoted(api)}){remedy}"


def _leaves(settings: Mapping[str, Any], above: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def _unknown_stacks(document: YamlFile, stacks: Sequence[str]) -> Iterator[Problem]:
    named = document.value.get("stacks") if isinstance(document.value, dict) else None
    for name in named if isinstance(named, dict) else ():
        if name not in stacks:
            known = f"; the project has {', '.join(stacks)}" if stacks else "; the project has none"
            message = f"there is no stack {quoted(name)}{guess(name, stacks) or known}"
            yield Problem(document.at_key(("stacks", name)), message, "stack-unknown")
