"""`topicwarden up`, `destroy` and `refresh`: run Pulumi with the options that fit the backend."""

from __future__ import annotations

from topicwarden.cli.interrupted_change import EngineChanges, telling_interrupts
from topicwarden.cli.silence import never_silent
from topicwarden.cli.terminal import TERMINAL, confirmed, engine_output, require_terminal
from topicwarden.deploy.program_run import PlanChanged
from topicwarden.model.project import find_project
from topicwarden.operations.deploy import deploy_topics, destroy_topics, planned_destroy, refresh_topics
from topicwarden.operations.find_pulumi import writing_engine_of
from topicwarden.report import terminal_output
from topicwarden.report.document import Medium
from topicwarden.report.plan.document import document


def up(stack: str, yes: bool, refresh: bool = False) -> int:
    """Deploy the stack; return 1 if a topic or a change was refused. Raises Refusal if the cluster does not answer.

    Without ``yes``, show the plan first and ask; refuse without a terminal. If the deploy would then lose what the plan
    did not show, show the plan again and ask again. With ``refresh``, also revert changes that were made by hand, and
    create topics again that were deleted by hand.
    """
    # A destroy and a refresh check no YAML.
    from topicwarden.operations.declared_topics import checked_stack  # noqa: PLC0415
    from topicwarden.operations.plan import planned  # noqa: PLC0415

    project = find_project()
    engine = writing_engine_of(project, stack, TERMINAL)
    checked = checked_stack(project, stack, "deployed")
    while True:
        report = None
        if not yes:
            require_terminal(f"topicwarden plan --stack {stack}")
            with telling_interrupts("up", stack):
                report = planned(engine, (), checked, listener=TERMINAL)
            terminal_output.write_text(terminal_output.document_text(document(report, Medium.TERMINAL)))
            if not report.deployable:
                return 1
            if not (report.pending or refresh) or not confirmed("Deploy this?"):
                return 0
        try:
            changes = EngineChanges()
            on_line = changes.watching(engine_output())
            with telling_interrupts("up", stack, changes), never_silent("deploying"):
                done = deploy_topics(engine, checked, on_line, refreshing=refresh, confirmed=report, listener=TERMINAL)
        except PlanChanged as changed:
            TERMINAL.warn(str(changed))
        else:
            return 0 if done else 1


def destroy(stack: str, yes: bool) -> int:
    """Delete all topics of the stack; return 1 and delete none if one of them may not be deleted.

    Shows the topics and their records first. Without ``yes``, ask then; refuse without a terminal.
    """
    engine = writing_engine_of(find_project(), stack, TERMINAL)
    plan = planned_destroy(engine, listener=TERMINAL)
    while True:
        terminal_output.write_text(terminal_output.document_text(document(plan, Medium.TERMINAL)))
        if plan.refused:
            return 1
        shown = None
        if not yes:
            require_terminal(f"topicwarden destroy --stack {stack}")
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


def refresh(stack: str) -> int:
    """Write the settings and partitions of the live topics into Pulumi's state; return 1 if Pulumi failed."""
    engine = writing_engine_of(find_project(), stack, TERMINAL)
    with never_silent("refreshing Pulumi's state"):
        return 0 if refresh_topics(engine, engine_output(), listener=TERMINAL) else 1
