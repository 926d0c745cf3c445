"""Find the ``pulumi`` program: the one on the PATH, else the one from `topicwarden sandbox install`."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

from topicwarden.deploy.file_backend import remove_broken_files
from topicwarden.deploy.linked_environment import link_environment
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.pulumi_project import require_program
from topicwarden.deploy.pulumi_stacks import is_local, provide_stack
from topicwarden.deploy.write_options import backend_url
from topicwarden.model.project import Project
from topicwarden.operations.operation_options import SILENT, ProgressListener
from topicwarden.toolchain import environment


def engine_of(project: Project, stack: str) -> PulumiEngine:
    """Return the Pulumi engine for ``stack``, ready to run the project's program.

    The state of a stack on the sandbox is beside the sandbox, unless the user has chosen a backend. Raises Refusal
    without Pulumi or if ``Pulumi.yaml`` runs another program, and ModuleNotFoundError without Pulumi's Python packages.
    """
    if find_spec("pulumi") is None:
        raise ModuleNotFoundError("No module named 'pulumi'", name="pulumi")
    require_program(project)
    link_environment(project)
    local = is_local(project, stack)
    if local:
        provide_stack(project, stack)
    return PulumiEngine(project, stack, environment(project, stack) if local or not shutil.which("pulumi") else {})


def writing_engine_of(project: Project, stack: str, listener: ProgressListener = SILENT) -> PulumiEngine:
    """Return the engine of ``engine_of`` for an operation that changes the state; repair its backend first."""
    engine = engine_of(project, stack)
    for removed in remove_broken_files(project, stack, backend_url(engine)):
        listener.warn(f"removed {removed}, which a killed Pulumi or a full disk left incomplete")
    return engine
