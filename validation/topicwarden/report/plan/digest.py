"""The content that all formats of a plan share: topics by severity, a headline, and a line with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from topicwarden.kinds import modules
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import (
    MOST_SEVERE_FIRST,
    AccessItem,
    AccessKind,
    AccessPlan,
    Action,
    ActiveAllowance,
    PlanReport,
    PrincipalAccess,
    RegistryPlan,
    Severity,
    SubjectPlan,
    TopicPlan,
)

SYMBOLS: Final = {Severity.REFUSED: "✗", Severity.DANGER: "!", Severity.NOTE: "·", None: "✓"}

_Counted = TypeVar("_Counted", Action, Severity)
_Planned = TypeVar("_Planned", TopicPlan, AccessPlan, SubjectPlan, RegistryPlan)
_OWNERS: Final[Mapping[AccessKind, str]] = {
    each.PART.kind: each.PART.owners or each.PART.plural for each in modules("change")
}


@dataclass(frozen=True)
class PlanDigest:
    """A plan with its topics in reading order: the most severe first, then by name."""

    report: PlanReport
    topics: list[TopicPlan]
    severities: Counter[Severity]
    """Number of topics by the severity of their most severe consequence; topics without consequences do not count."""
    access: AccessPlan | None = None
    """The changes of access, with their consequences in reading order; None without changes and consequences."""
    registry: RegistryPlan | None = None
    """The changes of subjects, the most severe first, then by name; None without changes and consequences."""

    @property
    def summary(self) -> str:
        """The counts in one line: ``3 topics change: 1 create, 2 update; 1 refused; 996 as declared``."""
        actions = self.report.counts()
        drift = actions.pop(Action.DRIFT, 0)
        changing = actions.total()
        parts = [f"{_topics_change(changing)}: {_counted(actions, Action)}" if changing else "no topic changes"]
        parts += [f"{drift:,} drifted"] if drift else []
        parts += [_counted(self.severities, (Severity.REFUSED, Severity.DANGER))] if self._has_danger else []
        parts += [f"{self.report.unchanged:,} as declared"]
        parts += [f"access: {_access_summary(self.report.access)}"] if self.report.access else []
        parts += [f"subjects: {_registry_summary(self.report.registry)}"] if self.report.registry else []
        parts += [f"{len(self.report.unseen):,} not visible"] if self.report.unseen else []
        parts += [] if self.report.engine.ran else ["the preview failed"]
        return "; ".join(parts)

    @property
    def headline(self) -> str:
        """One sentence for the person who approves the change."""
        if not self.report.engine.ran:
            return "Pulumi's preview failed, so this plan is incomplete."
        if refused := self._subjects(Severity.REFUSED):
            return (
                f"{refused[0]} {'has' if refused[1] == 1 else 'have'} a refused change, so the plan cannot be deployed."
            )
        if danger := self._subjects(Severity.DANGER):
            return f"{danger[0]} {'needs' if danger[1] == 1 else 'need'} a careful review before the merge."
        if not self.report.pending:
            return "Nothing would change."
        seen = " in the visible part of the cluster" if self.report.unseen else ""
        topics = len(self.topics) - self.report.counts()[Action.DRIFT]
        access = self.access is not None and self.access.pending
        changing = [_topics_change(topics)] if topics or not access else []
        changing += ["access changes"] if access else []
        subjects = sum(each.action is not Action.DRIFT for each in self.registry.subjects) if self.registry else 0
        changing = changing if topics or access or not subjects else []
        changing += [f"{counted(subjects, 'subject')} {'changes' if subjects == 1 else 'change'}"] if subjects else []
        changes = " and ".join(changing)
        return f"{changes[0].upper()}{changes[1:]}; no danger was found{seen}."

    def _subjects(self, severity: Severity) -> tuple[str, int] | None:
        """Return the topics and the access with this severity, as text, and their number; None if there are none."""
        topics = self.severities[severity]
        access = self.access is not None and self.access.severity is severity
        named = [counted(topics, "topic")] if topics else []
        named += ["access" if topics else "Access"] if access else []
        registry = self.registry.severities()[severity] if self.registry else 0
        named += [counted(registry, "subject")] if registry else []
        return (" and ".join(named), topics + access + registry) if named else None

    @property
    def _has_danger(self) -> bool:
        return bool(self.severities[Severity.REFUSED] or self.severities[Severity.DANGER])


def _access_summary(access: AccessPlan) -> str:
    """Return the counts of access: ``2 create, 1 delete, 1 refused, 40 as declared, 300 of others``."""
    severities = Counter(each.severity for each in access.consequences)
    counts = [_counted(access.counts(), Action), _counted(severities, (Severity.REFUSED, Severity.DANGER))]
    counts += [f"{access.unchanged:,} as declared"]
    counts += [f"{sum(access.foreign.values()):,} of others"] if access.foreign else []
    return ", ".join(filter(None, counts))


def _registry_summary(registry: RegistryPlan) -> str:
    """Return the counts of subjects: ``2 create, 1 update, 1 refused, 40 as declared``."""
    counts = [_counted(registry.counts(), Action), _counted(registry.severities(), (Severity.REFUSED, Severity.DANGER))]
    counts += [f"{registry.unchanged:,} as declared" if registry.judged else f"{registry.unchanged:,} not judged"]
    return ", ".join(filter(None, counts))


def digest(report: PlanReport) -> PlanDigest:
    """Return the plan in reading order, for all formats."""
    topics = sorted(
        map(with_sorted_consequences, report.topics), key=lambda topic: (_rank(topic.severity), topic.topic)
    )
    severities = Counter(topic.severity for topic in topics if topic.severity)
    access = report.access and with_sorted_consequences(report.access)
    registry = report.registry and _with_sorted_subjects(report.registry, by_severity=True)
    return PlanDigest(
        report,
        topics,
        severities,
        access if access and (access.items or access.consequences) else None,
        registry if registry and (registry.subjects or registry.consequences) else None,
    )


def ordered(report: PlanReport) -> PlanReport:
    """Return the plan sorted by name, and consequences by severity and kind, so that two plans can be compared."""
    topics = sorted(map(with_sorted_consequences, report.topics), key=lambda topic: topic.topic)
    access = report.access and with_sorted_consequences(report.access)
    registry = report.registry and _with_sorted_subjects(report.registry, by_severity=False)
    return report.model_copy(update={"topics": topics, "access": access, "registry": registry})


def _with_sorted_subjects(registry: RegistryPlan, *, by_severity: bool) -> RegistryPlan:
    """Return the plan of subjects with all consequences sorted; the most severe subjects first, or by name only."""
    subjects = sorted(
        map(with_sorted_consequences, registry.subjects),
        key=lambda each: (_rank(each.severity) if by_severity else 0, each.subject),
    )
    return with_sorted_consequences(registry.model_copy(update={"subjects": subjects}))


def with_sorted_consequences(plan: _Planned) -> _Planned:
    """Return the plan of a topic, a subject, or another part with its consequences in reading order."""
    ordered = sorted(plan.consequences, key=lambda each: (_rank(each.severity), each.kind, each.message))
    return plan.model_copy(update={"consequences": ordered})


def item_text(item: AccessItem) -> str:
    """Return ``ACL Allow Read on Topic orders for User:billing``; other kinds have their values: ``a → b``."""
    if item.before is None and item.after is None:
        return f"{item.kind.value} {item.name}"
    if item.action is Action.DRIFT:
        values = f"{item.before or 'none'}, declared {item.after}"
    else:
        values = " → ".join(dict.fromkeys((item.before or "none", item.after or "none")))
    return f"{item.kind.value} {item.name}: {values}"


def principal_text(principal: PrincipalAccess) -> str:
    """Return ``User:billing loses Read on Topic orders``, with what it gains, if anything."""
    parts = [f"gains {', '.join(principal.gains)}"] if principal.gains else []
    parts += [f"loses {', '.join(principal.loses)}"] if principal.loses else []
    return f"{principal.principal} {' and '.join(parts)}"


def foreign_text(access: AccessPlan) -> str:
    """Return ``not of this stack, and not touched: 301 ACLs, 2 users``; empty if there are none."""
    counts = [
        f"{number:,} {_OWNERS[kind] if number != 1 else kind.value}" for kind, number in sorted(access.foreign.items())
    ]
    return f"not of this stack, and not touched: {', '.join(counts)}" if counts else ""


def allowance_text(allowance: ActiveAllowance) -> str:
    """Return ``orders.v1: delete until 2027-01-31; nothing in this plan needs it``."""
    end = f"until {allowance.until}" if allowance.until else "without an end date"
    use = "this plan needs it" if allowance.needed else "nothing in this plan needs it"
    folder = allowance.location.file.partition("/")[0] if allowance.location else "access"
    return f"{allowance.topic or folder}: {allowance.change.value} {end}; {use}"


def _topics_change(number: int) -> str:
    return f"{counted(number, 'topic')} {'changes' if number == 1 else 'change'}"


def _rank(severity: Severity | None) -> int:
    return len(MOST_SEVERE_FIRST) if severity is None else MOST_SEVERE_FIRST.index(severity)


def _counted(counts: Mapping[_Counted, int], order: Iterable[_Counted]) -> str:
    return ", ".join(f"{counts[each]:,} {each.value}" for each in order if each in counts)
