"""A plan for a pull request: one comment that is written over, below GitHub's limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from topicwarden.model.planned_change import Consequence, PlanReport, TopicPlan
from topicwarden.report import display
from topicwarden.report.plan import tables
from topicwarden.report.plan.digest import SYMBOLS, PlanDigest, allowance, digest, topics
from topicwarden.report.plan.github_markdown import code, plain
from topicwarden.report.plan.setting_display import brief
from topicwarden.report.plan.tables import PlanTable

LIMIT: Final = 65_536
"""GitHub's, in characters. Here it bounds the bytes, which are never fewer."""

# What the cuts themselves, and the lines that say so, may take.
_RESERVE: Final = 1_000
_LISTED: Final = 20
_TOLD: Final = 240
_HEADER: Final = "| | Topic | Change | What follows |\n|---|---|---|---|\n"


def marker(stack: str) -> str:
    """The first line of the comment, which no one sees: by it the comment is found again."""
    return f"<!-- topicwarden plan {display.one_line(stack).replace('>', '')} -->"


def render(report: PlanReport) -> str:
    """The verdict, the counts, a row a topic, and each topic's details folded; the weightiest first, then by name.

    Where not all fits, the last rows and the last details are left out, and their number is said.
    """
    view = digest(report)
    head, foot = "".join(_head(view)), _foot(report)
    room = LIMIT - _RESERVE - _size(head) - _size(foot)
    # Details get what the rows leave, and a third at least: a refusal without its reasons is of no use.
    rows = _fitting(view.topics, _row, room * 2 // 3)
    table = _HEADER + "".join(rows) + "\n" if rows else ""
    details = _fitting([topic for topic in view.topics if _telling(topic)], _details, room - _size(table))
    elsewhere = f"the job's artifact has them, and {code(f'topicwarden plan --stack {report.stack}')} shows them."
    if cut := len(view.topics) - len(rows):
        table += f"… and {topics(cut)} more: {elsewhere}\n\n"
    text = head + table + "".join(details)
    if cut := sum(map(_telling, view.topics)) - len(details):
        text += f"… and the details of {topics(cut)} more: {elsewhere}\n\n"
    return text + foot


def _head(view: PlanDigest) -> Iterator[str]:
    report = view.report
    yield f"{marker(report.stack)}\n"
    yield f"**Plan for stack {code(report.stack)}: {plain(view.headline)}**\n\n{plain(view.summary)}\n\n"
    errors = [f"Pulumi: {plain(_cut(error, 1_000))}" for error in report.engine.errors]
    unseen = [f"Not seen: {plain(_cut(line, 400))}" for line in report.unseen]
    remarks = [f"Remark: {plain(_cut(line, 400))}" for line in report.remarks]
    allowances = [f"Allowed: {plain(_cut(allowance(each), 400))}" for each in report.allowances]
    for lines in (errors, unseen, remarks, allowances):
        yield from (f"- {line}\n" for line in lines[:_LISTED])
        if len(lines) > _LISTED:
            yield f"- … and {len(lines) - _LISTED:,} more\n"
        yield "\n" if lines else ""


def _foot(report: PlanReport) -> str:
    cluster = code(report.cluster_id) if report.cluster_id else "unknown"
    seen = f"Cluster {cluster} as of {display.moment(report.taken_at)}, topicwarden {plain(report.topicwarden)}."
    return f"<sub>{seen}</sub>\n"


def _row(topic: TopicPlan) -> str:
    change = brief(topic)
    cells = [SYMBOLS[topic.weight], code(topic.topic), topic.action.value + (f": {plain(change)}" if change else "")]
    follows = display.NOTHING
    if topic.consequences:
        first, *rest = topic.consequences
        more = f" (and {len(rest):,} more)" if rest else ""
        follows = f"**{first.weight.value}**: {plain(_cut(first.message, _TOLD))}{more}"
    return f"| {' | '.join([*cells, follows])} |\n"


def _details(topic: TopicPlan) -> str:
    weight = f"<b>{topic.weight.value}</b> " if topic.weight else ""
    parts = [
        f"<details><summary>{SYMBOLS[topic.weight]} {weight}{code(topic.topic)}: {topic.action.value}</summary>\n\n"
    ]
    if grid := tables.settings(topic):
        parts += _table(grid)
    for consequence in topic.consequences:
        parts += _consequence(consequence)
    if topic.place and not any(consequence.place for consequence in topic.consequences):
        parts.append(f"Declared at {code(str(topic.place))}\n\n")
    return "".join([*parts, "</details>\n\n"])


def _consequence(consequence: Consequence) -> Iterator[str]:
    yield f"**{consequence.weight.value}** {code(consequence.kind)}: {plain(consequence.message)}\n"
    because, folded = consequence.because[:_LISTED], len(consequence.because) - _LISTED
    yield from (f"- because {plain(reason)}\n" for reason in because)
    yield f"- … and {folded:,} more reasons\n" if folded > 0 else ""
    yield f"- measured: {plain(consequence.measured)}\n" if consequence.measured else ""
    yield f"- **remedy**: {plain(consequence.remedy)}\n" if consequence.remedy else ""
    yield f"- declared at {code(str(consequence.place))}\n" if consequence.place else ""
    yield "\n"
    for grid in (tables.partitions(consequence), tables.groups(consequence)):
        if grid:
            yield from _table(grid)


def _table(grid: PlanTable) -> Iterator[str]:
    yield f"| {' | '.join(grid.headings)} |\n"
    yield f"|{'|'.join('--:' if number in grid.numbers else '---' for number in range(len(grid.headings)))}|\n"
    for row in grid.rows:
        yield f"| {' | '.join(map(plain, row))} |\n"
    yield f"\n{grid.more}\n\n" if grid.more else "\n"


def _fitting(found: Sequence[TopicPlan], draw: Callable[[TopicPlan], str], room: int) -> list[str]:
    """The drawings of the first topics, as many as ``room`` bytes hold."""
    drawn: list[str] = []
    for topic in found:
        text = draw(topic)
        room -= _size(text)
        if room < 0:
            break
        drawn.append(text)
    return drawn


def _telling(topic: TopicPlan) -> bool:
    return bool(topic.settings or topic.consequences)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _size(text: str) -> int:
    return len(text.encode())
