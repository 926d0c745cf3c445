"""Test that the documentation builds, that its YAML blocks are valid, and that its generated parts are current."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.cells import cell_len

from tests.support.command import topicwarden
from tests.support.site_build import build_site
from tests.unit.site.reference import DOCS, written
from topicwarden.cli import completion
from topicwarden.cli.check import check
from topicwarden.cli.help import PAGES as HELP_PAGES
from topicwarden.cli.schema import SCHEMAS
from topicwarden.kinds.subject.spec import SubjectDocument
from topicwarden.specs.document_model import AccessDocument

REPOSITORY = DOCS.parent
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
_BLOCK = re.compile(r"^```ya?ml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TOPIC = {"description": "A record of the documentation.", "owner": "team-orders", "partitions": 6} | {
    "replication_factor": 3,
    "config": {"min.insync.replicas": 2, "cleanup.policy": "delete"},
}
_TOPIC_FILE = "topics/orders/orders.placed.v1.yaml"
_SUBJECT_FILE = "subjects/documentation.yaml"
_REGISTRY = "  topicwarden:schemaRegistry: {url: 'https://registry.example.com'}\n"
_TOPIC_KEYS = {*_TOPIC, "contents", "access", "stacks", "allow", "topic"}
_WRITTEN_ELSEWHERE = {"continuous-integration.md", "import.md", "spark.md", "monitoring.md"}
"""Pages with files of other tools, which have tests of their own."""
_SOURCE = REPOSITORY / "validation" / "topicwarden"
_VARIABLE = re.compile(
    r"(TOPICWARDEN|PULUMI|SPARK|PYSPARK|DATABRICKS|JAVA|GITHUB|GITLAB|CI|XDG|NO|FORCE)_[A-Z0-9_]*[A-Z0-9]"
)


def blocks() -> Iterator[Any]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in _BLOCK.finditer(text):
            location = f"{page.relative_to(REPOSITORY)}:{text.count(chr(10), 0, found.start()) + 1}"
            yield pytest.param(page, found[1], id=location)


def test_the_site_builds_without_a_broken_link_and_without_other_hosts(tmp_path: Path) -> None:
    assert build_site(REPOSITORY / "mkdocs.yml", tmp_path / "site") == []
    requested = re.compile(r"<(?:script|img|iframe)[^>]+src=\"?https?:|<link[^>]+stylesheet[^>]+https?:|url\(https?:")
    assert {path.name.partition(".")[0] for path in (tmp_path / "site").glob("*.schema.json")} == set(SCHEMAS)
    report = json.loads((tmp_path / "site" / "report.schema.json").read_text("utf-8"))
    assert report == json.loads(json.dumps(SCHEMAS["report"]()))
    pages = {page: page.read_text("utf-8") for page in (tmp_path / "site").rglob("*.html")}
    assert [page for page, text in pages.items() if requested.search(text)] == []
    assert [page for page, text in pages.items() if r"\|" in text] == []


def test_a_broken_anchor_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[B](#b)\n", encoding="utf-8")
    settings = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n")[0]
    settings = settings.replace("hooks: [", f"hooks: [{REPOSITORY}/")
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    (problem,) = build_site(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert "contains a link '#b', but there is no such anchor" in problem


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_nested_lists_are_indented_by_four_spaces(page: Path) -> None:
    """GitHub also accepts two or three spaces. Python-Markdown, which makes the site, does not."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^ {1,3}(?:[-*]|\d+\.) .*", text, re.MULTILINE) == []


