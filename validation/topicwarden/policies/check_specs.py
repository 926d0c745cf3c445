"""The check that needs no cluster: resolve the specs for each stack, and apply the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from topicwarden.model.problem import Level, Problem, Refusal
from topicwarden.model.project import Project
from topicwarden.model.timestamps import today as current_date
from topicwarden.policies.contents_problems import contents_problems
from topicwarden.policies.custom_partitioners import partitioner_problems
from topicwarden.policies.judge_topics import RuleResult, TopicJudge
from topicwarden.policies.policy import Policy
from topicwarden.policies.policy_file import load_policy
from topicwarden.policies.scope_problems import outside_scope, overlapping_scopes
from topicwarden.policies.unmatched_patterns import unmatched_patterns
from topicwarden.policies.waivers import WaiverEntry
from topicwarden.specs.load import load
from topicwarden.specs.resolve import Declaration, resolve
from topicwarden.specs.spec_files import SpecFile


@dataclass(frozen=True)
class CheckedStacks:
    """The declarations by stack, and the problems of all files, sorted. If there are errors, deploy nothing.

    ``waived`` is the number of problems that waivers hide. They are not in ``problems``.
    """

    declarations: Mapping[str, tuple[Declaration, ...]]
    problems: tuple[Problem, ...]
    waived: int = 0

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that block a deploy and an audit."""
        return tuple(problem for problem in self.problems if problem.level is Level.ERROR)


def check(
    project: Project,
    stacks: Sequence[str],
    today: date | None = None,
    paths: Sequence[Path] = (),
    unwritten: Sequence[SpecFile] = (),
) -> CheckedStacks:
    """Return the declarations and problems of the project for ``stacks``.

    ``today`` (default: the current date in UTC) decides which waivers and allowances have expired. ``paths`` are files
    and folders below ``topics/``: only their topics and the defaults that apply to them are read. ``unwritten`` are
    files below ``topics/`` that are checked as if they were on disk.

    Raises Refusal for a project that declares no topic, because its deploy would delete all deployed topics.
    """
    loaded = load(project.topics, project.root, project.stack_names(), paths, unwritten)
    if not loaded.topics and not loaded.problems and not paths:
        raise Refusal("topics/ declares no topic: write topics/<domain>/<topic>.yaml, or run `topicwarden import`")
    policy = load_policy(project, today)
    collector = _ProblemCollector(policy)
    declarations: dict[str, tuple[Declaration, ...]] = {}
    for stack in stacks:
        resolved = resolve(loaded, stack)
        declarations[stack] = resolved.declarations
        stack_file = policy.stack_file(stack)
        outside = outside_scope(resolved.declarations, stack_file)
        contents = contents_problems(resolved.declarations, project.root)
        partitioners = partitioner_problems(resolved.declarations, stack_file.brokers.partition_functions)
        expired = expired_allowances(resolved.declarations, today or current_date())
        for problem in (*resolved.problems, *outside, *contents, *partitioners, *expired):
            collector.add(problem, stack)
        collector.judge(resolved.declarations, stack)
    names = {declaration.topic.name for declared in declarations.values() for declaration in declared}
    overlaps = overlapping_scopes(policy.stack_files, stacks, names)
    stack_files = [problem for stack in stacks for problem in policy.stack_file(stack).problems]
    problems = [*policy.problems, *stack_files, *overlaps, *collector.problems(stacks)]
    has_file_errors = any(
        problem.level is Level.ERROR for problem in (*loaded.problems, *policy.problems, *stack_files)
    )
    if not paths and not has_file_errors and set(stacks) >= set(project.stack_names()):
        problems += collector.unused(declarations)
    return CheckedStacks(declarations, tuple(sorted(set(problems))), len(collector.waived))


def judge(declarations: Iterable[Declaration], policy: Policy, stack: str) -> Iterable[Problem]:
    """Return the rule violations of all topics of ``stack`` as problems, without the waived ones."""
    collector = _ProblemCollector(policy)
    collector.judge(tuple(declarations), stack)
    return collector.problems([stack])


