"""A document that passed validation: its settings by path, for all stacks and for each stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from pydantic import ValidationError

from topicwarden.model.message_text import did_you_mean, quoted
from topicwarden.model.problem import MOST_PROBLEMS, Location, Problem
from topicwarden.specs.document_model import CommonSettings
from topicwarden.specs.validation_errors import validation_problems
from topicwarden.specs.yaml_nodes import KeyPath, ParsedDocument

FlatSettings: TypeAlias = Mapping[KeyPath, Any]
"""Settings by path, such as ``("config", "retention.ms")``; None unsets the inherited value."""


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


def validate(
    document: ParsedDocument, model: type[CommonSettings], stacks: Sequence[str]
) -> tuple[ValidatedDocument | None, list[Problem]]:
    """Validate a document against ``model``; return its settings, or None, and all its problems.

    ``stacks`` are the stacks of the project.
    """
    problems = list(document.problems)
    if document.value is None:
        return None, problems
    if message := other_tool_message(document.value):
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


def other_tool_message(value: Any) -> str | None:
    """Return the message about a document of another tool, which its top-level keys identify; None for any other."""
    keys = value.keys() if isinstance(value, dict) else set()
    convert = "; move the file out of topics/, and convert it with `topicwarden import --from FILE`"
    if {"meta", "spec"} <= keys:
        return f"this is a topic file of topicctl{convert}"
    if not {"apiVersion", "kind"} <= keys:
        return None
    kind, api = str(value["kind"]), str(value["apiVersion"])
    remedy = convert if "Topic" in kind or kind.endswith("List") else "; move the file out of topics/"
    return f"this is a Kubernetes resource (kind {quoted(kind)} of {quoted(api)}){remedy}"


def _flatten(settings: Mapping[str, Any], parent: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
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
