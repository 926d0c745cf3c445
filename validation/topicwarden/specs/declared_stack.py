"""All that one stack declares: its topics, its access and its subjects, without a look at policies."""

from __future__ import annotations

from dataclasses import dataclass

from topicwarden.model.access import DeclaredAccess
from topicwarden.model.problem import Level, Problem
from topicwarden.model.project import Project
from topicwarden.model.subject import DeclaredSubjects
from topicwarden.specs.access_files import load_access, resolve_access
from topicwarden.specs.declared_subjects import resolve_subjects
from topicwarden.specs.load import LoadedSpecs, load, load_subjects
from topicwarden.specs.resolve import Declaration, resolve
from topicwarden.specs.schema_files import ProjectSchemas


@dataclass(frozen=True)
class DeclaredStack:
    """The valid declarations of a stack; ``loaded`` has the documents of topics, and ``errors`` is about all files."""

    loaded: LoadedSpecs
    declarations: tuple[Declaration, ...]
    access: DeclaredAccess
    subjects: DeclaredSubjects
    errors: tuple[Problem, ...]


def declared_stack(project: Project, stack: str) -> DeclaredStack:
    """Read what the files of ``project`` declare for ``stack`` now."""
    stacks = project.stack_names()
    loaded = load(project.topics, project.root, stacks)
    topics = resolve(loaded, stack)
    access_files = load_access(project.access, project.root, stacks)
    access = resolve_access(access_files, topics.declarations, stack)
    subject_files = load_subjects(project.subjects, project.root, stacks)
    subjects = resolve_subjects(subject_files, topics.declarations, ProjectSchemas(project.root), stack)
    results = (topics, access_files, access, subject_files, subjects)
    errors = tuple(each for result in results for each in result.problems if each.level is Level.ERROR)
    return DeclaredStack(loaded, topics.declarations, access.access, subjects.subjects, errors)
