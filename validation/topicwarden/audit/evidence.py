"""The kinds of evidence that a check can require, and what an audit reports if one of them is missing.

A kind is an ``AuditedTopic`` in which some fields are never None. A check combines the kinds that it requires in its
class ``Required``, and receives the topic as an object of this class. So mypy knows what is present.

Evidence can be missing for two reasons:

- The topic has no such thing: it is not declared, not on the cluster, or was not audited before. The check does not
  apply (``view_of``).
- The evidence exists, but is not visible or was not read. The check is undecidable (``missing_evidence``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import CheckResult, View
from topicwarden.audit.collect.cluster_context import GroupProgress
from topicwarden.audit.collect.internal_topics import InternalTopic, fits_connect_name
from topicwarden.audit.history.topic_state import TopicState
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.audit.scan.record_comparison import ComparedRecords
from topicwarden.kafka.read.group_lags import GroupLag
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.message_text import quoted
from topicwarden.model.topic import Topic
from topicwarden.model.usage import TopicUse
from topicwarden.model.verdict import Verdict
from topicwarden.usage.use_context import UseContext


class Declared(AuditedTopic):
    """The topic is declared in YAML."""

    declared: Topic


class ManagedSubjects(Declared):
    """A deploy registers the schema of the keys or of the values in the Schema Registry."""


class Live(AuditedTopic):
    """The topic is on the cluster: its partitions, replicas and offsets, and the settings that are visible."""

    live: LiveTopic


class SettingsOrContents(Live):
    """The brokers returned the topic's configuration, or the check applies because of declared contents alone."""


class LiveSettings(SettingsOrContents):
    """The brokers returned the topic's configuration (DescribeConfigs)."""


class KnownRole(Live):
    """Kafka, Kafka Connect or Kafka Streams created the topic for itself, and its role is known."""

    internal: InternalTopic


class ConsumerGroups(Live):
    """The consumer groups with offsets in the topic."""

    consumer_groups: GroupProgress


class GroupLags(ConsumerGroups):
    """The first record of each partition that each group has not read (Read on the topic)."""

    group_lags: Mapping[str, GroupLag]


class ObservedUse(Live):
    """Observations of who uses the topic, this one included, and what explains a use."""

    use: TopicUse
    use_context: UseContext


class EveryGroup(ObservedUse):
    """All groups that use the topic: a group that this user may not see may be another user."""


class EveryProducer(ObservedUse):
    """All producers of the topic, and their transactional ids."""


class PreviousState(Live):
    """The state of the topic in the previous audit."""

    @property
    def previous(self) -> TopicState:
        assert self.past.state
        return self.past.state


class Counts(Live):
    """The counts of all records, of each partition that could be read."""

    counts: Mapping[int, PartitionCounts]


class CommittedCounts(Counts):
    """The counts of the records that a consumer reading committed sees.

    Partitions that may fail the check are read again if they may hold uncommitted records.
    """

    committed: Mapping[int, PartitionCounts]


class ExactCommitted(CommittedCounts):
    """The counts of committed records, also where the check passes with all records: it needs a least number."""


class EveryRecord(Counts):
    """The counts of every record: the check judges shares of all records, so a part of them does not suffice."""


class EveryPartition(Counts):
    """The counts of every partition: the check compares partitions."""


class Compared(Counts):
    """The records that rules have compared with each other, by the name of the rule."""

    compared: Mapping[str, ComparedRecords]


class Placement(Counts):
    """The partitioners that explain in which partition each key is, for a number of partitions that did not change."""

    placement: KeyPlacement


class ApacheLog(Live):
    """The topic's log, stored by Apache Kafka's own code, whose rules for segments and cleaning the proof rests on."""


def view_of(required: type[View], topic: AuditedTopic) -> View | None:
    """Return the topic as a check that requires ``required`` sees it; None if there is nothing for it to judge."""
    if any(is_absent(topic) for is_absent in _absences(required.__mro__)):
        return None
    view = object.__new__(required)  # an audit makes a view for each check of each topic; __init__ takes a third of it
    vars(view).update(vars(topic))
    return view


_ABSENCES: Final[Mapping[type[AuditedTopic], Callable[[AuditedTopic], bool]]] = {
    Declared: lambda topic: topic.declared is None,
    ManagedSubjects: lambda topic: not topic.subjects,
    Live: lambda topic: topic.live is None,
    KnownRole: lambda topic: topic.internal is None,
    ConsumerGroups: lambda topic: topic.consumer_groups is None,
    ObservedUse: lambda topic: topic.use is None or topic.use_context is None,
    PreviousState: lambda topic: topic.past.state is None,
}
"""For each view, whether its evidence is absent."""


@cache
def _absences(kinds: tuple[type, ...]) -> tuple[Callable[[AuditedTopic], bool], ...]:
    return tuple(is_absent for kind, is_absent in _ABSENCES.items() if kind in kinds)


