"""Test a stack's state of an earlier version, and the files beside it: broken ones, the log of intents."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from shutil import copy
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.access_names import group_name
from topicwarden.deploy.access_state import ACCESS_RESOURCES, deployed_access, recorded_access
from topicwarden.deploy.file_backend import remove_broken_files
from topicwarden.deploy.intent_log import (
    IntentLog,
    intent_log,
)
from topicwarden.deploy.program_run import ProgramRun
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.announced_writes import Intent, announce_writes, unfinished_writes
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import DeclaredAccess, DeployedAccess, LiveAccess
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.project import Project
from topicwarden.model.subject import DeployedSubject, RegisteredSchema
from topicwarden.operations import deploy
from topicwarden.plan.access_change import access_change
from topicwarden.specs.access_files import load_access, resolve_access

# Test that only broken files of a dead process are removed from a file backend.

_STATE = "stacks/shop/dev.json"
_LOCK = "locks/organization/shop/dev/23deca42-c2e9-4131-9230-e6ad39b34693.json"


_UNFINISHED = f"{_LOCK}.18ea97863ca7934c.tmp"


def _write(folder: Path, file: str, content: bytes, age_s: int) -> Path:
    """Write a file of the backend in ``folder``, last changed ``age_s`` seconds ago, beside a complete state."""
    (folder / "Pulumi.yaml").write_text("name: shop\n")
    for name, text in ((_STATE, b"{}"), (file, content)):
        path = folder / "state" / ".pulumi" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    os.utime(path, (time.time() - age_s,) * 2)
    return path


@pytest.mark.parametrize(
    ("file", "content"), [(f"{_STATE}.attrs", b""), (_UNFINISHED, b""), (_UNFINISHED, b'{"pid": 1'), (_LOCK, b"")]
)
def test_corrupt_files_are_removed(tmp_path: Path, file: str, content: bytes) -> None:
    broken = _write(tmp_path, file, content, 60)
    assert remove_broken_files(Project(tmp_path), "dev", (tmp_path / "state").as_uri()) == [broken]
    assert not broken.exists()
    assert (tmp_path / "state" / ".pulumi" / _STATE).exists()


@pytest.mark.parametrize(
    "backend", ["file://~/state", "file://./state", "file://state", "file://~/state?no_tmp_dir=true"]
)
def test_the_backend_of_corrupt_files_may_be_below_the_home_or_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    broken = _write(tmp_path, f"{_STATE}.attrs", b"", 60)
    assert remove_broken_files(Project(tmp_path), "dev", backend) == [broken]


@pytest.mark.parametrize(
    ("file", "content", "age_s"),
    [
        (f"{_STATE}.attrs", b"{}", 60),
        (f"{_STATE}.attrs", b"", 0),  # a live process may be about to fill it
        (_UNFINISHED, b"", 0),
        (_UNFINISHED.replace("dev", "prod"), b"", 60),
        (_LOCK, b"{}", 60),
        (_LOCK, b"", 0),
    ],
)
def test_complete_files_and_files_in_use_are_kept(tmp_path: Path, file: str, content: bytes, age_s: int) -> None:
    kept = _write(tmp_path, file, content, age_s)
    assert remove_broken_files(Project(tmp_path), "dev", (tmp_path / "state").as_uri()) == []
    assert remove_broken_files(Project(tmp_path), "prod", "s3://bucket") == []
    assert kept.exists()


# The record of what a provider was about to send.


def test_the_last_intent_counts_and_a_torn_line_is_ignored(tmp_path: Path) -> None:
    log = IntentLog(tmp_path / "folder" / "dev.jsonl")
    assert log.read() == {}
    log.write(Intent.CREATE, ["a", "b"])
    log.write(Intent.DELETE, ["b"])
    with log.path.open("ab") as file:
        file.write(b'["create", ["c"')
    assert log.read() == {"a": Intent.CREATE, "b": Intent.DELETE}
    log.keep({"a": Intent.CREATE})
    assert log.read() == {"a": Intent.CREATE}


def test_nothing_is_written_for_a_stack_without_a_record(tmp_path: Path) -> None:
    log = IntentLog(tmp_path / "dev.jsonl")
    log.keep({})
    assert not log.path.exists()


def test_only_topics_missing_in_the_state_are_unfinished() -> None:
    intents = {
        "created": Intent.CREATE,
        "in state": Intent.CREATE,
        "refused": Intent.CREATE,
        "deleted": Intent.DELETE,
        "done": Intent.DELETE,
    }
    deployed, live = ["in state", "deleted"], ["created", "in state"]
    found = unfinished_writes(PlanSection.TOPICS, intents, declared=["created"], deployed=deployed, live=live)
    assert found.intents == {"created": Intent.CREATE, "deleted": Intent.DELETE}


def test_what_cannot_be_seen_stays_announced_and_is_no_problem() -> None:
    intents = {"hidden": Intent.CREATE, "in state": Intent.CREATE, "deleted": Intent.DELETE, "refused": Intent.CREATE}
    unseen = ["hidden", "in state", "deleted"]
    found = unfinished_writes(
        PlanSection.TOPICS, intents, declared=(), deployed=["in state", "deleted"], live=(), unseen=unseen
    )
    assert found.intents == {"hidden": Intent.CREATE, "deleted": Intent.DELETE}
    assert not found.orphans


def created(
    intents: Mapping[str, Intent],
    declared: Collection[str],
    section: PlanSection = PlanSection.TOPICS,
    title: Callable[[str], str] = str,
) -> tuple[Problem, ...]:
    """Return the problems of resources that exist, and that are not in the state."""
    found = unfinished_writes(section, intents, declared=declared, deployed=(), live=intents, title=title)
    return found.orphans


def test_created_topics_that_nobody_declares_are_named_in_one_problem() -> None:
    intents = {f"t{number:02}": Intent.CREATE for number in range(12)} | {"gone": Intent.DELETE}
    (problem,) = created(intents, declared=["t00"])
    assert problem.message.startswith("t01, t02, t03, t04, t05, t06, t07, t08, t09, t10 and 1 more: a deploy that was")
    assert created(intents, declared=list(intents)) == ()


def test_each_project_and_stack_has_its_own_record(tmp_path: Path) -> None:
    logs = [
        intent_log(Project(tmp_path / project), stack)
        for project, stack in (("a", "dev"), ("b", "dev"), ("a", "prod"), ("a", "organization/a/prod"))
    ]
    assert len({log.path for log in logs}) == 3
    sections = {intent_log(Project(tmp_path / "a"), "dev", section).path for section in PlanSection}
    assert len(sections) == 3
    assert sections & {log.path for log in logs} == {logs[0].path}
    assert logs[2].path == logs[3].path


def test_created_access_and_subjects_that_nobody_declares_are_named_in_words() -> None:
    intents = {"1f": Intent.CREATE, "2e": Intent.CREATE, "3d": Intent.DELETE}
    titles = {"1f": "Allow Read on Topic t for User:a", "2e": "quota of user a"}
    (problem,) = created(intents, ["2e"], PlanSection.ACCESS, titles.__getitem__)
    assert str(problem.location) == "access:1:1"
    assert problem.message.startswith("Allow Read on Topic t for User:a: a deploy that was killed created this")
    assert created(intents, ["1f", "2e"], PlanSection.ACCESS) == ()
    (of_subject,) = created(intents, ["2e"], PlanSection.REGISTRY, "subject {}".format)
    assert str(of_subject.location) == "subjects:1:1"
    assert of_subject.message.startswith("subject 1f: a deploy that was killed created this")
    assert of_subject.message.endswith("or delete it in the Schema Registry")


def test_a_write_of_nothing_but_removals_is_announced_as_a_deletion(tmp_path: Path) -> None:
    log = IntentLog(tmp_path / "dev.jsonl")
    announce_writes(log.write, {"changed": {"a": 1.0, "b": None}, "deleted": {"a": None}})
    assert log.read() == {"changed": Intent.CREATE, "deleted": Intent.DELETE}
    announce_writes(log.write, {})
    assert len(log.path.read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize(
    ("section", "name"),
    [(PlanSection.TOPICS, "t"), (PlanSection.ACCESS, group_name("billing")), (PlanSection.REGISTRY, "s")],
)
def test_the_next_deploy_refreshes_what_a_killed_one_was_about_to_delete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: PlanSection, name: str
) -> None:
    state = DeployedStack(
        {"t": DeployedTopic("t", 1, 1, {})},
        access=DeployedAccess({"group_configs": {"billing": {}}}),
        subjects={"s": DeployedSubject("s", RegisteredSchema("avro", '"string"'))},
    )
    monkeypatch.setattr(deploy, "read_stack_state", lambda engine: state)
    engine: Any = SimpleNamespace(project=Project(tmp_path), stack="organization/shop/dev")
    log = intent_log(engine.project, engine.stack, section)
    log.write(Intent.CREATE, [name])
    log.write(Intent.DELETE, ["gone"])
    assert not deploy._deletion_was_killed(engine)
    log.write(Intent.DELETE, [name])
    assert deploy._deletion_was_killed(engine)


STATES = Path(__file__).parent / "states"
STATE: list[Mapping[str, Any]] = json.loads((STATES / "access.json").read_text(encoding="utf-8"))
"""What the version before kinds had folders registered for ``states/access.yaml``."""


@pytest.fixture
def declared(tmp_path: Path) -> DeclaredAccess:
    folder = tmp_path / "access"
    folder.mkdir()
    copy(STATES / "access.yaml", folder)
    loaded = load_access(folder, tmp_path, ())
    resolved = resolve_access(loaded, (), None)
    assert (loaded.problems, resolved.problems) == ((), ())
    return resolved.access


def registered(access: DeclaredAccess) -> Iterator[dict[str, Any]]:
    """Yield what the program registers, in the form of `pulumi stack export`."""
    set_urn = f"urn:pulumi:dev::shop::{ACCESS_SET_TYPE}"
    yield {"type": ACCESS_SET_TYPE, "urn": f"{set_urn}::dev", "outputs": recorded_access(access, access.part(USERS))}
    for kind in ACCESS_RESOURCES:
        for key, value in access.part(kind.part).items():
            urn = f"{set_urn}${kind.type(key)}::{kind.name(key)}"
            yield {"type": kind.type(key), "urn": urn, "inputs": kind.properties(key, value)}


def test_the_program_registers_what_the_state_has(declared: DeclaredAccess) -> None:
    def by_urn(resources: list[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        return {resource["urn"]: resource for resource in resources}

    assert by_urn(json.loads(json.dumps([*registered(declared)]))) == by_urn(STATE)


def test_a_plan_shows_no_change(declared: DeclaredAccess) -> None:
    deployed = deployed_access(STATE)
    change = access_change(declared, deployed, LiveAccess())
    assert (change.items, change.undeclared, deployed.undeclared) == ([], (), ())
    assert change.unchanged() == declared.size > 20


@pytest.mark.parametrize("requested", [False, True])
def test_no_refresh_begins_on_another_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requested: bool) -> None:
    """A refresh of another cluster would remove all topics from the state."""

    def another_cluster(engine: object) -> None:
        raise Refusal("another cluster")

    monkeypatch.setattr(deploy, "_deletion_was_killed", lambda engine: not requested)
    monkeypatch.setattr(deploy, "require_same_cluster", another_cluster)
    monkeypatch.setattr(deploy, "pulumi_up", lambda *_, **__: pytest.fail("the engine must not run"))
    engine: Any = SimpleNamespace(project=Project(tmp_path), stack="dev")
    with pytest.raises(Refusal, match="another cluster"):
        deploy.deploy_topics(engine, cast(Any, None), print, refreshing=requested)


@pytest.mark.parametrize(("requested", "killed"), [(False, False), (True, False), (False, True)])
def test_the_program_of_a_command_knows_that_the_state_is_refreshed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requested: bool, killed: bool
) -> None:
    """It runs in the process of the command, which has not the environment of `pulumi`."""
    runs = list[ProgramRun]()

    def up(run: ProgramRun, *_: object, **__: object) -> CompletedProcess[str]:
        runs.append(run)
        return CompletedProcess([], 0, "", "")

    monkeypatch.setattr(deploy, "_deletion_was_killed", lambda engine: killed)
    monkeypatch.setattr(deploy, "require_same_cluster", lambda engine: None)
    monkeypatch.setattr(deploy, "backend_url", lambda engine: "file:///state")
    monkeypatch.setattr(deploy, "pulumi_up", up)
    engine: Any = SimpleNamespace(project=Project(tmp_path), stack="dev")
    checked: Any = SimpleNamespace(declarations={"dev": ()}, access={}, subjects={})
    assert deploy.deploy_topics(engine, checked, print, refreshing=requested)
    assert [run.refreshes for run in runs] == [requested or killed]


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("error: failed to load checkpoint: place 1: unexpected end of JSON input", "restore it from an older version"),
        ("Error:  snapshot integrity failure; refusing to use it: a refers to missing parent b", "pulumi state repair"),
    ],
)
def test_a_command_that_writes_says_what_to_do_about_a_broken_state(tmp_path: Path, output: str, says: str) -> None:
    engine: Any = SimpleNamespace(project=Project(tmp_path), stack="dev")
    with pytest.raises(Refusal, match=says):
        deploy._succeeded(engine, CompletedProcess([], 1, f"{output}\n", ""))
    assert deploy._succeeded(engine, CompletedProcess([], 0, f"{output}\n", ""))
