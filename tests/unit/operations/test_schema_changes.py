"""Test which subjects are compared with a Git commit, and every case that needs no comparison."""

# ruff: noqa: PLR0917 - the columns of the tables of cases
from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.command import project
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.subject import Incompatibility
from topicwarden.operations import schema_changes
from topicwarden.operations.check import CheckReport, check_topics
from topicwarden.operations.fleet import check_stacks
from topicwarden.operations.git_base import project_at
from topicwarden.specs.record_schemas.schema_compatibility import Comparison, CompatibilityVerdict
from topicwarden.specs.schema_lines import schema_line
from topicwarden.toolchain import apicurio

_USER = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
_TOPIC = "partitions: 3\nreplication_factor: 3\nowner: team-orders\ndescription: Orders.\n"


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *_USER, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _subject(settings: str) -> dict[str, str]:
    return {
        "topics/orders/orders.a.v1.yaml": _TOPIC,
        "subjects/a.yaml": f"subjects:\n  a: {{schema: schemas/a.avsc, {settings}}}\n",
        "subjects/schemas/a.avsc": '"string"',
    }


def _committed(
    folder: Path, files: Mapping[str, str], *, below: str = "", stacks: tuple[str, ...] = ("dev",)
) -> Project:
    """Return a project, committed in a repository that has it in the folder ``below``."""
    root = folder / below if below else folder
    root.mkdir(parents=True, exist_ok=True)
    found = find_project(project(root, dict(files), stacks))
    _git(folder, "init", "--quiet")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message=base")
    return found


def _changed(found: Project, files: Mapping[str, str]) -> CheckReport:
    for path, text in files.items():
        (found.root / path).write_text(text, encoding="utf-8")
    return check_topics(found, base="HEAD")


def _problems(report: CheckReport) -> list[str]:
    return [str(problem) for problem in report.problems if problem.rule == schema_changes.RULE]


@pytest.mark.parametrize(
    ("base", "new", "problems", "notes"),
    [
        ("format: avro, compatibility: FULL", {}, [], []),
        (
            "format: avro, compatibility: NONE",
            {"subjects/schemas/a.avsc": '"int"'},
            [],
            ["a: the schema differs from HEAD, and compatibility NONE allows any change"],
        ),
        (
            "format: avro, compatibility: NONE",
            {"subjects/a.yaml": "subjects:\n  a: {schema: schemas/a.avsc, format: avro, compatibility: FULL}\n"},
            [],
            ["a: the compatibility changes from NONE to FULL"],
        ),
        (
            "format: avro",
            {"subjects/schemas/a.avsc": '"int"'},
            [
                "subjects/a.yaml:2:15: warning: a was not compared with HEAD: the registry's own level applies, as no "
                "compatibility is declared; all registered versions are compared by `topicwarden plan` "
                "[schema-compatibility]"
            ],
            [],
        ),
        (
            "format: avro, compatibility: FULL",
            {
                "subjects/a.yaml": "subjects:\n  a: {schema: schemas/a.json, format: json, compatibility: FULL}\n",
                "subjects/schemas/a.json": '{"type": "string"}',
            },
            [
                "subjects/a.yaml:2:15: a: the format changes from avro to json, and registries compare schemas of one "
                "format only; use another subject, or compatibility: NONE [schema-compatibility]"
            ],
            [],
        ),
        (
            "format: avro, compatibility: FULL",
            {"subjects/b.yaml": "subjects:\n  b: {schema: schemas/a.avsc, format: avro, compatibility: FULL}\n"},
            [],
            ["dev: 1 subject without a schema in HEAD, nothing to compare: b"],
        ),
        (
            "format: avro, compatibility: FULL",
            {
                "subjects/schemas/a.avsc": '{"type": "record", "name": "R", "fields": [{"name": "x", "type": "c.M"}]}',
                "subjects/a.yaml": "subjects:\n  a: {schema: schemas/a.avsc, format: avro, compatibility: FULL, "
                "references: [{name: c.M, subject: c.M, version: 3}]}\n",
            },
            [
                'subjects/a.yaml:2:15: warning: a was not compared with HEAD: it refers to the subject "c.M", whose '
                "schema is not in the project; all registered versions are compared by `topicwarden plan` "
                "[schema-compatibility]"
            ],
            [],
        ),
    ],
)
def test_what_needs_no_comparison_starts_no_jvm(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    base: str,
    new: Mapping[str, str],
    problems: list[str],
    notes: list[str],
) -> None:
    monkeypatch.setenv("PATH", str(_only_git(tmp_path)))  # there is no Java
    report = _changed(_committed(tmp_path / "repository", _subject(base)), new)
    assert _problems(report) == problems
    assert list(report.notes) == notes


