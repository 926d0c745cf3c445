"""Test what `up` and `destroy` say when a signal ends them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.command import project, topicwarden
from topicwarden.cli import terminal
from topicwarden.deploy.access_state import resource_names
from topicwarden.model.access import Acl, DeclaredAccess, Operation, PermissionType, ResourceType

LINES = (
    " +  pulumi:pulumi:Stack p-dev creating (0s)\n",
    " +  topicwarden:index:Domain shop created\n",
    " +  kafka:index:Topic orders creating (0s)\n",
    " +  kafka:index:Topic orders created (0.1s)\n",
    " ~  kafka:index:Topic clicks updating (0s) [diff: ~config]\n",
    "@ updating....\n",
)
NEXT = "; `topicwarden plan --stack dev` shows what is left, and `topicwarden {} --stack dev` goes on\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("topicwarden.operations.find_pulumi.writing_engine_of", lambda *_: SimpleNamespace())
    monkeypatch.setattr("topicwarden.operations.declared_topics.checked_stack", lambda *_: SimpleNamespace(access={}))
    monkeypatch.setattr("topicwarden.operations.deploy.planned_destroy", lambda *_, **__: SimpleNamespace(refused=[]))
    monkeypatch.setattr("topicwarden.report.terminal_output.document_text", lambda *_: "")
    monkeypatch.setattr(import_module("topicwarden.report.plan.document"), "document", lambda *_: None)
    return project(tmp_path, {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"})


def interrupted_after(lines: tuple[str, ...], error: BaseException) -> Callable[..., bool]:
    def operate(_: object, __: object, on_line: Callable[[str], None], **___: object) -> bool:
        for line in lines:
            on_line(line)
        raise error

    return operate


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)], ids=["INT", "TERM"])
@pytest.mark.parametrize("command", ["up", "destroy"])
def test_an_interrupted_change_says_what_is_done_and_how_to_go_on(
    command: str, error: BaseException, code: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "deploy_topics" if command == "up" else "destroy_topics"
    monkeypatch.setattr(f"topicwarden.operations.deploy.{name}", interrupted_after(LINES, error))
    done = topicwarden(command, "--stack", "dev", "--yes", cwd=root)
    message = "1 change made (orders); begun and perhaps made: clicks; no other change was begun"
    assert (done.code, done.err) == (code, f"topicwarden: interrupted: {message}{NEXT.format(command)}")
    monkeypatch.setattr(f"topicwarden.operations.deploy.{name}", interrupted_after(LINES[:1], error))
    done = topicwarden(command, "--stack", "dev", "--yes", cwd=root)
    assert done.err == f"topicwarden: interrupted: Pulumi had not begun a change{NEXT.format(command)}"


def test_the_output_of_pulumi_is_the_changes_that_it_has_made(capsys: pytest.CaptureFixture[str]) -> None:
    show = terminal.engine_output({"7551af": "Allow Read on Topic orders for User:billing"})
    reported = (
        "error: full\n",
        " +  kafka:index:Topic a **creating failed** x\n",
        " +  kafka:index:Topic a creating (9s) 3 of 28 topics done, 25 tried again: Kafka's quota is used up\n",
    )
    without_news = (" +  kafka:index:Topic a creating (9s) \n", "    pulumi:pulumi:Stack p-dev  \n")
    for line in ("Updating (dev):\n", *LINES, *without_news, *reported, " +  kafka:index:Acl 7551af created (0.4s)\n"):
        show(line)
    made = " +  kafka:index:Topic orders created (0.1s)\n"
    access = " +  kafka:index:Acl Allow Read on Topic orders for User:billing created (0.4s)\n"
    assert capsys.readouterr().out == "".join((made, *reported, access))


def test_an_interrupted_deploy_names_its_access_in_words(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    acl = Acl("User:billing", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "orders")
    access = DeclaredAccess(acls={acl: ()})
    checked = SimpleNamespace(access={"dev": access})
    monkeypatch.setattr("topicwarden.operations.declared_topics.checked_stack", lambda *_: checked)
    (name,) = resource_names(access)
    lines = (f" +  kafka:index:Acl {name} created (0.4s)\n",)
    monkeypatch.setattr("topicwarden.operations.deploy.deploy_topics", interrupted_after(lines, KeyboardInterrupt()))
    done = topicwarden("up", "--stack", "dev", "--yes", cwd=root)
    assert "1 change made (Allow Read on Topic orders for User:billing); no other" in done.err
    assert name not in done.out + done.err


def test_an_error_of_a_deploy_is_no_interrupt(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicwarden.operations.deploy.deploy_topics", interrupted_after(LINES, OSError("full")))
    done = topicwarden("up", "--stack", "dev", "--yes", cwd=root)
    assert (done.code, "interrupted" in done.err) == (2, False)
