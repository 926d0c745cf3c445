"""A destroy deletes what the YAML of the last deploy allowed, unless a file that exists now withdraws that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import date

from topicwarden.model.access import DeclaredAccess
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import Consequence, RegistryPlan, Severity
from topicwarden.model.subject import DeclaredSubjects
from topicwarden.model.topic import Allowance, AllowedChange, allowed_on
from topicwarden.specs.resolve import Declaration


def without_withdrawn(
    deployed: DeployedStack, declarations: Iterable[Declaration], access: DeclaredAccess, today: date
) -> DeployedStack:
    """Return ``deployed`` with only the words that the topics and files which are declared now still have.

    Access that another topic or file declares now needs the words of that one, too.
    """
    topics = {each.topic.name: each.topic.allow for each in declarations}
    now = {**topics, **access.allow}
    homes = {key: tuple(sorted({*own, *access.homes.get(key, ())})) for key, own in deployed.access.homes.items()}
    moved = {home for each in homes.values() for home in each}

    def kept(words: Mapping[str, frozenset[Allowance]]) -> dict[str, frozenset[Allowance]]:
        return {home: _kept(allow, now.get(home), today) for home, allow in words.items()}

    return replace(
        deployed,
        topics={
            name: replace(
                topic,
                declared=topic.declared
                and replace(topic.declared, allow=_kept(topic.declared.allow, topics.get(name), today)),
            )
            for name, topic in deployed.topics.items()
        },
        access=replace(deployed.access, homes=homes, allow=_chosen(access.allow, moved) | kept(deployed.access.allow)),
        allow=_chosen(topics, moved) | kept(deployed.allow),
    )


def with_withdrawn_subjects(
    plan: RegistryPlan | None, deployed: DeployedStack, subjects: DeclaredSubjects, today: date
) -> RegistryPlan | None:
    """Return ``plan`` with a refusal for each subject whose deletion the last deploy allowed, and its YAML does not."""
    refusals = [
        Consequence(
            kind="delete-subject",
            severity=Severity.REFUSED,
            message=f"the subject {name} would be soft-deleted: the YAML of the last deploy allowed that, and the YAML "
            "that is there now does not",
            measured="Pulumi's state, and the YAML",
            remedy=f"deploy this YAML first, or write {AllowedChange.DELETE_SUBJECT.line} into it",
            location=subjects.subjects[name].location,
        )
        for name, subject in sorted(deployed.subjects.items())
        if name in subjects.subjects
        and AllowedChange.DELETE_SUBJECT in allowed_on(subject.allow, today)
        and AllowedChange.DELETE_SUBJECT not in allowed_on(subjects.subjects[name].allow, today)
    ]
    if not refusals or plan is None:
        return plan
    return plan.model_copy(update={"consequences": [*refusals, *plan.consequences]})


def _kept(allow: frozenset[Allowance], now: frozenset[Allowance] | None, today: date) -> frozenset[Allowance]:
    """Return the words in ``allow`` that ``now``, what the same file allows now, still has; all if it is gone."""
    return allow if now is None else frozenset(each for each in allow if each.change in allowed_on(now, today))


def _chosen(words: Mapping[str, frozenset[Allowance]], homes: Collection[str]) -> dict[str, frozenset[Allowance]]:
    return {home: allow for home, allow in words.items() if home in homes}
