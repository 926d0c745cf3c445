"""`topicwarden sandbox`: manage a local Kafka cluster, and install the tools that it needs."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from topicwarden import child_processes
from topicwarden.kafka.connection import on_sandbox
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.report.terminal_output import note
from topicwarden.sandbox import class_archive
from topicwarden.sandbox.broker import BrokerCondition
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.sandbox_state import HOST
from topicwarden.sandbox.sandbox_status import SandboxStatus
from topicwarden.specs.stack_selection import selected_stacks
from topicwarden.toolchain import PASSPHRASES, environment, toolchain
from topicwarden.toolchain import install as install_tools


def sandbox_of(project: Project) -> Sandbox:
    """Return the project's sandbox. Raises Refusal if its tools are not installed."""
    tools = toolchain(project)
    return Sandbox(project.cache / "sandbox", tools.java, tools.kafka_jars)


def up(brokers: int, port: int | None) -> int:
    status = sandbox_of(find_project()).up(brokers=brokers, port=port, say=note)
    show(status)
    return 0


def down(remove: bool) -> int:
    project = find_project()
    sandbox_of(project).down(remove, note)
    if remove:
        # Otherwise Pulumi's state would contain topics that no longer exist.
        _delete_state(project.cache / "pulumi" / "state", _sandbox_stacks(project))
    else:
        note("the sandbox is down; its data is kept for the next `topicwarden sandbox up`")
    return 0


def status() -> int:
    current = sandbox_of(find_project()).status()
    show(current)
    return 0 if current.ready else 1


def change(verb: str, broker: int) -> int:
    """Stop, kill or start one broker; ``verb`` is ``stop``, ``kill`` or ``start``."""
    sandbox = sandbox_of(find_project())
    getattr(sandbox, verb)(broker, note)
    show(sandbox.status())
    return 0


def install() -> int:
    project = find_project()
    tools = install_tools(project, note)
    class_archive.create(tools.java, tools.kafka_jars, note)
    try:
        from topicwarden.audit.scan.spark_session import (  # noqa: PLC0415 - the sandbox itself needs no Spark
            archive_spark_classes,
            configure,
        )
    except ModuleNotFoundError:
        note(
            "Spark is not configured, because it is not installed; run `pip install 'topicwarden[audit]'`, then "
            "`topicwarden sandbox install` again"
        )
    else:
        configure(project)
        archive_spark_classes(project, note)
    # In a backend that the user has chosen, the user creates the stacks.
    if "PULUMI_BACKEND_URL" not in os.environ:
        for stack in _sandbox_stacks(project):
            select_stack(project, stack)
    return 0


def env(stack: str | None) -> int:
    """Print environment variables as shell commands for ``eval "$(topicwarden sandbox env)"``.

    ``stack`` limits them to one stack; the default is all stacks.
    """
    project = find_project()
    stacks = selected_stacks(project, stack) if stack else project.stack_names()
    on_sandbox_stacks = _sandbox_stacks(project)
    mixed = set(on_sandbox_stacks) & set(stacks) and not set(stacks) <= set(on_sandbox_stacks)
    if mixed and not PASSPHRASES & os.environ.keys():
        note(
            "PULUMI_CONFIG_PASSPHRASE is not set, because not every stack is on the sandbox; "
            f"`topicwarden sandbox env --stack {on_sandbox_stacks[0]}` sets it for {on_sandbox_stacks[0]}"
        )
    for name, value in environment(project, stack).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _sandbox_stacks(project: Project) -> list[str]:
    return [stack for stack in project.stack_names() if on_sandbox(project, stack)]


def select_stack(project: Project, stack: str) -> None:
    """Select the stack in Pulumi, and create it if it does not exist."""
    run_pulumi(project, stack, "stack", "select", "--create", stack)


def run_pulumi(project: Project, stack: str, *arguments: str, show: bool = False) -> None:
    """Run Pulumi in the project's environment for ``stack``. Raises Refusal with its output if it fails.

    With ``show``, the output goes to this process's own output instead.
    """
    command = [str(toolchain(project).pulumi), *arguments, "--non-interactive"]
    result = child_processes.run(command, project.root, {**os.environ, **environment(project, stack)}, show=show)
    if result.returncode:
        output = "" if show else f": {(result.stdout + result.stderr).strip()}"
        raise Refusal(f"`pulumi {' '.join(arguments)}` ended with exit code {result.returncode}{output}")


def _delete_state(state: Path, stacks: Sequence[str]) -> None:
    """Delete Pulumi's local state of ``stacks``. The state of other stacks in the same folder remains."""
    for path in state.glob(".pulumi/*/**/*"):
        if path.name in stacks or any(path.name.startswith(f"{stack}.json") for stack in stacks):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def show(status: SandboxStatus) -> None:
    """Print a table with one row for each broker."""
    if not status.brokers:
        print("there is no sandbox; start one with `topicwarden sandbox up`")
        return
    table = Table("broker", "rack", "address", "pid", "state", box=None, pad_edge=False)
    for broker in status.brokers:
        state = broker.condition.value
        if broker.condition is BrokerCondition.RUNNING and not broker.in_cluster:
            state += ", not in the cluster"
        table.add_row(str(broker.id), broker.rack, f"{HOST}:{broker.port}", str(broker.pid or "–"), state)
    Console().print(table)
