"""The check that needs no cluster: resolve the specs for each stack, and apply the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain
from pathlib import Path

from topicwarden.model.access import DeclaredAccess
from topicwarden.model.message_text import and_others
from topicwarden.model.problem import Level, Location, Problem, Refusal
from topicwarden.model.project import Project
from topicwarden.model.subject import DeclaredSubjects
from topicwarden.model.timestamps import today as current_date
from topicwarden.model.topic import Allowance
from topicwarden.policies.contents_problems import contents_problems
from topicwarden.policies.custom_partitioners import partitioner_problems
from topicwarden.policies.judge_topics import RuleResult, TopicJudge, judge_access
from topicwarden.policies.policy import Policy
from topicwarden.policies.policy_file import load_policy
from topicwarden.policies.scope import unmatched_patterns
from topicwarden.policies.scope_problems import (
    access_outside_scope,
    outside_scope,
    overlapping_scopes,
    subjects_without_registry,
)
from topicwarden.policies.waivers import WaiverEntry
from topicwarden.specs.access_files import load_access, resolve_access
from topicwarden.specs.declared_subjects import resolve_subjects
from topicwarden.specs.load import LoadedDocuments, load, load_subjects
from topicwarden.specs.resolve import Declaration, resolve
from topicwarden.specs.schema_files import ProjectSchemas
from topicwarden.specs.spec_files import SpecFile


@dataclass(frozen=True)
class CheckedStacks:
    """The declarations, access and subjects by stack, and all problems, sorted. With errors, deploy nothing.

    ``waived`` is the number of problems that waivers hide. They are not in ``problems``. ``policy`` is the
    content of all policy files. ``errors_of`` is the number of errors that affect each stack. ``unchecked`` are
    sentences about what errors in files hide from the check.
    """

    declarations: Mapping[str, tuple[Declaration, ...]]
    problems: tuple[Problem, ...]
    policy: Policy
    waived: int = 0
    access: Mapping[str, DeclaredAccess] = field(default_factory=dict)
    subjects: Mapping[str, DeclaredSubjects] = field(default_factory=dict)
    errors_of: Mapping[str, int] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()

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
    and folders below ``topics/``: only their topics and the defaults that apply to them are read, and no file below
    ``access/``. ``unwritten`` are files below these folders and ``policies/`` that are checked as if they were on disk.

    Raises Refusal for a project that declares nothing.
    """
    policy_files, access_files, topic_files = (
        [file for file in unwritten if file.file.startswith(f"{folder.name}/")]
        for folder in (project.policies, project.access, project.topics)
    )
    loaded = load(project.topics, project.root, project.stack_names(), paths, topic_files)
    loaded_access = (
        LoadedDocuments() if paths else load_access(project.access, project.root, project.stack_names(), access_files)
    )
    loaded_subjects = load_subjects(project.subjects, project.root, project.stack_names())
    others = (*loaded_access.documents, *loaded_access.problems, *loaded_subjects.documents, *loaded_subjects.problems)
    if not (loaded.topics or loaded.problems or paths or others):
        raise Refusal("topics/ declares no topic: write topics/<domain>/<topic>.yaml, or run `topicwarden import`")
    schemas = ProjectSchemas(project.root)
    policy = load_policy(project, today, policy_files)
    collector = _ProblemCollector(policy)
    declarations: dict[str, tuple[Declaration, ...]] = {}
    access: dict[str, DeclaredAccess] = {}
    subjects: dict[str, DeclaredSubjects] = {}
    idle: list[frozenset[Problem]] = []
    in_topics: set[Problem] = set()
    for stack in stacks:
        resolved = resolve(loaded, stack)
        declarations[stack] = resolved.declarations
        in_topics |= {*resolved.problems}
        resolved_access = resolve_access(loaded_access, resolved.declarations, stack)
        access[stack] = resolved_access.access
        complete = not paths and not any(map(_is_error, (*resolved.problems, *loaded_subjects.problems)))
        resolved_subjects = resolve_subjects(loaded_subjects, resolved.declarations, schemas, stack, complete=complete)
        subjects[stack] = resolved_subjects.subjects
        idle.append(resolved_subjects.idle_allowances)
        stack_file = policy.stack_file(stack)
        outside = [
            *outside_scope(resolved.declarations, stack, policy.stack_files),
            *access_outside_scope(resolved_access.access, stack_file),
        ]
        contents = contents_problems(resolved.declarations, schemas, complete=not paths)
        partitioners = partitioner_problems(resolved.declarations, stack_file.brokers.partition_functions)
        expired = [
            *expired_allowances(resolved.declarations, today or current_date()),
            *_expired((*resolved_access.allowances, *resolved_subjects.allowances), today or current_date()),
        ]
        all_problems = (
            *resolved.problems,
            *loaded_access.problems,
            *resolved_access.problems,
            *loaded_subjects.problems,
            *resolved_subjects.problems,
        )
        unregistered = subjects_without_registry(resolved_subjects.subjects, stack_file, stack)
        for problem in (*all_problems, *unregistered, *outside, *contents, *partitioners, *expired):
            collector.add(problem, stack)
        collector.judge(resolved.declarations, stack)
        if not paths and not resolved_access.access.empty:
            collector.judge_access(resolved_access.access, resolved.declarations, stack)
    names = {declaration.topic.name for declared in declarations.values() for declaration in declared}
    overlaps = overlapping_scopes(policy.stack_files, stacks, names)
    stack_files = [problem for stack in stacks for problem in policy.stack_file(stack).problems]
    everywhere = frozenset.intersection(*idle) if idle else ()
    problems = [*policy.problems, *stack_files, *overlaps, *everywhere, *collector.problems(stacks)]
    in_files = (loaded.problems, loaded_access.problems, loaded_subjects.problems, policy.problems, stack_files)
    has_file_errors = any(map(_is_error, chain.from_iterable(in_files)))
    if not paths and not has_file_errors and set(stacks) >= set(project.stack_names()):
        problems += collector.unused(declarations, {document.source.file for document in loaded_access.documents})
    common = set(filter(_is_error, (*policy.problems, *overlaps, *everywhere)))
    errors_of = {
        stack: len(common | set(filter(_is_error, (*policy.stack_file(stack).problems, *collector.affecting(stack)))))
        for stack in stacks
    }
    every = tuple(sorted(set(problems)))
    unchecked = _unchecked(_files(in_topics), _files(loaded_access.problems), _files(loaded_subjects.problems), policy)
    return CheckedStacks(declarations, every, policy, len(collector.waived), access, subjects, errors_of, unchecked)


