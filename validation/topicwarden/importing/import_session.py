"""The project that topics come into: what it declares already, and what is written and said."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from fnmatch import fnmatchcase
from types import MappingProxyType

from topicwarden.importing.write_files import place
from topicwarden.model.problem import Level, Problem, Refusal
from topicwarden.model.project import Project
from topicwarden.model.topic import Topic
from topicwarden.policies.check_specs import check
from topicwarden.report import terminal_output
from topicwarden.report.problems import text
from topicwarden.report.problems.digest import ProblemDigest, many
from topicwarden.specs.load import LoadedSpecs, load
from topicwarden.specs.message_text import guess
from topicwarden.specs.resolve import Declaration, resolve
from topicwarden.specs.spec_files import SpecFile
from topicwarden.specs.stack_selection import stacks_of
from topicwarden.specs.write import ImportDraft, NewFile, draft
from topicwarden.specs.write.shared_defaults import leaves

_SCHEMA = "docs/topic.schema.json"


@dataclass(frozen=True)
class ImportSession:
    """One import: the project and stack, the globs that topics are chosen by, and what is declared."""

    project: Project
    stack: str
    patterns: tuple[str, ...]
    loaded: LoadedSpecs
    declared: Mapping[str, Declaration]
    errors: tuple[Problem, ...]

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Those that a pattern fits, or all where there is none, without those that a ``!pattern`` fits.

        Refuses patterns that fit none.
        """
        wanted = [pattern for pattern in self.patterns if not pattern.startswith("!")] or ["*"]
        unwanted = [pattern[1:] for pattern in self.patterns if pattern.startswith("!")]
        known = list(names)
        found = [name for name in known if _fits(name, wanted) and not _fits(name, unwanted)]
        if not found and known:
            meant = guess(wanted[0].strip("*"), known) if wanted != ["*"] else ""
            raise Refusal(f"none of {many(len(known), 'topic')} is like {' '.join(self.patterns)}{meant}")
        return found

    def drafted(
        self, topics: Iterable[Topic], stack: str | None, comments: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> ImportDraft:
        """Files for those topics that are not declared yet; ``stack`` is where they are so, None for everywhere.

        ``comments`` are lines to keep in a topic's file, by name.
        """
        home = self.project.topics
        taken = [path.relative_to(home).as_posix().lower() for path in home.rglob("*")]
        schema = _SCHEMA if (self.project.root / _SCHEMA).is_file() else None
        new = [one for one in topics if one.name not in self.declared]
        return draft(new, self.loaded, stack, taken, schema, comments=comments)

    def write(self, files: Sequence[NewFile], dry_run: bool) -> None:
        """Puts the files into place, or only shows them as a diff, and says so."""
        if dry_run:
            terminal_output.write("".join(map(_diff, files)))
        elif files:
            place(self.project.topics, files)
            terminal_output.write(_listed(files))
        topics = many(sum(file.topic is not None for file in files), "new topic")
        done = f" in {many(len(files), 'file')}{', not written' if dry_run else ''}" if files else " to declare"
        say(f"{topics}{done}")

    def differences(self, topics: Mapping[str, Topic], where: str) -> list[Problem]:
        """What YAML declares otherwise than it is ``where``, each at its line."""
        found: list[Problem] = []
        for name, topic in topics.items():
            if name not in self.declared:
                continue
            declaration = self.declared[name]
            said, seen = leaves(declaration.topic), leaves(topic)
            for path in sorted({*said, *seen}):
                if said.get(path) != seen.get(path):
                    what = f"declared {_shown(said.get(path))}, and {_shown(seen.get(path))} {where}"
                    remedy = f"write what is there, where stacks differ under stacks: {self.stack}:, and import again"
                    message = f"{name}: {path[-1]} is {what}; neither was touched: {remedy}"
                    found.append(Problem(declaration.places.at(path), message, "import"))
        return found

    def judged(self, files: Collection[NewFile], dry_run: bool) -> bool:
        """Print what specs and policies say of the new files, written or not; return whether there is an error."""
        if not files:
            return False
        unwritten = [_unwritten(file) for file in files] if dry_run else []
        new = {f"topics/{file.path}" for file in files}
        checked = check(self.project, [self.stack], unwritten=unwritten)
        problems = [one for one in checked.problems if one.location.file in new]
        self.show(problems)
        errors = sum(problem.level is Level.ERROR for problem in problems)
        if problems:
            warnings = len(problems) - errors
            say(f"`topicwarden check`: {many(errors, 'error')}, {many(warnings, 'warning')} in the new files")
        return errors > 0

    def show(self, problems: Sequence[Problem]) -> None:
        page = ProblemDigest(self.project.root, tuple(problems), (), 0)
        terminal_output.write(text.render(page, terminal_output.coloured()))


def open_session(project: Project, stack: str | None, patterns: Sequence[str]) -> ImportSession:
    """Reads ``topics/`` as ``stack`` has it, which may be left out where there is one."""
    stacks = stacks_of(project, stack)
    if len(stacks) > 1:
        raise Refusal(f"topics may differ by stack: say which with --stack, one of {', '.join(stacks)}")
    loaded = load(project.topics, project.root, project.stack_names())
    resolved = resolve(loaded, stacks[0])
    declared = {held.topic.name: held for held in resolved.declarations}
    errors = tuple(problem for problem in resolved.problems if problem.level is Level.ERROR)
    return ImportSession(project, stacks[0], tuple(patterns), loaded, declared, errors)


def say(line: str) -> None:
    """Print a line to people, beside what is for programs; on a terminal, wrapped between words."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print(line, file=sys.stderr, flush=True)


def _unwritten(file: NewFile) -> SpecFile:
    *folder, name = file.path.split("/")
    return SpecFile(f"topics/{file.path}", tuple(folder), name.removesuffix(".yaml"), file.text.encode())


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _shown(value: object) -> str:
    return "not set" if value is None else f"{value}"


def _listed(files: Sequence[NewFile]) -> str:
    """A line a folder: how many topics it got, and whether defaults."""
    held: dict[str, list[NewFile]] = {}
    for file in files:
        held.setdefault(file.path.rpartition("/")[0], []).append(file)
    lines = []
    for folder, new in sorted(held.items()):
        topics = sum(file.topic is not None for file in new)
        parts = [*([many(topics, "topic")] if topics else []), *(["_defaults.yaml"] if topics < len(new) else [])]
        lines.append(f"topics/{folder}{'/' if folder else ''}: {' and '.join(parts)}\n")
    return "".join(lines)


def _diff(file: NewFile) -> str:
    lines = file.text.splitlines(keepends=True)
    return "".join(unified_diff([], lines, "/dev/null", f"b/topics/{file.path}"))
