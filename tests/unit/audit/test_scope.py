"""Test what an audit of a part of a cluster concludes, and what it still needs to know of the other topics."""

from __future__ import annotations

from dataclasses import replace

from tests.support.reports import empty
from tests.support.subjects import subject
from topicwarden.audit.checks.common.persistence import cleaner_grace_ms
from topicwarden.audit.history.outcomes import selection_key
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.subject import AuditedTopic
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas
from topicwarden.kafka.read.snapshot_reads import _other_log_bytes
from topicwarden.model.topic import Topic
from topicwarden.stacks.stack_scope import StackScope

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
