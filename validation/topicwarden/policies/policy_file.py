"""Load ``policies/*.yaml`` into a ``Policy``, with a location for each problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, ValidationError, create_model
from pydantic_core import CoreSchema

from topicwarden.model.field_types import BuiltAtFirstUse, Nullable, StrictModel
from topicwarden.model.message_text import did_you_mean, quoted
from topicwarden.model.problem import MOST_PROBLEMS, Location, Problem, limited
from topicwarden.model.project import Project
from topicwarden.model.timestamps import today as current_date
from topicwarden.policies.expressions import CelError, CompiledExpression, ExpressionSpec, compile_expression
from topicwarden.policies.policy import PlacedSettings, Policy
from topicwarden.policies.rule import AccessRule, Rule, StackRule
from topicwarden.policies.rules import ALL_RULES
from topicwarden.policies.scope import PlacedPattern, PolicyBlock, Scope
from topicwarden.policies.usage_policy import ContentsPolicy, CostPolicy, UsagePolicy
from topicwarden.policies.waivers import Waiver, WaiverEntry, expiry_problem
from topicwarden.specs.problem_ids import PROBLEM_IDS
from topicwarden.specs.spec_files import SpecFile, read_files
from topicwarden.specs.stacks.project_file import project_file_problems, stack_file_name_problems
from topicwarden.specs.stacks.stack_file import read_stack_file
from topicwarden.specs.validation_errors import validation_problems
from topicwarden.specs.yaml_nodes import KeyPath, ParsedDocument, read_documents

PACK_FILE = "PulumiPolicy"
"""Stem of Pulumi's own file for the policy pack, which is in the same folder as the policy files."""


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [{} if value is None else value]


