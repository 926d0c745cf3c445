"""Test what an audit says of topics outside of its selection, of topics that change, and of unreadable partitions."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import replace

import pytest

from tests.support.reports import empty
from tests.support.subjects import NOW, counted, subject, unreadable
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.checks.common.persistence import cleaner_grace_ms, same_leader
from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit, _change, changes_during_audit
from topicwarden.audit.compare_audits import settled_findings
from topicwarden.audit.evidence import Counts, EveryPartition, Placement
from topicwarden.audit.history.outcomes import selection_key
from topicwarden.audit.history.topic_state import OpenFinding, PartitionState, PreviousAudit, TopicState
from topicwarden.audit.judge import judge
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.scan.counts import PartitionCounts, TimestampTypeCount
from topicwarden.audit.scan.merge import merge
from topicwarden.audit.scan.reader_notes import Note
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read import cluster
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, TopicIdentity
from topicwarden.kafka.read.snapshot_reads import _other_log_bytes
from topicwarden.model.arrival import ArrivalContents
from topicwarden.model.contents import Contents, KeyContents, PartitionContents
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict
from topicwarden.specs.stacks.stack_scope import StackScope

# What an audit says of topics that change while they are read, and of partitions that cannot be read.


def verdicts(of: AuditedTopic) -> dict[str, set[Verdict]]:
    return {check: {result.verdict for result in results} for check, results in judge(of).items()}


def wrong() -> AuditedTopic:
    """Return a topic whose settings differ from the declared ones, so that a check fails."""
    return subject(PartitionCounts(records=1), declared={"retention.ms": "1"}, contents=Contents(key=KeyContents()))


def test_nothing_is_concluded_about_a_topic_that_was_deleted() -> None:
    assert Verdict.FAIL in set().union(*verdicts(wrong()).values())
    changed = replace(wrong(), change=ChangeDuringAudit("was deleted"))
    assert set().union(*verdicts(changed).values()) == {Verdict.UNDECIDABLE}
    assert verdicts(changed).keys() == verdicts(wrong()).keys()


def test_only_the_placement_of_keys_depends_on_new_partitions() -> None:
    before = verdicts(wrong())
    after = verdicts(replace(wrong(), change=ChangeDuringAudit("got 3 more partitions", grown=True)))
    differing = {check for check in before if before[check] != after[check]}
    assert differing == {check for check in before if issubclass(CHECKS[check].Required, Placement)}


def test_each_check_of_records_names_the_unread_partition() -> None:
    for check, results in judge(replace(wrong(), unread={0: "no broker answered"})).items():
        reasons = [result.message for result in results if result.partitions == (0,)]
        named = "could not be read to the end: no broker answered" in reasons
        assert named == issubclass(CHECKS[check].Required, Counts), check


@pytest.mark.parametrize("check", [check for check in CHECKS if issubclass(CHECKS[check].Required, EveryPartition)])
def test_partitions_are_not_compared_with_partitions_that_could_not_be_read(check: str) -> None:
    """Partition 0 has all the records that were read, and perhaps a quarter of all records."""
    arrival = ArrivalContents(max_silence=1, every=86_400_000, max=99)
    contents = Contents(key=KeyContents(max_share=0.5), partitions=PartitionContents(max_skew=2.0), arrival=arrival)
    counts = PartitionCounts(
        records=100,
        hottest=60,
        hottest_offset=1,
        hottest_key=7,
        last_timestamp=NOW - 60_000,
        arrivals={NOW - 60_000: 100},
        timestamp_types={"LogAppendTime": TimestampTypeCount(100, 99)},
    )
    of = subject(counts, contents=contents)
    assert of.live
    partitions = tuple(PartitionReplicas(n, 1, (1,), (1,), 0) for n in range(4))
    four = replace(of, live=replace(of.live, topic=replace(of.live.topic, partitions=4), replicas=partitions))
    assert Verdict.FAIL in verdicts(four)[check]
    assert verdicts(replace(four, unread={3: "no broker answered"}))[check] == {Verdict.UNDECIDABLE}
    leaderless = (*partitions[:3], replace(partitions[3], leader=None))
    assert four.live
    assert verdicts(replace(four, live=replace(four.live, replicas=leaderless)))[check] == {Verdict.UNDECIDABLE}


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ({}, "was deleted, or hidden from this user, during the audit"),
        ({"t": TopicIdentity("other", {0: 0})}, "was deleted and created again during the audit"),
        ({"t": TopicIdentity("id", dict.fromkeys(range(4), 0))}, "got 3 more partitions during the audit"),
        ({"t": TopicIdentity("id", {0: 0})}, None),
    ],
)
def test_a_topic_is_identified_by_its_id(now: dict[str, TopicIdentity], message: str | None) -> None:
    change = _change(subject().snapshot, "t", now)
    assert (change and change.message) == message


@pytest.mark.parametrize(("after", "same"), [(3, True), (4, False), (None, False)])
def test_a_leader_that_changes_while_records_are_read_is_not_the_leader_of_the_previous_audit(
    after: int | None, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records before the change are of one log, and records after it of another, which may be cleaned less far."""
    of = subject(replicas=PartitionReplicas(0, 1, (1, 2, 3), (1, 2, 3), 3))
    known = PartitionState(0, 0, 100, 100, None, 1, 3, 0)
    state = TopicState("c", "t", "id", NOW - 1, {}, {}, (known,), ())

    class Later:
        """A cluster that reports the topic with another leader epoch; a stand-in for an election."""

        def identities(self, topics: Collection[str]) -> dict[str, TopicIdentity]:
            return {name: TopicIdentity("id", {0: after}) for name in topics}

    monkeypatch.setattr(cluster, "open_cluster", lambda _: nullcontext(Later()))
    changes = changes_during_audit(Connection(("127.0.0.1:1",), tls=False), of.snapshot, {"t"})
    assert changes.topics == {}
    settled = of.snapshot.without_leader_epochs(changes.leaders)
    again = replace(of, snapshot=settled, live=settled.topics["t"], past=PreviousAudit(state))
    assert same_leader(counted(again), 0) is same


