"""Test that every error of a command is one line with exit code 2, and what an interrupted command says."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from kafka.errors import KafkaError

from tests.support.access_parts import declared_access
from tests.support.command import COMMAND, project, topicwarden
from topicwarden.child_processes import ended_by_signal
from topicwarden.cli import import_, main, rebalance, terminal
from topicwarden.cli.failure import CODE, line_for
from topicwarden.deploy.access_state import resource_names
from topicwarden.model.access import Acl, Operation, PermissionType, ResourceType
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations import find_pulumi

if TYPE_CHECKING:
    from topicwarden.deploy.rebalance.targets import Targets
    from topicwarden.extensions.interchange.import_operation import PendingAdoption
    from topicwarden.operations.rebalance import Rebalance


@pytest.mark.parametrize("error", [ValueError("a\nb"), KafkaError("gone"), RecursionError(), AssertionError()])
def test_an_unexpected_error_is_one_line_with_its_log(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "Pulumi.yaml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOPICWARDEN_CACHE", raising=False)

    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    log = Path(line.rpartition("the traceback is in ")[2])
    assert log.parent == tmp_path / ".cache" / "logs"
    assert "Traceback (most recent call last)" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_a_refusal_is_printed_as_one_line() -> None:
    assert line_for(Refusal("the sandbox is not running")) == "the sandbox is not running"


@pytest.mark.parametrize(
    ("message", "on_path", "hint"),
    [
        ("Pulumi has no stack x; `pulumi stack init x` creates it", False, True),
        ("Pulumi has no stack x; `pulumi stack init x` creates it", True, False),
        ("`pulumi stack export` ended early: signal 9", False, False),
        ('`pulumi stack init x`, after `eval "$(topicwarden sandbox env)"`', False, False),
    ],
)
def test_advice_to_run_pulumi_says_how_to_get_it(
    message: str, on_path: bool, hint: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if on_path:
        (tmp_path / "pulumi").touch(0o755)
    added = '; pulumi is not on the PATH: `eval "$(topicwarden sandbox env)"` puts it there'
    assert line_for(Refusal(message)) == message + added * hint


@pytest.mark.parametrize(
    ("arguments", "prefix", "closing"),
    [
        (("plan", "--stack", "dev"), "", "topicwarden: the declared topics cannot be planned: 2 errors; run `topic"),
        (("up", "--stack", "dev", "--yes"), "", "topicwarden: the declared topics cannot be deployed: 2 errors; run"),
        (("plan", "--all-stacks"), "dev: ", "dev (1 of 1): the declared topics cannot be planned: topics/t"),
    ],
)
def test_all_problems_in_files_are_printed_with_exit_code_1(
    arguments: tuple[str, ...], prefix: str, closing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def engine(project: Project, stack: str, *_: object) -> object:
        return SimpleNamespace(project=project, stack=stack)

    monkeypatch.setattr(find_pulumi, "writing_engine_of", engine)
    monkeypatch.setattr("topicwarden.operations.plan.engine_of", engine)
    root = project(tmp_path, {"topics/t.yaml": "partitions: 0\nreplication_factor: many\n"})
    done = topicwarden(*arguments, cwd=root)
    first, second, last = done.err.splitlines()
    assert first.startswith(f"{prefix}topics/t.yaml:1:13: partitions: expected at least 1")
    assert second.startswith(f"{prefix}topics/t.yaml:2:21: replication_factor: expected ")
    assert last.startswith(closing)
    assert done.code == 1


def test_without_a_project_the_log_is_in_the_temporary_folder(tmp_path: Path) -> None:
    program = "from topicwarden.cli import main\nmain.app = lambda: 1 / 0\nmain.run()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "ZeroDivisionError: division by zero; the traceback is in " in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(list(tmp_path.glob("topicwarden-*.log"))) == 1


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PermissionError(13, "Permission denied", "/srv/x"), "/srv/x cannot be read or written: Permission denied"),
        (OSError(28, "No space left on device"), "the output cannot be written: No space left on device"),
        (OSError(36, "File name too long", b"/a"), "/a cannot be read or written: File name too long"),
    ],
)
def test_an_operating_system_error_is_no_bug(error: OSError, line: str) -> None:
    assert line_for(error) == line


def test_a_read_only_data_folder_can_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "Pulumi.yaml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOPICWARDEN_CACHE", raising=False)
    line = line_for(OSError(30, "Read-only file system", str(tmp_path / ".cache")))
    assert line.endswith("Read-only file system; set TOPICWARDEN_CACHE to a folder that can be written")


@pytest.mark.parametrize(("command", "unbuffered"), [("check", ""), ("rules", ""), ("check", "1")])
def test_a_full_disk_for_the_output_is_reported_in_one_line(tmp_path: Path, command: str, unbuffered: str) -> None:
    project(tmp_path, {"topics/a.yaml": "{owner: x}\n"})
    done = subprocess.run(
        ["sh", "-c", f"exec '{COMMAND}' {command} > /dev/full"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "topicwarden: the output cannot be written: No space left on device\n")


def test_a_closed_output_is_no_error(tmp_path: Path) -> None:
    project(tmp_path, {"topics/a.yaml": "{owner: x}\n"})
    command = f"exec '{COMMAND}' check >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "0 topics: 2 errors, 0 warnings")


@pytest.mark.parametrize(("ended", "code"), [(SystemExit(143), 143), (KeyboardInterrupt(), 130)])
def test_an_error_while_a_signal_ends_the_command_is_not_reported(
    ended: BaseException, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        try:
            raise ended
        finally:
            raise KeyError("p")  # as a library that was interrupted half-way does when it is closed

    monkeypatch.setattr(main, "app", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main.run()
    assert (stopped.value.code, capsys.readouterr().err) == (code, "")


def test_the_page_of_exit_codes_says_what_an_interrupt_leaves(tmp_path: Path) -> None:
    shown = topicwarden("help", "exit-codes", cwd=tmp_path).out
    codes = (CODE, *map(ended_by_signal, (KeyboardInterrupt(), SystemExit(143))))
    assert [code for code in codes if not re.search(rf"^ *{code}  +[a-zA-Z]", shown, re.MULTILINE)] == []
    assert re.search("^ *130 .*up, destroy, refresh and", shown, re.MULTILINE)


LINES = (
    " +  pulumi:pulumi:Stack p-dev creating (0s)\n",
    " +  topicwarden:index:Domain shop created\n",
    " +  kafka:index:Topic orders creating (0s)\n",
    " +  kafka:index:Topic orders created (0.1s)\n",
    " ~  kafka:index:Topic clicks updating (0s) [diff: ~config]\n",
    "@ updating....\n",
)
LAST = (" ~  kafka:index:Topic clicks updated (1s)\n", "Resources:\n", "    2 changed\n", "Duration: 2s\n", "\n")
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
    def operate(*arguments: Any, **_: object) -> bool:
        for line in lines:
            arguments[-1](line)
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
    message = "1 change made (orders); begun and perhaps made: clicks; Pulumi ended early, and may have made others"
    assert (done.code, done.err) == (code, f"topicwarden: interrupted: {message}{NEXT.format(command)}")
    monkeypatch.setattr(f"topicwarden.operations.deploy.{name}", interrupted_after((*LINES, *LAST), error))
    done = topicwarden(command, "--stack", "dev", "--yes", cwd=root)
    message = "2 changes made (orders, clicks); no other change was begun"
    assert done.err == f"topicwarden: interrupted: {message}{NEXT.format(command)}"
    monkeypatch.setattr(f"topicwarden.operations.deploy.{name}", interrupted_after(LINES[:1], error))
    done = topicwarden(command, "--stack", "dev", "--yes", cwd=root)
    assert done.err == f"topicwarden: interrupted: Pulumi had not begun a change{NEXT.format(command)}"


@pytest.mark.parametrize("command", ["up", "destroy", "refresh"])
def test_access_that_is_deleted_is_named_and_not_its_hash(
    command: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def operate(*arguments: Any, titles: dict[str, str], **_: object) -> bool:
        titles["8085cba0"] = "Allow Read on Topic orders for User:billing"
        arguments[-1](" -  kafka:index:Acl 8085cba0 deleted (0.1s)\n")
        return True

    name = {"up": "deploy_topics", "destroy": "destroy_topics", "refresh": "refresh_topics"}[command]
    monkeypatch.setattr(f"topicwarden.operations.deploy.{name}", operate)
    done = topicwarden(command, "--stack", "dev", "--yes", cwd=root)
    assert "-  kafka:index:Acl Allow Read on Topic orders for User:billing deleted (0.1s)" in done.out, done.err


@pytest.mark.parametrize(
    ("command", "changed"), [("up", "nothing was"), ("destroy", "nothing was"), ("refresh", "no topic was")]
)
def test_an_interrupt_before_pulumi_begins_says_that_nothing_was_changed(
    command: str, changed: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("topicwarden.operations.find_pulumi.writing_engine_of", interrupt)
    done = topicwarden(command, "--stack", "dev", "--yes", cwd=root)
    assert done.code == 130
    assert done.err.startswith(f"topicwarden: interrupted: {changed} changed")
    assert done.err.endswith(NEXT.format(command))


def test_an_interrupted_refresh_says_that_no_topic_was_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicwarden.operations.deploy.refresh_topics", interrupted_after((), KeyboardInterrupt()))
    done = topicwarden("refresh", "--stack", "dev", cwd=root)
    message = "no topic was changed, and Pulumi's state is refreshed in part or not at all"
    assert (done.code, done.err) == (130, f"topicwarden: interrupted: {message}{NEXT.format('refresh')}")


def test_an_interrupted_adoption_says_what_is_written(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> None:
        raise KeyboardInterrupt

    engine = SimpleNamespace(stack="dev")
    adoption = cast("PendingAdoption", SimpleNamespace(engine=engine, out_of_scope=(), topics=("a",), run=run))
    with pytest.raises(KeyboardInterrupt):
        import_._adopt(adoption)
    message = "the files are written, no topic was changed, and the topics are adopted in part or not at all"
    assert capsys.readouterr().err == f"topicwarden: interrupted: {message}{NEXT.format('import')}"


def test_the_output_of_pulumi_is_the_changes_that_it_has_made(capsys: pytest.CaptureFixture[str]) -> None:
    show = terminal.engine_output({"7551af": "Allow Read on Topic orders for User:billing"})
    reported = (
        "error: full\n",
        "    error: topics/a.yaml:1:1: refused\n",
        "    pulumi:pulumi:Stack p-dev running warning: an error: is left\n",
        " +  kafka:index:Topic a **creating failed** x\n",
        " +  kafka:index:Topic a creating (9s) 3 of 28 topics done, 25 tried again: Kafka's quota is used up\n",
    )
    without_news = (" +  kafka:index:Topic a creating (9s) \n", "    pulumi:pulumi:Stack p-dev  \n")
    repeated = (
        "    pulumi:pulumi:Stack p-dev running error: topics/a.yaml:1:1: refused\n",
        " +  pulumi:pulumi:Stack p-dev creating (2s) error: update canceled\n",
        "    pulumi:pulumi:Stack p-dev  error: update canceled\n",
    )
    for line in (
        "Updating (dev):\n",
        *LINES,
        *without_news,
        *repeated,
        *reported,
        " +  kafka:index:Acl 7551af created (0.4s)\n",
    ):
        show(line)
    made = " +  kafka:index:Topic orders created (0.1s)\n"
    access = " +  kafka:index:Acl Allow Read on Topic orders for User:billing created (0.4s)\n"
    assert capsys.readouterr().out == "".join((made, *reported, access))


def test_no_message_of_others_is_a_command_to_the_runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    terminal.engine_output()("##[error]planted\n")
    terminal.print_wrapped("::error::planted")
    report = SimpleNamespace(problems=["::error::planted"], stuck=[], moves=[])
    targets = SimpleNamespace(reductions=[], placement=report, missing=(), under_way=())
    rebalance._show_targets(cast("Rebalance", SimpleNamespace()), cast("Targets", targets))
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("planted") == 3
    assert "##[" not in shown.out
    assert not any(line.startswith("::") for line in (shown.out + shown.err).splitlines())


def test_an_interrupted_deploy_names_its_access_in_words(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    acl = Acl("User:billing", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "orders")
    access = declared_access(acls={acl: ()})
    checked = SimpleNamespace(access={"dev": access})
    monkeypatch.setattr("topicwarden.operations.declared_topics.checked_stack", lambda *_: checked)
    (name,) = resource_names(access)
    lines = (f" +  kafka:index:Acl {name} created (0.4s)\n",)
    monkeypatch.setattr("topicwarden.operations.deploy.deploy_topics", interrupted_after(lines, KeyboardInterrupt()))
    done = topicwarden("up", "--stack", "dev", "--yes", cwd=root)
    assert "1 change made (Allow Read on Topic orders for User:billing); " in done.err
    assert name not in done.out + done.err


def test_an_interrupted_question_is_an_interrupt_and_the_end_of_the_input_is_a_no(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("topicwarden.cli.deploy.require_terminal", lambda *_: None)
    monkeypatch.setattr("builtins.input", interrupt)
    done = topicwarden("destroy", "--stack", "dev", cwd=root)
    assert (done.code, done.err) == (130, f"topicwarden: interrupted: nothing was changed{NEXT.format('destroy')}")
    for answers, expected in ((["maybe", "Y"], True), (["no"], False), ([""], False), ([], False)):
        given = iter(answers)

        def answer(_: str, given: Iterator[str] = given) -> str:
            for each in given:
                return each
            raise EOFError

        monkeypatch.setattr("builtins.input", answer)
        assert terminal.confirmed("Deploy this?") is expected


def test_a_destroy_without_a_terminal_does_not_advise_the_same_call(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = topicwarden("destroy", "--stack", "dev", cwd=root)
    assert (done.code, done.err) == (2, "topicwarden: no terminal to confirm on: pass --yes\n")
    done = topicwarden("up", "--stack", "dev", cwd=root)
    assert "pass --yes, or show the changes with `topicwarden plan --stack dev`" in done.err


def test_an_error_of_a_deploy_is_no_interrupt(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicwarden.operations.deploy.deploy_topics", interrupted_after(LINES, OSError("full")))
    done = topicwarden("up", "--stack", "dev", "--yes", cwd=root)
    assert (done.code, "interrupted" in done.err) == (2, False)
