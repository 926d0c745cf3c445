"""Test that everything the documentation names exists, and that each import on the page about imports works."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.support import documents
from tests.support.cases import IMPORT_CASES as CASES
from tests.support.cases import Case, cases, find_case, sources
from tests.support.command import Outcome, project, topicwarden

# Check that everything the documentation names exists: commands, options, make targets, files and links.

REPOSITORY = Path(__file__).parents[2]
NAMES = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
DOCUMENTS = [*(REPOSITORY / name for name in NAMES), *sorted((REPOSITORY / "docs").rglob("*.md"))]
FOREIGN = {
    "guards.md": {"--target", "--exclude", "--refresh", "--continue-on-error"},
    "comparison.md": {"--no-delete"},
    "runbook.md": {
        "--bootstrap-server",
        "--command-config",
        "--consumer.config",
        "--formatter-property",
        "--property",
        "--print-data-log",
    },
    "spark.md": {"--jars", "--packages"},
    "production.md": {"--suppress-outputs", "--preserve-config"},
    "exit-codes.md": {"--install-completion"},
    "CONTRIBUTING.md": {"--fail-on-flaky", "--hypothesis-profile"},
    "SECURITY.md": {"--require-hashes"},
}
"""Options of other programs, and of typer itself, that a document names without the command."""
GENERATED_COMMANDS = "commands.md"
"""The page of all commands. Its options come from the parser, in another form."""
GENERATED = (
    *(".cache/", "reports/", "access/imported.yaml", "policies/imported.yaml"),
    *("topics/orders/orders.payments.v1.yaml", "topics/orders/schemas/payment.avsc"),  # of the tutorial
    *("topics/web/_defaults.yaml", "topics/web/web.visits.v1.yaml", "topics/web/schemas/"),
)
"""Folders and files that a user creates by running commands."""
_PACKAGE = REPOSITORY / "validation" / "topicwarden"
ROOTS = (REPOSITORY, _PACKAGE, _PACKAGE / "template", _PACKAGE / "template" / "project")
"""File names in documents are relative to these folders."""

_HOME = "https://github.com/topicwarden/topicwarden/blob/main/"
"""Pages of the site link to files outside of ``docs`` with this prefix."""

RELEASE_PAGES = (
    "README.md",
    "docs/tutorial.md",
    *(f"docs/how-to/{name}.md" for name in ("air-gapped", "check-only", "continuous-integration", "spark")),
)
"""The pages that say how to get topicwarden."""

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))


@each_document
def test_every_command_and_option_that_is_named_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    wrong = [
        f"{document.name}:{code.line}: `{code.text}`: {problem}"
        for code, arguments in documents.commands(text)
        if (problem := documents.problem(arguments))
    ] + [
        f"{document.name}:{code.line}: `{code.text}`: {problem}"
        for code, arguments in documents.options(text)
        if document.name != GENERATED_COMMANDS
        and arguments[0] not in FOREIGN.get(document.name, ())
        and (problem := documents.option_problem(arguments))
    ]
    assert wrong == []


def test_no_page_and_no_message_proposes_an_allowance_without_an_end_about_which_check_warns() -> None:
    template = [
        path for path in (_PACKAGE / "template").rglob("*") if path.is_file() and "__pycache__" not in str(path)
    ]
    found = [
        f"{path.relative_to(REPOSITORY)}: {allowance}"
        for path in (*DOCUMENTS, *sorted(_PACKAGE.rglob("*.py")), *template)
        for allowance in re.findall(r"allow: \[\{*[a-z][a-z-]*[],]", path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_every_example_in_the_help_is_a_command() -> None:
    examples = {
        name: (command.epilog or "").partition("\n\n")[0]
        for name, command in documents.leaves(documents.PARSER).items()
    }
    found = {name: [one for _, one in documents.commands(f"```\n{text}\n```")] for name, text in examples.items()}
    assert [name for name, text in examples.items() if text.startswith("Example: ") and not found[name]] == []
    problems = [(name, documents.problem(one)) for name, every in found.items() for one in every]
    assert [(name, problem) for name, problem in problems if problem] == []


def test_the_readers_find_what_documents_name() -> None:
    readme, contributing, audits = (
        (REPOSITORY / name).read_text(encoding="utf-8")
        for name in ("README.md", "CONTRIBUTING.md", "docs/explanation/audits.md")
    )
    assert {arguments[0] for _, arguments in documents.commands(readme)} >= {"check", "audit", "sandbox", "up"}
    assert {arguments[0] for _, arguments in documents.options(audits)} >= {"--since", "--fail-on"}
    assert {target for _, target in documents.targets(readme)} >= {"demo", "test"}
    assert {name for _, name in documents.files(contributing, ROOTS)} >= {"tests/unit/", "benchmarks/plan.py"}
    assert "docs/guards.md" in documents.links(readme)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("`topicwarden check --fix`", []),
        ("`topicwarden audit --since last --stack S`", []),
        ("```sh\nFOO=1 topicwarden sandbox up --brokers 3  # three\n```", []),
        ("prose about topicwarden that is no command", []),
        ("`topicwarden:history: none`", []),
        ("`topicwarden frobnicate`", ['there is no command "frobnicate"']),
        ("`topicwarden sandbox frobnicate`", ['there is no command "frobnicate"']),
        ("```sh\n$ topicwarden check | topicwarden frobnicate\n```", ['there is no command "frobnicate"']),
        ("`topicwarden check --frobnicate`", ["No such option: --frobnicate"]),
        ("`topicwarden audit --since yesterday`", ["'yesterday' is not one of 'all', 'last'."]),
        ("`topicwarden demo twice`", ["Got unexpected extra argument"]),
    ],
)
def test_an_unknown_command_in_the_docs_is_reported(text: str, seen: list[str]) -> None:
    problems = [problem for _, arguments in documents.commands(text) if (problem := documents.problem(arguments))]
    assert [expected in problem for problem, expected in zip(problems, seen, strict=True)] == [True] * len(seen)


@pytest.mark.parametrize(
    ("option", "exists"),
    [
        ("`--fail-on suspect`", True),
        ("`--max-records N`", True),
        ("`--fail-on sometimes`", False),
        ("`--history`", True),
        ("`--frobnicate`", False),
    ],
)
def test_an_unknown_option_in_the_docs_is_reported(option: str, exists: bool) -> None:
    ((_, arguments),) = documents.options(option)
    assert (documents.option_problem(arguments) is None) == exists


@each_document
def test_every_target_of_make_that_is_named_exists(document: Path) -> None:
    rules = (REPOSITORY / "Makefile").read_text(encoding="utf-8").splitlines()
    known = {line.partition(":")[0] for line in rules if ":" in line and not line.startswith(("\t", " ", "#", "."))}
    named = documents.targets(document.read_text(encoding="utf-8"))
    assert [f"{document.name}:{code.line}: make {target}" for code, target in named if target not in known] == []


@each_document
def test_every_file_that_is_named_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = [name for _, name in documents.files(text, ROOTS) if not name.startswith(GENERATED)]
    missing = [name for name in named if not any((root / name).exists() for root in ROOTS)]
    broken = [link for link in documents.links(text) if not (document.parent / link).exists()]
    absent = [name for name in re.findall(rf"\]\({_HOME}([^)#\s]+)", text) if not (REPOSITORY / name).exists()]
    assert (missing, broken, absent) == ([], [], [])


@pytest.mark.parametrize("page", [*RELEASE_PAGES])
def test_the_pages_say_whether_there_is_a_release(page: str) -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    released = settings["tool"]["topicwarden"]["released"]
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    assert (
        "Not released yet. A PyPI package or Action with this name is not ours." in " ".join(text.split())
    ) is not released
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    installs = [code for code in blocks if "pip install" in code or "uv tool install" in code]
    assert all(("make wheel" in code) is not released for code in installs)


@each_document
def test_no_document_takes_topicwarden_from_an_index_before_there_is_a_release(document: Path) -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    text = document.read_text(encoding="utf-8")
    found = re.findall(r"^.*(?:pip|uv tool) (?:install|download)\b.* '?topicwarden\b.*$", text, re.MULTILINE)
    found += re.findall(r'^.*"package": "topicwarden.*$', text, re.MULTILINE)
    assert settings["tool"]["topicwarden"]["released"] or found == []


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("README.md", "**Maturity.** Beta"),
        ("README.md", "continuous audits"),
        ("docs/tutorial.md", "This was measured on"),
        ("docs/how-to/check-only.md", "This page takes five minutes."),
        ("docs/how-to/spark.md", "The audit was run once, on"),
        ("docs/comparison.md", "as of 28 November 2026"),
        ("docs/explanation/access.md", "KIP-1276"),
        ("docs/reference/exit-codes.md", "| 130 | Ctrl-C (SIGINT)"),
    ],
)
def test_a_page_has_what_a_new_user_looks_for(page: str, text: str) -> None:
    assert text in " ".join((REPOSITORY / page).read_text(encoding="utf-8").split())


def test_the_tutorial_starts_with_a_finding_on_a_cluster_of_the_reader() -> None:
    text = (REPOSITORY / "docs" / "tutorial.md").read_text(encoding="utf-8")
    commands = [shown.text for shown, _ in documents.commands(text) if shown.block]
    assert commands[0].startswith("topicwarden audit --bootstrap-server ")
    assert "topicwarden init" in commands[1]


def test_the_page_about_checks_alone_needs_no_cluster_and_no_extra(tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "how-to" / "check-only.md").read_text(encoding="utf-8")
    named, yaml_file = re.findall(r"Save this as `([^`]+)`:\n\n```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0]
    shown = re.search(r"prints the line:\n\n```\n(.*?)\n```", text, re.DOTALL)
    assert shown
    assert topicwarden("init", "my-topics", "--empty", cwd=tmp_path).code == 0
    file = tmp_path / "my-topics" / named
    file.parent.mkdir()
    file.write_text(yaml_file, encoding="utf-8")
    done = topicwarden("check", cwd=tmp_path / "my-topics")
    assert done.code == 1
    assert shown[1] in done.out
    file.write_text(yaml_file + "  min.insync.replicas: 2\n", encoding="utf-8")
    again = topicwarden("check", cwd=tmp_path / "my-topics")
    assert (again.code, again.err) == (0, "1 topic: 0 errors, 1 warning\n")


# Test that the page about imports is correct: each import from a file is run on an example, twice.

PAGE = REPOSITORY / "docs" / "how-to" / "import.md"
TEXT = PAGE.read_text(encoding="utf-8")
ELSEWHERE = re.compile(r"init |(import|plan) --stack |export ")
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


def left_out(done: Outcome) -> int:
    """Return the exit code of an import without errors: 1 if it says that it left out an entry, else 0."""
    return int(" left out, for the reasons above" in done.err)


@pytest.mark.parametrize(("title", "arguments"), COMMANDS)
def test_the_import_of_the_page_works_and_a_second_one_changes_nothing(
    title: str, arguments: list[str], tmp_path: Path
) -> None:
    (project(tmp_path, {}) / "topics").mkdir(exist_ok=True)
    for name in arguments[2::2]:
        example, _, file = EXAMPLES.get((title, name), EXAMPLES.get(name, "")).partition("/")
        (tmp_path / name).write_bytes(find_case(CASES, "good", example).data()[file])
    first = topicwarden(*arguments, cwd=tmp_path)
    assert first.code == left_out(first), first.out + first.err
    written = {path: path.read_bytes() for path in (tmp_path / "topics").rglob("*.yaml")}
    assert written
    again = topicwarden(*arguments, cwd=tmp_path)
    assert again.code == left_out(again), again.out + again.err
    assert "0 new topics to declare" in again.err and "already declared" in again.err
    assert {path: path.read_bytes() for path in (tmp_path / "topics").rglob("*.yaml")} == written


def test_every_command_of_the_page_is_valid() -> None:
    invalid = [problem for _, arguments in documents.commands(TEXT) if (problem := documents.problem(arguments))]
    assert invalid == []
    assert len(COMMANDS) == len(EXAMPLES) - 2


@pytest.mark.parametrize("case", cases(CASES, "good"), ids=lambda case: case.name)
def test_a_second_import_of_any_example_changes_nothing(case: Case, tmp_path: Path) -> None:
    registry = {"stacks/Pulumi.dev.yaml": "config: {'topicwarden:schemaRegistry': 'http://registry.test'}\n"}
    (project(tmp_path, registry) / "topics").mkdir(exist_ok=True)
    case.write(tmp_path)
    arguments = [part for source in sources(case) for part in ("--from", source.file)]
    first = topicwarden("import", *arguments, cwd=tmp_path)
    assert first.code == left_out(first), first.out + first.err
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    again = topicwarden("import", *arguments, cwd=tmp_path)
    assert (again.code, "0 new topics to declare" in again.err) == (left_out(again), True), again.out + again.err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before
