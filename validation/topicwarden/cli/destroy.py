"""`topicwarden destroy`: delete the topics of a stack, if the deployed YAML of each allows that."""

from __future__ import annotations

from rich.console import Console

from topicwarden.cli.terminal import TERMINAL, confirmed, engine_output, require_terminal
from topicwarden.model.project import find_project
from topicwarden.operations.deploy import destroy_topics, planned_destroy
from topicwarden.operations.find_pulumi import writing_engine_of
from topicwarden.report import terminal_output
from topicwarden.report.plan import text


def destroy(stack: str, yes: bool) -> int:
    """Delete all topics of the stack; return 1 and delete none if one of them may not be deleted.

    Shows the topics and their records first. Without ``yes``, ask then; refuse without a terminal.
    """
    engine = writing_engine_of(find_project(), stack, TERMINAL)
    plan = planned_destroy(engine, listener=TERMINAL)
    terminal_output.write_text(text.render(plan, Console()))
    if plan.refused:
        return 1
    if not yes:
        require_terminal(f"topicwarden destroy --stack {stack}")
        if not confirmed("Delete these topics with their records?"):
            return 0
    return 0 if destroy_topics(engine, plan, engine_output(), listener=TERMINAL) else 1
