"""One import into a project: compare topics with its declarations, and write new files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from textwrap import TextWrapper
from types import MappingProxyType
from typing import Final

from topicwarden.extensions.interchange.convert import ConvertedSubject, ConvertedTopic
from topicwarden.extensions.interchange.subject_drafts import SubjectDraft, draft_subjects
from topicwarden.extensions.interchange.write_files import free_name, write_files
from topicwarden.model.access import NO_ACCESS, DeclaredAccess
from topicwarden.model.message_text import counted, did_you_mean
from topicwarden.model.problem import Level, Problem, Refusal
from topicwarden.model.project import Project
from topicwarden.model.subject import NO_SUBJECTS, DeclaredSubjects
from topicwarden.model.timestamps import today
from topicwarden.model.topic import Topic
from topicwarden.model.topic_selection import EXCLUDED, selected
from topicwarden.policies.check_specs import CheckedStacks, check
from topicwarden.policies.judge_topics import judge_access, judge_topics
from topicwarden.specs.declared_stack import declared_stack
from topicwarden.specs.declared_subjects import REFERENCE
from topicwarden.specs.load import LoadedSpecs
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import SchemaText
from topicwarden.specs.spec_files import SpecFile
from topicwarden.specs.stacks.stack_file import read_stack_file
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.specs.stacks.stack_selection import only_stack
from topicwarden.specs.write import COUNTS, TOPICS, ContentsComments, ImportDraft, NewFile, draft, inherited_counts
from topicwarden.specs.write.shared_defaults import flat_settings
from topicwarden.specs.write.yaml_values import yaml_scalar

_SCHEMA = "docs/topic.schema.json"


@dataclass(frozen=True)
class ImportSession:
    """One import: the project, the stack, the glob patterns that select topics, and the declared topics.

    ``errors`` are the errors of ``topics/`` and of the stack's settings, which prevent an import. ``scope`` has the
    topics and the access that the stack owns. ``access`` is the declared access, and ``subjects`` are the
    declared subjects of the stack's Schema Registry. ``waive_until`` is the last day of the waivers for what the topics
    violate; without a day, no waiver is written.
    """

    project: Project
    stack: str
    patterns: tuple[str, ...]
    loaded: LoadedSpecs
    declared: Mapping[str, Declaration]
    errors: tuple[Problem, ...]
    scope: StackScope = EVERY_TOPIC
    access: DeclaredAccess = NO_ACCESS
    subjects: DeclaredSubjects = NO_SUBJECTS
    waive_until: date | None = None

    def select(self, names: Iterable[str]) -> list[str]:
        """Return the names that the patterns match, of topics that the stack owns or that a pattern names in full.

        Raise Refusal if no name matches.
        """
        known = [name for name in names if self.scope.owns(name) or name in self.patterns]
        found = [name for name in known if selected(name, self.patterns)]
        if not found and known:
            included = [pattern for pattern in self.patterns if not pattern.startswith(EXCLUDED)]
            suggestion = did_you_mean(included[0].strip("*"), known) if included else ""
            in_scope = f" in the scope of the stack, {self.scope}," if self.scope.patterns else ""
            raise Refusal(
                f"none of {counted(len(known), 'topic')}{in_scope} matches {' '.join(self.patterns)}{suggestion}"
            )
        return found

    def outside(self, names: Iterable[str]) -> list[str]:
        """Return those of ``names`` that the stack does not own, sorted."""
        return sorted(name for name in names if not self.scope.owns(name))

    def completed(self, converted: Sequence[ConvertedTopic]) -> tuple[list[ConvertedTopic], list[Problem]]:
        """Return the topics with the counts that their file does not have, and a problem for each unknown count.

        The counts are those that the topic is declared with, or that a new topic inherits from ``_defaults.yaml``.
        """
        inherited = inherited_counts([one.topic.name for one in converted if one.missing], self.loaded)
        complete, problems = [], []
        for one in converted:
            declaration = self.declared.get(one.topic.name)
            known = {key: getattr(declaration.topic, key) for key in COUNTS} if declaration else {}
            known = known or dict(inherited.get(one.topic.name, {}))
            problems += [problem for key, problem in one.missing.items() if key not in known]
            counts = {key: known[key] for key in one.missing if key in known}
            complete.append(replace(one, topic=replace(one.topic, **counts)))
        return complete, problems

    def draft_files(
        self,
        topics: Iterable[Topic],
        stack: str | None,
        comments: Mapping[str, Sequence[str]] = MappingProxyType({}),
        schemas: Mapping[str, Sequence[SchemaText]] = MappingProxyType({}),
        evidence: Mapping[str, ContentsComments] = MappingProxyType({}),
        *,
        inherit_access: bool = False,
    ) -> ImportDraft:
        """Return files for the topics that are not declared yet. They have these settings on ``stack`` (None: on all).

        By topic, ``comments`` are comment lines for the files, ``schemas`` schemas of keys and values, and ``evidence``
        comments about the ``contents``. ``inherit_access`` as in ``draft``.
        """
        topics_dir = self.project.topics
        existing_paths = [path.relative_to(topics_dir).as_posix().lower() for path in topics_dir.rglob("*")]
        schema = _SCHEMA if (self.project.root / _SCHEMA).is_file() else None
        undeclared = [topic for topic in topics if topic.name not in self.declared]
        return draft(
            undeclared,
            self.loaded,
            stack,
            existing_paths,
            schema,
            comments=comments,
            schemas=schemas,
            evidence=evidence,
            inherit_access=inherit_access,
        )

    def draft_subjects(
        self,
        subjects: Sequence[ConvertedSubject],
        topics: Iterable[Topic],
        latest: Mapping[str, int] = MappingProxyType({}),
    ) -> SubjectDraft:
        """Return what declares the subjects that are not declared yet.

        ``topics`` are the imported topics: those that are new get their subjects in their own files. ``latest`` as in
        ``draft_subjects``.
        """
        folder = self.project.subjects
        existing_paths = [path.relative_to(folder).as_posix().lower() for path in folder.rglob("*")]
        new_topics = {topic.name: topic for topic in topics if topic.name not in self.declared}
        return draft_subjects(subjects, new_topics, self.subjects.subjects.keys(), existing_paths, latest)

    def write(self, files: Sequence[NewFile]) -> None:
        """Write the files: either all or none, and never over an existing file."""
        write_files(self.project.topics, files)

    def differences(self, topics: Mapping[str, Topic], where: str) -> list[Problem]:
        """Return a problem for each declared setting that differs from ``topics``, at the setting's location.

        ``where`` describes the source of ``topics`` in the message, such as "on the cluster".
        """
        found: list[Problem] = []
        for name, topic in topics.items():
            if name not in self.declared:
                continue
            declaration = self.declared[name]
            declared_settings, actual_settings = flat_settings(declaration.topic), flat_settings(topic)
            for path in sorted({*declared_settings, *actual_settings}):
                if declared_settings.get(path) != actual_settings.get(path):
                    declared, actual = _display(declared_settings.get(path)), _display(actual_settings.get(path))
                    remedy = f"declare this value (under stacks: {self.stack}: if stacks differ), and import again"
                    message = (
                        f"{name}: {path[-1]} is {declared} in YAML, but {actual} {where}; nothing was changed: {remedy}"
                    )
                    found.append(Problem(declaration.locations.at(path), message, "import"))
        return found

    def check_files(
        self, files: Sequence[NewFile], topics: Collection[str], dry_run: bool
    ) -> tuple[tuple[NewFile, ...], list[Problem], CheckedStacks | None]:
        """Return the new files with that of the waivers for ``topics``, and the problems that ``check`` finds in them.

        The waivers are written here, after the files. ``dry_run`` checks the files as if they were written. The last
        part of the result are the declarations of all written files; None if they were not checked.
        """
        of_topics = [file for file in files if file.folder == TOPICS]
        declares = of_topics or self.loaded.topics or (files and not dry_run)
        if not (files or self.waive_until) or not declares:
            return tuple(files), [], None  # a project that declares nothing cannot be checked
        checkable = [each for each in files if each.folder in (TOPICS, self.project.access.name) and not each.is_schema]
        unwritten = list(map(_as_spec_file, checkable)) if dry_run else []
        # The conversion has checked the schemas.
        unread = tuple(f"{file.project_path} cannot be read" for file in files if file.is_schema and dry_run)
        new_paths = {file.project_path for file in files}
        checked = check(self.project, [self.stack], unwritten=unwritten)
        if self.waive_until and (text := draft_waivers(checked, self.stack, topics, new_paths, self.waive_until)):
            waivers = NewFile(free_name(self.project.policies), text, None, self.project.policies.name)
            files = [*files, waivers]
            if dry_run:
                unwritten.append(_as_spec_file(waivers))
            else:
                self.write([waivers])
            checked = check(self.project, [self.stack], unwritten=unwritten)
        problems = [
            problem
            for problem in checked.problems
            if problem.location.file in new_paths
            and not problem.message.startswith(unread or ("\0",))
            and not (dry_run and problem.rule == REFERENCE)  # the files below subjects/ are not written
        ]
        return tuple(files), problems, None if dry_run else checked


def open_session(
    project: Project, stack: str | None, patterns: Sequence[str], waive_until: date | None = None
) -> ImportSession:
    """Read the topics that ``topics/`` declares for ``stack`` (None: the only stack of the project).

    Raise Refusal if ``stack`` is None and the project has several stacks, or if the day ``waive_until`` is over.
    """
    if waive_until and waive_until < today():
        raise Refusal(f"waivers until {waive_until} have expired: expected a day from {today()} on")
    stack = only_stack(project, stack)
    declared = declared_stack(project, stack)
    stack_file = read_stack_file(project, stack)
    return ImportSession(
        project,
        stack,
        tuple(patterns),
        declared.loaded,
        {declaration.topic.name: declaration for declaration in declared.declarations},
        (*declared.errors, *(problem for problem in stack_file.problems if problem.level is Level.ERROR)),
        stack_file.scope,
        declared.access,
        declared.subjects,
        waive_until,
    )


def _as_spec_file(file: NewFile) -> SpecFile:
    *folder, name = file.path.split("/")
    return SpecFile(file.project_path, tuple(folder), name.removesuffix(".yaml"), file.text.encode())


def _display(value: object) -> str:
    return "not set" if value is None else f"{value}"


_WRAPPER: Final = TextWrapper(
    120, initial_indent=" " * 4, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
)


def draft_waivers(
    checked: CheckedStacks, stack: str, topics: Collection[str], files: Collection[str], until: date
) -> str:
    """Return a policy file with waivers until ``until`` for each error that ``topics`` cause; empty without any.

    ``files`` are the new files: errors of those below ``access/`` are waived, too. The waivers name each topic, so that
    topics of tomorrow obey the rules.
    """
    declared = [declaration.topic for declaration in checked.declarations[stack]]
    domains = {topic.name: topic.domain for topic in declared}
    waived: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    results = (
        judge_topics(declared, checked.policy, stack),
        judge_access(checked.access[stack], declared, checked.policy, stack),
    )
    for result in chain.from_iterable(results):
        if result.waiver or result.level is not Level.ERROR:
            continue
        if result.topic is None and result.location and result.location.file in files:
            waived[result.rule, "access"].add(result.location.file)
            continue
        # A rule about all topics together, such as partition-budget, does not count waived topics.
        for name in topics if result.topic is None else {result.topic}.intersection(topics):
            waived[result.rule, f"topics/{domains[name] or ''}"].add(name)
    if not waived:
        return ""
    header = f"# What imported topics violated on {today()}. Correct them folder by folder, and delete their waivers.\n"
    entries = [_entry(rule, where, sorted(names), until) for (rule, where), names in sorted(waived.items())]
    return f"{header}waivers:\n{''.join(entries)}"


def _entry(rule: str, where: str, names: list[str], until: date) -> str:
    listed = _WRAPPER.fill(f"topics: [{', '.join(map(yaml_scalar, names))}]")
    return (
        f"  - rule: {rule}  # {counted(len(names), 'file' if where == 'access' else 'topic')} in {where.rstrip('/')}/\n"
        f"{listed}\n"
        f"    until: {until}\n"
        f"    reason: imported on {today()} as on the cluster\n"
        "    by: topicwarden import\n"
    )
