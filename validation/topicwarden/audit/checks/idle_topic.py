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
from topicwarden.model.timestamps import utc
from topicwarden.model.topic import AllowedChange
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.verdict import Verdict
from topicwarden.usage.idleness import IdleTopic, idle_topic

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
    idle = idle_topic(subject.live, subject.use, subject.previous_use, subject.use_context)
    if idle is None:
        return
    if not idle.groups_seen:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"no use has been observed since {utc(idle.since)}, but some groups were not visible all the time",
            remedy="grant Describe on the Cluster resource, and on all groups",
        )
    elif idle.unread:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"no use has been observed since {utc(idle.since)}, but not all log ends are known now",
            partitions=idle.unread,
            remedy="bring back a broker that holds a replica, then audit again",
        )
    else:
        yield _result(subject, idle)


def _result(subject: Required, idle: IdleTopic) -> CheckResult:
    use, since = subject.use, idle.since
    last = use.samples[-1] if use.samples else None
    return CheckResult(
        Verdict.FAIL if idle.proven else Verdict.SUSPECT,
        f"nobody has written to the topic for {duration_text(use.observed_at - since)}, since {utc(since)}, and no "
        "observation since then saw a group read it or a committed offset change",
        because=tuple(_reasons(subject, idle)),
        remedy=f"ask its owner, then delete it: {AllowedChange.DELETE.line} in its YAML, and remove the YAML after "
        f"that; or exempt it in a policy: `usage: {{exempt: [{subject.live.topic.name}]}}`",
        evidence={
            "unused_since": since,
            "unused_ms": use.observed_at - since,
            "observed_since": use.observed_since,
            "replica_bytes": last.replica_bytes if last else None,
            "groups": len([user for user in use.users if user.kind == "group"]),
        },
    )


def _reasons(subject: Required, idle: IdleTopic) -> Iterator[str]:
    since, now = utc(idle.since), utc(subject.use.observed_at)
    yield f"all observations from {since} to {now} saw the same log ends and committed offsets"
    yield f"idle_after is {DURATION.text(_period(subject) or 0)}"
    if not idle.again:
        yield "only this observation is so late, and a clock may be wrong: the next audit settles it"
    if idle.keeping:
        yield f"group {idle.keeping[0]} has committed offsets: a consumer with assign() may commit the same ones again"
    if idle.read_by_observer:
        yield f"reads by {subject.use_context.observer} do not count: it is the user of this audit"
    yield _NOT_REPORTED


def _period(subject: Required) -> int | None:
    return subject.use_context.policy.idle_after if subject.use_context.policy else None
