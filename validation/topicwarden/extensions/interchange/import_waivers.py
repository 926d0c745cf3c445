"""Waivers for what imported topics violate: one for each rule and folder, in a new file below ``policies/``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import date
from itertools import chain
from textwrap import TextWrapper
from typing import Final

from topicwarden.model.message_text import counted
from topicwarden.model.problem import Level
from topicwarden.model.timestamps import today
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.policies.judge_topics import judge_access, judge_topics
from topicwarden.specs.write.yaml_values import yaml_scalar

_WRAPPER: Final = TextWrapper(
    120, initial_indent=" " * 4, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
)


def draft_waivers(
    checked: CheckedStacks, stack: str, topics: Collection[str], files: Collection[str], until: date
) -> str:
    """Return a policy file with waivers until ``until`` for each error that ``topics`` cause; empty without any.

    ``files`` are the new files: errors of those below ``access/`` are waived, too. The waivers name each topic, so that
    topics of tomorrow obey the rules.
    """
    declared = [declaration.topic for declaration in checked.declarations[stack]]
    domains = {topic.name: topic.domain for topic in declared}
    waived: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    results = (
        judge_topics(declared, checked.policy, stack),
        judge_access(checked.access[stack], declared, checked.policy, stack),
    )
    for result in chain.from_iterable(results):
        if result.waiver or result.level is not Level.ERROR:
            continue
        if result.topic is None and result.location and result.location.file in files:
            waived[result.rule, "access"].add(result.location.file)
            continue
        # A rule about all topics together, such as partition-budget, does not count waived topics.
        for name in topics if result.topic is None else {result.topic}.intersection(topics):
            waived[result.rule, f"topics/{domains[name] or ''}"].add(name)
    if not waived:
        return ""
    header = f"# What imported topics violated on {today()}. Correct them folder by folder, and delete their waivers.\n"
    entries = [_entry(rule, where, sorted(names), until) for (rule, where), names in sorted(waived.items())]
    return f"{header}waivers:\n{''.join(entries)}"


def _entry(rule: str, where: str, names: list[str], until: date) -> str:
    listed = _WRAPPER.fill(f"topics: [{', '.join(map(yaml_scalar, names))}]")
    return (
        f"  - rule: {rule}  # {counted(len(names), 'file' if where == 'access' else 'topic')} in {where.rstrip('/')}/\n"
        f"{listed}\n"
        f"    until: {until}\n"
        f"    reason: imported on {today()} as on the cluster\n"
        "    by: topicwarden import\n"
    )
