"""The content that all formats of a plan share: topics by severity, a headline, and a line with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from topicwarden.model.planned_change import MOST_SEVERE_FIRST, Action, ActiveAllowance, PlanReport, Severity, TopicPlan

SYMBOLS: Final = {Severity.REFUSED: "✗", Severity.DANGER: "!", Severity.NOTE: "·", None: "✓"}


_Counted = TypeVar("_Counted", Action, Severity)


@dataclass(frozen=True)
class PlanDigest:
    """A plan with its topics in reading order: the most severe first, then by name."""

    report: PlanReport
    topics: list[TopicPlan]
    severities: Counter[Severity]
    """Number of topics by the severity of their most severe consequence; topics without consequences do not count."""

    @property
    def summary(self) -> str:
        """The counts in one line: ``3 topics change: 1 create, 2 update; 1 refused; 996 as declared``."""
        actions = self.report.counts()
        drift = actions.pop(Action.DRIFT, 0)
        changing = actions.total()
        parts = [f"{topics_change(changing)}: {_counted(actions, Action)}" if changing else "no topic changes"]
        parts += [f"{drift:,} drifted"] if drift else []
        parts += [_counted(self.severities, (Severity.REFUSED, Severity.DANGER))] if self._has_danger else []
        parts += [f"{self.report.unchanged:,} as declared"]
        parts += [f"{len(self.report.unseen):,} not visible"] if self.report.unseen else []
        parts += [] if self.report.engine.ran else ["the preview failed"]
        return "; ".join(parts)

    @property
    def headline(self) -> str:
        """One sentence for the person who approves the change."""
        refused, danger = self.severities[Severity.REFUSED], self.severities[Severity.DANGER]
        if not self.report.engine.ran:
            return "Pulumi's preview failed, so this plan is incomplete."
        if refused:
            verb = "has" if refused == 1 else "have"
            return f"{topic_count(refused)} {verb} a refused change, so the plan cannot be deployed."
        if danger:
            return f"{topic_count(danger)} {'needs' if danger == 1 else 'need'} a careful review before the merge."
        if not self.report.pending:
            return "Nothing would change."
        seen = " in the visible part of the cluster" if self.report.unseen else ""
        return f"{topics_change(len(self.topics) - self.report.counts()[Action.DRIFT])}; no danger was found{seen}."

    @property
    def _has_danger(self) -> bool:
        return bool(self.severities[Severity.REFUSED] or self.severities[Severity.DANGER])


def digest(report: PlanReport) -> PlanDigest:
    """Return the plan in reading order, for all formats."""
    topics = sorted(
        map(with_sorted_consequences, report.topics), key=lambda topic: (_rank(topic.severity), topic.topic)
    )
    return PlanDigest(report, topics, Counter(topic.severity for topic in topics if topic.severity))


def with_sorted_consequences(topic: TopicPlan) -> TopicPlan:
    """Return the topic with its consequences sorted by severity, kind and message."""
    ordered = sorted(topic.consequences, key=lambda each: (_rank(each.severity), each.kind, each.message))
    return topic.model_copy(update={"consequences": ordered})


def allowance_text(allowance: ActiveAllowance) -> str:
    """Return ``orders.v1: delete until 2027-01-31; nothing in this plan needs it``."""
    end = f"until {allowance.until}" if allowance.until else "without an end date"
    use = "this plan needs it" if allowance.needed else "nothing in this plan needs it"
    return f"{allowance.topic}: {allowance.change.value} {end}; {use}"


def topics_change(number: int) -> str:
    """Return ``1 topic changes``, ``2 topics change``."""
    return f"{topic_count(number)} {'changes' if number == 1 else 'change'}"


def topic_count(number: int) -> str:
    """Return ``1 topic``, ``2 topics``."""
    return f"{number:,} {'topic' if number == 1 else 'topics'}"


def _rank(severity: Severity | None) -> int:
    return len(MOST_SEVERE_FIRST) if severity is None else MOST_SEVERE_FIRST.index(severity)


def _counted(counts: Mapping[_Counted, int], order: Iterable[_Counted]) -> str:
    return ", ".join(f"{counts[each]:,} {each.value}" for each in order if each in counts)
