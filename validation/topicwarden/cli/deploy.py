"""`topicwarden up`, `destroy` and `refresh`: run Pulumi with the options that fit the backend."""

from __future__ import annotations

from typing import Annotated

import typer

from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.interrupted_change import EngineChanges, telling_interrupts
from topicwarden.cli.options import Stack
from topicwarden.cli.silence import never_silent
from topicwarden.cli.terminal import TERMINAL, confirmed, engine_output, require_terminal
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output

app = typer.Typer()


@app.command(epilog="Example: topicwarden up --stack dev --yes. Plain `pulumi up` works, too.")
@without_garbage_collection()
def up(
    stack: Stack,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Deploy without showing the plan and asking.")] = False,
    *,
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh",
            help="Read the topics into Pulumi's state first: revert changes made by hand, unless that loses records, "
            "and create topics again that were deleted by hand.",
        ),
    ] = False,
) -> int:
    """Deploy the topics: run `pulumi up` with the options that fit the backend and the number of topics."""
    from topicwarden.deploy.access_state import resource_names
    from topicwarden.deploy.program_run import PlanChanged
    from topicwarden.model.access import NO_ACCESS

    # A destroy and a refresh check no YAML.
    from topicwarden.operations.declared_topics import checked_stack
    from topicwarden.operations.deploy import deploy_topics
    from topicwarden.operations.find_pulumi import writing_engine_of

    project = find_project()
    engine = writing_engine_of(project, stack, TERMINAL)
    checked = checked_stack(project, stack, "deployed")
    while True:
        report = None
        if not yes:
            from topicwarden.operations.plan import planned
            from topicwarden.report.document import Medium
            from topicwarden.report.plan.document import document

            require_terminal(f"topicwarden plan --stack {stack}")
            with telling_interrupts("up", stack):
                report = planned(engine, (), checked, listener=TERMINAL)
            terminal_output.write_text(terminal_output.document_text(document(report, Medium.TERMINAL)))
            if not report.deployable:
                return 1
            with telling_interrupts("up", stack):
                if not (report.pending or refresh) or not confirmed("Deploy this?"):
                    return 0
        try:
            titles = resource_names(checked.access.get(stack, NO_ACCESS))
            changes = EngineChanges(titles)
            on_line = changes.watching(engine_output(titles))
            with telling_interrupts("up", stack, changes), never_silent("deploying"):
                done = deploy_topics(engine, checked, on_line, refreshing=refresh, confirmed=report, listener=TERMINAL)
        except PlanChanged as changed:
            TERMINAL.warn(str(changed))
        else:
            return 0 if done else 1


@app.command(epilog="Example: topicwarden destroy --stack dev")
@without_garbage_collection()
def destroy(
    stack: Stack,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
) -> int:
    """Delete the topics of a stack, if the deployed YAML of each allows that: runs `pulumi destroy`."""
    from topicwarden.deploy.program_run import PlanChanged
    from topicwarden.operations.deploy import destroy_topics, planned_destroy
    from topicwarden.operations.find_pulumi import writing_engine_of
    from topicwarden.report.document import Medium
    from topicwarden.report.plan.document import document

    engine = writing_engine_of(find_project(), stack, TERMINAL)
    plan = planned_destroy(engine, listener=TERMINAL)
    while True:
        terminal_output.write_text(terminal_output.document_text(document(plan, Medium.TERMINAL)))
        if plan.refused:
            return 1
        shown = None
        if not yes:
            require_terminal(f"topicwarden destroy --stack {stack}")
            with telling_interrupts("destroy", stack):
                if not confirmed("Delete these topics with their records?"):
                    return 0
            shown, plan = plan, planned_destroy(engine, listener=TERMINAL)
        try:
            changes = EngineChanges()
            on_line = changes.watching(engine_output())
            with telling_interrupts("destroy", stack, changes), never_silent("deleting"):
                done = destroy_topics(engine, plan, on_line, confirmed=shown, listener=TERMINAL)
        except PlanChanged as changed:
            TERMINAL.warn(str(changed))
        else:
            return 0 if done else 1


@app.command(epilog="Example: topicwarden refresh --stack prod. It changes no topic.")
@without_garbage_collection()
def refresh(
    stack: Stack,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accepted, as by pulumi; it asks nothing.")] = False,
) -> int:
    """Read the topics as they are on the cluster into Pulumi's state: runs `pulumi refresh`."""
    from topicwarden.operations.deploy import refresh_topics
    from topicwarden.operations.find_pulumi import writing_engine_of

    engine = writing_engine_of(find_project(), stack, TERMINAL)
    so_far = "no topic was changed, and Pulumi's state is refreshed in part or not at all"
    with telling_interrupts("refresh", stack, so_far=so_far), never_silent("refreshing Pulumi's state"):
        return 0 if refresh_topics(engine, engine_output(), listener=TERMINAL) else 1
