"""Test which subjects each stack declares, and which problems the check finds: cases/*.yaml."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.support.cases import STACKS, TODAY, Case, cases, project_of
from topicwarden.model.problem import Location
from topicwarden.model.project import Project
from topicwarden.model.subject import DeclaredSubject, DeclaredSubjects, RegisteredSchema, SchemaReference
from topicwarden.policies.check_specs import check
from topicwarden.specs.editor_schema import subject_schema
from topicwarden.specs.schema_files import ProjectSchemas
from topicwarden.specs.yaml_nodes import read_documents

CASES = Path(__file__).parent / "cases"


def _project(case: Case, folder: Path) -> Project:
    """Write the project of a case; its stacks have a registry unless it has its own ``stacks/``."""
    project = project_of(case, folder)
    for path in project.stacks.glob("*.yaml"):
        if not path.read_bytes():
            path.write_text("config: {'topicwarden:schemaRegistry': {url: 'http://registry:8081'}}\n")
    return project


def _problem_lines(project: Project) -> list[str]:
    problems = check(project, project.stack_names(), today=TODAY).problems
    return [str(each) for each in problems if each.rule != "standing-allowance"]


def _subject_lines(project: Project) -> Sequence[str]:
    """Return what each stack declares: subject, format, file, settings, references, uses, and the locations."""
    lines = []
    checked = check(project, STACKS, today=TODAY)
    for stack in STACKS:
        for each in checked.subjects[stack].in_order():
            words = [stack, each.name, each.schema.format, each.file, each.compatibility or "-"]
            words += [f"{ref.name}={ref.subject}@{ref.version or '-'}" for ref in each.schema.references]
            words += [f"{use.topic}.{use.part}" for use in each.uses]
            words += sorted(f"allows-{allowance.change}" for allowance in each.allow)
            words += ["at", str(each.location)]
            words += [f"{setting}:{at.line}:{at.column}" for setting, at in sorted(each.locations.items())]
            lines.append(" ".join(words))
    return lines


@pytest.mark.parametrize("case", cases(CASES, "bad"), ids=lambda case: case.name)
def test_a_bad_declaration_has_these_problems(case: Case, tmp_path: Path) -> None:
    assert _problem_lines(_project(case, tmp_path)) == case.expected.splitlines()


@pytest.mark.parametrize("case", cases(CASES, "good"), ids=lambda case: case.name)
def test_a_good_declaration_has_these_subjects(case: Case, tmp_path: Path) -> None:
    project = _project(case, tmp_path)
    assert _problem_lines(project) == []
    assert _subject_lines(project) == case.expected.splitlines()


@pytest.mark.parametrize("case", cases(CASES, "good"), ids=lambda case: case.name)
def test_editors_accept_the_files(case: Case) -> None:
    for name, data in case.data().items():
        if name.startswith("subjects/") and name.endswith(".yaml"):
            (document,) = read_documents(data, name)[0]
            assert [each.message for each in Draft202012Validator(subject_schema()).iter_errors(document.value)] == []


def _subject(name: str, targets: Sequence[str]) -> DeclaredSubject:
    references = tuple(SchemaReference(target, target) for target in targets)
    return DeclaredSubject(name, RegisteredSchema("avro", "", references), f"{name}.avsc", Location("a.yaml"))


def test_referenced_subjects_come_first_on_random_graphs() -> None:
    seeded = random.Random(27)
    for _ in range(300):
        names = [f"s{number}" for number in range(seeded.randint(1, 12))]
        seeded.shuffle(names)
        graph = {
            name: seeded.sample(names[:index], seeded.randint(0, min(index, 3))) for index, name in enumerate(names)
        }
        declared = DeclaredSubjects({name: _subject(name, (*targets, "other")) for name, targets in graph.items()})
        ordered = [each.name for each in declared.in_order()]
        assert sorted(ordered) == sorted(names)
        for name, targets in graph.items():
            assert all(ordered.index(target) < ordered.index(name) for target in targets)
            known = [each for each, _ in declared.referenced_texts(name)]
            assert set(known) == _reachable(name, graph) | {"other"}
            assert all(known.index(low) < known.index(high) for high in known for low in graph.get(high, ()))


def _reachable(name: str, graph: dict[str, list[str]]) -> set[str]:
    return {found for target in graph[name] for found in (target, *_reachable(target, graph))}


def test_circular_references_are_found_on_random_graphs(tmp_path: Path) -> None:
    seeded = random.Random(28)
    for number in range(40):
        names = [f"S{each}" for each in range(seeded.randint(1, 6))]
        graph = {name: seeded.sample(names, seeded.randint(0, min(len(names), 2))) for name in names}
        files = {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n", "subjects/a.yaml": "subjects:\n"}
        for name, targets in graph.items():
            references = ", ".join(f"{{name: {target}, subject: {target}}}" for target in targets)
            entry = f"  {name}: {{format: avro, schema: {name}.avsc, references: [{references}]}}\n"
            files["subjects/a.yaml"] += entry
            fields = ", ".join(f'{{"name": "f{target}", "type": "{target}"}}' for target in targets)
            files[f"subjects/{name}.avsc"] = f'{{"type": "record", "name": "{name}", "fields": [{fields}]}}'
        lines = _problem_lines(_project(Case(f"graph-{number}", files), tmp_path))
        cyclic = {name for name in names if _is_cyclic(name, graph)}
        assert bool(lines) == bool(cyclic)
        assert all("the references are circular" in line for line in lines)
        for line in lines:
            path = line.partition("circular: ")[2].partition(";")[0].split(" -> ")
            assert path[0] == path[-1]
            assert all(later in graph[earlier] for earlier, later in pairwise(path))


def _is_cyclic(name: str, graph: dict[str, list[str]]) -> bool:
    seen, pending = set[str](), list(graph[name])
    while pending:
        current = pending.pop()
        if current not in seen:
            seen.add(current)
            pending += graph[current]
    return name in seen


def test_line_ends_of_a_schema_file_make_no_other_schema(tmp_path: Path) -> None:
    texts = []
    for ends in ("\n", "\r\n"):
        file = tmp_path / "a.proto"
        file.write_bytes(f'syntax = "proto3";{ends}// a{ends}message A {{}}{ends}'.encode())
        texts.append(ProjectSchemas(tmp_path).text("a.proto"))
    assert texts[0] == texts[1]
