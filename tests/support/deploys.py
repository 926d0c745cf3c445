"""Deploy a stack of a test in the process of the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.projects import Shell
from topicwarden.deploy.program_run import ProgramRun
from topicwarden.deploy.pulumi_commands import pulumi_up
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.model.project import Project
from topicwarden.operations.find_pulumi import engine_of


@contextmanager
def engine_in_process(project: Project, shell: Shell) -> Iterator[PulumiEngine]:
    """Yield the engine of the stack ``dev``, and set the variables of ``shell`` in this process within the block."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in shell.variables.items():
            patch.setenv(name, value)
        yield engine_of(project, "dev")


def deploy_in_process(project: Project, shell: Shell) -> None:
    """Deploy the stack ``dev`` as `topicwarden up` does after its plan.

    The program and the provider run in this process, which saves two others. The plan is a run of the engine less.
    """
    with engine_in_process(project, shell) as engine:
        options = write_options("up", backend_url(engine), resources=0)
        done = pulumi_up(ProgramRun(engine), options, "--suppress-outputs")
    assert done.returncode == 0, done.stdout + done.stderr
