"""`topicwarden sandbox`: the cluster of this machine, and what it runs on."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from topicwarden import child_processes
from topicwarden.kafka.connection import on_sandbox
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.sandbox.broker import BrokerCondition
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.sandbox_state import HOST
from topicwarden.sandbox.sandbox_status import SandboxStatus
from topicwarden.specs.stack_selection import selected_stacks
from topicwarden.toolchain import PASSPHRASES, environment, toolchain
from topicwarden.toolchain import install as install_tools


def sandbox_of(project: Project) -> Sandbox:
    """The project's sandbox; refuses where what it runs on is not installed."""
    tools = toolchain(project)
    return Sandbox(project.cache / "sandbox", tools.java, tools.kafka_jars)


def up(brokers: int, port: int | None) -> int:
    status = sandbox_of(find_project()).up(brokers=brokers, port=port, say=_say)
    show(status)
    return 0


def down(remove: bool) -> int:
    project = find_project()
    sandbox_of(project).down(remove, _say)
    if remove:
        # Pulumi would believe in topics that are gone.
        _forget(project.cache / "pulumi" / "state", _sandbox_stacks(project))
    else:
        _say("the sandbox is down; its data stays for the next up")
    return 0


def status() -> int:
    found = sandbox_of(find_project()).status()
    show(found)
    return 0 if found.ready else 1


def change(verb: str, broker: int) -> int:
    """``stop``, ``kill`` or ``start`` of one broker."""
    sandbox = sandbox_of(find_project())
    getattr(sandbox, verb)(broker, _say)
    show(sandbox.status())
    return 0


def install() -> int:
    project = find_project()
    install_tools(project, _say)
    try:
        from topicwarden.audit.scan.spark_session import configure  # noqa: PLC0415 - the sandbox itself needs no Spark
    except ModuleNotFoundError:
        _say("Spark is not configured, as it is not installed: `pip install 'topicwarden[audit]'`, then again")
    else:
        configure(project)
    # In a backend of the user's, stacks are the user's to make.
    if "PULUMI_BACKEND_URL" not in os.environ:
        for stack in _sandbox_stacks(project):
            select_stack(project, stack)
    return 0


def env(stack: str | None) -> int:
    """As a shell reads it: ``eval "$(topicwarden sandbox env)"``; with ``stack``, for that stack alone."""
    project = find_project()
    stacks = selected_stacks(project, stack) if stack else project.stack_names()
    held = _sandbox_stacks(project)
    if set(held) & set(stacks) and not set(stacks) <= set(held) and not PASSPHRASES & os.environ.keys():
        _say(
            f"PULUMI_CONFIG_PASSPHRASE is not set, as not every stack is on the sandbox: "
            f"`topicwarden sandbox env --stack {held[0]}` sets it for {held[0]}"
        )
    for name, value in environment(project, stack).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _sandbox_stacks(project: Project) -> list[str]:
    return [stack for stack in project.stack_names() if on_sandbox(project, stack)]


def select_stack(project: Project, stack: str) -> None:
    """Makes Pulumi know the sandbox's stack; nothing happens where it does."""
    run_pulumi(project, stack, "stack", "select", "--create", stack)


def run_pulumi(project: Project, stack: str, *arguments: str, show: bool = False) -> None:
    """Pulumi in the project's own environment for ``stack``; refuses with what it said where it fails."""
    command = [str(toolchain(project).pulumi), *arguments, "--non-interactive"]
    answer = child_processes.run(command, project.root, {**os.environ, **environment(project, stack)}, show=show)
    if answer.returncode:
        said = "" if show else f": {(answer.stdout + answer.stderr).strip()}"
        raise Refusal(f"`pulumi {' '.join(arguments)}` ended with {answer.returncode}{said}")


def _forget(state: Path, stacks: Sequence[str]) -> None:
    """Deletes Pulumi's local state of ``stacks``; that of others, which a user may keep here too, stays."""
    for path in state.glob(".pulumi/*/**/*"):
        if path.name in stacks or any(path.name.startswith(f"{stack}.json") for stack in stacks):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def show(status: SandboxStatus) -> None:
    """A line a broker, for people."""
    if not status.brokers:
        print("there is no sandbox: start it with `topicwarden sandbox up`")
        return
    table = Table("broker", "rack", "address", "pid", "state", box=None, pad_edge=False)
    for broker in status.brokers:
        state = broker.condition.value
        if broker.condition is BrokerCondition.RUNNING and not broker.in_cluster:
            state += ", not in the cluster"
        table.add_row(str(broker.id), broker.rack, f"{HOST}:{broker.port}", str(broker.pid or "–"), state)
    Console().print(table)


def _say(line: str) -> None:
    print(line, file=sys.stderr)