def _only_git(folder: Path) -> Path:
    programs = folder / "programs"
    programs.mkdir()
    git = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    (programs / "git").symlink_to(git)
    return programs


def test_each_version_is_compared_with_its_own_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    common = {"type": "record", "name": "C", "fields": [{"name": "x", "type": "int"}]}
    files = _subject("format: avro, compatibility: BACKWARD, references: [{name: C, subject: c}]")
    files["subjects/schemas/a.avsc"] = '{"type": "record", "name": "A", "fields": [{"name": "c", "type": "C"}]}'
    files["subjects/c.yaml"] = "subjects:\n  c: {schema: schemas/c.avsc, format: avro, compatibility: NONE}\n"
    files["subjects/schemas/c.avsc"] = old = json.dumps(common)
    requested: list[Comparison] = []

    def incompatibilities(comparisons: Sequence[Comparison], _: object) -> list[CompatibilityVerdict]:
        requested.extend(comparisons)
        return [CompatibilityVerdict() for _ in comparisons]

    monkeypatch.setattr(schema_changes, "incompatibilities", incompatibilities)
    monkeypatch.setattr(schema_changes, "schema_checker", lambda *_: [])
    new = json.dumps(common | {"fields": [{"name": "y", "type": "string"}]})
    _changed(_committed(tmp_path, files), {"subjects/schemas/c.avsc": new})
    (comparison,) = requested
    assert (comparison.new.references, comparison.earlier[0].references) == ({"C": new}, {"C": old})


def test_an_incompatibility_of_one_stack_is_an_error_of_this_stack_only(tmp_path: Path) -> None:
    files = _subject("format: avro, compatibility: FULL") | {"subjects/schemas/a.json": '{"type": "string"}'}
    found = _committed(tmp_path, files, stacks=("dev", "prod"))
    override = "stacks: {prod: {subjects: {a: {schema: schemas/a.json, format: json}}}}\n"
    (found.root / "subjects/a.yaml").write_text(files["subjects/a.yaml"] + override, encoding="utf-8")
    report, fleet = check_stacks(found, base="HEAD")
    (problem,) = _problems(report)
    assert problem.endswith("(stack prod) [schema-compatibility]")
    before = {each.stack: each.summary for each in check_stacks(found)[1].stacks}  # neither has a Schema Registry
    assert before == {"dev": "1 topic: 1 error", "prod": "1 topic: 1 error"}
    assert {each.stack: each.summary for each in fleet.stacks} == before | {"prod": "1 topic: 2 errors"}


def test_a_project_below_the_root_of_its_repository_is_read(tmp_path: Path) -> None:
    found = _committed(tmp_path, _subject("format: avro, compatibility: FULL"), below="kafka/project")
    with project_at(found, "HEAD") as base:
        files = {path.relative_to(base.root).as_posix() for path in base.root.rglob("*") if path.is_file()}
        assert {"subjects/a.yaml", "subjects/schemas/a.avsc", "topics/orders/orders.a.v1.yaml"} <= files
    assert not base.root.exists()
    _git(tmp_path, "mv", "kafka", "moved")
    moved = find_project(tmp_path / "moved" / "project")
    assert check_topics(moved, base="HEAD").notes == ("dev: 1 subject without a schema in HEAD, nothing to compare: a",)


def test_a_schema_with_any_suffix_is_read(tmp_path: Path) -> None:
    files = _subject("format: avro, compatibility: NONE")
    files["subjects/a.yaml"] = files["subjects/a.yaml"].replace("a.avsc", "a.schema")
    files["subjects/schemas/a.schema"] = '"string"'
    report = _changed(_committed(tmp_path, files), {"subjects/schemas/a.schema": '"int"'})
    assert report.notes == ("a: the schema differs from HEAD, and compatibility NONE allows any change",)