class _OneOrMore:
    """Allow a single block without a list in the JSON Schema, and null for a rule without settings."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        array = handler(schema)
        return {"anyOf": [array["items"], array, {"type": "null"}]}


def _blocks(rule: Rule | StackRule | AccessRule) -> tuple[Any, Any]:
    settings: Any = rule.Settings
    blocks = Annotated[
        list[Annotated[settings, BuiltAtFirstUse()]], BeforeValidator(_as_list), Field(min_length=1), _OneOrMore()
    ]
    return blocks, Field(default=None, description=(rule.__doc__ or "").partition("\n")[0])


_fields: dict[str, Any] = {name: _blocks(rule) for name, rule in ALL_RULES.items()}
RuleTable = create_model("RuleTable", __base__=StrictModel, **_fields)


def _or_empty(value: Any) -> Any:
    return [] if value is None else value


def _blocks_or_none(value: Any) -> Any:
    return [] if value is None else _as_list(value)


class PolicyFile(StrictModel):
    """One policy file: rules by id with their settings, expressions, waivers, usage, cost, and contents."""

    rules: Nullable[RuleTable] = RuleTable.with_defaults()
    expressions: Annotated[list[ExpressionSpec], BeforeValidator(_or_empty)] = Field(default=[])
    waivers: Annotated[list[Waiver], BeforeValidator(_or_empty)] = Field(default=[])
    usage: Annotated[list[UsagePolicy], BeforeValidator(_blocks_or_none), _OneOrMore()] = Field(
        default=[], description="When topics, groups and access count as idle or unused."
    )
    cost: Annotated[list[CostPolicy], BeforeValidator(_blocks_or_none), _OneOrMore()] = Field(
        default=[], description="Prices, from which the cost of each topic follows."
    )
    contents: Annotated[list[ContentsPolicy], BeforeValidator(_blocks_or_none), _OneOrMore()] = Field(
        default=[], description="How a plan judges new rules under `contents` that retained records break."
    )


def load_policy(project: Project, today: date | None = None, unwritten: Sequence[SpecFile] = ()) -> Policy:
    """Return the policy of the project: all policy files, and the broker settings of all stacks.

    A missing ``policies/`` folder has no policy files. ``today`` (default: the current date in UTC) decides which
    waivers have expired. ``unwritten`` are files to load as if they were on disk. Problems in the files are in
    ``Policy.problems``.
    """
    loader = _PolicyLoader(project, today or current_date())
    for file in (*read_files(project.policies, project.root), *unwritten):
        if isinstance(file, Problem):
            loader.problems.append(file)
        elif file.stem != PACK_FILE:
            loader.load(file)
    return loader.policy(project)


def _block_path(path: KeyPath, document: ParsedDocument) -> KeyPath:
    """Return the path of a block: that of its item in a list, or of the value itself if it is no list."""
    return path if path in document.values else path[:-1]


def _unknown_rule_message(name: str, known: Sequence[str]) -> str:
    if name in PROBLEM_IDS:
        return f"{name} cannot be waived, because it is always checked; correct the files"
    return f"there is no rule {quoted(name)}{did_you_mean(name, known) or '; `topicwarden rules` lists them'}"


class _PolicyLoader:
    """Collect the content and the problems of the policy files, file by file."""

    def __init__(self, project: Project, today: date) -> None:
        self.problems: list[Problem] = []
        self._unread: set[str] = set()
        self._stacks = project.stack_names()
        self._domains = sorted(path.name for path in project.topics.glob("*") if path.is_dir())
        self._today = today
        self._rules: dict[str, list[PlacedSettings]] = {}
        self._expressions: dict[str, CompiledExpression] = {}
        self._waivers: list[WaiverEntry] = []
        self._patterns: list[PlacedPattern] = []
        self._first_locations: dict[str, Location] = {}
        self._usage: list[UsagePolicy] = []
        self._cost: list[CostPolicy] = []
        self._contents: list[ContentsPolicy] = []
        self._section_locations: dict[str, Location] = {}

    def policy(self, project: Project) -> Policy:
        """Return the policy of all loaded files, and add the problems that only show when all files are loaded."""
        stack_files = {stack: read_stack_file(project, stack) for stack in self._stacks}
        self.problems += [*project_file_problems(project.root), *stack_file_name_problems(project)]
        self._drop_waivers_of_unknown_rules()
        return Policy(
            {name: tuple(self._settings(name)) for name in ALL_RULES},
            tuple(self._expressions.values()),
            tuple(placed for placed in self._waivers if not self._is_expired(placed)),
            stack_files,
            tuple(self._patterns),
            tuple(limited(self.problems)),
            tuple(self._usage),
            tuple(self._cost),
            tuple(self._contents),
            tuple(sorted(self._unread)),
        )

    def load(self, file: SpecFile) -> None:
        """Add the documents of ``file``; their problems go to ``problems``."""
        documents, problems = read_documents(file.data, file.file)
        self.problems += problems
        self._unread |= {file.file} if problems else set()
        for document in documents:
            self.problems += [*document.problems, *document.warnings]
            if document.problems:
                self._unread.add(file.file)
                continue
            try:
                self._add(PolicyFile.model_validate(document.value), document)
            except ValidationError as error:
                self._unread.add(file.file)
                self.problems += validation_problems(error, document, PolicyFile)

    def _add(self, file: PolicyFile, document: ParsedDocument) -> None:
        for name in ALL_RULES:
            blocks: Sequence[Any] | None = getattr(file.rules, name)
            if blocks is not None and self._is_first("rule", name, document.at_key(("rules", name))):
                self._rules[name] = [self._block(name, n, settings, document) for n, settings in enumerate(blocks)]
        for index, expression in enumerate(file.expressions):
            self._add_expression(expression, ("expressions", index), document)
        for index, waiver in enumerate(file.waivers):
            path: KeyPath = ("waivers", index)
            self._add_scope(waiver, path, document)
            self._waivers.append(WaiverEntry(waiver, document.at((*path, "rule")), waiver.matcher()))
        if file.usage and self._is_first_section("usage", document):
            self._usage = file.usage
            for index, usage in enumerate(file.usage):
                self._add_usage(usage, _block_path(("usage", index), document), document)
        if file.cost and self._is_first_section("cost", document):
            self._cost = file.cost
            for index, cost in enumerate(file.cost):
                self._add_names(cost, _block_path(("cost", index), document), document)
        if file.contents and self._is_first_section("contents", document):
            self._contents = file.contents
            for index, contents in enumerate(file.contents):
                self._add_names(contents, _block_path(("contents", index), document), document)

    def _add_usage(self, usage: UsagePolicy, path: KeyPath, document: ParsedDocument) -> None:
        self._add_names(usage, path, document)
        scope = Scope(stacks=usage.stacks)
        for index, pattern in enumerate(usage.exempt):
            location = document.at((*path, "exempt", index))
            self._patterns.append(PlacedPattern(scope, pattern, location, "exempt"))

    def _is_first_section(self, name: str, document: ParsedDocument) -> bool:
        """Return True if no other document has the section ``name``, else add a problem."""
        location = document.at_key((name,))
        first = self._section_locations.setdefault(name, location)
        if first != location:
            message = f"{name} is set twice, first at {first}; keep one, with a list if stacks differ"
            self.problems.append(Problem(location, message, "rule-twice"))
        return first == location

    def _block(self, name: str, index: int, settings: Any, document: ParsedDocument) -> PlacedSettings:
        path = _block_path(("rules", name, index), document)
        self._add_scope(settings, path, document)
        return PlacedSettings(settings, document.at_key(path))

    def _add_expression(self, expression: ExpressionSpec, path: KeyPath, document: ParsedDocument) -> None:
        if not self._is_first("expression", expression.id, document.at((*path, "id"))):
            return
        self._add_scope(expression, path, document)
        try:
            compiled = compile_expression(expression, lambda key: document.at((*path, key)))
        except CelError as error:
            self.problems.append(Problem(document.at((*path, error.part)), f"{error.part}: {error}", "expression"))
            return
        self._expressions[expression.id] = compiled

    def _is_first(self, kind: str, name: str, location: Location) -> bool:
        """Return True if ``name`` is declared for the first time, else add a problem. ``kind`` is for the message."""
        if kind == "expression" and name in ALL_RULES:
            message = f"{name} is the id of a rule; choose a different id for the expression"
            self.problems.append(Problem(location, message, "rule-twice"))
            return False
        first = self._first_locations.setdefault(name, location)
        if first != location:
            message = f"the {kind} {name} is set twice, first at {first}; keep one"
            self.problems.append(Problem(location, message, "rule-twice"))
        return first == location

    def _add_scope(self, scope: Scope, path: KeyPath, document: ParsedDocument) -> None:
        """Record the topic patterns of ``scope``, and add its problems."""
        for index, pattern in enumerate(scope.topics or ()):
            self._patterns.append(PlacedPattern(scope, pattern, document.at((*path, "topics", index))))
        self._add_names(scope, path, document)

    def _add_names(self, scope: PolicyBlock, path: KeyPath, document: ParsedDocument) -> None:
        """Add a problem for each unknown stack and domain of ``scope``."""
        for key, kind, known in (("stacks", "stack", self._stacks), ("domains", "folder topics/", self._domains)):
            for index, name in enumerate(getattr(scope, key, None) or ()):
                if name not in known:
                    expected = (
                        f"expected one of {', '.join(known)}"
                        if known
                        else "topics/ has no folders"
                        if kind.endswith("/")
                        else "the project has no stack"
                    )
                    remedy = did_you_mean(name, known) or f"; {expected}"
                    message = f"there is no {kind}{'' if kind.endswith('/') else ' '}{name}{remedy}"
                    self.problems.append(
                        Problem(document.at((*path, key, index)), message, f"{kind.split()[0]}-unknown")
                    )

    def _drop_waivers_of_unknown_rules(self) -> None:
        known = [*ALL_RULES, *(name for name in self._first_locations if name not in ALL_RULES)]
        unknown = 0
        for placed in tuple(self._waivers):
            if placed.waiver.rule not in known:
                self._waivers.remove(placed)
                unknown += 1
                if unknown <= MOST_PROBLEMS + 1:
                    message = _unknown_rule_message(placed.waiver.rule, known)
                    self.problems.append(Problem(placed.location, message, "rule-unknown"))

    def _is_expired(self, placed: WaiverEntry) -> bool:
        """Return True if the last day of the waiver is over, and add a problem."""
        if problem := expiry_problem(placed.waiver, placed.location, self._today):
            self.problems.append(problem)
        return problem is not None

    def _settings(self, name: str) -> Iterator[PlacedSettings]:
        """Yield the settings of the rule ``name`` from the policy files, then its default settings if always on."""
        yield from self._rules.get(name, ())
        defaults = ALL_RULES[name].ALWAYS
        if defaults is not None:
            yield PlacedSettings(defaults)
