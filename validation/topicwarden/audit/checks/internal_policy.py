"""A topic that Kafka, Kafka Connect or Kafka Streams made for itself is cleaned as its owner needs it.

``__consumer_offsets``, ``__transaction_state``, Connect's three topics and Streams' changelogs hold the last word by
key: with ``delete``, offsets, connectors and state are gone with the old segments. A windowed changelog may be
``compact,delete``. Connect's configurations need one partition, as their order counts. ``__share_group_state`` and
Streams' repartition topics are queues that their owner empties itself (DeleteRecords), and must delete nothing on their
own: ``delete`` with ``retention.ms`` and ``retention.bytes`` of -1.

**fail**: the policy, the retention or the number of partitions in force is another, and it is proven what the topic is:
Kafka keeps its name for itself, Connect's keys stand in its newest records, or a group of Streams' commits under the
application's id that its name begins with. **undecidable**: its name alone tells; or it is a changelog that is not
compacted, and no audit saw it as ``compact``, as Streams makes it for a store without windows: for a windowed one,
``delete`` with a retention of a window and more is enough; or DescribeConfigs was not granted. Whether a store without
windows has ``compact,delete`` is not seen from outside.

Example: ``connect-offsets`` was created by hand with Kafka's default, ``delete``; a week later a source connector that
was idle reads its whole source again.

Remedy: set what is named here; a Connect worker refuses to start until it is.

Source: KAFKA-9216, ``TopicAdmin.verifyTopicCleanupPolicyOnlyCompact``, ``GroupCoordinatorService``,
``TransactionStateManager``, ``ShareCoordinatorService``, ``InternalTopicManager``, ``WindowedChangelogTopicConfig``.
"""

from collections.abc import Iterable

from topicwarden.audit.collect.internal_topics import InternalRole, InternalTopic
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(judges_internal_topics=True)
CHECK = "internal-policy"
_WAS_COMPACT = {"was_compact": 1}
_UNLIMITED = ("retention.ms", "retention.bytes")


def applies(subject: AuditedTopic) -> bool:
    return subject.internal is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    internal, live = subject.internal, subject.live
    assert internal and live
    needs = internal.policy
    if needs.single_partition and live.topic.partitions != 1:
        yield _judgement(
            internal,
            f"has {live.topic.partitions} partitions, and Kafka Connect takes only 1 for its configurations",
            ("partitions",),
            "stop the workers, copy the topic by its latest values into one of a single partition, and name that one",
            {"partitions": live.topic.partitions},
        )
    if not subject.settings_known:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "the brokers did not tell the topic's configuration",
            remedy="grant DescribeConfigs on the topic",
        )
        return
    seen = live.topic.cleanup_policies
    if seen not in needs.policies:
        shrunk = _was_compact(subject) and internal.role is InternalRole.CHANGELOG
        wanted = " or ".join(",".join(sorted(one)) for one in needs.policies)
        said = ",".join(sorted(seen or ())) or "empty"
        yield _judgement(
            internal,
            f"cleanup.policy is {said}, where {needs.contents} needs {wanted}",
            ("config", "cleanup.policy"),
            f"set cleanup.policy={wanted.partition(' or ')[0]} now, before more is lost",
            {"cleanup.policy": said, "needs": wanted},
            proven=internal.role is not InternalRole.CHANGELOG or shrunk,
            standing={0: _WAS_COMPACT} if shrunk else {},
        )
    for setting in _UNLIMITED if needs.keeps_every_record else ():
        limit = live.topic.number(setting)
        if limit is not None and limit >= 0:
            yield _judgement(
                internal,
                f"{setting} is {limit:,}: what waits longer than that is lost unprocessed, as its owner deletes itself",
                ("config", setting),
                f"set {setting}=-1",
                {setting: limit},
            )


def _was_compact(subject: AuditedTopic) -> bool:
    """Whether an audit saw it as ``compact`` and nothing else, and each one since has remembered that."""
    before = subject.past.state.settings.get("cleanup.policy") if subject.past.state else None
    return before == "compact" or subject.stood_for(CHECK, 0, _WAS_COMPACT, ()) is not None


def _judgement(
    internal: InternalTopic,
    message: str,
    path: tuple[str, ...],
    remedy: str,
    evidence: dict[str, int | float | str | None],
    *,
    proven: bool = True,
    standing: dict[int, dict[str, int]] | None = None,
) -> CheckResult:
    return CheckResult(
        Verdict.FAIL if internal.certain and proven else Verdict.UNDECIDABLE,
        message,
        path=path,
        because=(internal.description,),
        remedy=remedy if internal.certain else f"if it is what its name says, {remedy}",
        evidence=evidence,
        standing=standing or {},
    )
