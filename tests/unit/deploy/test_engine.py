"""Test what topicwarden does around Pulumi's engine: its program, provider, environment, options and messages."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Event

import grpc
import pytest
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

import topicwarden
from topicwarden import child_processes
from topicwarden.cli.init import TEMPLATE
from topicwarden.deploy import inline_program, linked_environment
from topicwarden.deploy.dangers import MOST, dangers
from topicwarden.deploy.inline_program import attached_provider, run_program
from topicwarden.deploy.linked_environment import PROVIDER, link_environment
from topicwarden.deploy.program_run import ProgramRun, current_run, running
from topicwarden.deploy.pulumi_commands import pulumi_preview
from topicwarden.deploy.pulumi_engine import PartialState, PulumiEngine, raise_if_partial, refuse_contradictions
from topicwarden.deploy.pulumi_project import require_program
from topicwarden.deploy.topic_resources import shortened
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.model.planned_change import AccessPlan, Action, Consequence, Severity, TopicPlan, planned_parts
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.find_pulumi import engine_of

# Which programs topicwarden runs with Pulumi.


def test_no_command_runs_a_foreign_program(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: infra\nruntime: python\n")
    with pytest.raises(Refusal, match="is of another Pulumi program: expected `runtime: python`"):
        engine_of(Project(tmp_path), "dev")


@pytest.mark.parametrize(
    "text",
    [
        (TEMPLATE / "project" / "Pulumi.yaml").read_text(encoding="utf-8"),
        "name: x\nruntime: python\nmain: ./stacks\nconfig: stacks/\n",
    ],
)
def test_the_program_of_this_tool_is_accepted(tmp_path: Path, text: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(text)
    require_program(Project(tmp_path))


# The program and the provider in the process of a command.


def test_each_run_imports_the_modules_of_the_program_again(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text("import own_resources_of_this_test\n")
    runs = tmp_path / "runs"
    (tmp_path / "own_resources_of_this_test.py").write_text(f"open({str(runs)!r}, 'a').write('run ')\n")
    for _ in range(2):
        run_program(tmp_path)
    assert runs.read_text() == "run run "


def test_a_provider_that_cannot_listen_is_no_endless_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        await asyncio.sleep(0)
        raise RuntimeError("no port")

    monkeypatch.setattr(inline_program, "start_provider", fail)
    with (
        pytest.raises(Refusal, match=r"cannot listen on .*: no port"),
        attached_provider(PulumiEngine(Project(tmp_path), "dev")),
    ):
        pass


def test_output_of_a_command_stays_its_own_while_its_program_still_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started, released = Event(), Event()

    def slow_program(*_: object) -> bool:
        print("printed by the program")
        started.set()
        return released.wait(60)

    monkeypatch.setattr(inline_program, "executed", slow_program)
    monkeypatch.setattr(inline_program, "_GRACE_S", 0.0)
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "__main__.py").touch()
    run = ProgramRun(PulumiEngine(Project(tmp_path), "dev"))
    with inline_program.inline_program(run) as options:
        address = options.arguments[0].removeprefix("--client=")
        with grpc.insecure_channel(address) as channel:
            answer = language_pb2_grpc.LanguageRuntimeStub(channel).Run.future(language_pb2.RunRequest())
            assert started.wait(10)
            answer.cancel()
    print("printed by the command")
    released.set()
    printed = capsys.readouterr()
    assert printed.out == "printed by the command\n"
    assert "printed by the program" in printed.err


def test_the_command_that_writes_a_missing_program_is_named(tmp_path: Path) -> None:
    run = ProgramRun(PulumiEngine(Project(tmp_path / "my topics"), "dev"))
    remedy = f"stacks/__main__.py is missing: `topicwarden init '{tmp_path / 'my topics'}'` writes it"
    with pytest.raises(Refusal, match=re.escape(remedy)), inline_program.inline_program(run):
        pass


def test_a_preview_of_a_stack_that_pulumi_does_not_know_says_how_to_create_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], *_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 255, "", "error: no stack named 'new' found\n")

    monkeypatch.setattr(child_processes, "run", run)
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "__main__.py").touch()
    (tmp_path / "pulumi").touch(0o755)
    engine = PulumiEngine(Project(tmp_path), "new", {"PATH": str(tmp_path)})
    with pytest.raises(Refusal, match=r"^Pulumi has no stack new, .*; `pulumi stack init new` creates it$"):
        pulumi_preview(lambda: ProgramRun(engine))


def test_a_program_that_ends_late_does_not_end_the_next_run(tmp_path: Path) -> None:
    first, second = (ProgramRun(PulumiEngine(Project(tmp_path), stack)) for stack in ("dev", "prod"))
    late = running(first)
    late.__enter__()
    with running(second):
        late.__exit__(None, None, None)
        assert current_run() is second
    assert current_run() is None


def test_an_engine_that_calls_this_process_gets_no_signal_when_it_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    death_signals: list[bool] = []

    def run(command: list[str], *_: object, death_signal: bool, **__: object) -> subprocess.CompletedProcess[str]:
        death_signals.append(death_signal)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(child_processes, "run", run)
    engine = PulumiEngine(Project(tmp_path), "dev", {"PATH": str(tmp_path)})
    (tmp_path / "pulumi").touch(0o755)
    engine.run("stack", "export")
    with attached_provider(engine) as options:
        options.on(engine).run("refresh")
    assert death_signals == [True, False]


# The remedies for a state that Pulumi cannot read.


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("failed to load checkpoint: EOF\n", "the state itself is complete, .* empty file: `dev.json.attrs`, beside"),
        (
            "failed to load checkpoint: place 1: unexpected end of JSON input",
            "restore it from .* the `.bak` file beside it",
        ),
        ("failed to load checkpoint: place 1: unexpected EOF", "restore it from .* the `.bak` file beside it"),
    ],
)
def test_empty_attributes_and_a_truncated_state_have_different_remedies(error: str, expected: str) -> None:
    for stack in ("dev", "organization/shop/dev"):
        with pytest.raises(PartialState, match=expected):
            raise_if_partial(error, stack)


def test_another_error_is_no_partial_state() -> None:
    raise_if_partial("failed to load checkpoint: blob (code=NotFound)", "dev")
    raise_if_partial("failed to read the response: EOF", "dev")


# The virtual environment that a project gets if topicwarden is installed elsewhere, for example with pipx.

PULUMI = "name: p\nruntime: python\nplugins: {providers: [{name: kafka, path: .venv/bin}]}\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "a project"
    root.mkdir()
    (root / "Pulumi.yaml").write_text(PULUMI)
    return Project(root)


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_environment_has_the_packages_of_this_installation(project: Project) -> None:
    folder = link_environment(project)
    assert folder == project.root / ".venv"
    code = "import sys, topicwarden, yaml; print(sys.prefix, topicwarden.__file__)"
    assert output(folder / "bin" / "python", "-c", code) == f"{folder} {topicwarden.__file__}"
    assert output(folder / "bin" / "topicwarden", "--version") == topicwarden.__version__
    assert link_environment(project) is None


def test_the_provider_starts_from_any_folder(project: Project, tmp_path: Path) -> None:
    link_environment(project)
    process = subprocess.Popen(
        [project.root / ".venv" / "bin" / PROVIDER, "127.0.0.1:1"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert int(process.stdout.readline()) > 0
    process.kill()
    process.communicate()


def test_an_existing_environment_is_kept(project: Project) -> None:
    script = project.root / ".venv" / "bin" / PROVIDER
    script.parent.mkdir(parents=True)
    script.write_text("#!/usr/bin/python\n# written by pip\n")
    assert link_environment(project) is None
    script.unlink()
    assert link_environment(project) is None  # it has no topicwarden, which the deploy will say
    assert list((project.root / ".venv").rglob("*")) == [script.parent]


def test_the_running_environment_is_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = link_environment(project)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(linked_environment, "_package_folders", lambda: ["/elsewhere"])
    assert link_environment(project) is None


def test_a_link_to_another_installation_is_replaced(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(linked_environment, "_package_folders", lambda: ["/uninstalled"])
        assert link_environment(project)
    assert link_environment(project)
    assert output(project.root / ".venv" / "bin" / "topicwarden", "--version") == topicwarden.__version__
    (project.root / ".venv" / "bin" / "python").unlink()  # Python was upgraded
    assert link_environment(project)


@pytest.mark.parametrize(
    "text", ["name: p\nruntime: python\n", PULUMI.replace(".venv", "/opt/tools"), PULUMI.replace(".venv", "../tools")]
)
def test_a_project_without_its_own_provider_gets_none(project: Project, text: str) -> None:
    (project.root / "Pulumi.yaml").write_text(text)
    assert link_environment(project) is None
    shutil.rmtree(project.root)


def test_a_state_whose_resources_contradict_each_other_is_refused_with_the_repair() -> None:
    output = "Error:   snapshot integrity failure; refusing to use it: a refers to missing parent b\n\nStack Trace:\n"
    with pytest.raises(
        Refusal, match=r"of dev contradict each other: a refers .* b; `pulumi state repair --stack dev`"
    ):
        refuse_contradictions(output, "dev")
    refuse_contradictions("error: no stack named 'dev' found", "dev")


# The options of `topicwarden up`, by backend and number of topics.


@pytest.mark.parametrize(
    ("backend", "topics", "once"),
    [
        ("file:///state", 100, False),
        ("file:///state", 101, True),
        ("s3://bucket", 5_000, True),
        ("https://api.pulumi.com", 5_000, False),
    ],
)
def test_many_topics_in_a_file_backend_are_recorded_once(backend: str, topics: int, once: bool) -> None:
    options = write_options("up", backend, topics, refresh="")
    assert options.arguments == ("--continue-on-error", "--parallel", "10000", "--refresh=false")
    assert ("PULUMI_SKIP_CHECKPOINTS" in options.variables) is once
    assert options.line == "all topics at a time; the state is written " + (
        "once, at the end" if once else "at each step"
    )


def test_a_killed_deploy_is_followed_by_a_refresh() -> None:
    options = write_options("up", "file:///state", 3, refresh="because a deploy was killed")
    assert "--refresh" in options.arguments
    assert options.line.endswith("state is refreshed, because a deploy was killed")


def test_only_a_command_that_refreshes_has_no_option_against_a_refresh() -> None:
    assert write_options("refresh", "file:///state", 3).arguments == ("--parallel", "10000")
    assert "--refresh=false" in write_options("destroy", "file:///state", 3).arguments
    assert "--refresh=false" not in write_options("up", "file:///state", 3, refresh="as requested").arguments


def test_options_in_the_environment_do_not_change_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pulumi").write_text("#!/bin/sh\nenv\n", encoding="utf-8")
    (tmp_path / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    for name in ("PULUMI_OPTION_EXCLUDE", "PULUMI_OPTION_REFRESH", "PULUMI_RUN_PROGRAM", "PULUMI_HOME"):
        monkeypatch.setenv(name, "inherited")
    engine = PulumiEngine(Project(tmp_path), "dev", {"PULUMI_EXPERIMENTAL": "true"})
    lines = engine.run("up").stdout.splitlines()
    assert {"PULUMI_HOME=inherited", "PULUMI_EXPERIMENTAL=true"} <= set(lines)
    assert not [line for line in lines if line.startswith(("PULUMI_OPTION_", "PULUMI_RUN_PROGRAM"))]


def test_a_refresh_on_request_is_named_as_such() -> None:
    assert write_options("up", "file:///state", 3, refresh="as requested").line.endswith(
        "state is refreshed, as requested"
    )


def test_the_backend_is_found_in_the_order_of_pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    engine = PulumiEngine(Project(tmp_path), "dev")
    settings = tmp_path / "Pulumi.yaml"
    settings.write_text("name: x\n")
    assert backend_url(engine) == "https://api.pulumi.com"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "credentials.json").write_text(json.dumps({"current": "gs://logged-in"}))
    assert backend_url(engine) == "gs://logged-in"
    settings.write_text("name: x\nbackend: {url: s3://project}\n")
    assert backend_url(engine) == "s3://project"
    assert backend_url(PulumiEngine(Project(tmp_path), "dev", {"PULUMI_BACKEND_URL": "file:///own"})) == "file:///own"


# The list of a deployment's dangers: sorted, and short enough to read.


def plan(topic: str, *severities: Severity, kind: str = "min-insync") -> TopicPlan:
    found = [Consequence(kind=kind, severity=severity, message=f"{severity.value}\nof it") for severity in severities]
    return TopicPlan(topic=topic, action=Action.UPDATE, consequences=found)


def test_a_line_for_each_danger_sorted_and_nothing_else() -> None:
    plans = [plan("b", Severity.DANGER, Severity.NOTE), plan("a", Severity.DANGER), plan("c", Severity.REFUSED)]
    assert dangers(planned_parts(plans), "dev") == ["a: danger of it [min-insync]", "b: danger of it [min-insync]"]


def test_dangers_of_access_come_first() -> None:
    lost = Consequence(kind="access-lost", severity=Severity.DANGER, message="a group stops")
    parts = planned_parts([plan("a", Severity.DANGER)], AccessPlan(items=[], consequences=[lost]))
    lines = dangers(parts, "dev")
    assert lines == ["access: a group stops [access-lost]", "a: danger of it [min-insync]"]


def test_replicas_left_to_rebalance_are_always_reported() -> None:
    moved = [plan("a", Severity.NOTE, kind="replication-factor")]
    assert dangers(planned_parts(moved), "dev") == ["a: note of it [replication-factor]"]


def test_long_lists_are_cut_and_counted() -> None:
    plans = [plan(f"t{number:04}", Severity.DANGER) for number in range(MOST + 1_234)]
    lines = dangers(planned_parts(plans), "prod")
    assert len(lines) == MOST + 1
    assert lines[-1] == "and 1,234 more: see `topicwarden plan --stack prod`"
    assert dangers(planned_parts(plans[:MOST]), "prod")[-1].startswith(f"t{MOST - 1:04}: ")


# What is left of a long debug message.


def test_a_long_message_is_cut_and_has_its_length() -> None:
    sent: list[tuple[str, object]] = []
    debug = shortened(lambda msg, *_, **options: sent.append((msg, options)))
    debug("short", ephemeral=True)
    debug("x" * 20_000)
    assert sent[0] == ("short", {"ephemeral": True})
    assert sent[1] == ("x" * 10_000 + "… (20,000 characters)", {})


FORKS = """
import os, subprocess, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import topicwarden.deploy
import grpc

