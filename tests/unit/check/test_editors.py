"""Test the schemas that editors and pre-commit use, and that the schemas match the models."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.support.cases import find_case
from tests.support.command import COMMAND, HERE, topicwarden
from topicwarden.cli.schema import SCHEMAS
from topicwarden.kafka_facts.configs import definitions
from topicwarden.specs.yaml_nodes import read_documents

REPOSITORY = HERE.parents[2]
COMMITTED = REPOSITORY / "docs"
FOR_EDITORS = {"access", "policy", "stack", "topic"}
"""The schemas that the files of the example name. The website has the others, too."""
TOPICS = sorted((REPOSITORY / "topics").rglob("*.yaml"))
ACCESS = sorted((REPOSITORY / "access").rglob("*.yaml"))
STACKS = sorted((REPOSITORY / "stacks").glob("*.yaml"))
POLICIES = [path for path in sorted((REPOSITORY / "policies").glob("*.yaml")) if path.stem != "PulumiPolicy"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_printed_schema_is_valid_and_is_the_committed_one(name: str) -> None:
    """After a change of the models, run ``topicwarden schema NAME > docs/NAME.schema.json``, if it is committed."""
    printed = topicwarden("schema", name, cwd=REPOSITORY).out
    committed = COMMITTED / f"{name}.schema.json"
    assert committed.exists() == (name in FOR_EDITORS)
    assert not committed.exists() or printed == committed.read_text(encoding="utf-8")
    Draft202012Validator.check_schema(json.loads(printed))


@pytest.mark.parametrize("path", [*TOPICS, *ACCESS, *POLICIES, *STACKS], ids=lambda path: path.name)
def test_the_example_project_names_its_schema_and_meets_it(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert match
    named = (path.parent / match[1]).resolve()
    kind = "stack" if path in STACKS else "policy" if path in POLICIES else "access" if path in ACCESS else "topic"
    assert named == COMMITTED / f"{kind}.schema.json"
    documents, _ = read_documents(path.read_bytes(), path.name)
    validator = Draft202012Validator(json.loads(named.read_text(encoding="utf-8")))
    assert [error.message for document in documents for error in validator.iter_errors(document.value)] == []


def test_every_setting_has_kafkas_documentation_in_its_hover() -> None:
    settings = SCHEMAS["topic"]()["properties"]["config"]["properties"]
    assert list(settings) == list(definitions())
    assert "Kafka's default: 604800000." in settings["retention.ms"]["description"]
    assert "The broker's log.retention.ms applies" in settings["retention.ms"]["description"]
    assert all(len(setting["description"]) > 40 for setting in settings.values())


def test_every_rule_has_its_documentation_in_its_hover() -> None:
    rules = SCHEMAS["policy"]()["$defs"]["RuleTable"]["properties"]
    assert [name for name, rule in rules.items() if rule["description"].count("\n\n") < 1] == []


def test_vs_code_maps_the_same_schemas() -> None:
    settings = json.loads((REPOSITORY / ".vscode/settings.json").read_text(encoding="utf-8"))
    assert {(REPOSITORY / name).resolve() for name in settings["yaml.schemas"]} == {
        COMMITTED / "topic.schema.json",
        COMMITTED / "policy.schema.json",
        COMMITTED / "stack.schema.json",
    }


def test_a_new_project_has_a_schema_for_each_kind_of_file(tmp_path: Path) -> None:
    """An import writes files below access/ and subjects/, too."""
    assert topicwarden("init", "--empty", cwd=tmp_path).code == 0
    mapped = json.loads((tmp_path / ".vscode/settings.json").read_text(encoding="utf-8"))["yaml.schemas"]
    written = {path.relative_to(tmp_path).as_posix() for path in (tmp_path / "schemas").iterdir()}
    assert {name.removeprefix("./") for name in mapped} == written
    folders = {patterns[0].partition("/")[0] for patterns in mapped.values()}
    assert folders == {"topics", "access", "subjects", "policies", "stacks"}


def test_an_unknown_schema_says_which_there_are() -> None:
    done = topicwarden("schema", "spec", cwd=REPOSITORY)
    assert (done.code, done.err) == (
        2,
        "topicwarden: there is no schema 'spec': expected one of topic, access, subject, policy, stack, report, check, "
        "plan, doctor, usage, notification, fleet\n",
    )


@pytest.mark.parametrize(
    ("verb", "file"), [("validate-manifest", ".pre-commit-hooks.yaml"), ("validate-config", ".pre-commit-config.yaml")]
)
def test_pre_commit_takes_our_definitions(verb: str, file: str) -> None:
    subprocess.run([sys.executable, "-m", "pre_commit", verb, file], cwd=REPOSITORY, check=True)


def test_the_hook_runs_on_what_is_committed(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    find_case(HERE / "cases", "bad", "many-kinds").write(tmp_path)
    hook["entry"] = hook["entry"].replace("topicwarden", str(COMMAND))
    local: dict[str, Any] = {"repos": [{"repo": "local", "hooks": [hook | {"language": "system"}]}]}
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(local))
    (tmp_path / "topics/orders/notes.md").write_text("not YAML, not passed\n")
    for command in (["init", "-q"], ["add", "topics/orders/orders.placed.v1.yaml", "topics/orders/notes.md", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    run = [sys.executable, "-m", "pre_commit", "run", "--color=never", "--files"]
    bad = subprocess.run(
        [*run, "topics/orders/orders.placed.v1.yaml", "topics/orders/notes.md"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert bad.returncode == 1
    assert 'topics/orders/orders.placed.v1.yaml:2:20: unknown key "ownr"' in bad.stdout
    assert "orders.returned" not in bad.stdout
    good = subprocess.run([*run, "topics/legacy/legacy.fine.yaml"], cwd=tmp_path, capture_output=True, check=False)
    assert good.returncode == 0
