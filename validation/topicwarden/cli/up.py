"""`topicwarden up`: run `pulumi up` with the options that fit the backend and the number of topics."""

from __future__ import annotations

import sys
from typing import TextIO

import typer
from rich.console import Console

from topicwarden.cli.waiting import TERMINAL
from topicwarden.deploy.intent_log import Intent, intent_log
from topicwarden.deploy.program_run import ProgramRun, Refused
from topicwarden.deploy.pulumi_commands import pulumi_up
from topicwarden.deploy.pulumi_engine import PulumiEngine, refuse_missing_backend
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.deploy.up_options import backend_url, up_options
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.stack_connection import connect_to
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.find_pulumi import writing_engine_of
from topicwarden.operations.plan import planned
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.report import terminal_output
from topicwarden.report.plan import text


def up(stack: str, yes: bool, refresh: bool = False) -> int:
    """Deploy the stack; return 1 if a topic or a change was refused. Raises Refusal if the cluster does not answer.

    Without ``yes``, show the plan first and ask; refuse if nobody can answer. With ``refresh``, also revert changes
    that were made by hand, and create topics again that were deleted by hand.
    """
    project = find_project()
    engine = writing_engine_of(project, stack, TERMINAL)
    checked = checked_stack(project, stack, "deployed")
    if not yes:
        if not sys.stdin.isatty():
            raise Refusal("nobody can answer here: run `topicwarden up --yes`, after `topicwarden plan`")
        report = planned(engine, (), checked, listener=TERMINAL)
        terminal_output.write_text(text.render(report, Console()))
        if report.refused or not report.engine.ran:
            return 1
        if not (report.pending or refresh) or not typer.confirm("Deploy this?"):
            return 0
    if refresh:
        _refuse_another_cluster(engine)
    reason = "as requested" if refresh else "because a deploy was killed" if _deletion_was_killed(engine) else ""
    options = up_options(backend_url(engine), len(checked.declarations[stack]), refresh=reason)
    typer.echo(f"pulumi up: {options.line}", err=True)
    run, out = ProgramRun(engine, checked=checked), sys.stdout
    done = pulumi_up(run, options, "--suppress-outputs", on_line=lambda line: _show(line, out))
    if done.returncode:
        refuse_missing_backend(done.stdout, stack)
        if "no stack named" in done.stdout:
            engine.resources()  # refuses with what to do
        if run.refusal is not None and not isinstance(run.refusal, Refused):
            raise run.refusal
    return 1 if done.returncode else 0


def _refuse_another_cluster(engine: PulumiEngine) -> None:
    """Refuse another cluster than that of the last deploy: a refresh would remove its missing topics from the state.

    The program refuses it, too, but runs after the refresh.
    """
    connection, deployed = connect_to(engine.project, engine.stack), read_stack_state(engine)
    with open_cluster(connection) as cluster:
        check_cluster(engine.stack, connection, deployed, cluster.snapshot(deployed.topics))


def _deletion_was_killed(engine: PulumiEngine) -> bool:
    """Return whether Pulumi's state still has a topic that a deploy was about to delete."""
    intents = intent_log(engine.project, engine.stack).read()
    deleted = {topic for topic, intent in intents.items() if intent is Intent.DELETE}
    if not deleted:
        return False
    state = read_stack_state(engine)
    return not deleted.isdisjoint({*state.topics, *state.duplicates})


def _show(line: str, out: TextIO) -> None:
    """Print a line of `pulumi up`, without dots that only show that it runs."""
    if line.strip(" .\n") and not line.startswith("@ "):
        out.write(line)
        out.flush()
