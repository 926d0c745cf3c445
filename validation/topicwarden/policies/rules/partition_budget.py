"""A stack's topics together keep to what its cluster bears.

Counts the topics within the rule's scope; every block of settings is a budget of its own. A problem stands at the
budget, not at a topic.

Example: `partition-budget: [{replicas: 12000, stacks: [prod]}, {partitions: 500, domains: [clickstream]}]`
"""

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field

from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation

Count = Annotated[int, Field(strict=True, ge=0)]


class Settings(RuleSettings):
    topics_max: Count | None = Field(default=None, description="The most topics there may be.")
    partitions: Count | None = Field(default=None, description="The most partitions of all topics together.")
    replicas: Count | None = Field(default=None, description="The most replicas of all partitions together.")


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
                f"expected at most {budget} {noun} in all, seen {seen}; the largest is {largest.name}, of "
                f"{largest.partitions} partitions",
            )
