"""Test that the page about imports is correct: each import from a file is run on an example, twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import documents
from tests.support.cases import Case, cases, find_case
from tests.support.command import project, topicwarden
from tests.support.import_cases import CASES, sources

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "import.md"
TEXT = PAGE.read_text(encoding="utf-8")
ELSEWHERE = re.compile(r"(import|plan) --stack |export ")
"""Commands that other tests run: on a cluster in tests/engine, and exports in test_export.py."""
EXAMPLES = {
    "kafkatopics.yaml": "strimzi-kubectl-list/kafkatopics.yaml",
    "kafka-topics.yaml": "jikkou/kafka-topics-and-configmap.yaml",
    "state.json": "terraform-show/state.json",
    "topology.yaml": "julie-format/topology.yaml",
    "topology-builder.properties": "julie-format/topology-builder.properties",
    "plans.yaml": "julie-plans/plans.yaml",
    "state.yaml": "kafka-gitops/state.yaml",
    "topic.yml": "kdef/topics.yml",
    "orders.spec.yaml": "specmesh/spec.yaml",
    "docker-compose.yml": "create-topics-compose/docker-compose.yml",
    "orders.asyncapi.yaml": "asyncapi/orders.asyncapi.yaml",
    "orders.odcs.yaml": "odcs/orders.odcs.yaml",
    "describe.txt": "describe/describe.txt",
    ("Redpanda Operator", "topics.yaml"): "redpanda-kubectl/topics.yaml",
    ("topicctl", "topics.yaml"): "topicctl/topics.yaml",
}
"""A good case for each file that the page names; with its section if several sections have the file name."""


def section(line: int) -> str:
    return [text for text in TEXT.splitlines()[:line] if text.startswith("## ")][-1].removeprefix("## ")


COMMANDS = [
    pytest.param(section(code.line), arguments, id=f"{section(code.line)} {arguments[-1]}")
    for code, arguments in documents.commands(TEXT)
    if code.block and not ELSEWHERE.match(" ".join(arguments))
]


@pytest.mark.parametrize(("title", "arguments"), COMMANDS)
def test_the_import_of_the_page_works_and_a_second_one_changes_nothing(
    title: str, arguments: list[str], tmp_path: Path
) -> None:
    (project(tmp_path, {}) / "topics").mkdir(exist_ok=True)
    for name in arguments[2::2]:
        example, _, file = EXAMPLES.get((title, name), EXAMPLES.get(name, "")).partition("/")
        (tmp_path / name).write_bytes(find_case(CASES, "good", example).data()[file])
    first = topicwarden(*arguments, cwd=tmp_path)
    assert first.code == 0, first.out + first.err
    written = {path: path.read_bytes() for path in (tmp_path / "topics").rglob("*.yaml")}
    assert written
    again = topicwarden(*arguments, cwd=tmp_path)
    assert again.code == 0, again.out + again.err
    assert "0 new topics to declare" in again.err and "already declared" in again.err
    assert {path: path.read_bytes() for path in (tmp_path / "topics").rglob("*.yaml")} == written


def test_every_command_of_the_page_is_valid() -> None:
    invalid = [problem for _, arguments in documents.commands(TEXT) if (problem := documents.problem(arguments))]
    assert invalid == []
    assert len(COMMANDS) == len(EXAMPLES) - 2


@pytest.mark.parametrize("case", cases(CASES, "good"), ids=lambda case: case.name)
def test_a_second_import_of_any_example_changes_nothing(case: Case, tmp_path: Path) -> None:
    (project(tmp_path, {}) / "topics").mkdir(exist_ok=True)
    for source in sources(case):
        (tmp_path / source.file).write_bytes(source.data)
    arguments = [part for source in sources(case) for part in ("--from", source.file)]
    assert topicwarden("import", *arguments, cwd=tmp_path).code == 0
    before = {path: path.read_bytes() for path in (tmp_path / "topics").rglob("*.yaml")}
    again = topicwarden("import", *arguments, cwd=tmp_path)
    assert (again.code, "0 new topics to declare" in again.err) == (0, True), again.out + again.err
    assert {path: path.read_bytes() for path in (tmp_path / "topics").rglob("*.yaml")} == before
