"""Run an operation on several stacks, one after another, and compare the stacks.

A stack on which the operation fails does not stop the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final, TypeAlias

from topicwarden.child_processes import ended_by_signal
from topicwarden.model.finding import AuditReport
from topicwarden.model.fleet_report import COULD_NOT_RUN, DifferenceKind, FleetReport, StackDifference, StackOutcome
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import PlanReport, Severity, TopicPlan
from topicwarden.model.project import Project
from topicwarden.model.topic_selection import selected
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.operations.check import CheckReport, checked_topics
from topicwarden.operations.operation_options import SILENT, ProgressListener, ShareReport
from topicwarden.specs.load import load
from topicwarden.specs.resolve import Declaration, resolve
from topicwarden.specs.stacks.stack_selection import selected_stacks


def fleet_stacks(project: Project, stacks: Sequence[str] = ()) -> list[str]:
    """Return ``stacks`` in their order, each once; all stacks of the project if there are none.

    Raises Refusal if the project has no stacks, or not one of ``stacks``.
    """
    known = selected_stacks(project, None)
    return [each for name in dict.fromkeys(stacks) for each in selected_stacks(project, name)] or known


def run_stacks(
    stacks: Sequence[str],
    operate: Callable[[str, ProgressListener], StackOutcome],
    *,
    describe: Callable[[Exception], str] = str,
    listener: ProgressListener = SILENT,
) -> list[StackOutcome]:
    """Return the outcome of ``operate`` on each of ``stacks``. An error is the outcome of its stack.

    ``describe`` returns the reason of an error on one line. ``operate`` receives a listener whose lines name the stack.
    """
    outcomes: list[StackOutcome] = []
    for number, stack in enumerate(stacks, 1):
        try:
            outcome = operate(stack, _StackListener(listener, stack))
        except Exception as error:  # one stack never stops the others
            if ended_by_signal(error) is not None:
                raise
            outcome = StackOutcome(stack=stack, exit_code=COULD_NOT_RUN, summary=describe(error))
        outcomes.append(outcome)
        listener.note(f"{stack} ({number} of {len(stacks)}): {outcome.summary}")
    return outcomes


class _StackListener(ProgressListener):
    """Passes the progress of one stack to the listener of all stacks, with the name of the stack."""

    def __init__(self, listener: ProgressListener, stack: str) -> None:
        self._listener, self._stack = listener, stack

    @contextmanager
    def stage(self, status: str, then: str = "") -> Iterator[ShareReport]:
        with self._listener.stage(self._named(status), self._named(then) if then else "") as report:
            yield report

    def note(self, line: str) -> None:
        self._listener.note(self._named(line))

    def warn(self, line: str) -> None:
        self._listener.warn(self._named(line))

    def _named(self, line: str) -> str:
        return f"{self._stack}: {line}"


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

    def outcome(stack: str, _: ProgressListener) -> StackOutcome:
        errors, topics = checked.errors_of[stack], len(checked.declarations[stack])
        summary = f"{counted(topics, 'topic')}: {counted(errors, 'error')}"
        return StackOutcome(stack=stack, exit_code=1 if errors else 0, summary=summary)

    outcomes = run_stacks(names, outcome)
    return report, FleetReport("check", outcomes, settings_differences(checked.declarations))


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
