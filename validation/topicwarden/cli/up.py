"""`topicwarden up`: run `pulumi up` with the options that fit the backend and the number of topics."""

from __future__ import annotations

import typer
from rich.console import Console

from topicwarden.cli.confirmation import confirmed, require_terminal
from topicwarden.cli.declared_topics import checked_stack
from topicwarden.cli.engine_output import engine_output
from topicwarden.cli.find_pulumi import writing_engine_of
from topicwarden.cli.plan import planned
from topicwarden.deploy.intent_log import Intent, intent_log
from topicwarden.deploy.program_run import ProgramRun, Refused
from topicwarden.deploy.pulumi_commands import pulumi_up
from topicwarden.deploy.pulumi_engine import PulumiEngine, refuse_missing_backend
from topicwarden.deploy.same_cluster import require_same_cluster
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output
from topicwarden.report.plan import text


def up(stack: str, yes: bool, refresh: bool = False) -> int:
    """Deploy the stack; return 1 if a topic or a change was refused. Raises Refusal if the cluster does not answer.

    Without ``yes``, show the plan first and ask; refuse without a terminal. With ``refresh``, also revert changes
    that were made by hand, and create topics again that were deleted by hand.
    """
    project = find_project()
    engine = writing_engine_of(project, stack)
    checked = checked_stack(project, stack, "deployed")
    if not yes:
        require_terminal(f"topicwarden plan --stack {stack}")
        report = planned(engine, (), checked)
        terminal_output.write_text(text.render(report, Console()))
        if report.refused or not report.engine.ran:
            return 1
        if not (report.pending or refresh) or not confirmed("Deploy this?"):
            return 0
    if refresh:
        require_same_cluster(engine)
    reason = "as requested" if refresh else "because a deploy was killed" if _deletion_was_killed(engine) else ""
    options = write_options("up", backend_url(engine), len(checked.declarations[stack]), refresh=reason)
    typer.echo(f"pulumi up: {options.line}", err=True)
    run = ProgramRun(engine, checked=checked)
    done = pulumi_up(run, options, "--suppress-outputs", on_line=engine_output())
    if done.returncode:
        refuse_missing_backend(done.stdout, stack)
        if "no stack named" in done.stdout:
            engine.require_stack()
        if run.refusal is not None and not isinstance(run.refusal, Refused):
            raise run.refusal
    return 1 if done.returncode else 0


def _deletion_was_killed(engine: PulumiEngine) -> bool:
    """Return whether Pulumi's state still has a topic that a deploy was about to delete."""
    intents = intent_log(engine.project, engine.stack).read()
    deleted = {topic for topic, intent in intents.items() if intent is Intent.DELETE}
    if not deleted:
        return False
    state = read_stack_state(engine)
    return not deleted.isdisjoint({*state.topics, *state.duplicates})
