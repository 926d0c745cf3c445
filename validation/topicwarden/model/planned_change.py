"""The report of a plan: the topics that `pulumi up` would change, and the consequences for their data.

These models are the published schema of ``topicwarden plan --format json`` (``topicwarden schema plan``).
Times are milliseconds since the epoch, sizes are bytes, offsets are Kafka offsets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from pydantic import Field

from topicwarden.model.change_terms import AccessKind as AccessKind  # noqa: PLC0414 -- a plan has them
from topicwarden.model.change_terms import Action as Action  # noqa: PLC0414 -- a plan has them
from topicwarden.model.change_terms import PlanSection as PlanSection  # noqa: PLC0414 -- a plan has them
from topicwarden.model.field_types import StrictModel
from topicwarden.model.message_text import first_lines
from topicwarden.model.problem import Location
from topicwarden.model.timestamps import between
from topicwarden.model.topic import AllowedChange
from topicwarden.model.usage import UseAction, UserKind


class Severity(StrEnum):
    """The severity of a consequence. The current YAML does not allow a refused change."""

    REFUSED = "refused"
    DANGER = "danger"
    NOTE = "note"


MOST_SEVERE_FIRST = (Severity.REFUSED, Severity.DANGER, Severity.NOTE)


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
        description="Records that the group has not read yet and can no longer read after the change; an upper bound, "
        "because transaction markers and gaps have offsets."
    )
    members: int | None = Field(default=None, description="Current number of members; null if not available.")


class RecentUser(StrictModel):
    """A client that read or wrote a topic in the last days, by the name that brokers and observations know it by."""

    action: UseAction
    kind: UserKind
    name: str
    after: int | None = Field(description="The last use was after this time; null if no observation saw a use.")
    until: int = Field(description="The last use was no later than this time.")
    active: bool = Field(default=False, description="It has members that read the topic now, or a transaction on it.")

    @property
    def sentence(self) -> str:
        """Return ``group billing committed between 2026-11-20 08:00 and 2026-11-21 08:00 UTC``."""
        subject = _SUBJECTS[self.kind].format(self.name)
        if self.active:
            return f"{subject} {'reads' if self.action is UseAction.READ else 'writes'} it now"
        if self.kind is UserKind.GROUP:
            verb = "was active" if self.after == self.until else "committed"
        else:
            verb = "read" if self.action is UseAction.READ else "wrote"
        return f"{subject} {verb} {between(self.after, self.until)}"


_SUBJECTS = {
    UserKind.GROUP: "group {}",
    UserKind.TRANSACTIONAL_ID: "transactional id {}",
    UserKind.PRODUCER_ID: "a producer with the id {}",
    UserKind.PRINCIPAL: "principal {}",
}


_MOST_SENTENCES = 5


def user_sentences(users: Sequence[RecentUser]) -> Iterable[str]:
    """Yield one sentence for each of the first five users, and one with the number of the others."""
    yield from first_lines([user.sentence for user in users], _MOST_SENTENCES, "user")


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
    users: list[RecentUser] = Field(
        default=[],
        description="Who is known to have read and written the topic in the last days, if it loses records: active "
        "ones first, then the most recent.",
    )
    location: Location | None = Field(default=None, description="The line of YAML that causes it.")

    @property
    def advice(self) -> str:
        """The remedy as a sentence without its full stop, such as ``Keep the retention``; empty without one."""
        return f"{self.remedy[:1].upper()}{self.remedy[1:]}"


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
        return most_severe(self.consequences)

    @property
    def change(self) -> str:
        """The action for people: ``move, drift`` for a topic that was changed by hand, and whose replicas also move.

        A topic that is not on the cluster has no live values, and nothing moves.
        """
        moves = any(
            each.name == "replication_factor" and each.live is not None and each.declared != each.live
            for each in self.settings
        )
        return f"{Action.MOVE}, {Action.DRIFT}" if moves and self.action is Action.DRIFT else self.action.value


def most_severe(consequences: Iterable[Consequence]) -> Severity | None:
    """Return the severity of the most severe of ``consequences``; None if there are none."""
    severities = {consequence.severity for consequence in consequences}
    return next((severity for severity in MOST_SEVERE_FIRST if severity in severities), None)


def most_severe_first(consequences: Iterable[Consequence]) -> list[Consequence]:
    """Return ``consequences`` sorted by severity; those of equal severity stay in their order."""
    return sorted(consequences, key=lambda each: MOST_SEVERE_FIRST.index(each.severity))


class AccessItem(StrictModel):
    """One entry of access, such as an ACL or a user, that will change. No password is ever part of it."""

    kind: AccessKind
    action: Action
    name: str = Field(description="Such as `Allow Read on Topic orders.v1 for User:billing`.")
    before: str | None = Field(default=None, description="The value on the cluster; null for an ACL, or for none.")
    after: str | None = Field(default=None, description="The declared value; null for an ACL, or for none.")
    location: Location | None = None


class PrincipalAccess(StrictModel):
    """The operations that one principal gains and loses, as the authorizer decides before and after the deploy."""

    principal: str = Field(description="A principal, or `everyone else` for all that no ACL names.")
    gains: list[str] = Field(default=[], description="Such as `Read on Topic orders.v1`.")
    loses: list[str] = Field(default=[])


class AccessPlan(StrictModel):
    """The changes of access, who gains and who loses by them, and the consequences for clients that use it now."""

    items: list[AccessItem] = Field(description="What changes, sorted by kind and name.")
    principals: list[PrincipalAccess] = Field(default=[], description="Sorted by name.")
    consequences: list[Consequence] = Field(default=[], description="The most severe first.")
    needs: list[AllowedChange] = Field(
        default=[], description="Entries of `allow` that this change needs; without them it would be refused."
    )
    unchanged: int = Field(default=0, description="Number of declared entries that are as declared.")
    foreign: dict[AccessKind, int] = Field(
        default={}, description="Number on the cluster that this stack does not own. A deploy never changes them."
    )

    @property
    def severity(self) -> Severity | None:
        """The severity of the most severe consequence; None if there are no consequences."""
        return most_severe(self.consequences)

    @property
    def pending(self) -> bool:
        """True if a deploy would change anything."""
        return any(item.action is not Action.DRIFT for item in self.items)

    def counts(self) -> Counter[Action]:
        """Return the number of changes by action."""
        return Counter(item.action for item in self.items)


class SubjectPlan(StrictModel):
    """One subject of the Schema Registry that will change, or that was changed by hand."""

    subject: str
    action: Action
    format: str = Field(default="", description="`avro`, `json` or `protobuf`.")
    settings: list[Setting] = Field(
        default=[],
        description="`version`, `compatibility` and `references`, each if it changes. A version that the deploy "
        "registers is `new`.",
    )
    difference: list[str] = Field(
        default=[],
        description="The lines of the latest schema in the registry and of the declared one that differ, as a unified "
        "diff of both in their readable form; empty for a new subject.",
    )
    consequences: list[Consequence] = Field(default=[], description="The most severe first.")
    needs: list[AllowedChange] = Field(
        default=[], description="Entries of `allow` that this change needs; without them it would be refused."
    )
    location: Location | None = None

    @property
    def severity(self) -> Severity | None:
        """The severity of the most severe consequence; None if there are no consequences."""
        return most_severe(self.consequences)


class RegistryPlan(StrictModel):
    """The subjects that change, and the consequences that concern the whole Schema Registry."""

    subjects: list[SubjectPlan] = Field(description="What changes, sorted by name.")
    consequences: list[Consequence] = Field(default=[], description="The most severe first.")
    unchanged: int = Field(default=0, description="Number of declared subjects that are as declared.")
    judged: bool = Field(
        default=True, description="False if the registry did not answer: then nothing is known about the subjects."
    )

    @property
    def severity(self) -> Severity | None:
        """The severity of the most severe consequence; None if there are no consequences."""
        return most_severe([*self.consequences, *(each for subject in self.subjects for each in subject.consequences)])

    @property
    def pending(self) -> bool:
        """True if a deploy would change anything."""
        return any(subject.action is not Action.DRIFT for subject in self.subjects)

    def counts(self) -> Counter[Action]:
        """Return the number of changes by action."""
        return Counter(subject.action for subject in self.subjects)

    def severities(self) -> Counter[Severity]:
        """Return the number of subjects by the severity of their most severe consequence; the registry is one, too."""
        every = [most_severe(self.consequences), *(subject.severity for subject in self.subjects)]
        return Counter(severity for severity in every if severity is not None)


@dataclass(frozen=True)
class PlannedPart:
    """A part of a plan that is judged by itself: one topic, the access, the Schema Registry, or one of its subjects.

    ``title`` names it in messages, such as ``subject orders-value``. ``change`` is empty if several things change.
    """

    section: PlanSection
    title: str
    consequences: Sequence[Consequence]
    change: str = ""
    location: Location | None = None


def planned_parts(
    topics: Iterable[TopicPlan] = (), access: AccessPlan | None = None, registry: RegistryPlan | None = None
) -> list[PlannedPart]:
    """Return all that has consequences: the topics first, and the subjects last."""
    parts = [
        PlannedPart(PlanSection.TOPICS, each.topic, each.consequences, each.change, each.location) for each in topics
    ]
    if access:
        parts.append(PlannedPart(PlanSection.ACCESS, "access", access.consequences))
    if registry:
        parts.append(PlannedPart(PlanSection.REGISTRY, "Schema Registry", registry.consequences))
        parts += [
            PlannedPart(
                PlanSection.REGISTRY, f"subject {each.subject}", each.consequences, each.action.value, each.location
            )
            for each in registry.subjects
        ]
    return parts


class ActiveAllowance(StrictModel):
    """A destructive change that the YAML allows on the day of the plan."""

    topic: str | None = Field(
        description="The topic whose YAML allows it; null for a file below `access/` or `subjects/`."
    )
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
    access: AccessPlan | None = Field(
        default=None, description="The changes of access; null if the stack neither declares nor has deployed any."
    )
    registry: RegistryPlan | None = Field(
        default=None, description="The changes of subjects; null if the stack neither declares nor has deployed any."
    )
    unseen: list[str] = Field(
        default=[], description="Parts of the cluster that could not be read, and the ACL that is missing."
    )
    remarks: list[str] = Field(default=[], description="Other warnings before a deploy, such as a moved cluster.")
    allowances: list[ActiveAllowance] = Field(
        default=[],
        description="Destructive changes that the YAML allows today, those of `access/` and `subjects/` before topics.",
    )
    engine: PreviewResult

    @property
    def parts(self) -> list[PlannedPart]:
        """All that has consequences, for whatever treats all kinds of resources in the same way."""
        return planned_parts(self.topics, self.access, self.registry)

    @property
    def refused(self) -> bool:
        """True if the YAML does not allow at least one of the changes."""
        return any(each.severity is Severity.REFUSED for part in self.parts for each in part.consequences)

    @property
    def deployable(self) -> bool:
        """True if the preview succeeded and no change is refused."""
        return self.engine.ran and not self.refused

    @property
    def pending(self) -> bool:
        """True if a deploy or a rebalance would change anything."""
        others = any(each.pending for each in (self.access, self.registry) if each)
        return others or any(topic.action is not Action.DRIFT for topic in self.topics)

    def counts(self) -> Counter[Action]:
        """Return the number of changed topics by action."""
        return Counter(topic.action for topic in self.topics)
