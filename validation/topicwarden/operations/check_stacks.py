"""Check the declared topics of several stacks, and compare the stacks, without a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from topicwarden.model.fleet_report import FleetReport, StackOutcome
from topicwarden.model.message_text import counted
from topicwarden.model.project import Project
from topicwarden.operations.check import CheckReport, checked_topics
from topicwarden.operations.fleet import fleet_stacks, run_stacks
from topicwarden.operations.progress_listener import ProgressListener
from topicwarden.operations.stack_differences import settings_differences


def check_stacks(
    project: Project,
    stacks: Sequence[str] = (),
    base: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[CheckReport, FleetReport]:
    """Return the problems of the YAML for ``stacks`` (empty: for all stacks), and the report on all of them.

    ``base`` and ``say`` are those of ``check_topics``. Raises Refusal as ``check_topics`` does.
    """
    names = fleet_stacks(project, stacks)
    report, checked = checked_topics(project, names, (), base, say)
    incompatible = report.errors - len(checked.errors)

    def outcome(stack: str, _: ProgressListener) -> StackOutcome:
        errors, topics = checked.errors_of[stack] + incompatible, len(checked.declarations[stack])
        summary = f"{counted(topics, 'topic')}: {counted(errors, 'error')}"
        return StackOutcome(stack=stack, exit_code=1 if errors else 0, summary=summary)

    outcomes = run_stacks(names, outcome)
    return report, FleetReport("check", outcomes, settings_differences(checked.declarations))
