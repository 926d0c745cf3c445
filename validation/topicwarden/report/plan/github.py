"""Write a plan as GitHub workflow commands, with a summary line for the log."""

from __future__ import annotations

from typing import Final

from topicwarden.model.planned_change import (
    ActiveAllowance,
    Consequence,
    PlannedPart,
    PlanReport,
    Severity,
    planned_parts,
    user_sentences,
)
from topicwarden.model.problem import Location
from topicwarden.report.display import one_line, printable
from topicwarden.report.plan.digest import allowance_text, digest
from topicwarden.report.problems.github import annotation

_COMMANDS: Final = {Severity.REFUSED: "error", Severity.DANGER: "warning", Severity.NOTE: "notice"}


def render(report: PlanReport) -> str:
    """Return an ``::error`` for each refused change, a ``::warning`` for each danger, and a ``::notice`` for each note.

    The most severe of all topics come first, because GitHub Actions shows at most ten of each command.
    """
    view = digest(report)
    lines = [annotation("error", printable(error), {"title": "pulumi preview"}) for error in report.engine.errors]
    lines += [
        _command(part, each)
        for severity in _COMMANDS
        for part in planned_parts(view.topics, view.access, view.registry)
        for each in part.consequences
        if each.severity is severity
    ]
    lines += [
        annotation("warning", printable(line), {"title": "topicwarden plan: not visible"}) for line in report.unseen
    ]
    lines += [annotation("warning", printable(line), {"title": "topicwarden plan: remark"}) for line in report.remarks]
    lines += [_allowance(each) for each in report.allowances]
    return "".join(lines) + f"plan of stack {one_line(report.stack)}: {view.summary}\n".replace("##[", "## [")


def _command(part: PlannedPart, consequence: Consequence) -> str:
    subject = f"{part.title} ({part.change})" if part.change else part.title
    location = consequence.location or part.location
    users = "; ".join(map(one_line, user_sentences(consequence.users)))
    # GitHub's log shows only the message, so the message repeats the location.
    first = f"{f'{location}: ' if location else ''}{one_line(subject)}: {one_line(consequence.message)}"
    sentences = (first, one_line(consequence.advice), f"Used: {users}" if users else "")
    message = ". ".join(each.removesuffix(".") for each in sentences if each)
    return annotation(
        _COMMANDS[consequence.severity],
        message,
        {**_position(location), "title": f"topicwarden plan: {consequence.kind}"},
    )


def _allowance(allowance: ActiveAllowance) -> str:
    message = f"{f'{allowance.location}: ' if allowance.location else ''}{one_line(allowance_text(allowance))}"
    return annotation("notice", message, {**_position(allowance.location), "title": "topicwarden plan: allowed"})


def _position(location: Location | None) -> dict[str, str | int]:
    return {"file": location.file, "line": location.line, "col": location.column} if location else {}
