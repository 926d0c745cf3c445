"""Check the declared topics, policies and schemas of a project, without a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from topicwarden.model.project import Project
from topicwarden.operations.path_selection import PathSelection, select
from topicwarden.policies.check_specs import CheckedStacks, check
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.specs.stacks.stack_selection import selected_stacks

if TYPE_CHECKING:
    from topicwarden.operations.schema_changes import SchemaChanges


@dataclass(frozen=True)
class CheckReport(ProblemDigest):
    """The problems of the selected files, and the numbers of problems that are not reported.

    ``waived``: problems that waivers hide. ``elsewhere``: problems in files that are not selected. ``notes``: what
    errors hide, and what a comparison with a Git commit left out, or did by another level than before. ``compared``:
    the schemas it compared.
    """

    waived: int = 0
    elsewhere: int = 0
    notes: tuple[str, ...] = ()
    compared: int = 0


def check_topics(
    project: Project,
    stack: str | None = None,
    paths: Sequence[Path] = (),
    base: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> CheckReport:
    """Return the problems of the YAML for ``stack`` (None: for all stacks).

    ``paths`` are files and folders of the project to report about, with the defaults that they inherit; empty for all.
    ``base`` is a Git commit: changed schemas are compared with it, by the declared compatibility. ``say`` receives the
    progress of downloading the checkers for this on first use. Raises Refusal if the stack, a path or the commit does
    not exist, or if the project declares nothing.
    """
    return checked_topics(project, selected_stacks(project, stack), paths, base, say)[0]


def checked_topics(
    project: Project, stacks: Sequence[str], paths: Sequence[Path], base: str | None, say: Callable[[str], None]
) -> tuple[CheckReport, CheckedStacks]:
    """Return the report of ``check_topics`` on ``stacks``, which the project has, and their declarations.

    ``errors_of`` of the declarations includes the errors of the comparison with ``base``.
    """
    selection = select(project, paths)
    checked = check(project, stacks, paths=selection.topics)
    changes = None if base is None else _changes(project, base, checked, selection, say)
    incompatible = set(changes.problems) if changes else set()
    every = sorted({*checked.problems, *incompatible})
    problems = tuple(problem for problem in every if problem in incompatible or selection.shows(problem))
    declarations = [declaration for declared in checked.declarations.values() for declaration in declared]
    files = {declaration.locations.own.file for declaration in declarations}
    files |= {problem.location.file for problem in problems}
    topics = {declaration.topic.name for declaration in declarations}
    report = CheckReport(
        project.root,
        problems,
        tuple(sorted(files)),
        len(topics),
        waived=checked.waived,
        elsewhere=len(every) - len(problems),
        notes=(*checked.unchecked, *(changes.notes if changes else ())),
        compared=changes.compared if changes else 0,
    )
    if changes is None:
        return report, checked
    errors_of = {stack: errors + changes.errors_of[stack] for stack, errors in checked.errors_of.items()}
    return report, replace(checked, errors_of=errors_of)


def _changes(
    project: Project, base: str, checked: CheckedStacks, selection: PathSelection, say: Callable[[str], None]
) -> SchemaChanges:
    # Imported only when needed: most checks compare nothing, and this imports Kafka's client.
    from topicwarden.operations.schema_changes import schema_changes  # noqa: PLC0415

    return schema_changes(project, base, checked.subjects, say, lambda subject: selection.names(subject.location.file))
