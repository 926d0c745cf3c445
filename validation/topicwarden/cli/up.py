"""`topicwarden up`: run `pulumi up` with the options that fit the backend and the number of topics."""

from __future__ import annotations

from rich.console import Console

from topicwarden.cli.terminal import TERMINAL, confirmed, engine_output, require_terminal
from topicwarden.model.project import find_project
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.deploy import deploy_topics
from topicwarden.operations.find_pulumi import writing_engine_of
from topicwarden.operations.plan import planned
from topicwarden.report import terminal_output
from topicwarden.report.plan import text


def up(stack: str, yes: bool, refresh: bool = False) -> int:
    """Deploy the stack; return 1 if a topic or a change was refused. Raises Refusal if the cluster does not answer.

    Without ``yes``, show the plan first and ask; refuse without a terminal. With ``refresh``, also revert changes
    that were made by hand, and create topics again that were deleted by hand.
    """
    project = find_project()
    engine = writing_engine_of(project, stack, TERMINAL)
    checked = checked_stack(project, stack, "deployed")
    if not yes:
        require_terminal(f"topicwarden plan --stack {stack}")
        report = planned(engine, (), checked, listener=TERMINAL)
        terminal_output.write_text(text.render(report, Console()))
        if not report.deployable:
            return 1
        if not (report.pending or refresh) or not confirmed("Deploy this?"):
            return 0
    return 0 if deploy_topics(engine, checked, engine_output(), refreshing=refresh, listener=TERMINAL) else 1
