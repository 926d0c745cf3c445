"""``policies/*.yaml`` to the rules that hold, each problem at its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from topicwarden.policies.rule import RuleSettings
from topicwarden.policies.rules import RULES
from topicwarden.problem import Problem
from topicwarden.project import Project
from topicwarden.specs.errors import problems_of
from topicwarden.specs.files import read_files
from topicwarden.specs.model import Nullable, Part
from topicwarden.specs.nodes import Document, read_documents

PACK_FILE = "PulumiPolicy"
"""Pulumi's own file of the policy pack, beside the policies."""

_fields: dict[str, Any] = {name: (rule.Settings, Field(default=None)) for name, rule in RULES.items()}
RuleTable = create_model("RuleTable", __config__=ConfigDict(extra="forbid", frozen=True), **_fields)


class PolicyFile(Part):
    """One policy file: rules by id, with their settings."""

    rules: Nullable[RuleTable] = RuleTable()


@dataclass(frozen=True)
class Policy:
    """The rules that hold, by id: those of every policy file, and those that always do."""

    rules: Mapping[str, RuleSettings]
    problems: tuple[Problem, ...]

    def of(self, stack: str) -> Mapping[str, RuleSettings]:
        """The rules that hold for ``stack``."""
        return {name: held for name, held in self.rules.items() if held.stacks is None or stack in held.stacks}


def load_policy(project: Project) -> Policy:
    """Reads every policy file; a missing folder holds none. What is wrong is in ``problems``."""
    rules: dict[str, RuleSettings] = {name: rule.ALWAYS for name, rule in RULES.items() if rule.ALWAYS is not None}
    written: dict[str, str] = {}
    problems: list[Problem] = []
    for found in read_files(project.policies, project.root):
        if isinstance(found, Problem):
            problems.append(found)
            continue
        if found.stem == PACK_FILE:
            continue
        documents, broken = read_documents(found.data, found.file)
        problems += broken
        for document in documents:
            table, wrong = _table(document, project.stack_names())
            problems += wrong
            for name, settings in table.items():
                place = document.at_key(("rules", name))
                if name in written:
                    message = f"the rule {name} is set twice, first at {written[name]}; keep one"
                    problems.append(Problem(place, message, "rule-twice"))
                    continue
                written[name] = str(place)
                rules[name] = settings
    return Policy(rules, tuple(problems))


def _table(document: Document, stacks: list[str]) -> tuple[dict[str, RuleSettings], list[Problem]]:
    if document.problems:
        return {}, document.problems
    try:
        file = PolicyFile.model_validate(document.value)
    except ValidationError as error:
        return {}, problems_of(error, document, PolicyFile)
    rules: BaseModel = file.rules
    table = {name: settings for name in RULES if (settings := getattr(rules, name)) is not None}
    problems = [
        Problem(
            document.at(("rules", name, "stacks", index)),
            f"there is no stack {stack}; expected one of {', '.join(stacks) or 'stacks/Pulumi.<stack>.yaml'}",
            "stack-unknown",
        )
        for name, settings in table.items()
        for index, stack in enumerate(settings.stacks or ())
        if stack not in stacks
    ]
    return table, problems
