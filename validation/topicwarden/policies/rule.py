"""What a rule is. It names a path of the topic; only ``check`` knows lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import Field

from topicwarden.problem import Level
from topicwarden.specs.model import Part
from topicwarden.topic import Topic


@dataclass(frozen=True)
class Complaint:
    """What a rule finds: where in the topic (``("config", "retention.ms")``), and what is wrong."""

    path: tuple[str, ...]
    message: str


class RuleSettings(Part):
    """What every rule can be told in a policy file."""

    level: Level = Field(default=Level.ERROR, description="error fails the check, warning does not.")
    stacks: list[str] | None = Field(default=None, description="The stacks it holds for; all where not given.")


class Rule(Protocol):
    """A module of ``rules/``: its docstring is its documentation, its name in the table its id.

    ``ALWAYS`` are the settings that hold where no policy file speaks of the rule; None: it is off then.
    """

    ALWAYS: Any

    @property
    def Settings(self) -> type[Any]: ...  # noqa: N802

    def judge(self, topic: Topic, settings: Any) -> Iterable[Complaint]: ...
