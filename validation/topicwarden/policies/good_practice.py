"""Rules of good practice for topics that nobody has declared: what any team would be told, without its own policies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from topicwarden.model.topic import Topic
from topicwarden.policies.judge_topics import judge_topics
from topicwarden.policies.policy import PlacedSettings, Policy
from topicwarden.policies.rule import RuleSettings
from topicwarden.policies.rules import RULES, min_insync_replicas, replication_factor

_OF_A_DECLARATION: Final = ("protected-names", "standing-allowance", "kafka-version", "service-limits")
"""Rules that are always on, but judge YAML, or its stack."""
_REPLICAS: Final = 3
_OF_REPLICAS: Final[dict[str, RuleSettings]] = {
    "replication-factor": replication_factor.Settings(min=_REPLICAS),
    "min-insync-replicas": min_insync_replicas.Settings(min=2),
}
"""Settings for clusters that have as many brokers."""


def good_practice(topics: Sequence[Topic], brokers: int) -> dict[tuple[str, str], list[str]]:
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
