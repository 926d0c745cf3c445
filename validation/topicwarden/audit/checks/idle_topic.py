"""A topic is used.

The check applies with ``idle_after`` in the policy ``usage``, from the time on at which observations of the topic go
back that far: a new topic, or one of a new history, cannot be idle yet. It does not judge topics that Kafka, Kafka
Connect and Kafka Streams create for themselves, and passes those that match ``exempt``.

**fail**: two observations, each ``idle_after`` or longer after the last use, saw the same topic (topic id) with the
same log ends and the same committed offsets as all observations since that use. No group reads it or subscribes to it,
all groups were visible all the time, and no authorizer log has a read or a write. Log ends only grow, so nobody has
written. **suspect**: one observation only, so the clock of the machine that audits may have jumped; the next audit
settles it. Or brokers still keep committed offsets of a group: a consumer with ``assign()`` has no member, and may
commit the same offset again and again. Also **suspect**: an authorizer log has reads by the user of this audit. They do
not count as a use, because audits read every topic, but lines of a log do not say which program read: give audits a
user of their own. **undecidable**: no use was observed, but groups were not visible all the time; or a partition is not
readable.

That nobody wrote is certain. A group that came and left between two observations, and found no new record, leaves no
trace. Readers without a group, which brokers do not report, may use the topic as well: global tables of Kafka Streams,
Kafka Connect's workers, MirrorMaker and consumers that store their offsets elsewhere. An authorizer log shows them all.

Example: ``nobody has written to the topic for 31 d``; the service that wrote it was replaced a month ago.

Confirm: ``kafka-get-offsets --topic T`` prints the same offsets again; ``kafka-consumer-groups --describe
--all-groups`` prints who reads it.

Remedy: ask its owner; then delete it: `allow: [{change: delete, until: DATE}]` in its YAML, and remove the YAML after
that. Or exempt it: ``usage: {exempt: [T]}`` in a policy.

Prevent: declare an owner for each topic.

Source: ``UnifiedLog``, whose log end offset never decreases without an unclean leader election; KIP-211.
"""

from collections.abc import Iterable, Iterator

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import ObservedUse
from topicwarden.model.access import Operation
from topicwarden.model.timestamps import utc
from topicwarden.model.topic import AllowedChange
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.verdict import Verdict

CHECK = "idle-topic"
_NOT_REPORTED = (
    "brokers report no readers without a group, such as global tables of Kafka Streams, and no group that came and "
    "left between two observations"
)


class Required(ObservedUse): ...


def applies(subject: Required) -> bool:
    internal, period, use = subject.live.topic.internal or subject.internal is not None, _period(subject), subject.use
    return not internal and period is not None and use.observed_at - use.observed_since >= period


def judge(subject: Required) -> Iterable[CheckResult]:
    use, policy, topic, period = subject.use, subject.use_context.policy, subject.live.topic.name, _period(subject)
    if policy is None or period is None or policy.exempts_topic(topic) or use.active:
        return
    since, now = use.unused_since, use.observed_at
    if now - max(since, _last_logged(subject) or 0) < period:
        return
    if use.groups_complete_since is None or use.groups_complete_since > since:
        yield _undecidable(
            f"no use has been observed since {utc(since)}, but some groups were not visible all the time",
            "grant Describe on the Cluster resource, and on all groups",
        )
        return
    unread = tuple(number for number in range(subject.live.topic.partitions) if number not in subject.live.extents)
    if unread:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"no use has been observed since {utc(since)}, but not all log ends are known now",
            partitions=unread,
            remedy="bring back a broker that holds a replica, then audit again",
        )
        return
    yield _idle(subject, since, period)


def _idle(subject: Required, since: int, period: int) -> CheckResult:
    use, before = subject.use, subject.previous_use
    observed = subject.use_context.observed_by_reading(subject.live.topic.name)
    again = before is not None and before.observed_at - since >= period and before.unused_since == since
    keeping = subject.use_context.keeping_offsets.get(subject.live.topic.name, ())
    last = use.samples[-1] if use.samples else None
    size = last.replica_bytes if last else None
    return CheckResult(
        Verdict.FAIL if again and not keeping and not observed else Verdict.SUSPECT,
        f"nobody has written to the topic for {duration_text(use.observed_at - since)}, since {utc(since)}, and no "
        "observation since then saw a group read it or a committed offset change",
        because=(
            f"all observations from {utc(since)} to {utc(use.observed_at)} saw the same log ends and committed offsets",
            f"idle_after is {DURATION.text(period)}",
            *(
                ()
                if again
                else ("only this observation is so late, and a clock may be wrong: the next audit settles it",)
            ),
            *(
                [f"group {keeping[0]} has committed offsets: a consumer with assign() may commit the same ones again"]
                if keeping
                else []
            ),
            *(
                [f"reads by {subject.use_context.observer} do not count: it is the user of this audit"]
                if observed
                else []
            ),
            _NOT_REPORTED,
        ),
        remedy=f"ask its owner, then delete it: {AllowedChange.DELETE.line} in its YAML, and remove the YAML after "
        f"that; or exempt it in a policy: `usage: {{exempt: [{subject.live.topic.name}]}}`",
        evidence={
            "unused_since": since,
            "unused_ms": use.observed_at - since,
            "observed_since": use.observed_since,
            "replica_bytes": size,
            "groups": len([user for user in use.users if user.kind == "group"]),
        },
    )


def _period(subject: Required) -> int | None:
    return subject.use_context.policy.idle_after if subject.use_context.policy else None


def _last_logged(subject: Required) -> int | None:
    """Return the time of the last line in an authorizer log that allows a read or a write; None without any."""
    return max(_logged(subject), default=None)


def _logged(subject: Required) -> Iterator[int]:
    for each in subject.use_context.by_others(subject.live.topic.name):
        if each.allowed and each.operation in (Operation.READ, Operation.WRITE) and each.request not in _NO_RECORDS:
            yield each.last


_NO_RECORDS = ("DescribeProducers", "DESCRIBE_PRODUCERS")
"""Requests that need Read on a topic, and read no record."""


def _undecidable(message: str, remedy: str) -> CheckResult:
    return CheckResult(Verdict.UNDECIDABLE, message, remedy=remedy)
