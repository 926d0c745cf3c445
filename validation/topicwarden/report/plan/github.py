"""A plan as GitHub's workflow commands, and its summary in the log."""

from __future__ import annotations

from typing import Final

from topicwarden.model.finding import FindingLocation
from topicwarden.model.planned_change import Consequence, PlanReport, Severity, StandingAllowance, TopicPlan
from topicwarden.report.display import one_line, printable
from topicwarden.report.github_annotation import annotation
from topicwarden.report.plan.digest import allowance, digest

_COMMANDS: Final = {Severity.REFUSED: "error", Severity.DANGER: "warning", Severity.NOTE: "notice"}


def render(report: PlanReport) -> str:
    """An ``::error`` for what is refused, a ``::warning`` for danger, a ``::notice`` for a note.

    The weightiest come first over all topics, as Actions shows ten of each command at most.
    """
    view = digest(report)
    found = [(topic, each) for topic in view.topics for each in topic.consequences]
    lines = [annotation("error", printable(error), {"title": "pulumi preview"}) for error in report.engine.errors]
    lines += [_command(topic, each) for weight in _COMMANDS for topic, each in found if each.weight is weight]
    lines += [annotation("warning", printable(line), {"title": "topicwarden plan: not seen"}) for line in report.unseen]
    lines += [annotation("warning", printable(line), {"title": "topicwarden plan: remark"}) for line in report.remarks]
    lines += [_allowance(each) for each in report.allowances]
    return "".join(lines) + f"plan of stack {one_line(report.stack)}: {view.summary}\n"


def _command(topic: TopicPlan, consequence: Consequence) -> str:
    place = consequence.place or topic.place
    remedy = f" {one_line(consequence.remedy)}" if consequence.remedy else ""
    subject = f"{one_line(topic.topic)} ({topic.action.value})"
    # The log shows only the message, so the place stands in it again.
    message = f"{f'{place}: ' if place else ''}{subject}: {one_line(consequence.message)}{remedy}"
    return annotation(
        _COMMANDS[consequence.weight], message, {**_at(place), "title": f"topicwarden plan: {consequence.kind}"}
    )


def _allowance(standing: StandingAllowance) -> str:
    message = f"{f'{standing.place}: ' if standing.place else ''}{one_line(allowance(standing))}"
    return annotation("notice", message, {**_at(standing.place), "title": "topicwarden plan: allowed"})


def _at(place: FindingLocation | None) -> dict[str, str | int]:
    return {"file": place.file, "line": place.line, "col": place.column} if place else {}