@pytest.mark.parametrize("page", sorted(written()), ids=lambda path: path.name)
def test_the_generated_pages_are_current(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == written()[page], "run .venv/bin/python -m tests.unit.site.reference"


@pytest.mark.parametrize(("page", "text"), list(blocks()))
def test_yaml_blocks_of_the_pages_are_valid(
    page: Path, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if page.name in _WRITTEN_ELSEWHERE:
        return
    content = yaml.safe_load(text)
    files = {
        "Pulumi.yaml": "name: documentation\nruntime: python\n",
        "stacks/Pulumi.dev.yaml": f"config:\n  topicwarden:cluster: sandbox\n{_REGISTRY}",
        "stacks/Pulumi.prod.yaml": f"config:\n  kafka:bootstrapServers: [broker-1.example.com:9093]\n{_REGISTRY}",
        _TOPIC_FILE: yaml.safe_dump(_TOPIC),
        "topics/clickstream/clicks.v1.yaml": yaml.safe_dump(_TOPIC),
        "topics/shop/shop.customers.yaml": yaml.safe_dump({**_TOPIC, "contents": {"key": {"format": "string"}}}),
        "topics/orders/schemas/refund.json": '{"properties": {"amount": {"type": "number"}}}',
        "topics/orders/schemas/orders.placed.v1-value.json": "{}",
        "topics/orders/schemas/order.avsc": _record("Order"),
        "topics/orders/schemas/payment.avsc": _record("Payment"),
        "subjects/schemas/money.avsc": _record("Money"),
        "subjects/schemas/unit.avsc": _record("Unit"),
        _SUBJECT_FILE: "subjects: {com.acme.Money: {format: avro, schema: schemas/money.avsc}}",
    }
    kind = _kind(content)
    files[kind] = text if kind != _TOPIC_FILE else yaml.safe_dump({**_TOPIC, **content})
    _, output = checked(files, tmp_path, monkeypatch, capsys)
    assert [line for line in output.splitlines() if line.startswith(f"{kind}:") and ": warning: " not in line] == []


def _record(name: str) -> str:
    return f'{{"type": "record", "name": "{name}", "namespace": "com.acme", "fields": []}}'


def _kind(content: Any) -> str:
    """Return the file of a project that ``content`` belongs to."""
    keys = content.keys()
    if keys == {"config"} and any(":" in name for name in content["config"]):
        return "stacks/Pulumi.prod.yaml"
    if keys <= _TOPIC_KEYS:
        return _TOPIC_FILE
    if keys <= SubjectDocument.model_fields.keys():
        return _SUBJECT_FILE
    return "access/documentation.yaml" if keys <= AccessDocument.model_fields.keys() else "policies/topics.yaml"


def test_the_pictures_are_small_and_shown_and_load_no_fonts() -> None:
    pictures = [path for path in (DOCS / "images").iterdir() if path.suffix in (".png", ".svg")]
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {path.name for path in pictures} == {"plan.svg", "report.png"}
    assert [path.name for path in pictures if path.stat().st_size > 150_000 or f"images/{path.name}" not in texts] == []
    drawn = "".join(path.read_text(encoding="utf-8") for path in pictures if path.suffix == ".svg")
    assert "@font-face" not in drawn


def test_every_environment_variable_of_the_package_is_on_its_page() -> None:
    page = (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", page))
    named: set[str] = set()
    for module in _SOURCE.rglob("*.py"):
        text = module.read_text(encoding="utf-8")
        if "environ" in text or _VARIABLE.search(text):
            named |= {each for node in ast.walk(ast.parse(text)) for each in _variables(node)}
    assert "TOPICWARDEN_CACHE" in named
    assert "TERM" in named
    assert named - documented == set()


def _variables(node: ast.AST) -> Iterator[str]:
    """Yield the names of variables in ``node``: with a known prefix, or as an argument of ``os.environ``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _VARIABLE.fullmatch(node.value):
        yield node.value
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(attr="environ")), args=[ast.Constant(value=str(name)), *_]
        ):
            yield name
        case ast.Subscript(value=ast.Attribute(attr="environ"), slice=ast.Constant(value=str(name))):
            yield name


def test_the_misspelled_setting_is_reported_as_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "reference" / "topics.md").read_text(encoding="utf-8")
    declared = next(_BLOCK.finditer(page))[1].replace("retention.ms:", "retention.mss:")
    shown = re.findall(r"^```console\n.*\n((?:.|\n)*?)^```", page, re.MULTILINE)[0]
    files = {
        "Pulumi.yaml": "name: documentation\nruntime: python\n",
        "stacks/Pulumi.dev.yaml": "config:\n  topicwarden:cluster: sandbox\n",
        _TOPIC_FILE: declared,
    }
    assert checked(files, tmp_path, monkeypatch, capsys) == (1, shown)


def checked(
    files: Mapping[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Return the exit code and the output of `topicwarden check` on a project with ``files``."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    capsys.readouterr()
    return check(form="text"), capsys.readouterr().out


def test_the_list_names_each_concept_with_the_title_of_its_page(tmp_path: Path) -> None:
    done = topicwarden("help", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()] == list(HELP_PAGES)
    assert re.search(r"^exit-codes +Exit codes$", done.out, re.MULTILINE)
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("concept", HELP_PAGES)
def test_a_page_is_readable_in_a_terminal(concept: str, tmp_path: Path) -> None:
    done = topicwarden("help", concept, cwd=tmp_path, COLUMNS="80")
    assert (done.code, done.err) == (0, "")
    assert max(map(cell_len, done.out.splitlines())) <= 80
    assert ".md" not in re.sub(r"\w*report\.md|comment\.md|- *\w+\.md", "", done.out.replace("\n", ""))
    assert "\x1b" not in done.out


def test_an_unknown_concept_is_named(tmp_path: Path) -> None:
    done = topicwarden("help", "kafka", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "there is no page 'kafka': expected one of topics, policies" in done.err
    assert "did you mean exit-codes?" in topicwarden("help", "exit-code", cwd=tmp_path).err


def test_the_shell_completes_concepts() -> None:
    assert completion.concepts("ex") == ["exit-codes"]


def test_the_wheel_has_each_page() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    packaged = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for page in HELP_PAGES.values():
        folder = page.rpartition("/")[0]
        assert packaged[f"docs/{folder}"] == f"topicwarden/help/{folder}"
        assert (REPOSITORY / "docs" / page).is_file()