def test_an_unread_range_marks_its_partition() -> None:
    def note(start: int, **unread: object) -> Note:
        return {"start": start, "last_gap": None, "types": {}, "faults": [], **unread}

    read = note(0)
    assert merge([{"records": 1}], [read], None).unread is None
    given_up = [read, note(50, unread_from=60, unread_reason="b"), note(10, unread_from=1_020, unread_reason="c")]
    assert merge([{"records": 1}], given_up, None).unread == "b, from offset 60 on"


def test_an_earlier_finding_stays_open_if_the_audit_could_not_read_the_topic() -> None:
    check = next(check for check in judge(wrong()) if issubclass(CHECKS[check].Required, Counts))
    state = TopicState(
        cluster_id="c",
        topic="t",
        topic_id="id",
        taken_at=NOW - 1,
        settings={},
        since={},
        partitions=(),
        open_findings=(OpenFinding(check, 0, "fail", NOW - 1, {}, {}),),
    )
    before = replace(wrong(), past=PreviousAudit(state))
    for of in (unreadable(before), replace(before, change=ChangeDuringAudit("was deleted"))):
        (settled,) = settled_findings(of, judge(of))
        assert settled.now is Verdict.UNDECIDABLE


# What an audit of a part of a cluster concludes, and what it still needs to know of the other topics.

GIB = 1 << 30


def grace(of: AuditedTopic) -> int:
    found = cleaner_grace_ms(of)
    assert found is not None
    return found


def test_an_audit_selects_what_is_in_scope_and_matches_its_patterns() -> None:
    scope = StackScope(("orders.*", "!orders.tmp.*"))
    request = AuditRequest("dev", Connection(("kafka:9092",)), (), scope=scope)
    assert [request.selects(name) for name in ("orders.a", "orders.tmp.a", "billing.a", "__consumer_offsets")] == [
        True,
        False,
        False,
        False,
    ]
    selective = replace(request, patterns=("*.a", "!orders.b.*"))
    assert [selective.selects(name) for name in ("orders.a", "orders.b.a", "billing.a")] == [True, False, False]


def test_audits_of_another_scope_are_no_trend() -> None:
    """They counted other topics."""

    def key(scope: list[str], *patterns: str) -> str:
        return selection_key(empty().model_copy(update={"scope": scope}), patterns)

    scopes: list[list[str]] = [[], ["a.*"], ["a.*", "!a.b"]]
    assert len({key(scope, *patterns) for scope in scopes for patterns in ((), ("a.*",))}) == 6
    assert key(["!a.b", "a.*"]) == key(["a.*", "!a.b"])


def test_the_cleaner_also_needs_time_for_logs_that_this_user_may_not_see() -> None:
    own = subject(live={"cleanup.policy": "compact"})
    hidden = replace(own, snapshot=replace(own.snapshot, other_log_bytes=50 * GIB))
    assert grace(hidden) > grace(own) + 100_000


def test_a_log_whose_policy_is_hidden_may_be_compacted() -> None:
    own = subject(live={"cleanup.policy": "compact"})
    log = PartitionExtent(0, 1, 1, None, None, 50 * GIB)
    replicas = (PartitionReplicas(0, 1, (1,), (1,)),)

    def beside(topic: LiveTopic) -> int:
        return grace(replace(own, snapshot=replace(own.snapshot, topics={**own.snapshot.topics, "other": topic})))

    hidden = LiveTopic(Topic("other", 1, 1, {}), "id", {}, replicas, {0: log})
    deleting = replace(
        hidden,
        topic=Topic("other", 1, 1, {"cleanup.policy": "delete"}),
        sources={"cleanup.policy": "DEFAULT_CONFIG"},
    )
    assert beside(deleting) == grace(own)
    assert beside(hidden) > grace(own) + 100_000


def test_the_size_of_other_logs_counts_each_partition_once() -> None:
    sizes = {("a", 0, 1): 5, ("a", 0, 2): 7, ("a", 1, 1): 1, ("own", 0, 1): 100}
    assert _other_log_bytes(sizes, ["own"]) == 8
