"""`topicwarden sandbox`: manage a local Kafka cluster, and install the tools that it needs."""

from __future__ import annotations

import glob
import os
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from topicwarden.cli.options import stack_option
from topicwarden.model.project import Project, find_project
from topicwarden.model.sandbox_folder import refuse_link
from topicwarden.report import terminal_output
from topicwarden.report.terminal_output import note
from topicwarden.specs.stacks.stack_selection import selected_stacks

if TYPE_CHECKING:
    from topicwarden.extensions.sandbox.local_cluster import Sandbox, SandboxStatus
    from topicwarden.extensions.sandbox.registry_server import RegistryServer

Broker = Annotated[int, typer.Argument(help="The id of the broker, from 1.", min=1)]
_SETTLES_S: Final = 5.0
app = typer.Typer(help="Run a Kafka cluster on this machine, for tests and trials.", no_args_is_help=True)


def sandbox_of(project: Project) -> Sandbox:
    """Return the project's sandbox, ready to start. Downloads Kafka's jars if they are missing.

    Raises Refusal if that fails, or if there is no Java.
    """
    from topicwarden.extensions.sandbox.local_cluster import Sandbox
    from topicwarden.toolchain import kafka_jars
    from topicwarden.toolchain.prerequisites import require_java

    return Sandbox(project.cache / "sandbox", require_java(), kafka_jars(project, note))


def _present_sandbox(project: Project) -> Sandbox:
    """Return the project's sandbox, which can be inspected and stopped, without its tools."""
    from topicwarden.extensions.sandbox.local_cluster import Sandbox
    from topicwarden.toolchain import jars

    return Sandbox(project.cache / "sandbox", Path("java"), jars.folder(project.tools_cache))


