"""Everything that can be known without a cluster: specs resolved for stacks, and judged by the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from topicwarden.model.problem import Level, Problem, Refusal
from topicwarden.model.project import Project
from topicwarden.model.timestamps import today as day_it_is
from topicwarden.policies.contents_problems import contents_problems
from topicwarden.policies.custom_partitioners import partitioner_problems
from topicwarden.policies.expired_allowances import expired_allowances
from topicwarden.policies.judge_topics import RuleResult, TopicJudge
from topicwarden.policies.policy import Policy
from topicwarden.policies.policy_file import load_policy
from topicwarden.policies.unmatched_patterns import unmatched as find_unmatched
from topicwarden.policies.waivers import PlacedWaiver
from topicwarden.specs.load import load
from topicwarden.specs.resolve import Declaration, resolve
from topicwarden.specs.spec_files import SpecFile


@dataclass(frozen=True)
class CheckedStacks:
    """The declarations by stack, and every problem of every file, sorted. With errors, deploy none of them.

    ``waived`` is how many problems are not among them because a waiver lets them off.
    """

    declarations: Mapping[str, tuple[Declaration, ...]]
    problems: tuple[Problem, ...]
    waived: int = 0

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems with which nothing may be deployed or audited."""
        return tuple(problem for problem in self.problems if problem.level is Level.ERROR)


def check(
    project: Project,
    stacks: Sequence[str],
    today: date | None = None,
    paths: Sequence[Path] = (),
    unwritten: Sequence[SpecFile] = (),
) -> CheckedStacks:
    """Judges the project for ``stacks``; refuses a project that declares nothing, as an apply would delete all.

    ``today`` is the day by which waivers and allowances run out, by default the day it is. With ``paths``, files and
    folders below ``topics/``, only their topics are read, and the defaults that hold there. ``unwritten`` are files
    below ``topics/`` that are judged as if they were on disk.
    """
    loaded = load(project.topics, project.root, project.stack_names(), paths, unwritten)
    if not loaded.topics and not loaded.problems and not paths:
        raise Refusal("topics/ declares no topic: write topics/<domain>/<topic>.yaml, see README.md")
    policy = load_policy(project, today)
    gathered = _Gathered(policy)
    declarations: dict[str, tuple[Declaration, ...]] = {}
    for stack in stacks:
        resolved = resolve(loaded, stack)
        declarations[stack] = resolved.declarations
        functions = policy.of(stack).brokers.partition_functions
        contents = contents_problems(resolved.declarations, project.root)
        partitioners = partitioner_problems(resolved.declarations, functions)
        expired = expired_allowances(resolved.declarations, today or day_it_is())
        for problem in (*resolved.problems, *contents, *partitioners, *expired):
            gathered.add(problem, stack)
        gathered.judge(resolved.declarations, stack)
    problems = [*policy.problems, *gathered.problems(stacks)]
    broken = any(problem.level is Level.ERROR for problem in (*loaded.problems, *policy.problems))
    if not paths and not broken and set(stacks) >= set(project.stack_names()):
        problems += gathered.unused(declarations)
    return CheckedStacks(declarations, tuple(sorted(set(problems))), len(gathered.waived))


def judge(declarations: Iterable[Declaration], policy: Policy, stack: str) -> Iterable[Problem]:
    """What the rules have to say of all of a stack's topics, but for what is waived."""
    gathered = _Gathered(policy)
    gathered.judge(tuple(declarations), stack)
    return gathered.problems([stack])


@dataclass
class _Reach:
    """Who has a problem: the stacks, and the topics where its place is not in their own document."""

    stacks: set[str] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)


class _Gathered:
    """The problems of several stacks, each once."""

    def __init__(self, policy: Policy) -> None:
        self.waived: set[Problem] = set()
        self._policy = policy
        self._used: set[PlacedWaiver] = set()
        self._judge = TopicJudge(policy)
        self._found: dict[Problem, _Reach] = {}

    def add(self, problem: Problem, stack: str, topic: str | None = None) -> None:
        reach = self._found.setdefault(problem, _Reach())
        reach.stacks.add(stack)
        if topic is not None:
            reach.topics.add(topic)

    def judge(self, declarations: Sequence[Declaration], stack: str) -> None:
        held = {each.topic.name: each for each in declarations}
        for judgement in self._judge.of([each.topic for each in declarations], stack):
            problem, inherited = _problem(judgement, held)
            self._used.update(judgement.applied)
            if judgement.waiver:
                self.waived.add(problem)
            else:
                self.add(problem, stack, judgement.topic if inherited else None)

    def problems(self, stacks: Sequence[str]) -> Iterator[Problem]:
        for problem, reach in self._found.items():
            yield replace(problem, message=problem.message + _suffix(reach, stacks))

    def unused(self, declarations: Mapping[str, Sequence[Declaration]]) -> Iterator[Problem]:
        """Warnings of what the policy files say in vain; ``declarations`` are those of every stack."""
        topics = {stack: [each.topic for each in declared] for stack, declared in declarations.items()}
        unmatched = list(find_unmatched(self._policy.patterns, topics))
        yield from (problem for _, problem in unmatched)
        patterns = Counter(id(held.scope) for held, _ in unmatched)
        for held in self._policy.waivers:
            if held not in self._used and patterns[id(held.waiver)] < len(held.waiver.topics):
                yield held.unused()


def _problem(judgement: RuleResult, held: Mapping[str, Declaration]) -> tuple[Problem, bool]:
    """The problem at its place, and whether that place is elsewhere than in the topic's own document."""
    place, inherited = judgement.place, True
    if place is None and judgement.topic is not None:
        places = held[judgement.topic].places
        place = places.at(judgement.path)
        inherited = place.file != places.own.file
    if place is None:
        raise ValueError(f"{judgement.rule} speaks of the whole stack without a place")
    return Problem(place, judgement.message, judgement.rule, judgement.level), inherited


def _suffix(reach: _Reach, stacks: Sequence[str]) -> str:
    """Says which topics a problem reaches, where it stands elsewhere, and which stacks, where not all have it."""
    said = []
    if len(reach.topics) == 1:
        said.append(f"for {min(reach.topics)}")
    elif reach.topics:
        said.append(f"for {len(reach.topics)} topics, such as {min(reach.topics)}")
    if len(reach.stacks) < len(set(stacks)):
        said.append(f"stack {', '.join(sorted(reach.stacks))}")
    return f" ({'; '.join(said)})" if said else ""
