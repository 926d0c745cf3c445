"""`topicwarden up`, `destroy` and `refresh`: run Pulumi with the options that fit the backend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Final

import typer

from topicwarden.child_processes import ended_by_signal
from topicwarden.cli.failure import showing_problems
from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.options import Stack
from topicwarden.cli.terminal import TERMINAL, confirmed, engine_output, never_silent, require_terminal
from topicwarden.model.message_text import counted, first_of
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output

app = typer.Typer()


@app.command(epilog="Example: topicwarden up --stack dev --yes\n\nPlain `pulumi up` works, too.")
@without_garbage_collection()
@showing_problems()
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
    changes = EngineChanges()
    with telling_interrupts("up", stack, changes):
        return _up(stack, changes, yes=yes, refreshing=refresh)


def _up(stack: str, changes: EngineChanges, *, yes: bool, refreshing: bool) -> int:
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
            from topicwarden.cli.plan import note_pulumi
            from topicwarden.operations.plan import planned
            from topicwarden.report.document import Medium
            from topicwarden.report.plan.document import document

            require_terminal(f"topicwarden plan --stack {stack}")
            report = planned(engine, (), checked, listener=TERMINAL)
            terminal_output.write_text(terminal_output.document_text(document(report, Medium.TERMINAL)))
            note_pulumi(report)
            if not report.deployable:
                return 1
            if not (report.pending or refreshing) or not confirmed("Deploy this?"):
                return 0
        try:
            changes.titles = resource_names(checked.access.get(stack, NO_ACCESS))
            on_line = changes.watching(engine_output(changes.titles))
            with never_silent("deploying"):
                done = deploy_topics(
                    engine,
                    checked,
                    on_line,
                    refreshing=refreshing,
                    confirmed=report,
                    titles=changes.titles,
                    listener=TERMINAL,
                )
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
    changes = EngineChanges()
    with telling_interrupts("destroy", stack, changes):
        return _destroy(stack, changes, yes=yes)


def _destroy(stack: str, changes: EngineChanges, *, yes: bool) -> int:
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
            require_terminal()
            if not confirmed("Delete these topics with their records?"):
                return 0
            shown, plan = plan, planned_destroy(engine, listener=TERMINAL)
        try:
            on_line = changes.watching(engine_output(changes.titles))
            with never_silent("deleting"):
                done = destroy_topics(engine, plan, on_line, confirmed=shown, titles=changes.titles, listener=TERMINAL)
        except PlanChanged as changed:
            TERMINAL.warn(str(changed))
        else:
            return 0 if done else 1


@app.command(epilog="Example: topicwarden refresh --stack dev\n\nIt changes no topic.")
@without_garbage_collection()
def refresh(
    stack: Stack,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accepted, as by pulumi; it asks nothing.")] = False,
) -> int:
    """Read the topics as they are on the cluster into Pulumi's state: runs `pulumi refresh`."""
    so_far = "no topic was changed, and Pulumi's state is refreshed in part or not at all"
    with telling_interrupts("refresh", stack, so_far=so_far):
        from topicwarden.operations.deploy import refresh_topics
        from topicwarden.operations.find_pulumi import writing_engine_of

        engine = writing_engine_of(find_project(), stack, TERMINAL)
        titles: dict[str, str] = {}
        with never_silent("refreshing Pulumi's state"):
            return 0 if refresh_topics(engine, engine_output(titles), titles=titles, listener=TERMINAL) else 1


_CHANGE: Final = re.compile(
    r"\s*(?:[-+~]{1,2})\s+(?P<type>\S+) (?P<name>\S+) (?:(?P<begun>creating|updating|deleting|replacing)|"
    r"(?P<made>created|updated|deleted|replaced))\b"
)
"""A line of `pulumi` about one resource."""
_GROUPS: Final = ("pulumi:", "topicwarden:index:")
"""The start of the types that only group others, such as the stack and the topics of a domain."""
_LAST_LINE: Final = "Duration: "
"""The start of the last line of `pulumi`, also if it was cancelled; without that line, it was killed or crashed."""
_MOST_NAMES: Final = 5


@dataclass
class EngineChanges:
    """The changes that `pulumi` reports while it runs: those that it has made, and those that it has begun.

    ``titles`` says by name what a resource is, if its name is a hash. ``started``: `pulumi` has printed a line.
    ``complete``: it has reported its end, so no change is missing.
    """

    titles: dict[str, str] = field(default_factory=dict)
    made: dict[str, None] = field(default_factory=dict)
    begun: dict[str, None] = field(default_factory=dict)
    started: bool = False
    complete: bool = False

    def watching(self, show: Callable[[str], None]) -> Callable[[str], None]:
        """Return a function that takes each line of `pulumi`, and passes it to ``show``."""

        def on_line(line: str) -> None:
            self.started, self.complete = True, line.startswith(_LAST_LINE) or (self.complete and not line.strip())
            if (change := _CHANGE.match(line)) and not change["type"].startswith(_GROUPS):
                name = self.titles.get(change["name"], change["name"])
                self.begun.pop(name, None)
                (self.made if change["made"] else self.begun)[name] = None
            show(line)

        return on_line

    def text(self) -> str:
        """Return what is done, what may be done, and what is not done."""
        if not self.made and not self.begun:
            return "Pulumi had not begun a change" if self.started else "nothing was changed"
        made = f"{counted(len(self.made), 'change')} made"
        made += f" ({_listed(self.made)})" if self.made else ""
        begun = f"; begun and perhaps made: {_listed(self.begun)}" if self.begun else ""
        others = "no other change was begun" if self.complete else "Pulumi ended early, and may have made others"
        return f"{made}{begun}; {others}"


@contextmanager
def telling_interrupts(
    command: str, stack: str, changes: EngineChanges | None = None, *, so_far: str = "nothing was changed"
) -> Iterator[None]:
    """If a signal ends the block, say what ``command`` has changed, and how to go on. ``so_far``: if no ``changes``."""
    try:
        yield
    except BaseException as error:
        if ended_by_signal(error) is not None:
            done = so_far if changes is None else changes.text()
            TERMINAL.warn(
                f"topicwarden: interrupted: {done}; `topicwarden plan --stack {stack}` shows what is left, and "
                f"`topicwarden {command} --stack {stack}` goes on"
            )
        raise


def _listed(names: dict[str, None]) -> str:
    return first_of(list(names), _MOST_NAMES)
