"""Each internal topic of Kafka, Kafka Connect or Kafka Streams has the cleanup policy that its owner needs.

``__consumer_offsets``, ``__transaction_state``, Connect's three topics and Streams' changelogs hold the latest value by
key. With ``delete``, offsets, connectors and state are lost together with old segments. A windowed changelog may be
``compact,delete``. Connect's configuration topic needs one partition, because the order of its records counts.
``__share_group_state`` and Streams' repartition topics are queues, and their owner deletes the records itself
(DeleteRecords). Retention must not delete them: these topics need ``delete`` with ``retention.ms`` and
``retention.bytes`` of -1.

**fail**: the policy, the retention or the number of partitions is wrong, and the role of the topic is proven: Kafka
reserves its name; the newest records have Connect's keys and values, and there is a group of workers; or a group of
Streams with the application id from its name commits offsets. **undecidable**: the role is not proven; or a changelog
is not compacted, and no audit saw it as ``compact``, which is the policy for a store without windows. A windowed store
works with ``delete`` and a retention of at least the window. Also **undecidable**: DescribeConfigs was not granted. The
audit cannot see from outside whether a store without windows has ``compact,delete``.

Example: ``connect-offsets`` was created by hand with Kafka's default, ``delete``; a week later an idle source connector
reads its whole source again.

Confirm: ``kafka-configs --describe --all --topic T`` prints ``cleanup.policy`` and the retention.

Remedy: set the value that the finding names; a Connect worker refuses to start without it.

Prevent: let Kafka, Connect and Streams create their topics, or declare these topics.

Source: KAFKA-9216, ``TopicAdmin.verifyTopicCleanupPolicyOnlyCompact``, ``GroupCoordinatorService``,
``TransactionStateManager``, ``ShareCoordinatorService``, ``InternalTopicManager``, ``WindowedChangelogTopicConfig``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.inherited_settings import limit_by_defaults
from topicwarden.audit.collect.internal_topics import InternalRole, InternalTopic
from topicwarden.audit.evidence import SETTINGS_HIDDEN, KnownRole
from topicwarden.model.verdict import Verdict


class Required(KnownRole): ...


CHECK = "internal-policy"
_WAS_COMPACT = {"was_compact": 1}
_UNLIMITED = ("retention.ms", "retention.bytes")


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    internal, live = subject.internal, subject.live
    policy = internal.policy
    if policy.single_partition and live.topic.partitions != 1:
        yield _result(
            internal,
            f"has {live.topic.partitions} partitions, but Kafka Connect requires exactly 1 for its configurations",
            ("partitions",),
            "stop the workers, copy the latest values into a topic with a single partition, and configure that topic",
            {"partitions": live.topic.partitions},
        )
    if not subject.settings_known:
        yield SETTINGS_HIDDEN
        return
    policies = live.topic.cleanup_policies
    if policies not in policy.policies:
        changed = _was_compact(subject) and internal.role is InternalRole.CHANGELOG
        required = " or ".join(",".join(sorted(alternative)) for alternative in policy.policies)
        reported = ",".join(sorted(policies or ())) or "empty"
        result = _result(
            internal,
            f"cleanup.policy is {reported}, but {policy.contents} needs {required}",
            ("config", "cleanup.policy"),
            f"set cleanup.policy={required.partition(' or ')[0]} now, before more records are lost",
            {"cleanup.policy": reported, "needs": required},
            proven=internal.role is not InternalRole.CHANGELOG or changed,
            tracked_facts={0: _WAS_COMPACT} if changed else {},
        )
        # Not as relevant_settings: the audit remembers that the topic was compacted under any policy.
        yield limit_by_defaults(subject, result, ("cleanup.policy",))
    for setting in _UNLIMITED if policy.keeps_every_record else ():
        limit = live.topic.number(setting)
        if limit is not None and limit >= 0:
            result = _result(
                internal,
                f"{setting} is {limit:,}: older records are lost before the owner of the topic processes them",
                ("config", setting),
                f"set {setting}=-1",
                {setting: limit},
            )
            yield limit_by_defaults(subject, result, (setting,))


def _was_compact(subject: Required) -> bool:
    """Return whether an audit saw the policy ``compact`` alone, and every audit since has remembered that."""
    before = subject.past.state.settings.get("cleanup.policy") if subject.past.state else None
    return before == "compact" or subject.persisted_ms(CHECK, 0, _WAS_COMPACT, ()) is not None


def _result(
    internal: InternalTopic,
    message: str,
    path: tuple[str, ...],
    remedy: str,
    evidence: dict[str, int | float | str | None],
    *,
    proven: bool = True,
    tracked_facts: dict[int, dict[str, int]] | None = None,
) -> CheckResult:
    return CheckResult(
        Verdict.FAIL if internal.certain and proven else Verdict.UNDECIDABLE,
        message,
        path=path,
        because=(internal.description,),
        remedy=remedy if internal.certain else f"if the topic has the role that its name suggests, {remedy}",
        evidence=evidence,
        tracked_facts=tracked_facts or {},
    )