def _unchecked(
    topics: Sequence[str], access: Sequence[str], subjects: Sequence[str], policy: Policy
) -> tuple[str, ...]:
    """Return a sentence for each kind of file about what its errors hide. The arguments are the files with errors."""
    hidden = {
        "policies for topics there": topics,
        "access there": access,
        "subjects there, and references to them": subjects,
        "rules, expressions and waivers there": policy.unread,
    }
    return tuple(
        f"not checked, because of errors in {files[0]}{and_others(len(files) - 1)}: {what}"
        for what, files in hidden.items()
        if files
    )


def _files(problems: Iterable[Problem]) -> Sequence[str]:
    return sorted({problem.location.file for problem in filter(_is_error, problems)})


def _is_error(problem: Problem) -> bool:
    return problem.level is Level.ERROR


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
        topics = [declaration.topic for declaration in declarations]
        self._record(self._judge.judge(topics, stack), declarations, stack)

    def judge_access(self, access: DeclaredAccess, declarations: Sequence[Declaration], stack: str) -> None:
        """Apply the rules about access to all access of ``stack``, and record their problems."""
        topics = [declaration.topic for declaration in declarations]
        self._record(judge_access(access, topics, self._policy, stack), declarations, stack)

    def _record(self, results: Iterable[RuleResult], declarations: Sequence[Declaration], stack: str) -> None:
        by_name = {declaration.topic.name: declaration for declaration in declarations}
        for result in results:
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

    def affecting(self, stack: str) -> Iterator[Problem]:
        """Yield each problem that affects ``stack``, without the affected topics and stacks in its message."""
        return (problem for problem, affected in self._affected.items() if stack in affected.stacks)

    def unused(
        self, declarations: Mapping[str, Sequence[Declaration]], files: Collection[str] = ()
    ) -> Iterator[Problem]:
        """Yield a warning for each pattern that matches no topic, and for each waiver that hides no problem.

        ``declarations`` are those of every stack of the project, by stack. ``files`` are the files below ``access/``.
        """
        topics = {stack: [each.topic for each in declared] for stack, declared in declarations.items()}
        unmatched = list(unmatched_patterns(self._policy.patterns, topics, files))
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
    if result.topic is not None:
        locations = declarations[result.topic].locations
        location = location or locations.at(result.path)
        inherited = location.file != locations.own.file
    if location is None:
        raise ValueError(f"the result of the stack rule {result.rule} has no location")
    return Problem(location, result.message, result.rule, result.level, result.default), inherited


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
        allowances = sorted(declaration.topic.allow, key=lambda allowance: allowance.change.value)
        yield from _expired(((each, declaration.locations.at(("allow",))) for each in allowances), today)


def _expired(allowances: Iterable[tuple[Allowance, Location]], today: date) -> Iterator[Problem]:
    for allowance, location in allowances:
        if not allowance.valid_on(today):
            message = f"the allowance for {allowance.change.value} expired on {allowance.until}; remove it"
            yield Problem(location, message, "allowance-expired", Level.WARNING)
