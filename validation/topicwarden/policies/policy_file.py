"""``policies/*.yaml`` to the rules that hold, each problem at its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, ValidationError, create_model
from pydantic_core import CoreSchema

from topicwarden.model.problem import Location, Problem
from topicwarden.model.project import Project
from topicwarden.model.timestamps import today as day_it_is
from topicwarden.policies.expressions import CelError, CompiledExpression, ExpressionSpec, compile_expression
from topicwarden.policies.policy import PlacedSettings, Policy
from topicwarden.policies.rule import Rule, StackRule
from topicwarden.policies.rules import RULES, STACK_RULES
from topicwarden.policies.scope import Scope
from topicwarden.policies.unmatched_patterns import PlacedPattern
from topicwarden.policies.waivers import PlacedWaiver, Waiver, run_out
from topicwarden.specs.broker_settings import read_brokers
from topicwarden.specs.document_model import ContentsSection, Nullable
from topicwarden.specs.message_text import did_you_mean, quoted
from topicwarden.specs.problem_ids import PROBLEM_IDS
from topicwarden.specs.spec_files import SpecFile, read_files
from topicwarden.specs.validation_errors import validation_problems
from topicwarden.specs.yaml_nodes import KeyPath, YamlFile, read_documents

PACK_FILE = "PulumiPolicy"
"""Pulumi's own file of the policy pack, beside the policies."""


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [{} if value is None else value]


