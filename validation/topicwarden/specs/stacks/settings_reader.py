"""Reads settings of ``stacks/Pulumi.<stack>.yaml`` one by one, and collects what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from topicwarden.model.message_text import describe_value
from topicwarden.specs.yaml_nodes import KeyPath


class InvalidSetting(ValueError):
    """The value of a setting is invalid. ``problems`` are paths in the value, empty for all of it, and messages."""

    def __init__(self, *problems: tuple[KeyPath, str]) -> None:
        super().__init__("; ".join(message for _, message in problems))
        self.problems = problems


class SettingProblem(NamedTuple):
    """A wrong setting: its name, the rest of a message about it, and the path of the wrong part of its value."""

    name: str
    message: str
    path: KeyPath = ()


def decoded(value: Any) -> Any:
    """Return a setting's value; a mapping or list is also accepted as JSON, the form in which programs get it."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def kind_of(value: object) -> str:
    """Return the kind of a value without its text, which may be a secret: to end ``expected …, got …``."""
    if isinstance(value, dict) and "secure" in value:
        return "an encrypted value"
    return "text" if isinstance(value, str) else describe_value(value)


@dataclass
class SettingsReader:
    """Settings by name, and the problems that were found so far.

    Relative paths are below ``root``. With ``offline``, encrypted values, missing secrets and missing files are no
    problem: Pulumi ESC may add secrets, and files may exist only where the stack is deployed.
    """

    settings: Mapping[str, Any]
    root: Path
    offline: bool
    problems: list[SettingProblem] = field(default_factory=list)

    def problem(self, name: str, message: str, path: KeyPath = ()) -> None:
        """Note that something is wrong with the setting ``name``, or with the part of its value at ``path``."""
        self.problems.append(SettingProblem(name, message, path))

    def encrypted(self, name: str) -> bool:
        """Return whether a setting is there, but cannot be read."""
        value = self.settings.get(name)
        return self.offline and isinstance(value, dict) and value.keys() == {"secure"}

    def text(self, name: str) -> str | None:
        """Return a setting; None if it is absent, encrypted or not text. YAML turns the number 0123 into 83."""
        value = self.settings.get(name)
        if value is None or isinstance(value, str) or self.encrypted(name):
            return value if isinstance(value, str) else None
        self.problem(name, "expected text, got another type; put it in quotes")
        return None

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false, which Pulumi may have written as text; ``default`` if it is anything else."""
        value = self.settings.get(name, default)
        written = {"true": True, "false": False}.get(value) if isinstance(value, str) else value
        if isinstance(written, bool):
            return written
        if not self.encrypted(name):
            self.problem(name, f"expected true or false, got {describe_value(value)}")
        return default

    def texts(self, name: str, expected: str) -> tuple[str, ...]:
        """Return a list of texts: a list, the same list as JSON (Pulumi's form for programs), or one text."""
        value = self.settings.get(name)
        if value is None or self.encrypted(name):
            return ()
        listed = decoded(value)
        texts = [listed] if isinstance(listed, str) else listed
        if not isinstance(texts, list):
            self.problem(name, f"expected {expected}, got {describe_value(value)}")
            return ()
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                path = (index,) if texts is value else ()
                self.problem(name, f"expected {expected}, got {describe_value(text)} in the list", path)
        return tuple(text for text in texts if isinstance(text, str))
