"""The result of an import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from topicwarden.model.problem import Level, Problem
from topicwarden.specs.write import NewFile


@dataclass(frozen=True)
class SkippedTopics:
    """The numbers of topics that were not imported, and need no import, by reason."""

    declared: int = 0
    internal: int = 0
    out_of_scope: int = 0


@dataclass(frozen=True)
class ImportReport:
    """The files that were written for undeclared topics, or would be written, and what prevents an import.

    - ``errors``: errors of ``topics/`` and of the stack's settings; nothing was imported.
    - ``rejected``: parts of the files of other tools that cannot be imported; nothing was imported.
    - ``files``: the new files. ``topics`` is the number of topics in them, and those that are declared already.
    - ``notes``: parts of the files of other tools that YAML does not declare.
    - ``refused``: topics that cannot be declared, with the reason.
    - ``differences``: declared settings that differ from the imported topics.
    - ``problems``: what a check finds in the new files.
    """

    stack: str
    errors: tuple[Problem, ...] = ()
    rejected: tuple[Problem, ...] = ()
    files: tuple[NewFile, ...] = ()
    topics: int = 0
    notes: tuple[Problem, ...] = ()
    skipped: SkippedTopics = SkippedTopics()
    refused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    differences: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def blocked(self) -> bool:
        """True if nothing was imported because of errors."""
        return bool(self.errors or self.rejected)

    @property
    def complete(self) -> bool:
        """True if nothing prevents the import of a selected topic."""
        failed = any(problem.level is Level.ERROR for problem in self.problems)
        return not (self.blocked or self.refused or self.differences or failed)
