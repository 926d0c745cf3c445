"""Collect the facts for a usage report, for audits and for `topicwarden usage`.

The checks of an audit know which topics are internal, and which authorizer logs are complete.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from topicwarden import __version__
from topicwarden.audit.checks import unused_access
from topicwarden.audit.collect.internal_topics import fits_connect_name, recognise_internal_topics
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.group_lags import GroupLag
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kafka.read.use_reads import ClusterUse
from topicwarden.policies.usage_policy import CostPolicy
from topicwarden.specs.resolve import Declaration
from topicwarden.usage.usage_facts import UsageFacts
from topicwarden.usage.use_context import UseContext
from topicwarden.usage.use_history import RememberedUse


def usage_facts(
    snapshot: Snapshot,
    use: ClusterUse,
    remembered: RememberedUse,
    context: UseContext,
    *,
    stack: str,
    declarations: Mapping[str, Declaration],
    lags: Mapping[tuple[str, str], GroupLag],
    cost: CostPolicy | None,
    patterns: tuple[str, ...],
    selects: Callable[[str], bool],
    internal: Collection[str] = (),
) -> UsageFacts:
    """Return the facts for the report on one observation: ``snapshot`` and ``use``.

    ``internal`` are topics that the contents of other topics show to be internal. For the others, see ``UsageFacts``.
    """
    return UsageFacts(
        stack,
        __version__,
        snapshot,
        remembered,
        declarations,
        context,
        lags,
        cost,
        internal_names(snapshot, use.groups).union(internal),
        incomplete_logs(context, snapshot),
        patterns,
        selects,
        snapshot.unseen,
    )


def internal_names(snapshot: Snapshot, groups: Collection[ConsumerGroup]) -> frozenset[str]:
    """Return the topics that Kafka, Kafka Streams and perhaps Kafka Connect have created for themselves.

    A compacted topic whose name fits one of Kafka Connect counts as well; an audit reads its keys to confirm that.
    """
    named = {
        name
        for name, live in snapshot.topics.items()
        if live.topic.internal
        or (fits_connect_name(name) and "compact" in (live.topic.config.get("cleanup.policy") or "compact"))
    }
    return frozenset(named | recognise_internal_topics(snapshot.topics, groups, {}, workers=False).keys())


def incomplete_logs(context: UseContext, snapshot: Snapshot) -> str:
    """Return why the authorizer logs do not prove that access is unused; empty if they do."""
    period = context.policy.unused_access_after if context.policy else None
    if context.logs is None or period is None:
        return "no authorizer logs were read"
    return unused_access.incomplete_logs(context.logs, snapshot.racks, snapshot.taken_at, period)
