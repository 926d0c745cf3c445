"""Create the stacks of the sandbox."""

from __future__ import annotations

import os
import shutil

from topicwarden import child_processes
from topicwarden.deploy.pulumi_project import project_settings
from topicwarden.kafka.connect.stack_connection import on_sandbox, pulumi_environment
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import BACKENDS, environment, pulumi_cli


def is_local(project: Project, stack: str) -> bool:
    """Return whether the state of ``stack`` is beside the sandbox: it is a stack of the sandbox without a backend.

    The backend that `topicwarden sandbox env` prints is the one beside the sandbox.
    """
    beside = {"PULUMI_BACKEND_URL": pulumi_cli.state(project.cache).as_uri()}
    chosen = {name: os.environ[name] for name in BACKENDS & os.environ.keys()}
    return on_sandbox(project, stack) and chosen.items() <= beside.items()


def provide_stack(project: Project, stack: str) -> None:
    """Create ``stack``, whose state is beside the sandbox, if it does not exist."""
    name = project_settings(project)["name"]
    if not (pulumi_cli.state(project.cache) / ".pulumi" / "stacks" / str(name) / f"{stack}.json").is_file():
        select_stack(project, stack)


def select_stack(project: Project, stack: str) -> None:
    """Select the stack in Pulumi, and create it if it does not exist. Raises Refusal if that fails."""
    variables = pulumi_environment(environment(project, stack))
    pulumi = shutil.which("pulumi", path=variables["PATH"]) or "pulumi"
    command = [pulumi, "stack", "select", "--create", stack, "--non-interactive"]
    done = child_processes.run(command, project.root, variables)
    if done.returncode:
        raise Refusal(
            f"`pulumi stack select --create {stack}` ended with exit code {done.returncode}: "
            f"{(done.stdout + done.stderr).strip()}"
        )
