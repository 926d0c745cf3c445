"""The parts of the comment on a pull request that are around a plan: its first lines, and a comment without a plan."""

from __future__ import annotations

from topicwarden.report import display
from topicwarden.report.markdown import code
from topicwarden.report.plan.document import marker


def project_marker(first_line: str, folder: str) -> str:
    """Return the first line of the comment of the project in ``folder``, and a line that names the folder."""
    shown = display.one_line(folder).replace(">", "")
    return f"{first_line.removesuffix('-->')}of {shown} -->\n**Project {code(folder)}**\n"


def no_plan(stack: str, log: str) -> str:
    """Return the comment for a run that could not plan. ``log`` is the address of the run's log."""
    reason = f"The log of {log} has the reason." if log else "The log of the job has the reason."
    return f"{marker(stack)}\n**There is no plan for stack {code(stack)}.** {reason}\n"
