"""Add the access that is used and not declared to the YAML. Changes nothing on the cluster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from topicwarden.model.access import Grant
from topicwarden.model.problem import Problem
from topicwarden.model.project import Project
from topicwarden.model.topic import Topic
from topicwarden.model.usage import UseAction
from topicwarden.model.usage_report import UndeclaredUse, UsageReport
from topicwarden.operations.fix import FixedFile, write_fixed
from topicwarden.policies.check_specs import check
from topicwarden.specs.load import LoadedSpecs, LoadedTopic, load_files
from topicwarden.specs.resolve import resolve
from topicwarden.specs.spec_files import SpecFile, read_files
from topicwarden.specs.write.topic_access import grant_text, with_entries
from topicwarden.specs.yaml_nodes import KeyPath
from topicwarden.usage.principals import KEYS, grant_of

_UNEDITABLE: Final = "the layout of its file has no position for the entry"


@dataclass(frozen=True)
class AddedAccess:
    """The changed files, and the uses that stay without a declaration, each with its reason.

    ``problems`` are what ``check`` finds only since the files were written.
    """

    files: tuple[FixedFile, ...] = ()
    entries: int = 0
    left: tuple[UndeclaredUse, ...] = ()
    problems: tuple[Problem, ...] = ()


def add_used_access(project: Project, report: UsageReport, *, dry_run: bool = False) -> AddedAccess:
    """Add an entry to ``access:`` for each undeclared use whose principal is known exactly; return the changes.

    ``dry_run`` writes nothing. An entry is only added if the loader then reads exactly this change. If the topic's
    declaration applies to several stacks, so does the entry; without any ``access:`` it gets one of its own stack.
    Raises Refusal if a file cannot be written.
    """
    files_with_access = _Files(project, report.stack)
    by_topic: dict[str, list[UndeclaredUse]] = defaultdict(list)
    for use in report.undeclared:
        if not use.reason:
            by_topic[use.topic].append(use)
    left = [use for use in report.undeclared if use.reason]
    entries = 0
    for name, uses in by_topic.items():
        added = files_with_access.add(name, uses)
        entries += added
        left += [] if added else [use.model_copy(update={"reason": _UNEDITABLE}) for use in uses]
    files = tuple(files_with_access.changed())
    problems: tuple[Problem, ...] = ()
    if files and not dry_run:
        before = Counter(map(_identity, check(project, [report.stack]).problems))
        for file in files:
            write_fixed(project, file)
        after = check(project, [report.stack]).problems
        problems = tuple(problem for problem in after if not before[_identity(problem)])
    return AddedAccess(files, entries, tuple(sorted(left, key=_order)), problems)


def _identity(problem: Problem) -> tuple[str, str, str]:
    return problem.location.file, problem.rule, problem.message


def _order(use: UndeclaredUse) -> tuple[str, str, str, str]:
    return use.topic, use.action, use.kind, use.name


class _Files:
    """The files below ``topics/`` with the entries that were added so far."""

    def __init__(self, project: Project, stack: str) -> None:
        self._stack = stack
        self._stacks = project.stack_names()
        self._before = {
            spec.file: spec for spec in read_files(project.topics, project.root) if isinstance(spec, SpecFile)
        }
        self._after = dict(self._before)
        self._loaded = self._load(self._after)

    def add(self, topic: str, uses: Sequence[UndeclaredUse]) -> int:
        """Add the entries of one topic, and return their number; 0 if its file cannot be edited."""
        loaded = next(each for each in self._loaded.topics if each.name == topic)
        source = loaded.document.source
        declared = self._topics(self._loaded, self._stack)[topic]
        grants = _new_grants(declared, uses)
        edited: bytes | None = self._after[source.file].data
        for action, new in grants.items():
            key = KEYS[action]
            section, inherited = self._section(loaded, declared, key)
            texts = [grant_text(each, action is UseAction.READ) for each in (*inherited, *new)]
            edited = None if edited is None else with_entries(edited, source.at(()).line, section, {key: texts})
        if edited is None:
            return 0
        after = {**self._after, source.file: replace(self._after[source.file], data=edited)}
        reloaded = self._load(after)
        if reloaded.problems != self._loaded.problems or not self._only_adds(reloaded, topic, grants):
            return 0
        self._after, self._loaded = after, reloaded
        return sum(map(len, grants.values()))

    def changed(self) -> Iterator[FixedFile]:
        """Yield the files that have new entries."""
        for name, spec in self._after.items():
            if spec.data != self._before[name].data:
                yield FixedFile(name, self._before[name].data, spec.data)

    def _section(self, loaded: LoadedTopic, declared: Topic, key: str) -> tuple[KeyPath, Sequence[Grant]]:
        """Return where the topic's document has, or gets, the list ``key``, and what it must repeat.

        A list replaces the one that the topic inherits from a ``_defaults.yaml``.
        """
        of_stack: KeyPath = ("stacks", self._stack)
        values = loaded.document.source.values
        for section in (of_stack, ()):
            if (*section, "access", key) in values:
                return section, ()
        inherited = declared.access.consume if key == KEYS[UseAction.READ] else declared.access.produce
        has_access = ("access",) in values
        return () if has_access or len(self._stacks) == 1 else of_stack, inherited

    def _load(self, files: Mapping[str, SpecFile]) -> LoadedSpecs:
        return load_files(files.values(), self._stacks)

    def _topics(self, loaded: LoadedSpecs, stack: str) -> dict[str, Topic]:
        return {each.topic.name: each.topic for each in resolve(loaded, stack).declarations}

    def _only_adds(self, after: LoadedSpecs, topic: str, grants: Mapping[UseAction, Sequence[Grant]]) -> bool:
        """Return whether the new entries are all that differs: on this stack, and perhaps on others."""
        for stack in self._stacks:
            before, now = self._topics(self._loaded, stack), self._topics(after, stack)
            expected = {**before, **({topic: _with_grants(before[topic], grants)} if topic in before else {})}
            if now != expected and (stack == self._stack or now != before):
                return False
        return True


def _new_grants(declared: Topic, uses: Iterable[UndeclaredUse]) -> dict[UseAction, list[Grant]]:
    """Return the grants of ``uses`` by action, each once, without those that are declared."""
    grants: dict[UseAction, list[Grant]] = {}
    for use in uses:
        grant = grant_of(use.kind, use.name, use.principal or "")
        known = declared.access.consume if use.action is UseAction.READ else declared.access.produce
        new = grants.setdefault(use.action, [])
        if grant not in (*known, *new):
            new.append(grant)
    return {action: new for action, new in grants.items() if new}


def _with_grants(topic: Topic, grants: Mapping[UseAction, Sequence[Grant]]) -> Topic:
    access = topic.access
    produce = (*access.produce, *grants.get(UseAction.WRITE, ()))
    consume = (*access.consume, *grants.get(UseAction.READ, ()))
    return replace(topic, access=replace(access, produce=produce, consume=consume))
