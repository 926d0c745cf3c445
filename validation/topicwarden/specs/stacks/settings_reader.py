"""Reads settings of ``stacks/Pulumi.<stack>.yaml`` one by one, and collects what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from topicwarden.model import message_text
from topicwarden.model.message_text import describe_value, did_you_mean
from topicwarden.specs.yaml_nodes import KeyPath


class SettingProblem(NamedTuple):
    """A wrong setting or a wrong part of its value: the path, which may begin with its name, and a message about it."""

    path: KeyPath
    message: str

    @property
    def name(self) -> str:
        """The path as text: ``kafka:bootstrapServers[1]``; empty for a whole value."""
        return name_of(self.path)


class InvalidSetting(ValueError):
    """The value of a setting is invalid; the paths of the problems begin in the value."""

    def __init__(self, *problems: SettingProblem) -> None:
        super().__init__("; ".join(each.message for each in problems))
        self.problems = problems


def name_of(path: KeyPath) -> str:
    """Return the path of a setting or of a part of its value as text: ``kafka:bootstrapServers[1]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def is_encrypted(value: Any) -> bool:
    """Return whether Pulumi encrypted a value, and it is not decrypted."""
    return isinstance(value, dict) and value.keys() == {"secure"}


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
    return "an encrypted value" if is_encrypted(value) else message_text.kind_of(value)


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
        self.problems.append(SettingProblem((name, *path) if name else path, message))

    def unknown(self, known: Sequence[str], gone: Mapping[str, str] = MappingProxyType({})) -> None:
        """Note each setting that is not ``known``. ``gone`` are those of earlier versions, and what to do with them."""
        for name in self.settings:
            if name not in known:
                remedy = did_you_mean(name, known) or f"; known are {', '.join(known)}"
                self.problem(name, gone.get(name) or f"unknown key{remedy}")

    def encrypted(self, name: str) -> bool:
        """Return whether a setting is there, but cannot be read."""
        return self.offline and is_encrypted(self.settings.get(name))

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
