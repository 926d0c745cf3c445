"""Check the declared topics and the policies of a project, without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.project import Project
from topicwarden.operations.path_selection import select
from topicwarden.policies.check_specs import check
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.stacks.stack_selection import selected_stacks


@dataclass(frozen=True)
class CheckReport(ProblemDigest):
    """The problems of the selected files, and the numbers of problems that are not reported.

    ``waived``: problems that waivers hide. ``elsewhere``: problems in files that are not selected.
    """

    waived: int = 0
    elsewhere: int = 0


def check_topics(project: Project, stack: str | None = None, paths: Sequence[Path] = ()) -> CheckReport:
    """Return the problems of the YAML for ``stack`` (None: for all stacks).

    ``paths`` are files and folders of the project to report about, with the defaults that they inherit; empty for all.
    Raises Refusal if the stack or a path does not exist, or if the project declares no topic.
    """
    selection = select(project, paths)
    checked = check(project, selected_stacks(project, stack), paths=selection.topics)
    problems = tuple(problem for problem in checked.problems if selection.shows(problem))
    declarations = [declaration for declared in checked.declarations.values() for declaration in declared]
    files = {declaration.locations.own.file for declaration in declarations}
    files |= {problem.location.file for problem in problems}
    topics = {declaration.topic.name for declaration in declarations}
    return CheckReport(
        project.root,
        problems,
        tuple(sorted(files)),
        len(topics),
        waived=checked.waived,
        elsewhere=len(checked.problems) - len(problems),
    )
