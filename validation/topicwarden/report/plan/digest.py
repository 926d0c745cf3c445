"""What every format says alike: topics by weight, the plan in one sentence, and its counts in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from topicwarden.model.planned_change import BY_WEIGHT, Action, PlanReport, Severity, StandingAllowance, TopicPlan

SYMBOLS: Final = {Severity.REFUSED: "✗", Severity.DANGER: "!", Severity.NOTE: "·", None: "✓"}


_Counted = TypeVar("_Counted", Action, Severity)


@dataclass(frozen=True)
class PlanDigest:
    """A plan, put in the order in which it is read: the weightiest topics first, then by name."""

    report: PlanReport
    topics: list[TopicPlan]
    weights: Counter[Severity]
    """Topics by their weightiest consequence; those without one are not counted."""

    @property
    def summary(self) -> str:
        """The counts in one line: ``3 topics change: 1 create, 2 update; 1 refused; 996 as declared``."""
        actions = self.report.counts()
        drift = actions.pop(Action.DRIFT, 0)
        changing = actions.total()
        parts = [f"{changes(changing)}: {_counted(actions, Action)}" if changing else "no topic changes"]
        parts += [f"{drift:,} changed by hand"] if drift else []
        parts += [_counted(self.weights, (Severity.REFUSED, Severity.DANGER))] if self._heavy else []
        parts += [f"{self.report.unchanged:,} as declared"]
        parts += [f"{len(self.report.unseen):,} not seen"] if self.report.unseen else []
        parts += [] if self.report.engine.ran else ["the preview failed"]
        return "; ".join(parts)

    @property
    def headline(self) -> str:
        """One plain sentence for the person who approves."""
        refused, danger = self.weights[Severity.REFUSED], self.weights[Severity.DANGER]
        if not self.report.engine.ran:
            return "Pulumi's preview failed, so this is not the whole plan."
        if refused:
            return f"{topics(refused)} may not be deployed as the YAML stands."
        if danger:
            return f"{topics(danger)} {'needs' if danger == 1 else 'need'} a second look before this is merged."
        if not self.report.pending:
            return "Nothing would change."
        seen = " in what could be seen" if self.report.unseen else ""
        return f"{changes(len(self.topics) - self.report.counts()[Action.DRIFT])}; no danger was found{seen}."

    @property
    def _heavy(self) -> bool:
        return bool(self.weights[Severity.REFUSED] or self.weights[Severity.DANGER])


def digest(report: PlanReport) -> PlanDigest:
    """Orders a plan once, for all formats."""
    found = sorted(map(by_weight, report.topics), key=lambda topic: (_rank(topic.weight), topic.topic))
    return PlanDigest(report, found, Counter(topic.weight for topic in found if topic.weight))


def by_weight(topic: TopicPlan) -> TopicPlan:
    """The topic with its consequences in their one order: weight, kind, message."""
    ordered = sorted(topic.consequences, key=lambda each: (_rank(each.weight), each.kind, each.message))
    return topic.model_copy(update={"consequences": ordered})


def allowance(standing: StandingAllowance) -> str:
    """``orders.v1: delete until 2027-01-31; nothing in this plan needs it``."""
    end = f"until {standing.until}" if standing.until else "without an end"
    use = "this plan needs it" if standing.needed else "nothing in this plan needs it"
    return f"{standing.topic}: {standing.change.value} {end}; {use}"


def changes(number: int) -> str:
    return f"{topics(number)} {'changes' if number == 1 else 'change'}"


def topics(number: int) -> str:
    return f"{number:,} {'topic' if number == 1 else 'topics'}"


def _rank(weight: Severity | None) -> int:
    return len(BY_WEIGHT) if weight is None else BY_WEIGHT.index(weight)


def _counted(found: Mapping[_Counted, int], order: Iterable[_Counted]) -> str:
    return ", ".join(f"{found[each]:,} {each.value}" for each in order if each in found)