class _OneOrMore:
    """Tells the JSON Schema that one may stand without a list, and nothing for one without settings."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        several = handler(schema)
        return {"anyOf": [several["items"], several, {"type": "null"}]}


def _blocks(rule: Rule | StackRule) -> tuple[Any, Any]:
    settings: Any = rule.Settings
    blocks = Annotated[list[settings], BeforeValidator(_listed), Field(min_length=1), _OneOrMore()]
    return blocks, Field(default=None, description=(rule.__doc__ or "").partition("\n")[0])


_EVERY: dict[str, Rule | StackRule] = {**RULES, **STACK_RULES}
_fields: dict[str, Any] = {name: _blocks(rule) for name, rule in _EVERY.items()}
RuleTable = create_model("RuleTable", __config__=ConfigDict(extra="forbid", frozen=True), **_fields)


def _or_empty(value: Any) -> Any:
    return [] if value is None else value


class PolicyFile(ContentsSection):
    """One policy file: rules by id, with their settings; expressions; waivers."""

    rules: Nullable[RuleTable] = RuleTable()
    expressions: Annotated[list[ExpressionSpec], BeforeValidator(_or_empty)] = Field(default=[])
    waivers: Annotated[list[Waiver], BeforeValidator(_or_empty)] = Field(default=[])


def load_policy(project: Project, today: date | None = None) -> Policy:
    """Reads every policy file, and of every stack what it says of its brokers; a missing folder holds none.

    ``today`` is the day by which waivers run out, by default the day it is. What is wrong is in ``problems``.
    """
    reading = _Reading(project, today or day_it_is())
    for found in read_files(project.policies, project.root):
        if isinstance(found, Problem):
            reading.problems.append(found)
        elif found.stem != PACK_FILE:
            reading.read(found)
    return reading.policy(project)


def _no_rule(name: str, known: Sequence[str]) -> str:
    if name in PROBLEM_IDS:
        return f"{name} cannot be waived, as it always holds; mend the files"
    return f"there is no rule {quoted(name)}{did_you_mean(name, known) or '; `topicwarden rules` lists them'}"


class _Reading:
    """The policy files as far as they were read."""

    def __init__(self, project: Project, today: date) -> None:
        self.problems: list[Problem] = []
        self._stacks = project.stack_names()
        self._domains = sorted(path.name for path in project.topics.glob("*") if path.is_dir())
        self._today = today
        self._rules: dict[str, list[PlacedSettings]] = {}
        self._expressions: dict[str, CompiledExpression] = {}
        self._waivers: list[PlacedWaiver] = []
        self._patterns: list[PlacedPattern] = []
        self._written: dict[str, Location] = {}

    def policy(self, project: Project) -> Policy:
        read = {stack: read_brokers(project, stack) for stack in self._stacks}
        for _, problems in read.values():
            self.problems += problems
        self._known_rules()
        return Policy(
            {name: tuple(self._held(name)) for name in _EVERY},
            tuple(self._expressions.values()),
            tuple(held for held in self._waivers if not self._run_out(held)),
            {stack: brokers for stack, (brokers, _) in read.items()},
            tuple(self._patterns),
            tuple(self.problems),
        )

    def read(self, found: SpecFile) -> None:
        documents, broken = read_documents(found.data, found.file)
        self.problems += broken
        for document in documents:
            self.problems += [*document.problems, *document.warnings]
            if document.problems:
                continue
            try:
                self._take(PolicyFile.model_validate(document.value), document)
            except ValidationError as error:
                self.problems += validation_problems(error, document, PolicyFile)

    def _take(self, file: PolicyFile, document: YamlFile) -> None:
        for name in _EVERY:
            blocks: Sequence[Any] | None = getattr(file.rules, name)
            if blocks is not None and self._first("rule", name, document.at_key(("rules", name))):
                self._rules[name] = [self._block(name, n, settings, document) for n, settings in enumerate(blocks)]
        for index, expression in enumerate(file.expressions):
            self._expression(expression, ("expressions", index), document)
        for index, waiver in enumerate(file.waivers):
            path: KeyPath = ("waivers", index)
            self._scope(waiver, path, document)
            self._waivers.append(PlacedWaiver(waiver, document.at((*path, "rule")), waiver.matcher()))

    def _block(self, name: str, index: int, settings: Any, document: YamlFile) -> PlacedSettings:
        path: KeyPath = ("rules", name, index)
        path = path if path in document.values else path[:-1]
        self._scope(settings, path, document)
        return PlacedSettings(settings, document.at_key(path))

    def _expression(self, expression: ExpressionSpec, path: KeyPath, document: YamlFile) -> None:
        if not self._first("expression", expression.id, document.at((*path, "id"))):
            return
        self._scope(expression, path, document)
        try:
            compiled = compile_expression(expression, lambda key: document.at((*path, key)))
        except CelError as error:
            self.problems.append(Problem(document.at((*path, error.part)), f"{error.part}: {error}", "expression"))
            return
        self._expressions[expression.id] = compiled

    def _first(self, kind: str, name: str, place: Location) -> bool:
        if kind == "expression" and name in _EVERY:
            self.problems.append(Problem(place, f"{name} is a rule's id; give the expression another", "rule-twice"))
            return False
        first = self._written.setdefault(name, place)
        if first != place:
            message = f"the {kind} {name} is set twice, first at {first}; keep one"
            self.problems.append(Problem(place, message, "rule-twice"))
        return first == place

    def _scope(self, scope: Scope, path: KeyPath, document: YamlFile) -> None:
        for index, pattern in enumerate(scope.topics or ()):
            self._patterns.append(PlacedPattern(scope, pattern, document.at((*path, "topics", index))))
        for key, kind, known in (("stacks", "stack", self._stacks), ("domains", "folder topics/", self._domains)):
            for index, name in enumerate(getattr(scope, key) or ()):
                if name not in known:
                    listed = (
                        f"expected one of {', '.join(known)}"
                        if known
                        else "topics/ has no folders"
                        if kind.endswith("/")
                        else "the project has no stack"
                    )
                    remedy = did_you_mean(name, known) or f"; {listed}"
                    message = f"there is no {kind}{'' if kind.endswith('/') else ' '}{name}{remedy}"
                    self.problems.append(
                        Problem(document.at((*path, key, index)), message, f"{kind.split()[0]}-unknown")
                    )

    def _known_rules(self) -> None:
        known = [*_EVERY, *(name for name in self._written if name not in _EVERY)]
        for held in tuple(self._waivers):
            if held.waiver.rule not in known:
                self._waivers.remove(held)
                message = _no_rule(held.waiver.rule, known)
                self.problems.append(Problem(held.place, message, "rule-unknown"))

    def _run_out(self, held: PlacedWaiver) -> bool:
        if problem := run_out(held.waiver, held.place, self._today):
            self.problems.append(problem)
        return problem is not None

    def _held(self, name: str) -> Iterator[PlacedSettings]:
        yield from self._rules.get(name, ())
        always = (_EVERY)[name].ALWAYS
        if always is not None:
            yield PlacedSettings(always)
