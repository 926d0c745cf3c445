"""Limit the total number of topics, partitions and replicas of a stack.

The rule counts the topics in its scope. Each block of settings is a separate budget. Problems are reported at the
budget in the policy file, not at a topic.

Example: `partition-budget: [{replicas: 12000, stacks: [prod]}, {partitions: 500, domains: [clickstream]}]`
"""

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field

from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation

Count = Annotated[int, Field(strict=True, ge=0)]


class Settings(RuleSettings):
    topics_max: Count | None = Field(default=None, description="The maximum number of topics.")
    partitions: Count | None = Field(default=None, description="The maximum number of partitions of all topics.")
    replicas: Count | None = Field(default=None, description="The maximum number of replicas of all partitions.")


ALWAYS = None


def judge_stack(topics: Sequence[Topic], settings: Settings) -> Iterable[RuleViolation]:
    partitions = sum(topic.partitions for topic in topics)
    replicas = sum(topic.partitions * topic.replication_factor for topic in topics)
    counts = (("topics", settings.topics_max, len(topics)), ("partitions", settings.partitions, partitions))
    for noun, budget, seen in (*counts, ("replicas", settings.replicas, replicas)):
        if budget is not None and seen > budget:
            largest = max(topics, key=lambda topic: topic.partitions)
            yield RuleViolation(
                (),
                f"expected at most {budget} {noun} in total, got {seen}; the largest topic is {largest.name} with "
                f"{largest.partitions} partitions",
            )
