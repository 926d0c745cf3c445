"""Compare stacks: the topics as the YAML declares them, the changes of plans, and the verdicts of audits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from topicwarden.model.finding import AuditReport
from topicwarden.model.fleet_report import DifferenceKind, StackDifference, StackOutcome
from topicwarden.model.planned_change import PlanReport, Severity, TopicPlan
from topicwarden.model.project import Project
from topicwarden.model.topic_selection import selected
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.specs.load import load
from topicwarden.specs.resolve import Declaration, resolve

_KINDS: Final = tuple(DifferenceKind)
_Cells: TypeAlias = Mapping[tuple[str, str], str]
"""The values of one stack, by topic and name."""


def declared_differences(
    project: Project, stacks: Sequence[str], patterns: Sequence[str] = ()
) -> list[StackDifference]:
    """Return the settings that the YAML declares differently for ``stacks``, of topics that match ``patterns``.

    Stacks that the project does not have are left out.
    """
    known = project.stack_names()
    loaded = load(project.topics, project.root, known)
    return settings_differences(
        {stack: resolve(loaded, stack).declarations for stack in stacks if stack in known}, patterns
    )


def settings_differences(
    declarations: Mapping[str, Iterable[Declaration]], patterns: Sequence[str] = ()
) -> list[StackDifference]:
    """Return the settings of topics that match ``patterns`` and differ between ``declarations``, which are by stack."""
    cells = {
        stack: {
            (each.topic.name, ".".join(map(str, path))): _text(value)
            for each in declared
            if selected(each.topic.name, patterns)
            for path, value in each.locations.settings.items()
            if path != ("topic",) and value != {}
        }
        for stack, declared in declarations.items()
    }
    return _differences(DifferenceKind.SETTING, cells)


def outcome_differences(outcomes: Iterable[StackOutcome]) -> list[StackDifference]:
    """Return the verdicts of audits, or the changes of plans, that are not the same on all stacks that could be read.

    A verdict differs only if at least one stack has a worse one than ``pass``.
    """
    reports = {each.stack: each.report for each in outcomes}
    verdicts = {stack: _verdicts(report) for stack, report in reports.items() if isinstance(report, AuditReport)}
    changes = {
        stack: {(plan.topic, "change"): _change(plan) for plan in report.topics}
        for stack, report in reports.items()
        if isinstance(report, PlanReport)
    }
    noteworthy = [
        each
        for each in _differences(DifferenceKind.VERDICT, verdicts)
        if set(each.values.values()) - {None, Verdict.PASS.value}
    ]
    return [*noteworthy, *_differences(DifferenceKind.CHANGE, changes)]


def _differences(kind: DifferenceKind, cells: Mapping[str, _Cells]) -> list[StackDifference]:
    """Return what differs. Topics with the same values share a row, so that a thousand topics can have a few rows."""
    keys = {key for each in cells.values() for key in each}
    groups: dict[tuple[str, tuple[str | None, ...]], list[str]] = defaultdict(list)
    for topic, name in keys:
        values = tuple(each.get((topic, name)) for each in cells.values())
        if len(set(values)) > 1:
            groups[name, values].append(topic)
    rows = [
        StackDifference(kind=kind, name=name, values=dict(zip(cells, values, strict=True)), topics=sorted(topics))
        for (name, values), topics in groups.items()
    ]
    return sorted(rows, key=_order)


def _order(row: StackDifference) -> tuple[int, str, list[str], list[str]]:
    return _KINDS.index(row.kind), row.name, [value or "" for value in row.values.values()], row.topics


def _verdicts(report: AuditReport) -> _Cells:
    worst: dict[tuple[str, str], Verdict] = {}
    for finding in report.findings:
        key = finding.topic, finding.check
        worst[key] = min(finding.verdict, worst.get(key, Verdict.PASS), key=WORST_FIRST.index)
    return {key: verdict.value for key, verdict in worst.items()}


def _change(plan: TopicPlan) -> str:
    shown = plan.severity in (Severity.REFUSED, Severity.DANGER)
    return f"{plan.action.value}, {plan.severity}" if shown else plan.action.value


def _text(value: Any) -> str:
    """Return a setting on one line: lists with commas, and the entries of ``access`` with their keys."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Mapping):
        return " ".join(_fields(value))
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)


def _fields(entry: Mapping[str, Any]) -> Iterator[str]:
    first = next(iter(entry), None)
    for name, value in entry.items():
        yield _text(value) if name == first else f"{name}={_text(value)}"
