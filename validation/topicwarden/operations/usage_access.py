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
    added = files_with_access.add(by_topic)
    left += [
        use.model_copy(update={"reason": _UNEDITABLE})
        for name, uses in by_topic.items()
        if not added.get(name)
        for use in uses
    ]
    files = tuple(files_with_access.changed())
    problems: tuple[Problem, ...] = ()
    if files and not dry_run:
        before = Counter(map(_identity, check(project, [report.stack]).problems))
        for file in files:
            write_fixed(project, file)
        after = check(project, [report.stack]).problems
        problems = tuple(problem for problem in after if not before[_identity(problem)])
    return AddedAccess(files, sum(added.values()), tuple(sorted(left, key=_order)), problems)


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

    def add(self, uses: Mapping[str, Sequence[UndeclaredUse]]) -> dict[str, int]:
        """Add the entries of these topics, and return their number by topic, without topics that cannot be edited.

        All files are edited and read again at once. If the loader then reads anything else, the halves are tried.
        """
        declared = self._topics(self._loaded, self._stack)
        grants = {name: _new_grants(declared[name], of_topic) for name, of_topic in uses.items()}
        after = dict(self._after)
        for loaded in sorted(self._loaded.topics, key=_line, reverse=True):  # an edit moves the lines below it
            if loaded.name in grants:
                spec = after[loaded.document.source.file]
                data = self._edited(spec.data, loaded, declared[loaded.name], grants[loaded.name])
                if data is None:
                    del grants[loaded.name]
                else:
                    after[spec.file] = replace(spec, data=data)
        reloaded = self._load(after)
        if reloaded.problems == self._loaded.problems and self._only_adds(reloaded, grants):
            self._after, self._loaded = after, reloaded
            return {name: sum(map(len, of_topic.values())) for name, of_topic in grants.items()}
        names = [*grants]
        halves = (names[: len(names) // 2], names[len(names) // 2 :]) if len(names) > 1 else ()
        return {name: count for half in halves for name, count in self.add({each: uses[each] for each in half}).items()}

    def _edited(
        self, data: bytes, loaded: LoadedTopic, declared: Topic, grants: Mapping[UseAction, Sequence[Grant]]
    ) -> bytes | None:
        """Return a file with the entries of one topic; None if its layout has no position for them."""
        edited: bytes | None = data
        for action, new in grants.items():
            key = KEYS[action]
            section, inherited = self._section(loaded, declared, key)
            texts = [grant_text(each, action is UseAction.READ) for each in (*inherited, *new)]
            edited = None if edited is None else with_entries(edited, _line(loaded), section, {key: texts})
        return edited

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

    def _only_adds(self, after: LoadedSpecs, grants: Mapping[str, Mapping[UseAction, Sequence[Grant]]]) -> bool:
        """Return whether the new entries are all that differs: on this stack, and perhaps on others."""
        for stack in self._stacks:
            before, now = self._topics(self._loaded, stack), self._topics(after, stack)
            if before.keys() != now.keys():
                return False
            for name, topic in now.items():
                as_before = topic == before[name]
                added = topic == _with_grants(before[name], grants.get(name, {}))
                if not added and (stack == self._stack or not as_before):
                    return False
        return True


def _line(loaded: LoadedTopic) -> int:
    """Return the line at which the document of a topic begins."""
    return loaded.document.source.at(()).line


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