class Echo(grpc.GenericRpcHandler):
    def service(self, _):
        return grpc.unary_unary_rpc_method_handler(lambda request, _: request)

def call():
    echo = grpc.insecure_channel(f"127.0.0.1:{port}").unary_unary("/echo/echo")
    while True:
        echo(b"", timeout=5)

server = grpc.server(ThreadPoolExecutor(2), handlers=(Echo(),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
for _ in range(2):
    threading.Thread(target=call, daemon=True).start()
time.sleep(0.2)
for _ in range(20):
    subprocess.run(["true"], preexec_fn=lambda: None, check=True)
sys.stderr.flush()
os._exit(0)
"""


def test_child_processes_of_a_deploy_start_without_grpc() -> None:
    # PySpark starts its JVM with preexec_fn, so with fork(). gRPC's handlers abort some of these processes.
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_ENABLE_FORK_SUPPORT"}
    done = subprocess.run([sys.executable, "-c", FORKS], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_resources_that_a_program_only_reads_are_not_the_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    own, read = {"urn": "own", "type": "t"}, {"urn": "read", "type": "t", "external": True}
    state = json.dumps({"version": 3, "deployment": {"resources": [own, read]}})
    monkeypatch.setattr(
        PulumiEngine, "run", lambda *_: subprocess.CompletedProcess(["pulumi"], 0, stdout=state, stderr="")
    )
    assert PulumiEngine(Project(Path()), "dev").resources() == [own]
