"""All that a usage report is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from topicwarden.kafka.read.group_lags import GroupLag
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.policies.usage_policy import CostPolicy
from topicwarden.specs.resolve import Declaration
from topicwarden.usage.use_context import UseContext
from topicwarden.usage.use_history import RememberedUse


@dataclass(frozen=True)
class UsageFacts:
    """All that a usage report is made of.

    - ``selects``: whether the report has a topic, by its name.
    - ``lags``: what each group has not read, by (group, topic).
    - ``context``: declared and live access, the policy, the scope of the stack, and the authorizer logs.
    - ``internal``: the topics that Kafka, Kafka Connect and Kafka Streams create, which never are idle.
    - ``incomplete_logs``: why the logs do not show all that happened in ``unused_access_after``; empty if they do.
    - ``missing``: the parts of the cluster that this user may not see, each with the missing permission.
    """

    stack: str
    version: str
    snapshot: Snapshot
    remembered: RememberedUse
    declarations: Mapping[str, Declaration]
    context: UseContext = field(default_factory=UseContext)
    lags: Mapping[tuple[str, str], GroupLag] = field(default_factory=dict)
    cost_policy: CostPolicy | None = None
    internal: frozenset[str] = frozenset()
    incomplete_logs: str = "no authorizer logs were read"
    patterns: tuple[str, ...] = ()
    selects: Callable[[str], bool] = lambda topic: True
    missing: tuple[str, ...] = ()
