"""What a plan hands on: the topics that `pulumi up` would change, and what follows for the data in them.

These models are the published schema of ``topicwarden plan --format json`` (``topicwarden schema plan``).
Times are milliseconds since the epoch, sizes are bytes, offsets are Kafka's.
"""

from __future__ import annotations

from collections import Counter
from datetime import date
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from topicwarden.model.finding import FindingLocation
from topicwarden.model.topic import Allowance


class Severity(StrEnum):
    """How much a consequence weighs; a refused one may not be done as the YAML stands."""

    REFUSED = "refused"
    DANGER = "danger"
    NOTE = "note"


BY_WEIGHT = (Severity.REFUSED, Severity.DANGER, Severity.NOTE)


class Action(StrEnum):
    """What `pulumi up` would do with a topic."""

    CREATE = "create"
    ADOPT = "adopt"
    UPDATE = "update"
    RECREATE = "recreate"
    DELETE = "delete"
    MOVE = "move"
    """Nothing by Pulumi: replicas that `topicwarden rebalance` moves."""
    DRIFT = "drift"
    """Nothing: what was changed by hand stays until a refresh, or until the topic is updated."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Setting(_Model):
    """One setting of a topic that is to change, or that was changed by hand. Values as Kafka spells them."""

    name: str = Field(description="`partitions`, `replication_factor`, or Kafka's name of a configuration.")
    declared: str | None = Field(description="In the YAML; null where it says nothing.")
    deployed: str | None = Field(description="In Pulumi's state, as last deployed; null where that has nothing.")
    live: str | None = Field(description="In force on the cluster; null where the topic is not there.")
    source: str | None = Field(default=None, description="Where the live value comes from (Kafka's ConfigSource).")
    place: FindingLocation | None = None


class PartitionEffect(_Model):
    """What a change does to one partition; counts are exact unless the consequence says otherwise."""

    partition: int
    records: int | None = None
    bytes: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    replicas_before: list[int] = []
    replicas_after: list[int] = []


class GroupEffect(_Model):
    """What a change does to a consumer group, in one partition."""

    group: str
    partition: int
    records: int = Field(
        description="Records that it has not read yet, and will not be able to; for a share group at most."
    )
    members: int | None = Field(default=None, description="Members at the moment; null where not to be had.")


class Consequence(_Model):
    """One thing that follows from a change, with its numbers and how they were had."""

    kind: str
    weight: Severity
    message: str
    because: list[str] = Field(default=[], description="How it comes about: one reason a line.")
    measured: str = Field(default="", description="How the numbers were had, and how exact they are.")
    remedy: str = ""
    evidence: dict[str, int | float | str | None] = {}
    partitions: list[PartitionEffect] = []
    groups: list[GroupEffect] = []
    place: FindingLocation | None = Field(default=None, description="The line of YAML that asks for it.")


class TopicPlan(_Model):
    """One topic that is to change."""

    topic: str
    domain: str = ""
    action: Action
    settings: list[Setting] = []
    consequences: list[Consequence] = Field(default=[], description="The weightiest first.")
    held: bool = Field(
        default=False,
        description="The deploy leaves what was changed by hand, as putting it back would lose data that the YAML does "
        "not allow to lose.",
    )
    needs: list[Allowance] = Field(
        default=[], description="Allowed changes without which the topic's change would be refused."
    )
    place: FindingLocation | None = None

    @property
    def weight(self) -> Severity | None:
        """The weightiest consequence's; None where nothing follows that is worth saying."""
        found = {consequence.weight for consequence in self.consequences}
        return next((weight for weight in BY_WEIGHT if weight in found), None)


class StandingAllowance(_Model):
    """A destructive change that a topic's YAML allows on the day of the plan."""

    topic: str
    change: Allowance
    until: date | None = Field(description="The last day (UTC) on which it is allowed; null for no end.")
    needed: bool = Field(description="Whether this plan needs it; else it has done its work, or waits for it.")
    place: FindingLocation | None = None


class PreviewResult(_Model):
    """What the `pulumi preview` under the plan said."""

    ran: bool = Field(description="Whether it came to its end without an error.")
    steps: dict[str, int] = Field(default={}, description="Pulumi's operations on topics, counted.")
    errors: list[str] = Field(default=[], description="Pulumi's own errors, a line each.")


class PlanReport(_Model):
    """What deploying a stack would change, and what would follow, at one moment."""

    schema_version: int = 1
    topicwarden: str = Field(description="The version that made the plan.")
    stack: str
    cluster_id: str | None
    taken_at: int = Field(description="When the cluster was looked at.")
    topics: list[TopicPlan] = Field(description="What changes, sorted by name.")
    unchanged: int = Field(description="Topics that are as declared.")
    unseen: list[str] = Field(default=[], description="What could not be looked at, and which right is missing.")
    remarks: list[str] = Field(default=[], description="What else to know before a deploy, such as a moved cluster.")
    allowances: list[StandingAllowance] = Field(
        default=[], description="Destructive changes that the YAML allows today, sorted by topic."
    )
    engine: PreviewResult

    @property
    def refused(self) -> bool:
        return any(topic.weight is Severity.REFUSED for topic in self.topics)

    @property
    def pending(self) -> bool:
        """Whether a deploy, or a rebalance, would change anything."""
        return any(topic.action is not Action.DRIFT for topic in self.topics)

    def counts(self) -> Counter[Action]:
        return Counter(topic.action for topic in self.topics)