@app.command("up", epilog="Example: topicwarden sandbox up --brokers 3")
def up(
    brokers: Annotated[
        int | None,
        typer.Option(
            "--brokers", help="The number of brokers (default: that of the existing sandbox, else 3).", min=1, max=9
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", help="The first broker's port (default: free ones).", min=1024, max=65000)
    ] = None,
) -> int:
    """Start the cluster, or the brokers that are not running. Safe to repeat.

    ACLs are enforced for users with a password (SCRAM-SHA-512), who have a listener of their own. All other clients may
    do everything. If a stack has `topicwarden:schemaRegistry: sandbox`, a Schema Registry (Apicurio, on Java 21) is
    started, too.
    """
    project = find_project()
    sandbox = sandbox_of(project)
    show(sandbox.up(brokers=brokers, port=port, authorizer=True, say=note))
    print(f"users with a password (SCRAM-SHA-512): {', '.join(sandbox.user_servers)}")
    if url := start_registry(project):
        print(f"Schema Registry: {url}")
    return 0


def start_registry(project: Project) -> str | None:
    """Start the sandbox's Schema Registry if a stack of the project uses it, and return its URL; else None.

    Downloads Apicurio first if it is missing. Raises Refusal if that fails, or if no Java is new enough.
    """
    from topicwarden.kafka.connect.stack_connection import on_sandbox_registry
    from topicwarden.toolchain import apicurio
    from topicwarden.toolchain.prerequisites import require_registry_java

    if not any(on_sandbox_registry(project, stack) for stack in project.stack_names()):
        return None
    java = require_registry_java()
    return _registry(project).up(java, apicurio.fetch(project.tools_cache, note), note)


def _registry(project: Project) -> RegistryServer:
    from topicwarden.extensions.sandbox.registry_server import RegistryServer

    return RegistryServer((project.cache / "sandbox").resolve())


@app.command("down", epilog="Example: topicwarden sandbox down --remove")
def down(
    remove: Annotated[bool, typer.Option("--remove", help="Also delete its data and its Pulumi state.")] = False,
) -> int:
    """Stop all brokers. Their data is kept for the next up."""
    from topicwarden.deploy.pulumi_project import project_settings
    from topicwarden.toolchain import pulumi_cli

    project = find_project()
    refuse_link(project.cache / "sandbox")
    refuse_link(pulumi_cli.state(project.cache))
    _registry(project).down(remove=remove, say=note)
    _present_sandbox(project).down(remove, note)
    if remove:
        # Otherwise Pulumi's state would contain topics that no longer exist.
        _delete_state(pulumi_cli.state(project.cache), str(project_settings(project)["name"]), _sandbox_stacks(project))
    else:
        note("the sandbox is down; its data is kept for the next `topicwarden sandbox up`")
    return 0


@app.command("status", epilog="Example: topicwarden sandbox status")
def status() -> int:
    """Show the state of each broker: running, stopped or killed. Exit code 1 unless all are running."""
    project = find_project()
    current = _present_sandbox(project).status()
    show(current)
    if url := _registry(project).url:
        print(f"Schema Registry: {url}")
    return 0 if current.ready else 1


@app.command("stop", epilog="Example: topicwarden sandbox stop 3")
def stop(broker: Broker) -> int:
    """Stop one broker gracefully, as for maintenance."""
    return _change("stop", broker)


@app.command("kill", epilog="Example: topicwarden sandbox kill 3")
def kill(broker: Broker) -> int:
    """Kill one broker, as in a machine failure."""
    return _change("kill", broker)


@app.command("start", epilog="Example: topicwarden sandbox start 3")
def start(broker: Broker) -> int:
    """Start one broker again."""
    return _change("start", broker)


def _change(verb: str, broker: int) -> int:
    """Stop, kill or start one broker; ``verb`` is ``stop``, ``kill`` or ``start``."""
    sandbox = (sandbox_of if verb == "start" else _present_sandbox)(find_project())
    getattr(sandbox, verb)(broker, note)
    show(_settled(sandbox.status))
    return 0


def _settled(read: Callable[[], SandboxStatus]) -> SandboxStatus:
    """Return the status once the other brokers have noticed the change: for a moment, they may seem to have left."""
    end = time.monotonic() + _SETTLES_S
    while True:
        status = read()
        if time.monotonic() >= end or not any(broker.left for broker in status.brokers):
            return status
        time.sleep(0.5)


@app.command("install", epilog="Example: topicwarden sandbox install --from /media/jars")
def install(
    jars_from: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            help="Take Kafka's jars from this folder, instead of downloading them from Maven Central.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Install the tools for deploys and the sandbox: Kafka, and Pulumi if it is not on the PATH. Needed once."""
    return install_tools(jars_from)


def install_tools(jars_from: Path | None = None, *, archive_spark: bool = True) -> int:
    """Install all tools; ``jars_from`` is a folder that has Kafka's jars.

    ``archive_spark``: also archive Spark's classes, with which audits start faster.
    """
    from topicwarden.deploy.linked_environment import write_language_host
    from topicwarden.deploy.pulumi_stacks import is_local, provide_stack
    from topicwarden.extensions.sandbox import class_archive
    from topicwarden.toolchain import install, pulumi_cli

    project = find_project()
    tools = install(project, note, jars_from)
    if pulumi_cli.built(project.tools_cache):
        write_language_host(tools.pulumi.parent)
    class_archive.create(tools.java, tools.kafka_jars, note)
    if find_spec("pyspark") is None:
        note("Spark is not installed; `pip install 'topicwarden[audit]'` installs it, for audits")
    else:
        from topicwarden.audit.scan import spark_session

        spark_session.configure(project)
        if archive_spark:
            spark_session.archive_spark_classes(project, note)
    for stack in project.stack_names():
        if is_local(project, stack):
            provide_stack(project, stack)
    return 0


@app.command("env", epilog='Example: eval "$(topicwarden sandbox env)"; pulumi preview --stack dev')
def env(
    stack: Annotated[
        str | None, stack_option("For this stack; a stack on the sandbox also gets the sandbox's passphrase.")
    ] = None,
) -> int:
    """Print the environment variables that `pulumi` and `spark-submit` need in this project."""
    from topicwarden.deploy.linked_environment import link_environment
    from topicwarden.toolchain import PASSPHRASES, environment

    project = find_project()
    link_environment(project)
    stacks = selected_stacks(project, stack) if stack else project.stack_names()
    on_sandbox_stacks = _sandbox_stacks(project)
    mixed = set(on_sandbox_stacks) & set(stacks) and not set(stacks) <= set(on_sandbox_stacks)
    if mixed and not PASSPHRASES & os.environ.keys():
        note(
            "PULUMI_CONFIG_PASSPHRASE is not set, because not every stack is on the sandbox; "
            f"`topicwarden sandbox env --stack {on_sandbox_stacks[0]}` sets it for {on_sandbox_stacks[0]}"
        )
    if find_spec("pyspark") is not None and not (project.spark_conf / "spark-defaults.conf").is_file():
        from topicwarden.audit.scan.spark_session import configure

        configure(project)
    for name, value in environment(project, stack).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _sandbox_stacks(project: Project) -> list[str]:
    from topicwarden.kafka.connect.stack_connection import on_sandbox

    return [stack for stack in project.stack_names() if on_sandbox(project, stack)]


def _delete_state(state: Path, project: str, stacks: Sequence[str]) -> None:
    """Delete Pulumi's local state of the ``stacks`` of a ``project``. All other state in the same folder remains.

    The folders are those of Pulumi's file backend (``backend/diy/store.go``, ``lock.go``).
    """
    folder = state / ".pulumi"
    for stack in stacks:
        for kind in ("history", "backups", "locks/organization"):
            shutil.rmtree(folder / kind / project / stack, ignore_errors=True)
        for path in (folder / "stacks" / project).glob(f"{glob.escape(stack)}.json*"):
            path.unlink(missing_ok=True)


def show(status: SandboxStatus) -> None:
    """Print a table with one row for each broker."""
    from rich.table import Table

    from topicwarden.extensions.sandbox.sandbox_state import HOST

    if not status.brokers:
        print("there is no sandbox; start one with `topicwarden sandbox up`")
        return
    table = Table("broker", "rack", "address", "pid", "state", box=None, pad_edge=False)
    for broker in status.brokers:
        state = broker.condition.value
        if broker.left:
            state += ", not in the cluster"
        table.add_row(str(broker.id), broker.rack, f"{HOST}:{broker.port}", str(broker.pid or "–"), state)
    terminal_output.console().print(table)