@pytest.mark.parametrize("ref", ["missing", "--help", "-x", "", "a b", "HEAD:topics", "0" * 40])
def test_an_unknown_commit_is_refused(tmp_path: Path, ref: str) -> None:
    found = _committed(tmp_path, _subject("format: avro"))
    with pytest.raises(Refusal, match=r"--base .*: Git knows no commit"):
        check_topics(found, base=ref)


def test_a_missing_git_or_repository_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_project(project(tmp_path, _subject("format: avro")))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(Refusal, match="--base main: not a git repository"):
        check_topics(found, base="main")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refusal, match="git is not installed"):
        check_topics(found, base="main")


def test_a_clone_of_another_user_is_read_once_it_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container gets such a clone from the host, or from the helper of a GitLab runner."""
    found = _committed(tmp_path, _subject("format: avro, compatibility: FULL"))
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(Refusal, match=rf"; if you trust its files, run `git config .*safe\.directory {tmp_path}`$"):
        check_topics(found, base="HEAD")
    for name, value in (("COUNT", "1"), ("KEY_0", "safe.directory"), ("VALUE_0", "*")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    assert _problems(check_topics(found, base="HEAD")) == []


def test_a_shallow_clone_is_named_as_the_reason(tmp_path: Path) -> None:
    origin = _committed(tmp_path / "origin", _subject("format: avro")).root
    first = _git(origin, "rev-parse", "HEAD")
    _git(origin, "commit", "--quiet", "--allow-empty", "--message=second")
    _git(tmp_path, "clone", "--quiet", "--depth=1", origin.as_uri(), "clone")
    with pytest.raises(Refusal, match="this clone is shallow: fetch the commit"):
        check_topics(find_project(tmp_path / "clone"), base=first)


_AVRO = """{
 "name": "R", "type": "record", "fields": [
  {"name": "a", "type": "int"},
  {"name": "b", "type": "int"}
 ]
}"""
_PROTO = 'syntax = "proto3";\n// message A {\nmessage A {\n  message B {\n    string name = 1;\n  }\n  B b = 2;\n}\n'
_JSON = '{"properties": {\n "a/b": {"type": "string"},\n "c": {"items":\n  {"type": "string"}}}}'


@pytest.mark.parametrize(
    ("form", "new", "earlier", "path", "message", "backward", "line"),
    [
        ("avro", _AVRO, _AVRO, "/fields/1/type", "", True, 4),
        ("avro", _AVRO.replace('{"name": "a", "type": "int"},\n', ""), _AVRO, "/fields/1/type", "", False, 3),
        ("avro", _AVRO.replace('"b"', '"c"'), _AVRO, "/fields/1", "", False, 2),
        ("avro", "[", _AVRO, "/fields/1", "", True, 1),
        ("json", _JSON, _JSON, "/properties/a/b/type", "", True, 2),
        ("json", _JSON, _JSON, "/properties/c/allItemSchema/type", "", True, 4),
        ("json", _JSON, _JSON, "/properties/c/[ref #/x]", "", True, 3),
        ("protobuf", _PROTO, _PROTO, "/A.B", "Field type changed, message A.B, before: string, after int64", True, 4),
        ("protobuf", _PROTO, _PROTO, "/A", "Field name changed, message A, before: c, after b", True, 7),
        ("protobuf", _PROTO, _PROTO, "/Gone", "1 fields removed", True, 1),
        ("protobuf", "}{", _PROTO, "/", "", True, 1),
    ],
)
def test_the_line_of_an_incompatibility(
    form: str, new: str, earlier: str, path: str, message: str, backward: bool, line: int
) -> None:
    found = schema_line("s", form, new, earlier, Incompatibility(path, message, backward))
    assert (found.file, found.line) == ("s", line)


def test_the_archive_of_the_checkers_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICWARDEN_JARS", str(tmp_path))
    with pytest.raises(Refusal, match=r"lacks apicurio-registry-app-.*all\.tar\.gz with the SHA-256"):
        apicurio.fetch(tmp_path / "cache", print)
    (tmp_path / "apicurio-registry-app-3.3.3-all.tar.gz").write_bytes(b"other")
    with pytest.raises(Refusal, match="with the SHA-256"):
        apicurio.fetch(tmp_path / "cache", print)
    assert not apicurio.present(tmp_path / "cache")