@dataclass
class _Affected:
    """The stacks that a problem affects, and the affected topics if its location is outside their own documents."""

    stacks: set[str] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)


class _ProblemCollector:
    """The problems of several stacks, each reported once."""

    def __init__(self, policy: Policy) -> None:
        self.waived: set[Problem] = set()
        self._policy = policy
        self._used: set[WaiverEntry] = set()
        self._judge = TopicJudge(policy)
        self._affected: dict[Problem, _Affected] = {}

    def add(self, problem: Problem, stack: str, topic: str | None = None) -> None:
        """Record that ``problem`` affects ``stack``, and ``topic`` if its message must name the topic."""
        affected = self._affected.setdefault(problem, _Affected())
        affected.stacks.add(stack)
        if topic is not None:
            affected.topics.add(topic)

    def judge(self, declarations: Sequence[Declaration], stack: str) -> None:
        """Apply the rules to all topics of ``stack``, and record their problems."""
        by_name = {declaration.topic.name: declaration for declaration in declarations}
        for result in self._judge.judge([declaration.topic for declaration in declarations], stack):
            problem, inherited = _problem(result, by_name)
            self._used.update(result.applied)
            if result.waiver:
                self.waived.add(problem)
            else:
                self.add(problem, stack, result.topic if inherited else None)

    def problems(self, stacks: Sequence[str]) -> Iterator[Problem]:
        """Yield each problem, with the affected topics and stacks in its message. ``stacks`` are all checked stacks."""
        for problem, affected in self._affected.items():
            yield replace(problem, message=problem.message + _affected_suffix(affected, stacks))

    def unused(self, declarations: Mapping[str, Sequence[Declaration]]) -> Iterator[Problem]:
        """Yield a warning for each pattern that matches no topic, and for each waiver that hides no problem.

        ``declarations`` are those of every stack of the project, by stack.
        """
        topics = {stack: [each.topic for each in declared] for stack, declared in declarations.items()}
        unmatched = list(unmatched_patterns(self._policy.patterns, topics))
        yield from (problem for _, problem in unmatched)
        unmatched_by_scope = Counter(id(pattern.scope) for pattern, _ in unmatched)
        for placed in self._policy.waivers:
            # A waiver without any matching pattern has its warnings already.
            if placed not in self._used and unmatched_by_scope[id(placed.waiver)] < len(placed.waiver.topics):
                yield placed.unused()


def _problem(result: RuleResult, declarations: Mapping[str, Declaration]) -> tuple[Problem, bool]:
    """Return the problem with its location, and True if the location is outside the topic's own document.

    ``declarations`` are those of the stack, by topic name.
    """
    location, inherited = result.location, True
    if location is None and result.topic is not None:
        locations = declarations[result.topic].locations
        location = locations.at(result.path)
        inherited = location.file != locations.own.file
    if location is None:
        raise ValueError(f"the result of the stack rule {result.rule} has no location")
    return Problem(location, result.message, result.rule, result.level), inherited


def _affected_suffix(affected: _Affected, stacks: Sequence[str]) -> str:
    """Return the affected topics, and the affected stacks unless the problem affects all ``stacks``."""
    parts = []
    if len(affected.topics) == 1:
        parts.append(f"for {min(affected.topics)}")
    elif affected.topics:
        parts.append(f"for {len(affected.topics)} topics, such as {min(affected.topics)}")
    if len(affected.stacks) < len(set(stacks)):
        parts.append(f"stack {', '.join(sorted(affected.stacks))}")
    return f" ({'; '.join(parts)})" if parts else ""


def expired_allowances(declarations: Iterable[Declaration], today: date) -> Iterator[Problem]:
    """Yield a warning for each entry of `allow` whose `until` is before ``today``, at its line."""
    for declaration in declarations:
        for allowance in sorted(declaration.topic.allow, key=lambda allowance: allowance.change.value):
            if not allowance.valid_on(today):
                message = f"the allowance for {allowance.change.value} expired on {allowance.until}; remove it"
                yield Problem(declaration.locations.at(("allow",)), message, "allowance-expired", Level.WARNING)