def evidence_to_apply(required: type[AuditedTopic], topic: AuditedTopic) -> CheckResult | None:
    """Return the result for missing evidence that would tell whether a check applies, after ``applies`` said no.

    None if the check certainly does not apply.
    """
    if topic.live is None:
        return None
    if issubclass(required, KnownRole):
        hidden = topic.internal is None and not topic.readable and fits_connect_name(topic.live.topic.name)
        return RECORDS_HIDDEN if hidden else None
    if issubclass(required, SettingsOrContents) and not topic.settings_known and not topic.live.topic.internal:
        return None if view_of(required, topic) is None else SETTINGS_HIDDEN
    return None


def missing_evidence(required: type[AuditedTopic], topic: AuditedTopic) -> CheckResult | None:
    """Return the result of a check that applies, if required evidence is missing for the whole topic, else None."""
    return next(_missing_evidence(required, topic), None)


def _missing_evidence(required: type[AuditedTopic], topic: AuditedTopic) -> Iterator[CheckResult]:
    if topic.change and (not topic.change.grown or issubclass(required, Placement)):
        yield _undecidable(f"the topic {topic.change.message}", "audit the topic again")
    if issubclass(required, LiveSettings) and not topic.settings_known:
        yield SETTINGS_HIDDEN
    if issubclass(required, Counts) and not topic.readable:
        yield RECORDS_HIDDEN
    if issubclass(required, GroupLags) and topic.group_lags is None:
        yield RECORDS_HIDDEN
    if issubclass(required, ApacheLog) and topic.other_log:
        yield _other_log(topic)
    if issubclass(required, EveryRecord) and topic.coverage < 1:
        message = f"needs every record, and only {topic.share_read} of the offsets were read"
        yield _undecidable(message, "audit without --sample and --max-records")
    if issubclass(required, Compared) and topic.compared is None:
        yield _undecidable("the records were not compared", "audit the topic again")
    if issubclass(required, Placement) and topic.placement is None:
        yield _undecidable("the records were not counted by key", "audit the topic again")


def missing_partitions(required: type[AuditedTopic], topic: AuditedTopic) -> Iterator[CheckResult]:
    """Yield a result for the partitions whose records could not be read, with each reason."""
    if not issubclass(required, Counts):
        return
    for reason in sorted(set(topic.unread.values())):
        yield _undecidable(
            f"could not be read to the end: {reason}",
            "look at the partition and at the record at this offset, then audit again",
            tuple(sorted(partition for partition, why in topic.unread.items() if why == reason)),
        )
    replicas = topic.live.replicas if topic.live else ()
    leaderless = tuple(state.partition for state in replicas if state.leader is None)
    if leaderless:
        message = "could not be read: the partition has no leader"
        yield _undecidable(message, "bring back a broker that holds a replica", leaderless)


def hidden_users(required: type[AuditedTopic], topic: AuditedTopic) -> Iterator[CheckResult]:
    """Yield a result if the topic may have users that this user may not see."""
    if topic.use is None:
        return
    if issubclass(required, EveryGroup) and topic.use.groups_complete_since is None:
        yield _undecidable(
            "there may be groups that this user may not see",
            "grant Describe on the Cluster resource, and on all groups",
        )
    if issubclass(required, EveryProducer) and topic.use.producers_complete_since is None:
        yield _undecidable(
            "there may be producers or transactional ids that this user may not see",
            "grant Read on the topic, and Describe on all transactional ids",
        )


def unknown_subjects(required: type[AuditedTopic], topic: AuditedTopic) -> Iterator[CheckResult]:
    """Yield a result for each subject that the Schema Registry was asked for in vain."""
    if not issubclass(required, ManagedSubjects):
        return
    for part, subject in topic.subjects.items():
        if subject.error is not None:
            yield CheckResult(
                Verdict.UNDECIDABLE,
                f"the subject {quoted(subject.name)} of the {part}s could not be read from the Schema Registry",
                path=("contents", part, "registry"),
                because=(subject.error,),
                remedy="correct this, then audit again",
            )


def _undecidable(
    message: str, remedy: str, partitions: tuple[int, ...] = (), because: tuple[str, ...] = ()
) -> CheckResult:
    return CheckResult(Verdict.UNDECIDABLE, message, partitions=partitions, because=because, remedy=remedy)


def _other_log(topic: AuditedTopic) -> CheckResult:
    """Return the result of a check whose proof only holds for the log of Apache Kafka."""
    assert topic.other_log
    fact = topic.other_log.fact
    return _undecidable(
        f"{topic.snapshot.service.title} does not store records as Apache Kafka does, and the proof rests on Apache "
        "Kafka's segments, retention and log cleaner",
        f"see {fact.source}",
        because=(fact.text,),
    )


def unknown_reassignments(error: str) -> str:
    """Return the reason of a check that cannot tell the replicas that a reassignment adds from the others."""
    return f"the cluster did not list its reassignments ({error}), and replicas that a reassignment adds do not count"


REASSIGNMENTS_REMEDY: Final = "grant Describe on the Cluster resource, then audit again"
SETTINGS_HIDDEN = _undecidable(
    "the brokers did not return the topic's configuration", "grant DescribeConfigs on the topic"
)
RECORDS_HIDDEN = _undecidable("this user may not read the records", "grant Read on the topic")
