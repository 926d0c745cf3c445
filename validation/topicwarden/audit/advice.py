"""Advice on topics that nobody has declared, from the rules of good practice: notes of a report, never failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.message_text import first_of
from topicwarden.model.topic import Topic
from topicwarden.policies.judge_topics import judge_topics
from topicwarden.policies.policy import PlacedSettings, Policy
from topicwarden.policies.rule import RuleSettings
from topicwarden.policies.rules import RULES, min_insync_replicas, replication_factor
from topicwarden.policies.rules.min_insync_replicas import SETTING as MIN_INSYNC

_MOST_LISTED: Final = 3


_OF_A_DECLARATION: Final = ("protected-names", "standing-allowance", "kafka-version", "service-limits")
"""Rules that are always on, but judge YAML, or its stack."""
_REPLICAS: Final = 3
_OF_REPLICAS: Final[dict[str, RuleSettings]] = {
    "replication-factor": replication_factor.Settings(min=_REPLICAS),
    "min-insync-replicas": min_insync_replicas.Settings(min=2),
}
"""Settings for clusters that have as many brokers."""


def _good_practice(topics: Sequence[Topic], brokers: int) -> dict[tuple[str, str], list[str]]:
    """Return the names of the topics that violate a rule, by rule and message, in the order of the rules.

    ``brokers`` is the number of brokers of the cluster.
    """
    always = {
        name: rule.ALWAYS for name, rule in RULES.items() if rule.ALWAYS is not None and name not in _OF_A_DECLARATION
    }
    settings = {**always, **(_OF_REPLICAS if brokers >= _REPLICAS else {})}
    policy = Policy({name: (PlacedSettings(each),) for name, each in settings.items()})
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for result in judge_topics(topics, policy, ""):
        if result.topic is not None:
            found[result.rule, result.message].append(result.topic)
    return dict(sorted(found.items(), key=lambda each: list(settings).index(each[0][0])))


def advice(snapshot: Snapshot) -> list[str]:
    """Return what the rules of good practice say of the topics, one line for each rule and message."""
    topics = [
        _with_effective_minimum(live)
        for name, live in snapshot.topics.items()
        if not (live.topic.internal or name.startswith("__"))
    ]
    found = _good_practice(topics, len(snapshot.racks))
    return [f"{message} ({rule}): {_listed(names)}" for (rule, message), names in found.items()]


def _with_effective_minimum(live: LiveTopic) -> Topic:
    """Return the topic with its own settings, and the ``min.insync.replicas`` that its brokers may give it."""
    effective = live.topic.config.get(MIN_INSYNC)
    return replace(live.topic, config={**live.own_config, **({MIN_INSYNC: effective} if effective else {})})


def _listed(names: list[str]) -> str:
    return first_of(names, _MOST_LISTED, "topic")
