"""`topicwarden refresh`: read the topics as they are on the cluster into Pulumi's state."""

from __future__ import annotations

import typer

from topicwarden.cli.engine_output import engine_output
from topicwarden.cli.waiting import TERMINAL
from topicwarden.deploy.pulumi_commands import pulumi_without_program
from topicwarden.deploy.pulumi_engine import refuse_missing_backend
from topicwarden.deploy.same_cluster import require_same_cluster
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.model.project import find_project
from topicwarden.operations.find_pulumi import writing_engine_of


def refresh(stack: str) -> int:
    """Write the settings and partitions of the live topics into Pulumi's state; return the exit code.

    No topic is changed. A topic that is gone leaves the state. Raises Refusal if the stack was deployed to another
    cluster, which would remove all its topics from the state.
    """
    engine = writing_engine_of(find_project(), stack, TERMINAL)
    deployed = require_same_cluster(engine)
    options = write_options("refresh", backend_url(engine), len(deployed.topics))
    typer.echo(f"pulumi refresh: {options.line}", err=True)
    arguments = ("refresh", "--yes", "--skip-preview", "--suppress-outputs", *options.arguments)
    done = pulumi_without_program(options.on(engine), *arguments, on_line=engine_output())
    if done.returncode:
        refuse_missing_backend(done.stdout, stack)
    return 1 if done.returncode else 0
