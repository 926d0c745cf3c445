"""`topicwarden doctor`: show what is installed, what the cluster offers, and what each command can do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicwarden.cli.options import BootstrapServer, CommandConfig, cluster_address, stack_option
from topicwarden.cli.terminal import waiting
from topicwarden.model.message_text import did_you_mean
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.operations.operation_options import ClusterAddress
from topicwarden.report import terminal_output

if TYPE_CHECKING:
    from topicwarden.model.diagnosis import Diagnosis
    from topicwarden.model.topic import Topic

app = typer.Typer()

FORMATS = ("text", "json")
REGISTRY_COMMANDS = ("audit", "watch", "redrive", "infer")
"""The commands that use the Schema Registry."""
CLUSTER_COMMANDS = ("audit", "usage", "import")
"""The commands that can read a cluster that no stack declares."""


@app.command(epilog="Example: topicwarden doctor --stack dev --command audit")
def doctor(
    stack: Annotated[str | None, stack_option("Also ask the cluster of this stack. Changes nothing.")] = None,
    form: Annotated[str, typer.Option("--format", "-f", metavar="FORMAT", help="text or json.")] = "text",
    commands: Annotated[
        list[str] | None,
        typer.Option(
            "--command",
            "-c",
            metavar="NAME",
            help="Only what this command needs (default: all commands). Can be repeated.",
        ),
    ] = None,
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> int:
    """Show what is installed, what the cluster supports, the missing permissions, and what each command can do."""
    address = cluster_address(bootstrap_server, command_config, stack=stack is not None)
    from topicwarden.operations.doctor.diagnose import ALL_COMMANDS
    from topicwarden.report.doctor import document
    from topicwarden.report.published_json import json_text

    if form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of {', '.join(FORMATS)}")
    for name in commands or ():
        if name not in ALL_COMMANDS:
            raise Refusal(
                f"--command {name}: expected one of {', '.join(ALL_COMMANDS)}{did_you_mean(name, ALL_COMMANDS)}"
            )
    able = [name for name in ALL_COMMANDS if address is None or name in CLUSTER_COMMANDS]
    for name in commands or ():
        if name not in able:
            raise Refusal(
                f"--command {name}: --bootstrap-server is for {', '.join(able)}; use --stack for the other commands"
            )
    chosen = [name for name in able if not commands or name in commands]
    try:
        diagnosis = _diagnosed(stack, chosen) if address is None else _diagnosed_cluster(address, chosen)
    except Refusal as error:
        if stack is None and address is None:
            raise
        raise Refusal(f"{error}; `topicwarden doctor` alone shows what is installed", error.details) from error
    if form == "json":
        terminal_output.write(json_text(diagnosis, ascii_only=True))
    else:
        terminal_output.write_text(terminal_output.document_text(document(diagnosis)))
    return 0 if diagnosis.healthy else 1


def _diagnosed(stack: str | None, commands: Sequence[str]) -> Diagnosis:
    from topicwarden.kafka.connect.stack_connection import connect_to, registry_of
    from topicwarden.operations.doctor.diagnose import diagnose, read_cluster_state, registry_state
    from topicwarden.operations.doctor.installation import installed_parts
    from topicwarden.specs.stacks.stack_file import read_stack_file

    if stack is None:
        return diagnose(None, installed_parts(_project()), None, commands=commands)
    project = find_project()
    connection = connect_to(project, stack)
    topics, errors, access = _declared(project, stack)
    scope = read_stack_file(project, stack).scope
    with waiting("asking the brokers"):
        state = read_cluster_state(connection, [topic.name for topic in topics], scope)
    settings = registry_of(project, stack)
    registry = registry_state(settings, REGISTRY_COMMANDS) if settings else None
    parts = installed_parts(project)
    return diagnose(stack, parts, state, topics, commands=commands, errors=errors, access=access, registry=registry)


def _diagnosed_cluster(address: ClusterAddress, commands: Sequence[str]) -> Diagnosis:
    from topicwarden.operations.doctor.diagnose import diagnose, read_cluster_state, registry_state
    from topicwarden.operations.doctor.installation import installed_parts
    from topicwarden.operations.undeclared_cluster import undeclared_cluster
    from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC

    cluster = undeclared_cluster(address)
    with waiting("asking the brokers"):
        state = read_cluster_state(cluster.connection, [], EVERY_TOPIC)
    registry = registry_state(cluster.registry, REGISTRY_COMMANDS) if cluster.registry else None
    parts = installed_parts(cluster.project, with_stack=False)
    return diagnose(cluster.name, parts, state, [], commands=commands, registry=registry)


def _declared(project: Project, stack: str) -> tuple[list[Topic], int, bool]:
    """Return the declared topics, the number of errors in the YAML and the policies, and whether access is declared."""
    from topicwarden.model.access import NO_ACCESS
    from topicwarden.policies.check_specs import check

    if all(path.name == "_defaults.yaml" for path in project.topics.rglob("*.yaml")):  # before the first import
        return [], 0, False
    checked = check(project, [stack])
    topics = [declaration.topic for declaration in checked.declarations[stack]]
    return topics, len(checked.errors), not checked.access.get(stack, NO_ACCESS).empty


def _project() -> Project:
    try:
        return find_project()
    except Refusal:  # what is installed does not depend on a project
        return Project(Path.cwd())
