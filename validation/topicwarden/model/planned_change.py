"""The report of a plan: the topics that `pulumi up` would change, and the consequences for their data.

These models are the published schema of ``topicwarden plan --format json`` (``topicwarden schema plan``).
Times are milliseconds since the epoch, sizes are bytes, offsets are Kafka offsets.
"""

from __future__ import annotations

from collections import Counter
from datetime import date
from enum import StrEnum

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.problem import Location
from topicwarden.model.topic import AllowedChange


class Severity(StrEnum):
    """The severity of a consequence. The current YAML does not allow a refused change."""

    REFUSED = "refused"
    DANGER = "danger"
    NOTE = "note"


MOST_SEVERE_FIRST = (Severity.REFUSED, Severity.DANGER, Severity.NOTE)


class Action(StrEnum):
    """The operation that `pulumi up` would perform on a topic."""

    CREATE = "create"
    ADOPT = "adopt"
    UPDATE = "update"
    RECREATE = "recreate"
    DELETE = "delete"
    MOVE = "move"
    """Pulumi changes nothing; `topicwarden rebalance` moves replicas."""
    DRIFT = "drift"
    """Pulumi changes nothing; a manual change remains until a refresh, or until an update of the topic."""


class Setting(StrictModel):
    """One setting of a topic that will change, or that was changed manually. Values have Kafka's own spelling."""

    name: str = Field(description="`partitions`, `replication_factor`, or Kafka's name of a configuration.")
    declared: str | None = Field(description="The value in the YAML; null if the YAML does not declare it.")
    deployed: str | None = Field(description="The value in Pulumi's state, as last deployed; null if it has none.")
    live: str | None = Field(description="The value in force on the cluster; null if the topic does not exist.")
    source: str | None = Field(default=None, description="The source of the live value (Kafka's ConfigSource).")
    location: Location | None = None


class PartitionEffect(StrictModel):
    """The effect of a change on one partition. Counts are exact unless the consequence says otherwise."""

    partition: int
    records: int | None = None
    bytes: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    replicas_before: list[int] = Field(default=[])
    replicas_after: list[int] = Field(default=[])


class GroupEffect(StrictModel):
    """The effect of a change on one consumer group, in one partition."""

    group: str
    partition: int
    records: int = Field(
        description="Records that the group has not read yet and can no longer read after the change; an upper bound "
        "for a share group."
    )
    members: int | None = Field(default=None, description="Current number of members; null if not available.")


class Consequence(StrictModel):
    """One consequence of a change, with its numbers and how they were measured."""

    kind: str
    severity: Severity
    message: str
    because: list[str] = Field(default=[], description="The reasons, one per entry.")
    measured: str = Field(default="", description="How the numbers were measured, and how exact they are.")
    remedy: str = ""
    evidence: dict[str, int | float | str | None] = Field(default={})
    partitions: list[PartitionEffect] = Field(default=[])
    groups: list[GroupEffect] = Field(default=[])
    location: Location | None = Field(default=None, description="The line of YAML that causes it.")


class TopicPlan(StrictModel):
    """One topic that will change."""

    topic: str
    domain: str = ""
    action: Action
    settings: list[Setting] = Field(default=[])
    consequences: list[Consequence] = Field(default=[], description="The most severe first.")
    held: bool = Field(
        default=False,
        description="The deploy keeps a manual change, because reverting it would lose data and the YAML does not "
        "allow this loss.",
    )
    needs: list[AllowedChange] = Field(
        default=[], description="Entries of `allow` that this change needs; without them it would be refused."
    )
    location: Location | None = None

    @property
    def severity(self) -> Severity | None:
        """The severity of the most severe consequence; None if there are no consequences."""
        severities = {consequence.severity for consequence in self.consequences}
        return next((severity for severity in MOST_SEVERE_FIRST if severity in severities), None)


class ActiveAllowance(StrictModel):
    """A destructive change that a topic's YAML allows on the day of the plan."""

    topic: str
    change: AllowedChange
    until: date | None = Field(description="The last day (UTC) on which the change is allowed; null for no end.")
    needed: bool = Field(
        description="True if this plan needs it; false if the change is already done, or not declared yet."
    )
    location: Location | None = None


class PreviewResult(StrictModel):
    """The result of the `pulumi preview` that the plan ran."""

    ran: bool = Field(description="True if the preview ended without an error.")
    steps: dict[str, int] = Field(default={}, description="Number of Pulumi operations on topics, by operation.")
    errors: list[str] = Field(default=[], description="Pulumi's own errors, one per entry.")


class PlanReport(StrictModel):
    """The changes that a deploy of one stack would make, and their consequences, at one point in time."""

    schema_version: int = 1
    topicwarden: str = Field(description="The version that made the plan.")
    stack: str
    cluster_id: str | None
    taken_at: int = Field(description="The time of the cluster snapshot.")
    topics: list[TopicPlan] = Field(description="The topics that change, sorted by name.")
    unchanged: int = Field(description="Number of topics that are as declared.")
    unseen: list[str] = Field(
        default=[], description="Parts of the cluster that could not be read, and the ACL that is missing."
    )
    remarks: list[str] = Field(default=[], description="Other warnings before a deploy, such as a moved cluster.")
    allowances: list[ActiveAllowance] = Field(
        default=[], description="Destructive changes that the YAML allows today, sorted by topic."
    )
    engine: PreviewResult

    @property
    def refused(self) -> bool:
        """True if the YAML does not allow at least one of the changes."""
        return any(topic.severity is Severity.REFUSED for topic in self.topics)

    @property
    def deployable(self) -> bool:
        """True if the preview succeeded and no change is refused."""
        return self.engine.ran and not self.refused

    @property
    def pending(self) -> bool:
        """True if a deploy or a rebalance would change anything."""
        return any(topic.action is not Action.DRIFT for topic in self.topics)

    def counts(self) -> Counter[Action]:
        """Return the number of changed topics by action."""
        return Counter(topic.action for topic in self.topics)
